"""`lakegate waive`: let a rejected delivery through."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.cli import terminal
from lakegate.cli.account import SHORT_ID, STANDING, in_utc
from lakegate.cli.aws import opened
from lakegate.cli.escape import escaped
from lakegate.cli.options import DEFAULT_STACK, ApiContract, ApiUrl, AsJson, Delivery, Local, StackName
from lakegate.cli.over_http import Api
from lakegate.cli.remote import refuse_contract, refuse_options, send_transition
from lakegate.cli.replay_many import TIMES
from lakegate.cli.status import LATEST
from lakegate.cli.waiting import WaitExit
from lakegate.contracts.judge.verdict import ACCEPTING
from lakegate.contracts.lake.lifecycle import instant_of, moment
from lakegate.functions.usecases.deliveries import named
from lakegate.functions.usecases.delivery import row_of
from lakegate.functions.usecases.steps import run
from lakegate.functions.usecases.waive import waive as let_through
from lakegate.functions.workload import replay_id

if TYPE_CHECKING:
    from lakegate.functions.workload import Workload


def waive(  # noqa: PLR0913 - a command has these options
    workload: Delivery,
    *,
    reason: Annotated[str, typer.Option(help="Why; every consumer can read it.", show_default=False)],
    expires: Annotated[
        datetime,
        typer.Option(formats=TIMES, help="When the exception ends (UTC), within 366 days.", show_default=False),
    ],
    contract: ApiContract = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    api: ApiUrl = None,
    as_json: AsJson = False,
) -> None:
    """Accept a quarantined delivery as it is, on your own account. It is idempotent.

    The delivery is accepted with warnings. Your ARN, the reason and the end of the waiver are in the ledger, in the readers'
    manifest and in the event of the delivery. From its end on, the waiver cannot be used, and the delivery is marked as expired.
    With --api it takes a workload's whole id, and the next sweep accepts the delivery.

    Example: lakegate waive orders/day.csv --reason "the supplier corrects it on Monday" --expires 2027-01-31

    Exit code: 0 accepted, 1 rejected again (see its reasons), 2 it cannot be waived, 3 its line is paused.
    """
    ends = moment(expires.replace(tzinfo=UTC))
    if api:
        refuse_options(local=local)
        body = {"transition": "waive", "reason": reason, "expires": ends}
        send_transition(Api(api), workload, contract or "", body, as_json=as_json)
        return
    refuse_contract(contract)
    with opened(stack, local=local) as there:
        dependencies = there.working_dependencies()
        before = named(dependencies, workload, LATEST)
        already = row_of(dependencies, replay_id(before.id))
        steps = let_through(dependencies, before.id, reason.strip(), ends)
        row = dependencies.workloads.get(run(steps, dependencies.clock))
    assert row.waiver is not None
    verdict = row.decision.verdict if row.decision else None
    if as_json:
        terminal.print_json(
            {
                "workload": row.id,
                "state": row.state,
                "verdict": verdict,
                "waiver": asdict(row.waiver),
                "started": already is None,
            }
        )
    else:
        for line in _in_words(row, started=already is None):
            terminal.answers().print(escaped(line), markup=False, soft_wrap=True)
    raise typer.Exit(_exit(verdict))


def _exit(verdict: str | None) -> WaitExit:
    if verdict is None:
        return WaitExit.NO_VERDICT
    return WaitExit.ACCEPTED if verdict in ACCEPTING else WaitExit.REJECTED


def _in_words(row: Workload, *, started: bool) -> tuple[str, ...]:
    waiver = row.waiver
    assert waiver is not None
    did = "is waived" if started else "was waived before; nothing was started"
    return (
        f"{waiver.rejected} {did}: {STANDING[row.state]}, as {row.id}.",
        f"{waiver.reason} (until {in_utc(instant_of(waiver.expires))}, by {waiver.actor})",
        f"lakegate status {row.id[:SHORT_ID]}",
    )

"""lakegate approve, decline, waive: every registered decision."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import refuse_contract, refuse_options
from lakegate.cli.deliveries.replay_command import TIMES
from lakegate.cli.deliveries.status_command import print_remote
from lakegate.cli.deliveries.wait_for_verdict import WaitExit
from lakegate.cli.options import ApiContract, ApiUrl, AsJson, Delivery, Local, StackName, Yes
from lakegate.errors import InputError
from lakegate.extension_points import loaded
from lakegate.gate.decisions import PersonTransition
from lakegate.gate.delivery.delivery_objects import row_of
from lakegate.gate.delivery.delivery_row import replay_id
from lakegate.gate.delivery.find_deliveries import named
from lakegate.gate.delivery.replay import decide
from lakegate.gate.effects import run
from lakegate.gate.registry.registry_rows import PROPOSALS
from lakegate.stack import LATEST, SHORT_ID, STANDING, in_utc, remote_stack
from lakegate.text import printable as escaped
from lakegate.text import shown
from lakegate.timestamps import instant_of, moment
from lakegate.verdict.verdict import ACCEPTING

if TYPE_CHECKING:
    from lakegate.gate.delivery.delivery_row import Workload

# ---- `lakegate decline`, and `lakegate approve` for deliveries: the answer that a judged delivery waits for --------


@dataclass(frozen=True, slots=True)
class Asked:
    """What the options of both commands say."""

    workload: str
    contract: str | None
    stack: str
    local: bool
    api: str | None
    as_json: bool

    def answer(self, declined: str | None = None) -> None:
        """Approve, or decline for a reason, and show what came of it; ends the command with its exit code."""
        if self.api:
            refuse_options(local=self.local)
            body = {"transition": "approve"} if declined is None else {"transition": "decline", "reason": declined}
            found = remote_stack(self.api).transition(self.workload, self.contract or "", body)
            print_remote(found, as_json=self.as_json)
            return
        refuse_contract(self.contract)
        with opened(self.stack, local=self.local) as there:
            dependencies = there.working_dependencies()
            identity = named(dependencies, self.workload, LATEST).id
            wanted = PersonTransition.APPROVE if declined is None else PersonTransition.DECLINE
            given = {} if declined is None else {"reason": declined.strip()}
            steps = decide(dependencies, wanted, identity, **given)
            row = dependencies.workloads.get(run(steps, dependencies.clock))
        self._print(row)
        raise typer.Exit(_approval_exit(row))

    def _print(self, row: Workload) -> None:
        assert row.answer is not None
        verdict, reasons = (row.decision.verdict, row.decision.reasons) if row.decision else (None, ())
        if self.as_json:
            document = {"workload": row.id, "state": row.state, "verdict": verdict, "answer": asdict(row.answer)}
            terminal.print_json(document | {"reasons": list(reasons)})
            return
        did = "approved" if row.answer.approved else "declined"
        lines = (
            f"{row.id} is {did} by {row.answer.actor}: {STANDING[row.state]}.",
            f"lakegate status {row.id[:SHORT_ID]}",
        )
        for line in lines:
            terminal.answers().print(escaped(line), markup=False, soft_wrap=True)


def _approval_exit(row: Workload) -> WaitExit:
    """0: it became what was answered."""
    if row.decision is None:
        return WaitExit.NO_VERDICT
    is_same = row.answer is not None and row.answer.approved is (row.decision.verdict in ACCEPTING)
    return WaitExit.ACCEPTED if is_same else WaitExit.REJECTED


def decline(  # noqa: PLR0913 - a command has these options
    workload: Delivery,
    *,
    reason: Annotated[str, typer.Option(help="Why; it is a reason of the rejection.", show_default=False)],
    contract: ApiContract = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    api: ApiUrl = None,
    as_json: AsJson = False,
) -> None:
    """Reject a judged delivery that waits for approval or for its date. It is idempotent.

    The delivery goes into quarantine, with your ARN and the reason before what its judgement says. To let it be published:
    lakegate approve. With --api it takes a workload's whole id, and the next sweep moves the delivery.

    Example: lakegate decline orders/day.csv --reason "the totals are those of last month"

    Exit code: 0 rejected, 2 it does not wait for an answer, 3 declined, and not yet moved.
    """
    Asked(workload, contract, stack, local, api, as_json).answer(reason)


# ---- `lakegate approve`: a second person makes a proposed contract version valid, or lets a judged delivery be
# published


VERSION: Final = re.compile(r"@[0-9]+\.[0-9]+\.[0-9]+$", re.ASCII)
"""How the name of a contract version ends; what is named otherwise is a delivery."""


def approve(  # noqa: PLR0913 - a command has these options
    name: Annotated[
        str,
        typer.Argument(
            metavar="DELIVERY|CONTRACT@VERSION",
            help="A workload's id, the beginning of one, or a landing key; or the proposed version.",
            show_default=False,
        ),
    ],
    *,
    proposal: Annotated[
        str | None,
        typer.Option(help="The proposal that was reviewed, as `lakegate proposals` shows it; no other is approved."),
    ] = None,
    contract: Annotated[
        str | None,
        typer.Option(help="With --api: the delivery's contract, for callers with rights to that.", show_default=False),
    ] = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    api: ApiUrl = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Let a judged delivery be published that waits for approval, or make a proposed contract version valid, or withdraw one.

    Example: lakegate approve orders/day.csv
    Example: lakegate approve brazil-se-weather@1.1.0 --proposal 1f0c8a528f2e

    A delivery waits where the workflow of its contract says so. Your ARN is in the ledger; to reject it: lakegate decline. With
    --api it takes a workload's whole id, and the next sweep publishes the delivery.

    Nobody can approve a proposal of their own.

    The proposed document is compiled again and compared with the version that it follows; then version, routes, and a record
    of both people are written in one transaction. An expired proposal, one that was changed since it was read, and one whose
    contract was changed since it was proposed are refused.

    Exit code: 0 published, 1 the document is refused, or the content was accepted meanwhile, 2 it cannot be approved, or was not
    confirmed, 3 approved, and not yet published.
    """
    if not VERSION.search(name):
        if proposal is not None or yes:
            raise InputError(f"--proposal and --yes are for contract versions, and {shown(name)} is none")
        Asked(name, contract, stack, local, api, as_json).answer()
        return
    if api or contract is not None:
        raise InputError(
            "--api and --contract are for deliveries: a contract version is approved with rights in the account"
        )
    loaded(PROPOSALS, "approve")(name, proposal, stack, local=local, yes=yes, as_json=as_json)


# ---- `lakegate waive`: let a rejected delivery through -------------------------------------------------------------


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
        print_remote(remote_stack(api).transition(workload, contract or "", body), as_json=as_json)
        return
    refuse_contract(contract)
    with opened(stack, local=local) as there:
        dependencies = there.working_dependencies()
        before = named(dependencies, workload, LATEST)
        already = row_of(dependencies, replay_id(before.id))
        steps = decide(dependencies, PersonTransition.WAIVE, before.id, reason=reason.strip(), expires=ends)
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
    raise typer.Exit(_waiver_exit(verdict))


def _waiver_exit(verdict: str | None) -> WaitExit:
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

"""`lakegate decline`, and `lakegate approve` for deliveries: the answer that a judged delivery waits for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.cli import terminal
from lakegate.cli.account import SHORT_ID, STANDING
from lakegate.cli.aws import opened
from lakegate.cli.escape import escaped
from lakegate.cli.options import DEFAULT_STACK, ApiContract, ApiUrl, AsJson, Delivery, Local, StackName
from lakegate.cli.over_http import Api
from lakegate.cli.remote import refuse_contract, refuse_options, send_transition
from lakegate.cli.status import LATEST
from lakegate.cli.waiting import WaitExit
from lakegate.contracts.judge.verdict import ACCEPTING
from lakegate.functions.usecases.answering import approve as approve_delivery
from lakegate.functions.usecases.answering import decline as decline_delivery
from lakegate.functions.usecases.deliveries import named
from lakegate.functions.usecases.steps import run

if TYPE_CHECKING:
    from lakegate.functions.workload import Workload


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
            send_transition(Api(self.api), self.workload, self.contract or "", body, as_json=self.as_json)
            return
        refuse_contract(self.contract)
        with opened(self.stack, local=self.local) as there:
            dependencies = there.working_dependencies()
            identity = named(dependencies, self.workload, LATEST).id
            steps = (
                approve_delivery(dependencies, identity)
                if declined is None
                else decline_delivery(dependencies, identity, declined.strip())
            )
            row = dependencies.workloads.get(run(steps, dependencies.clock))
        self._print(row)
        raise typer.Exit(_exit(row))

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


def _exit(row: Workload) -> WaitExit:
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

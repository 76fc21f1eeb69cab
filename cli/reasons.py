"""`lakegate reasons`: which rule, which field, which rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli import terminal
from cli.account import account, as_document
from cli.aws import opened
from cli.documents import checks
from cli.options import DEFAULT_STACK, AsJson, Local, StackName
from cli.report import Report, show
from cli.seen import seen
from cli.status import LATEST, tell
from functions.usecases.deliveries import named

if TYPE_CHECKING:
    from cli.account import Account, Measured


def reasons(
    workload: Annotated[
        str, typer.Argument(help="A workload's id, the beginning of one, or a landing key.", show_default=False)
    ],
    show_all: Annotated[bool, typer.Option("--all", help="Show every passed check on a line of its own.")] = False,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Say why a delivery was judged as it was: rule, field, what was wanted, what was measured, rows (masked).

    Example: lakegate reasons weather/southeast_2024.csv
    """
    with opened(stack, local=local) as there:
        gate = there.gate()
        one = account(gate, named(gate, workload, LATEST))
    if as_json:
        terminal.print_json(_as_document(one))
    elif one.measured is None:
        tell(one)
    else:
        console = terminal.answers()
        console.print(seen(f"{one.delivery.key} (workload {one.delivery.id})"), markup=False, soft_wrap=True)
        show(console, _report(one, one.measured), show_all=show_all)
        for code in one.codes:
            console.print(seen(code), markup=False, soft_wrap=True)
        for place in one.where:
            console.print(seen(f"The data is at {place}"), markup=False, soft_wrap=True)


def _as_document(one: Account) -> dict[str, object]:
    """All that `status` says, and every check as `check --json` has it."""
    measured = one.measured
    return as_document(one) | {
        "checks": checks(_report(one, measured)) if measured else [],
        "timings": measured.result.timings if measured else {},
    }


def _report(one: Account, measured: Measured) -> Report:
    return Report(measured.plan, measured.judgement, measured.result, (one.delivery.key,))

"""`lakegate reasons`: which rule, which field, which rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.cli import terminal
from lakegate.cli.account import account, as_document
from lakegate.cli.aws import opened
from lakegate.cli.documents import checks
from lakegate.cli.escape import escaped
from lakegate.cli.options import DEFAULT_STACK, AsJson, Local, StackName
from lakegate.cli.report import show
from lakegate.cli.status import LATEST, print_account
from lakegate.contracts.report.delivery import Report
from lakegate.functions.usecases.deliveries import named

if TYPE_CHECKING:
    from lakegate.cli.account import Account, JudgedResult


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
        dependencies = there.dependencies()
        one = account(dependencies, named(dependencies, workload, LATEST))
    if as_json:
        terminal.print_json(_as_document(one))
    elif one.measured is None:
        print_account(one)
    else:
        console = terminal.answers()
        console.print(escaped(f"{one.delivery.key} (workload {one.delivery.id})"), markup=False, soft_wrap=True)
        show(console, _report(one, one.measured), show_all=show_all)
        for code in one.codes:
            console.print(escaped(code), markup=False, soft_wrap=True)
        for place in one.where:
            console.print(escaped(f"The data is at {place}"), markup=False, soft_wrap=True)


def _as_document(one: Account) -> dict[str, object]:
    """All that `status` shows, and every check as `check --json` has it."""
    measured = one.measured
    return as_document(one) | {
        "checks": checks(_report(one, measured)) if measured else [],
        "timings": measured.result.timings if measured else {},
    }


def _report(one: Account, measured: JudgedResult) -> Report:
    return Report(measured.plan, measured.judgement, measured.result, (one.delivery.key,))

"""`lakegate reasons`: which rule, which field, which rows."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.cli import failures, terminal
from lakegate.cli.account import account, as_document, in_utc, standing
from lakegate.cli.aws import opened
from lakegate.cli.documents import checks
from lakegate.cli.escape import escaped
from lakegate.cli.options import DEFAULT_STACK, AsJson, Local, StackName
from lakegate.cli.outputs import usable, write_text
from lakegate.cli.report import SHOWN, show
from lakegate.cli.status import LATEST, print_account
from lakegate.contracts.errors import InputError
from lakegate.contracts.judge.verdict import Verdict
from lakegate.contracts.report.delivery import Report
from lakegate.functions.usecases.deliveries import named
from lakegate.functions.usecases.history import history

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.cli.account import Account, JudgedResult
    from lakegate.contracts.report.page import PastDelivery
    from lakegate.functions.usecases.dependencies import Dependencies

MOST_ROWS = 20
"""What a result holds of each check."""
EXPORT = (
    "Write the failing rows that the result holds (20 of each check) into a file, .csv or .json; values are masked."
)
REPORT = "Write an HTML report into a file, to pass on; with the latest deliveries of the line."


def reasons(  # noqa: PLR0913 - a command has these options
    workload: Annotated[
        str, typer.Argument(help="A workload's id, the beginning of one, or a landing key.", show_default=False)
    ],
    *,
    rows: Annotated[int, typer.Option(min=0, max=MOST_ROWS, help="Failing rows of each reason.")] = SHOWN,
    export: Annotated[Path | None, typer.Option(help=EXPORT, show_default=False)] = None,
    page: Annotated[Path | None, typer.Option("--report", help=REPORT, show_default=False)] = None,
    show_all: Annotated[bool, typer.Option("--all", help="Show every passed check on a line of its own.")] = False,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Say why a delivery was judged as it was: rule, field, what was wanted, what was measured, rows (masked).

    Example: lakegate reasons weather/southeast_2024.csv
    """
    for option, path, suffixes in (("--export", export, failures.SUFFIXES), ("--report", page, (".html",))):
        if path is not None:
            usable(option, path, suffixes, ())
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        one = account(dependencies, named(dependencies, workload, LATEST))
        past = _past(dependencies, one) if page is not None else []
    written = tuple(_written(one, export, page, past))
    if as_json:
        terminal.print_json(_as_document(one))
    elif one.measured is None:
        print_account(one)
    else:
        console = terminal.answers()
        console.print(escaped(f"{one.delivery.key} (workload {one.delivery.id})"), markup=False, soft_wrap=True)
        show(console, _report(one, one.measured), show_all=show_all, advice=written, rows=rows)
        for code in one.codes:
            console.print(escaped(code), markup=False, soft_wrap=True)
        for place in one.where:
            console.print(escaped(f"The data is at {place}"), markup=False, soft_wrap=True)


def _written(one: Account, export: Path | None, page: Path | None, past: list[PastDelivery]) -> Iterator[str]:
    """Write the files that options name; yields what was written, in words."""
    if export is None and page is None:
        return
    if one.measured is None:
        raise InputError(
            f"nothing was measured of {one.delivery.key}, so there is nothing to write: {standing(one.delivery.row)}"
        )
    report = _report(one, one.measured)
    if export is not None:
        yield failures.write("--export", export, report)
    if page is not None:
        from lakegate.contracts.report.page import render  # noqa: PLC0415 - jinja2, for this option alone

        write_text("--report", page, render(report, list(_facts(one)), past))
        yield f"{page}: report written"


def _facts(one: Account) -> Iterator[tuple[str, str]]:
    yield "Workload", one.delivery.id
    if one.pin is not None:
        yield "Taken in", in_utc(datetime.fromisoformat(one.pin.judging_time))
    if one.delivery.block is not None:
        yield "Completed", f"{in_utc(one.delivery.at)}, after {one.seconds:.1f} s"
    yield "The data is at", ", ".join(one.where)


def _past(dependencies: Dependencies, one: Account) -> list[PastDelivery]:
    """The latest deliveries of its line, the oldest first; none where no route covered it."""
    from lakegate.contracts.report.page import MOST_DELIVERIES, PastDelivery  # noqa: PLC0415 - as above

    if one.pin is None or not one.pin.chain:
        return []
    entries = history(dependencies, one.pin.chain, limit=MOST_DELIVERIES).entries
    return [PastDelivery(each.at, Verdict(each.verdict), len(each.rules)) for each in reversed(entries)]


def _as_document(one: Account) -> dict[str, object]:
    """All that `status` shows, and every check as `check --json` has it."""
    measured = one.measured
    return as_document(one) | {
        "checks": checks(_report(one, measured)) if measured else [],
        "timings": measured.result.timings if measured else {},
    }


def _report(one: Account, measured: JudgedResult) -> Report:
    return Report(measured.plan, measured.judgement, measured.result, (one.delivery.key,))

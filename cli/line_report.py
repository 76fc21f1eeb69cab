"""`lakegate report`: how a line has done over some time, as a page to pass on."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from lakegate.cli import terminal
from lakegate.cli.aws import opened
from lakegate.cli.escape import escaped
from lakegate.cli.options import DEFAULT_STACK, AsJson, Line, Local, StackName
from lakegate.cli.outputs import usable, write_text
from lakegate.contracts.judge.verdict import Verdict
from lakegate.contracts.report.line import last_times, render_line
from lakegate.contracts.words import counted
from lakegate.functions.usecases.line_report import line_report
from lakegate.functions.usecases.lines import line_named

if TYPE_CHECKING:
    from lakegate.contracts.report.line import LineHistory

HTML = (
    "Write an HTML page into a file, to pass on: deliveries over time, freshness, reasons, the pass share of each rule."
)
SHOWN = 10
"""Rules on the terminal."""


def report(  # noqa: PLR0913 - a command has these options
    dataset: Line,
    *,
    page: Annotated[Path | None, typer.Option("--html", help=HTML, show_default=False)] = None,
    days: Annotated[int, typer.Option(min=1, max=3_650, help="Deliveries finished in so many days.")] = 30,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Show how a line has done: deliveries over time, freshness against its promise, reasons, how often each rule passed.

    All of it is from the index of finished deliveries. The rules are those of the latest delivery's contract version.

    Example: lakegate report orders --days 90 --html orders.html
    """
    if page is not None:
        usable("--html", page, (".html",), ())
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        chain = line_named(dependencies, dataset)
        found = line_report(dependencies, chain, dependencies.clock.now() - timedelta(days=days))
    if page is not None:
        write_text("--html", page, render_line(found))
    if as_json:
        terminal.print_json(_as_document(found))
        return
    console = terminal.answers()
    counts = ", ".join(f"{found.counted(each):,} {words}" for each, words in WORDS.items())
    console.print(escaped(f"{chain}, {counted(days, 'day')}: {counts}"), markup=False, soft_wrap=True)
    for text in last_times(found):
        console.print(escaped(text), markup=False, soft_wrap=True)
    if broken := [each for each in found.rules if each.passed < each.measured]:
        terminal.wide().print(_table(found))
        if len(broken) > SHOWN:
            console.print(f"{counted(len(broken) - SHOWN, 'more rule')} did not always pass.")
    if page is not None:
        console.print(escaped(f"{page}: report written"), markup=False, soft_wrap=True)


WORDS = {
    Verdict.ACCEPTED: "accepted",
    Verdict.ACCEPTED_WITH_WARNINGS: "accepted with warnings",
    Verdict.REJECTED: "rejected",
}


def _table(found: LineHistory) -> Table:
    grid = Table(box=None, header_style="bold", pad_edge=False)
    grid.add_column("rule", overflow="fold")
    for name in ("passed", "failed", "warned", "failing rows"):
        grid.add_column(name, justify="right")
    for each in [each for each in found.rules if each.passed < each.measured][:SHOWN]:
        cells = (f"{each.passed:,} of {each.measured:,}", f"{each.failed:,}", f"{each.warned:,}", f"{each.rows:,}")
        grid.add_row(Text(escaped(each.rule)), *cells)
    return grid


def _as_document(found: LineHistory) -> dict[str, object]:
    ages = [
        {"at": each.at.isoformat(), "seconds": seconds, "late": found.promised is not None and seconds > found.promised}
        for each, seconds in found.ages
    ]
    return {
        "line": found.line,
        "last_accepted": found.last_accepted.isoformat() if found.last_accepted else None,
        "promises": [
            {"name": each.name, "seconds": each.seconds, "until": each.until.isoformat(), "missed": each.missed}
            for each in found.promises
        ],
        "since": found.since.isoformat(),
        "until": found.until.isoformat(),
        "deliveries": {each.value: found.counted(each) for each in WORDS},
        "rules": [
            {"rule": each.rule, "measured": each.measured, "passed": each.passed}
            | {"failed": each.failed, "warned": each.warned, "failing_rows": each.rows}
            for each in found.rules
        ],
        "reasons": [{"rule": rule, "deliveries": count, "failing_rows": rows} for rule, count, rows in found.reasons],
        "freshness": {
            "promised_seconds": float(found.promised) if found.promised is not None else None,
            "deliveries": ages,
        },
    }

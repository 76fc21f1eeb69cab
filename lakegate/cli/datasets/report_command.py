"""lakegate report, observe report."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import AsJson, Line, Local, StackName, usable, write_text
from lakegate.gate.datasets.dataset_names import line_named
from lakegate.gate.datasets.delivery_history import line_report, observe_report
from lakegate.report.dataset_report import last_times, render_line
from lakegate.text import counted
from lakegate.text import printable as escaped
from lakegate.verdict.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.gate.datasets.delivery_history import ObserveReport, Refusals
    from lakegate.report.dataset_report import LineHistory

# ---- `lakegate report`: how a line has done over some time, as a page to pass on -----------------------------------


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


# ---- `lakegate observe report`: what enforcement would have refused of a line that is only observed ----------------


app = typer.Typer(
    no_args_is_help=True, help="Lines that are observed and not enforced.", pretty_exceptions_enable=False
)


@app.callback()
def observe() -> None:
    """Lines under `mode: observe`, which accept every delivery that can be measured."""


@app.command("report")
def refusals_report(
    dataset: Line,
    *,
    days: Annotated[int, typer.Option(min=1, max=3_650, help="Deliveries finished in so many days.")] = 30,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Show what `mode: enforce` would have refused: deliveries, rows, rules and producers.

    Each delivery was judged a second time when it was decided, as if the mode were enforce; the report adds these verdicts up.

    Example: lakegate observe report orders --days 30
    """
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        chain = line_named(dependencies, dataset)
        found = observe_report(dependencies, chain, dependencies.clock.now() - timedelta(days=days))
    if as_json:
        groups = {"rules": _listed(found.rules), "producers": _listed(found.producers)}
        total = asdict(found.total) | {"rows": found.rows, "enforced": found.enforced}
        terminal.print_json({"line": chain, "days": days, "total": total} | groups)
    else:
        _print(chain, days, found)


def _listed(groups: Mapping[str, Refusals]) -> list[dict[str, object]]:
    return [{"name": name} | asdict(each) for name, each in groups.items()]


def _print(chain: str, days: int, found: ObserveReport) -> None:
    console, total = terminal.answers(), found.total
    others = (
        f" {counted(found.enforced, 'more was', 'more were')} enforced, or refused before they were measured."
        if found.enforced
        else ""
    )
    if not total.deliveries:
        console.print(
            escaped(f"{chain}: no delivery was observed in {counted(days, 'day')}.{others}"),
            markup=False,
            soft_wrap=True,
        )
        return
    text = (
        f"{chain}, {counted(days, 'day')}: enforcement would have refused {total.refused:,}"
        f" of {counted(total.deliveries, 'delivery', 'deliveries')},"
        f" and {total.refused_rows:,} of {counted(found.rows, 'row')}.{others}"
    )
    console.print(escaped(text), markup=False, soft_wrap=True)
    for title, rows, groups in (
        ("rule", "failing rows", found.rules),
        ("producer", "refused rows", found.producers),
    ):
        if groups:
            console.print()
            terminal.wide().print(_refusals_table(title, rows, groups))


def _refusals_table(title: str, rows: str, groups: Mapping[str, Refusals]) -> Table:
    grid = Table(box=None, header_style="bold", pad_edge=False)
    grid.add_column(title, overflow="fold")
    for name in ("deliveries", "refused", rows):
        grid.add_column(name, justify="right")
    for name, each in groups.items():
        cells = (name, f"{each.deliveries:,}", f"{each.refused:,}", f"{each.refused_rows:,}")
        grid.add_row(*(Text(escaped(cell)) for cell in cells))
    return grid

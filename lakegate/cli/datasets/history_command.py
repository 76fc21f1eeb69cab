"""`lakegate history`: what became of the deliveries of a line, from the index of its ledger; and rules with a schedule."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import AsJson, Line, Local, StackName
from lakegate.cli.deliveries.replay_command import TIMES
from lakegate.cli.deliveries.status_command import sections_of
from lakegate.gate.datasets.dataset_names import line_named
from lakegate.gate.datasets.delivery_history import history as page_of
from lakegate.gate.delivery.find_deliveries import readable_row
from lakegate.text import printable as escaped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakegate.gate.dependencies import Dependencies
    from lakegate.gate.table import HistoryEntry

HISTORY_SECTIONS: Final = "history sections"
"""Extension point: see `LineSections`."""
COLUMNS: Final = ("height", "at (UTC)", "verdict", "version", "rows", "rejected", "broken rules", "workload", "file")
NUMBERS: Final = ("height", "rows", "rejected")
FOLDED: Final = ("broken rules", "file")
NAMED: Final = 3
"""Rules that one row of the table names."""
NOT_INDEXED: Final = (
    "An earlier release wrote the first deliveries without an index: --rule and --verdict do not find them."
)


class Finished(StrEnum):
    """What `--verdict` takes."""

    ACCEPTED = "accepted"
    ACCEPTED_WITH_WARNINGS = "accepted_with_warnings"
    REJECTED = "rejected"


def history(  # noqa: PLR0913 - a command has these options
    dataset: Line,
    *,
    rule: Annotated[
        str | None, typer.Option(help="Only deliveries that break this rule: its id, as `lakegate reasons` has it.")
    ] = None,
    verdict: Annotated[Finished | None, typer.Option(help="Only deliveries with this verdict.")] = None,
    since: Annotated[
        datetime | None, typer.Option(formats=TIMES, help="Only deliveries finished since this time (UTC).")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many deliveries, the newest first.")] = 20,
    below: Annotated[
        int | None, typer.Option(min=0, help="Continue below this height, which the page before names.")
    ] = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """List the finished deliveries of a line with their verdicts and broken rules, the newest first.

    Rule and verdict are looked up in an index, so the answer takes as long for a line of 10,000 deliveries as for one of 20.

    Example: lakegate history orders --rule not_null_id --since 2026-11-01
    """
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        chain = line_named(dependencies, dataset)
        page = page_of(
            dependencies,
            chain,
            rule=rule or "",
            verdict=verdict.value if verdict else "",
            since=since.replace(tzinfo=UTC) if since else None,
            below=below,
            limit=limit,
        )
        found = [(each, _file(dependencies, each)) for each in page.entries]
        sections = sections_of(HISTORY_SECTIONS, dependencies, [chain])
    if as_json:
        documents = [_as_document(*each) for each in found]
        more = {key: section[0][1] for key, section in sections.items() if section}
        terminal.print_json(
            {"line": chain, "deliveries": documents, "below": page.below, "indexed": page.indexed, **more}
        )
        return
    terminal.wide().print(_table(found) if found else "No delivery is like that.")
    for about, _, words in itertools.chain.from_iterable(sections.values()):
        terminal.answers().print(escaped(f"{about.capitalize()}: {words}"), markup=False, soft_wrap=True)
    if page.below is not None:
        terminal.answers().print(f"More: --below {page.below}")
    if not page.indexed and (rule or verdict):
        terminal.answers().print(NOT_INDEXED, soft_wrap=True)


def _file(dependencies: Dependencies, entry: HistoryEntry) -> str:
    row = readable_row(dependencies, entry.workload)
    return (row.landed or row.source).key if row else ""


def _as_document(entry: HistoryEntry, file: str) -> dict[str, object]:
    enforced = entry.enforced
    return {
        "height": entry.height,
        "at": entry.at,
        "workload": entry.workload,
        "file": file or None,
        "kind": entry.kind,
        "verdict": entry.verdict,
        "contract_version": entry.version or None,
        "rows": entry.rows,
        "rejected_rows": entry.rejected_rows,
        "rules": [{"rule": each.rule, "status": each.status, "rows": each.rows} for each in entry.rules],
        "enforced": {"verdict": enforced.verdict, "refused_rows": enforced.refused_rows} if enforced else None,
        "indexed": entry.indexed,
    }


def _table(found: Iterable[tuple[HistoryEntry, str]]) -> Table:
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for name in COLUMNS:
        justify = "right" if name in NUMBERS else "left"
        grid.add_column(name, justify=justify, overflow="fold", no_wrap=name not in FOLDED)  # type: ignore[arg-type]  # rich's own literal
    for entry, file in found:
        rows, rejected = ("" if each is None else f"{each:,}" for each in (entry.rows, entry.rejected_rows))
        cells = (str(entry.height), entry.at[:19], entry.verdict, entry.version, rows, rejected, _rules(entry))
        grid.add_row(*(Text(escaped(cell)) for cell in (*cells, entry.workload[:12], file)))
    return grid


def _rules(entry: HistoryEntry) -> str:
    more = len(entry.rules) - NAMED
    named = ", ".join(each.rule for each in entry.rules[:NAMED])
    return f"{named} and {more} more" if more > 0 else named

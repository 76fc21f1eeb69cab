"""`lakegate observe report`: what enforcement would have refused of a line that is only observed."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from lakegate.cli import terminal
from lakegate.cli.aws import opened
from lakegate.cli.escape import escaped
from lakegate.cli.options import DEFAULT_STACK, AsJson, Line, Local, StackName
from lakegate.contracts.words import counted
from lakegate.functions.usecases.lines import line_named
from lakegate.functions.usecases.observed import observe_report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.functions.usecases.observed import ObserveReport, Refusals

app = typer.Typer(
    no_args_is_help=True, help="Lines that are observed and not enforced.", pretty_exceptions_enable=False
)


@app.callback()
def observe() -> None:
    """Lines under `mode: observe`, which accept every delivery that can be measured."""


@app.command()
def report(
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
            terminal.wide().print(_table(title, rows, groups))


def _table(title: str, rows: str, groups: Mapping[str, Refusals]) -> Table:
    grid = Table(box=None, header_style="bold", pad_edge=False)
    grid.add_column(title, overflow="fold")
    for name in ("deliveries", "refused", rows):
        grid.add_column(name, justify="right")
    for name, each in groups.items():
        cells = (name, f"{each.deliveries:,}", f"{each.refused:,}", f"{each.refused_rows:,}")
        grid.add_row(*(Text(escaped(cell)) for cell in cells))
    return grid

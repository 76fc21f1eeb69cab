"""`lakegate cost`: what deliveries cost, by line, producer or day."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import AsJson, Local, StackName
from lakegate.features.cost.prices import Spent, spent_by
from lakegate.gate.delivery.find_deliveries import recent
from lakegate.text import printable as escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

NUMBERS = ("deliveries", "of unknown cost", "vCPU-seconds", "GB-seconds", "money")


class Grouping(StrEnum):
    """What `--by` takes."""

    LINE = "line"
    PRODUCER = "producer"
    DAY = "day"


def cost(  # noqa: PLR0913 - a command has these options
    *,
    by: Annotated[
        Grouping, typer.Option(help="Add up by line, by producer (the folder it uploads to) or by day.")
    ] = Grouping.LINE,
    since: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Only deliveries from this day (UTC) on.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many of the latest deliveries.")] = 1_000,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Show what deliveries cost: vCPU-seconds and GB-seconds as billed, and money by the price table of the stack.

    Example: lakegate cost --by day --since 2026-11-01
    """
    from_day = since.replace(tzinfo=UTC) if since else None
    with opened(stack, local=local) as there:
        deliveries = recent(there.dependencies(), limit)
    groups = spent_by(by.value, [each for each in deliveries if not from_day or (each.at and each.at >= from_day)])
    if as_json:
        terminal.print_json({"by": by.value, "groups": [each.as_document(name) for name, each in groups.items()]})
    else:
        terminal.wide().print(_table(by, groups) if groups else "No delivery is like that.")


def _table(by: Grouping, groups: Mapping[str, Spent]) -> Table:
    grid = Table(box=None, header_style="bold", pad_edge=False)
    grid.add_column(by.value, overflow="fold")
    for name in NUMBERS:
        grid.add_column(name, justify="right")
    for name, each in groups.items():
        total = each.total
        money = f"{total.money:.6f} {total.currency}" if total else ""
        seconds = (f"{total.vcpu_seconds:,.1f}", f"{total.gb_seconds:,.1f}") if total else ("", "")
        cells = (name, f"{each.deliveries:,}", f"{each.unknown:,}", *seconds, money)
        grid.add_row(*(Text(escaped(cell)) for cell in cells))
    return grid

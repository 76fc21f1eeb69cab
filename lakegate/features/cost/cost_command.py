"""`lakegate cost`: what deliveries cost, by dataset, producer or day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from lakegate.cli.click_commands import Option
from lakegate.cli.command_runner import CommandResult, gate_command
from lakegate.cli.terminal import Grid
from lakegate.features.cost.costs_by_group import spent_by
from lakegate.gate.delivery.find_deliveries import recent
from lakegate.gate.dependencies import Dependencies
from lakegate.plan.billed_cost import BilledCost

NUMBERS = ("deliveries", "of unknown cost", "vCPU-seconds", "GB-seconds", "money")


class Grouping(StrEnum):
    """Values of `--by`."""

    LINE = "line"
    PRODUCER = "producer"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class CostOfGroup:
    """The costs of a group of deliveries."""

    name: str
    deliveries: int
    unknown: int
    """Deliveries without a known cost."""
    cost: BilledCost | None


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of deliveries, by group."""

    by: str
    groups: tuple[CostOfGroup, ...]


@gate_command
def cost(
    dependencies: Dependencies,
    *,
    by: Annotated[
        Grouping, Option(help="Add up by `line`, which is a dataset, by producer (the folder it uploads to) or by day.")
    ] = Grouping.LINE,
    since: Annotated[
        datetime | None, Option(formats=["%Y-%m-%d"], help="Only deliveries from this day (UTC) on.")
    ] = None,
    limit: Annotated[int, Option(min=1, max=10_000, help="How many of the latest deliveries.")] = 1_000,
) -> CommandResult[Costs]:
    """Show what deliveries cost: vCPU-seconds and GB-seconds as billed, and money by the price table of the stack.

    Example: lakegate cost --by day --since 2026-11-01
    """
    from_day = since.replace(tzinfo=UTC) if since else None
    deliveries = recent(dependencies, limit)
    groups = spent_by(
        by.value, [delivery for delivery in deliveries if not from_day or (delivery.at and delivery.at >= from_day)]
    )
    costs = Costs(
        by.value,
        tuple(CostOfGroup(name, each.deliveries, each.unknown, each.total) for name, each in groups.items()),
    )
    return CommandResult(costs, [_table(costs) if groups else "No delivery is like that."])


def _table(costs: Costs) -> Grid:
    def cells(group: CostOfGroup) -> tuple[str, ...]:
        cost = group.cost
        figures = ("", "", "")
        if cost:
            figures = (f"{cost.vcpu_seconds:,.1f}", f"{cost.gb_seconds:,.1f}", f"{cost.money:.6f} {cost.currency}")
        return (group.name, f"{group.deliveries:,}", f"{group.unknown:,}", *figures)

    return Grid((costs.by, *NUMBERS), map(cells, costs.groups), NUMBERS)

"""Costs of deliveries, added up by dataset, producer or day."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from lakegate.gate.delivery.find_deliveries import Delivery
from lakegate.plan.billed_cost import BilledCost

NOBODY: Final = "(unknown)"
"""Of deliveries that were not taken in yet, or whose row is not there."""


@dataclass(slots=True)
class Spent:
    """The costs of some deliveries together."""

    deliveries: int = 0
    unknown: int = 0
    """Those without a known cost: refused at the door, under way, or not billed yet."""
    total: BilledCost | None = None

    def add(self, cost: BilledCost | None) -> None:
        """Count one more delivery."""
        self.deliveries += 1
        self.unknown += cost is None
        self.total = self.total.plus(cost) if self.total else cost


def _dataset(delivery: Delivery) -> str:
    row, block = delivery.row, delivery.block
    return block.chain if block else row.pin.dataset if row and row.pin else NOBODY


def _producer(delivery: Delivery) -> str:
    """The folder of the landing bucket: a producer is known by the prefix that it may write to."""
    return delivery.key.rpartition("/")[0] + "/" if delivery.key else NOBODY


def _day(delivery: Delivery) -> str:
    return delivery.at.date().isoformat() if delivery.at else NOBODY


GROUPINGS: Final[Mapping[str, Callable[[Delivery], str]]] = {"line": _dataset, "producer": _producer, "day": _day}


def spent_by(grouping: str, deliveries: Iterable[Delivery]) -> dict[str, Spent]:
    """The costs of deliveries by the name of their group, in the order of the names."""
    found: dict[str, Spent] = {}
    for delivery in deliveries:
        found.setdefault(GROUPINGS[grouping](delivery), Spent()).add(delivery.row.cost if delivery.row else None)
    return dict(sorted(found.items()))

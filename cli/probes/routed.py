"""What the registry says about a landing key: its route, and whether it is a part of a delivery."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.door.parts import COMPLETED_BY, name_of
from lakegate.contracts.door.terms import terms_of
from lakegate.contracts.lake.routes import candidates, covering
from lakegate.functions.usecases.steps import Alarm

if TYPE_CHECKING:
    from lakegate.cli.probes.examination import ExaminedStack
    from lakegate.contracts.lake.routes import Route


def is_part(examined: ExaminedStack, key: str) -> bool:
    """Whether the key waits for the rest of its delivery, as its contract has it; what completes one waits for nothing."""
    route = route_of(examined, key)
    try:
        unit = terms_of(examined.dependencies.plan_at(route.plan, "")).delivery if route else None
    except Alarm:
        return False  # the probe of plans reports it
    return unit in COMPLETED_BY and name_of(key) not in COMPLETED_BY.values()


def route_of(examined: ExaminedStack, key: str) -> Route | None:
    """The route that covers a key now; None: there is none."""
    return covering(key, examined.dependencies.registry.routes(examined.dependencies.places.landing, candidates(key)))

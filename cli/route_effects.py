"""What a new route changes beside itself: to be confirmed before it is added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.words import shown
from lakegate.functions.usecases.publish_contract import RETIRED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.functions.usecases.routing import PlannedRoute


def effects(plan: PlannedRoute, written: str) -> Iterator[str]:
    """What the person who adds the route may not expect; `written` is the contract as they named it."""
    route, around = plan.wanted, plan.around
    if plan.there is not None:
        return
    if written != route.contract:
        text = f"{shown(written)} is the beginning of one contract id"
        yield f"{text}: {route.prefix} would deliver to {route.line} {route.version}"
    if around is not None and around.line != route.line:
        now = f"what lands below {route.prefix} is delivered to {around.line} by the route {around.prefix} now"
        yield f"{now}: it would go to {route.line} {route.version}"
    if route.status == RETIRED:
        retired = f"{route.contract} {route.version} is retired"
        yield f"{retired}: every delivery below {shown(route.prefix)} would be refused"

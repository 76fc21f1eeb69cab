"""What a new route changes beside itself: to be confirmed before it is added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.cli.line_statuses import as_judged
from lakegate.contracts.words import shown
from lakegate.functions.usecases.publish_contract import RETIRED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.routing import PlannedRoute


def effects(dependencies: Dependencies, plan: PlannedRoute, written: str) -> Iterator[str]:
    """What the person who adds the route may not expect; `written` is the contract as they named it."""
    if plan.there is not None:
        return
    (route,), around = as_judged(dependencies, [plan.wanted]), plan.around
    if written != route.contract:
        text = f"{shown(written)} is the beginning of one contract id"
        yield f"{text}: {route.prefix} would deliver to {route.line} {route.version}"
    if around is not None and around.line != route.line:
        now = f"what lands below {route.prefix} is delivered to {around.line} by the route {around.prefix} now"
        yield f"{now}: it would go to {route.line} {route.version}"
    if route.status == RETIRED:
        retired = f"{route.line} {route.version} is retired"
        yield f"{retired}: every delivery below {shown(route.prefix)} would be refused"

"""Who an event is for: subscribers, as events name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakegate.contracts.lake.lifecycle import Line, Subscription


def addressed(line: Line, cause: str) -> list[dict[str, object]]:
    """The subscribers to notify of a cause, as events have them."""
    return [_subscriber(each) for each in line.subscriptions if cause in each.on]


def _subscriber(subscription: Subscription) -> dict[str, object]:
    return {"team": subscription.team, "audience": subscription.audience, "to": list(subscription.to)}

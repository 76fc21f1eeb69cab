"""Who is notified about a line: pure functions from a line to the line afterwards."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.lifecycle import Line, LineStatus, Subscription
from lakegate.contracts.words import listed

if TYPE_CHECKING:
    from collections.abc import Iterable

ALWAYS: Final = frozenset({"breaking", "deprecated"})
"""What every consumer is notified of."""
ON_REQUEST: Final = frozenset({"drift", "rejected"})
"""What a consumer is notified of if the team asks for it."""
MOST: Final = 500
"""Subscriptions of a line: its item, and an event that names them, stay far below the limits of DynamoDB and EventBridge."""
LONGEST_TEAM: Final = 64
"""Characters."""


def subscribed(line: Line, now: str, team: str, on: Iterable[str] = ()) -> Line:
    """The line with a team's subscription; the same line if there is nothing to change.

    Raises InputError for a line in sunset or retired, for a name that is none, and for an unknown kind of cause.
    """
    status = line.status_at(now)
    if status in {LineStatus.SUNSET, LineStatus.RETIRED}:
        use = f": use {line.ending.replacement}" if line.ending.replacement else ""
        raise InputError(f"{line.name} is {status} and takes no new subscribers{use}")
    if not team or len(team) > LONGEST_TEAM or not team.isprintable() or team != team.strip():
        raise InputError(f"a team is a name of 1 to {LONGEST_TEAM} printable characters")
    if unknown := set(on) - ALWAYS - ON_REQUEST:
        raise InputError(
            f"{listed(sorted(unknown))} cannot be subscribed to; known are {listed(sorted(ALWAYS | ON_REQUEST))}"
        )
    wanted = tuple(sorted(ALWAYS | set(on)))
    before = next((each for each in line.subscriptions if (each.team, each.audience) == (team, "consumer")), None)
    if before is not None and before.on == wanted:
        return line
    others = [each for each in line.subscriptions if each is not before]
    if before is None and len(others) == MOST:
        raise InputError(f"{line.name} has {MOST} subscriptions, and no line has more")
    entry = replace(before, on=wanted) if before else Subscription(team, now, wanted)
    return _with(line, [*others, entry])


def unsubscribed(line: Line, team: str) -> Line:
    """The line without a team's subscription as a consumer; the same line if it has none."""
    kept = [each for each in line.subscriptions if (each.team, each.audience) != (team, "consumer")]
    return line if len(kept) == len(line.subscriptions) else _with(line, kept)


def teams(line: Line, cause: str) -> tuple[str, ...]:
    """The teams to notify of a cause, sorted."""
    return tuple(sorted({each.team for each in line.subscriptions if cause in each.on}))


def _with(line: Line, subscriptions: Iterable[Subscription]) -> Line:
    ordered = tuple(sorted(subscriptions, key=lambda each: (each.team, each.audience)))
    return replace(line, subscriptions=ordered, revision=line.revision + 1)

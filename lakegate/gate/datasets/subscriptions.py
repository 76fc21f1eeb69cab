"""Subscribers of a dataset: pure functions from a dataset to the dataset afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from lakegate.base.errors import InputError
from lakegate.base.extension_points import names
from lakegate.base.text import listed
from lakegate.gate.channel_ports import MOST_CHANNELS, channel_of, gets_lineage
from lakegate.gate.datasets.dataset_lines import Line, LineStatus, Subscription

AUDIENCES: Final = ("consumer", "producer", "operator")
ALWAYS: Final = frozenset({"breaking", "deprecated"})
"""Kinds of messages of every subscriber."""
LINEAGE: Final = "lineage"
"""Not a cause: every delivery, for channels of this kind alone."""
ACCEPTED: Final = "accepted"
"""Not a cause, but news: each accepted delivery."""
ON_REQUEST: Final = frozenset(
    {ACCEPTED, "rejected", "warned", "failed", "awaiting", "late", LINEAGE, *names("dataset events")}
)
"""Kinds of messages that a team asks for."""
QUIET: Final = r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d"
LONGEST_DIGEST: Final = 24 * 7
"""Hours."""
MOST: Final = 500
"""Subscriptions of a line: its item, and an event that names them, stay far below the limits of DynamoDB and EventBridge."""
LONGEST_TEAM: Final = 64
"""Characters."""


def subscribed(  # noqa: PLR0913 - a subscription has these parts
    line: Line,
    now: str,
    team: str,
    on: Iterable[str] = (),
    *,
    audience: str = "consumer",
    to: Iterable[str] = (),
    quiet: str = "",
    digest: int = 24,
) -> Line:
    """The dataset with a team's subscription; the same dataset if there is nothing to change.

    Raises InputError for a dataset in sunset or retired, for a name that is none, for an unknown kind of cause or audience,
    and for channels, quiet hours or a digest period that cannot be.
    """
    status = line.status_at(now)
    if status in {LineStatus.SUNSET, LineStatus.RETIRED}:
        use = f": use {line.ending.replacement}" if line.ending.replacement else ""
        raise InputError(f"{line.name} is {status} and takes no new subscribers{use}")
    if not team or len(team) > LONGEST_TEAM or not team.isprintable() or team != team.strip():
        raise InputError(f"a team is a name of 1 to {LONGEST_TEAM} printable characters")
    channels = tuple(sorted(set(to)))
    _check(on, audience, channels, quiet, digest)
    before = next((each for each in line.subscriptions if (each.team, each.audience) == (team, audience)), None)
    since = before.since if before else now
    entry = Subscription(team, since, tuple(sorted(ALWAYS | set(on))), audience, channels, quiet, digest)
    if before == entry:
        return line
    others = [each for each in line.subscriptions if each is not before]
    if before is None and len(others) == MOST:
        raise InputError(f"{line.name} has {MOST} subscriptions, and no line has more")
    return _with(line, [*others, entry])


def _check(on: Iterable[str], audience: str, channels: tuple[str, ...], quiet: str, digest: int) -> None:
    if unknown := set(on) - ALWAYS - ON_REQUEST:
        raise InputError(
            f"{listed(sorted(unknown))} cannot be subscribed to; known are {listed(sorted(ALWAYS | ON_REQUEST))}"
        )
    if audience not in AUDIENCES:
        raise InputError(f"an audience is one of {listed(AUDIENCES)}")
    if len(channels) > MOST_CHANNELS:
        raise InputError(f"a subscription has at most {MOST_CHANNELS} channels")
    for each in channels:
        channel_of(each)
    if any(map(gets_lineage, channels)) is not (LINEAGE in on):
        kinds = " or ".join(f"{each}:…" for each in names("lineage"))
        raise InputError(f"a channel {kinds} and the kind {LINEAGE} need each other")
    if quiet and (not re.fullmatch(QUIET, quiet, re.ASCII) or quiet[:5] == quiet[6:]):
        raise InputError("quiet hours are two times of the day, UTC, such as 22:00-06:00")
    if not 1 <= digest <= LONGEST_DIGEST:
        raise InputError(f"a digest is sent every 1 to {LONGEST_DIGEST} hours")


def unsubscribed(line: Line, team: str, audience: str = "consumer") -> Line:
    """The dataset without a team's subscription of an audience; the same dataset if it has none."""
    kept = [each for each in line.subscriptions if (each.team, each.audience) != (team, audience)]
    return line if len(kept) == len(line.subscriptions) else _with(line, kept)


def teams(line: Line, cause: str) -> tuple[str, ...]:
    """The teams to notify of a cause, sorted."""
    return tuple(sorted({each.team for each in line.subscriptions if cause in each.on}))


def _with(line: Line, subscriptions: Iterable[Subscription]) -> Line:
    ordered = tuple(sorted(subscriptions, key=lambda each: (each.team, each.audience)))
    return replace(line, subscriptions=ordered)

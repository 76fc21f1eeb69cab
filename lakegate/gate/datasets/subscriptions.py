"""Subscribers of a dataset: pure functions from a dataset to the dataset afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from lakegate.base.errors import InputError
from lakegate.base.extension_points import names
from lakegate.base.text import join_words
from lakegate.gate.channel_ports import MOST_CHANNELS, channel_of, gets_lineage
from lakegate.gate.datasets.dataset_states import DatasetState, DatasetStatus, Subscription

AUDIENCES: Final = ("consumer", "producer", "operator")
ALWAYS: Final = frozenset({"breaking", "deprecated"})
"""Kinds of messages of every subscriber."""
OF_ALL: Final = "recalled"
"""Likewise, though no subscription names it: who reads a dataset has to know what is not part of it any more, or is again."""
LINEAGE: Final = "lineage"
"""Not a cause: every delivery, for channels of this kind alone."""
ACCEPTED: Final = "accepted"
"""Not a cause, but news: each accepted delivery."""
ON_REQUEST: Final = frozenset(
    {ACCEPTED, "rejected", "warned", "failed", "awaiting", "passing", "late", LINEAGE, *names("dataset events")}
)
"""Kinds of messages that a team asks for."""
QUIET: Final = r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d"
LONGEST_DIGEST: Final = 24 * 7
"""Hours."""
MAX_SUBSCRIPTIONS: Final = 500
"""Subscriptions of a dataset: its item, and an event that names them, stay far below the limits of DynamoDB and EventBridge."""
LONGEST_TEAM: Final = 64
"""Characters."""


def add_subscription(  # noqa: PLR0913 - a subscription has these parts
    dataset: DatasetState,
    now: str,
    team: str,
    on: Iterable[str] = (),
    *,
    audience: str = "consumer",
    to: Iterable[str] = (),
    quiet: str = "",
    digest: int = 24,
) -> DatasetState:
    """The dataset with a team's subscription; the same dataset if there is nothing to change.

    Raises InputError for a dataset in sunset or retired, for a name that is none, for an unknown kind of cause or audience,
    and for channels, quiet hours or a digest period that cannot be.
    """
    status = dataset.status_at(now)
    if status in {DatasetStatus.SUNSET, DatasetStatus.RETIRED}:
        use = f": use {dataset.ending.replacement}" if dataset.ending.replacement else ""
        raise InputError(f"{dataset.name} is {status} and takes no new subscribers{use}")
    if not team or len(team) > LONGEST_TEAM or not team.isprintable() or team != team.strip():
        raise InputError(f"a team is a name of 1 to {LONGEST_TEAM} printable characters")
    channels = tuple(sorted(set(to)))
    _check(on, audience, channels, quiet, digest)
    before = own_subscription(dataset, team, audience)
    since = before.since if before else now
    entry = Subscription(team, since, tuple(sorted(ALWAYS | set(on))), audience, channels, quiet, digest)
    if before == entry:
        return dataset
    others = [subscription for subscription in dataset.subscriptions if subscription is not before]
    if before is None and len(others) == MAX_SUBSCRIPTIONS:
        raise InputError(f"{dataset.name} has {MAX_SUBSCRIPTIONS} subscriptions, and no dataset has more")
    return _with(dataset, [*others, entry])


def _check(on: Iterable[str], audience: str, channels: tuple[str, ...], quiet: str, digest: int) -> None:
    if unknown := set(on) - ALWAYS - ON_REQUEST:
        raise InputError(
            f"{join_words(sorted(unknown))} cannot be subscribed to; known are {join_words(sorted(ALWAYS | ON_REQUEST))}"
        )
    if audience not in AUDIENCES:
        raise InputError(f"an audience is one of {join_words(AUDIENCES)}")
    if len(channels) > MOST_CHANNELS:
        raise InputError(f"a subscription has at most {MOST_CHANNELS} channels")
    for channel in channels:
        channel_of(channel)
    if any(map(gets_lineage, channels)) is not (LINEAGE in on):
        kinds = " or ".join(f"{name}:…" for name in names("lineage"))
        raise InputError(f"a channel {kinds} and the kind {LINEAGE} need each other")
    if quiet and (not re.fullmatch(QUIET, quiet, re.ASCII) or quiet[:5] == quiet[6:]):
        raise InputError("quiet hours are two times of the day, UTC, such as 22:00-06:00")
    if not 1 <= digest <= LONGEST_DIGEST:
        raise InputError(f"a digest is sent every 1 to {LONGEST_DIGEST} hours")


def own_subscription(dataset: DatasetState, team: str, audience: str) -> Subscription | None:
    """A team's subscription of an audience; None where it has none."""
    own = (each for each in dataset.subscriptions if (each.team, each.audience) == (team, audience))
    return next(own, None)


def remove_subscription(dataset: DatasetState, team: str, audience: str = "consumer") -> DatasetState:
    """The dataset without a team's subscription of an audience; the same dataset if it has none."""
    kept = [
        subscription
        for subscription in dataset.subscriptions
        if (subscription.team, subscription.audience) != (team, audience)
    ]
    return dataset if len(kept) == len(dataset.subscriptions) else _with(dataset, kept)


def teams(dataset: DatasetState, cause: str) -> tuple[str, ...]:
    """The teams to notify of a cause, sorted."""
    return tuple(sorted({subscription.team for subscription in dataset.subscriptions if cause in subscription.on}))


def _with(dataset: DatasetState, subscriptions: Iterable[Subscription]) -> DatasetState:
    ordered = tuple(sorted(subscriptions, key=lambda each: (each.team, each.audience)))
    return replace(dataset, subscriptions=ordered)

"""Slices of a dataset that have the rows of a time (Open Data Fabric, *Projections*), by what the readers' manifest lists.

*As at* a time: rows with a system time up to then; of deliveries without slices what had been published by then. *As of* a
time: the events up to then, with all that is known of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from lakegate.base.errors import InputError
from lakegate.base.text import quote

NOTHING: Final = -1
"""The height of a dataset in which nothing was accepted yet."""


@dataclass(frozen=True, slots=True)
class Projection:
    """A question about the rows of a dataset; without times, and above no height, it asks for all of them."""

    as_at: datetime | None = None
    """Only rows of which it was the turn at this time or before, by their `system_time`."""
    as_of: datetime | None = None
    """Only events of this time or before."""
    since: int = NOTHING
    """Only deliveries above this height."""


@dataclass(frozen=True, slots=True)
class Selected:
    """The part of a manifest that a projection needs."""

    deliveries: tuple[Mapping[str, Any], ...]
    """With at least one slice to read, in the order of their heights."""
    keys: tuple[str, ...]
    """Of the slices to read, in the order of their offsets."""
    skipped: int
    """Slices that are listed and need not be read: no row of theirs belongs to the answer."""
    unsliced: int
    """Deliveries that belong to the answer but were published as they arrived."""
    height: int
    """Of the last delivery that belongs to the answer; NOTHING if none does."""


def select(deliveries: Iterable[Mapping[str, Any]], wanted: Projection) -> Selected:
    """Choose slices by the times and heights that a manifest lists; no slice is read for that."""
    found: list[Mapping[str, Any]] = []
    slices: list[Mapping[str, Any]] = []
    skipped = unsliced = 0
    height = NOTHING
    for delivery in deliveries:
        own = delivery.get("slices") or ()
        known_at = own[0].get("system_time") if own else None
        if delivery["height"] <= wanted.since or _is_after(known_at or delivery["published_at"], wanted.as_at):
            skipped += len(own)
            continue
        height = max(height, delivery["height"])
        needed = [one for one in own if not _is_after(one["event_time"][0], wanted.as_of)]
        skipped += len(own) - len(needed)
        unsliced += bool(delivery["objects"]) and "slices" not in delivery
        if needed:
            found.append(delivery)
            slices += needed
    slices.sort(key=lambda each: int(each["offset"]))
    return Selected(tuple(found), tuple(each["key"] for each in slices), skipped, unsliced, height)


def _is_after(at: str, bound: datetime | None) -> bool:
    """Whether a time is after a bound."""
    return bound is not None and datetime.fromisoformat(at) > bound


def time_of(written: str) -> datetime:
    """A day (its beginning in UTC) or a time with its zone, in UTC. InputError for another text."""
    try:
        time = datetime.fromisoformat(written)
        is_day = len(written) == len("YYYY-MM-DD")
        if time.tzinfo is not None or is_day:
            return time.replace(tzinfo=time.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise InputError(f"{quote(written)} is no time: write 2026-11-24, or 2026-11-24T17:55:00Z with a zone")

"""What a tick writes to landing: a small object at once, a larger one in parts, each of which stays if the tick ends."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.lake.pulls import fetching
from lakegate.functions.ports.errors import ConditionFailed, NotFound, PortError, Unanswered
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases.steps import Effect, perform

if TYPE_CHECKING:
    from lakegate.contracts.errors import LakegateError
    from lakegate.contracts.lake.pulls import PullEnd, PullingLine, SourceFetch
    from lakegate.functions.ports.transfers import LandingParts, OpenedSource, Transfer
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps

PART: Final = 32 << 20
"""Bytes that are in memory at a time, and that a tick may have to fetch again."""
MAX_BYTES: Final = 64 << 30
"""Bytes of a source."""
TURN_SECONDS: Final = 240
"""After so long a source that can be resumed is left to the next tick, so that others have their turn."""
ENOUGH: Final = 60.0
"""Seconds: with less than this left, nothing more is begun."""


@dataclass(slots=True)
class Pulled:
    """What a tick did, for metrics."""

    ends: list[tuple[str, PullEnd]] = field(default_factory=list)
    """Names of lines, and how their pulls ended."""
    failures: list[LakegateError] = field(default_factory=list)
    """Errors of single lines that are no end of their pull."""


class Work(NamedTuple):
    """What a tick works with."""

    dependencies: Dependencies
    transfer: Transfer
    landing: LandingParts
    part: int
    pulled: Pulled


class TimeIsUp(Exception):  # noqa: N818 - the name is what happened
    """Another tick continues."""


def to_landing(work: Work, row: PullingLine, opened: OpenedSource, sizes: tuple[int, ...], limit: int) -> Steps[int]:
    """Write what is read to landing. Returns the bytes of the whole object."""
    fetch, size, began = row.fetch, sum(sizes), work.dependencies.clock.now()
    assert fetch is not None
    number, body = len(sizes), opened.read(work.part)
    if not sizes and len(body) < work.part:
        _verify(opened, len(body), limit)
        to = Address(work.dependencies.places.landing, fetch.key)
        with suppress(ConditionFailed):  # as below
            yield from perform(Effect.LAND, partial(work.dependencies.objects.put, to, body, absent=True))
        return len(body)
    if not fetch.upload:
        upload = yield from perform(Effect.BEGIN_UPLOAD, partial(work.landing.begin, fetch.key))
        fetch = replace(fetch, upload=upload)
        row = yield from write(work, fetching(row, fetch))
    while body:
        number, size = number + 1, size + len(body)
        if size > limit:
            raise PortError("too-large")
        add = partial(work.landing.add, fetch.key, fetch.upload, number, body)
        yield from perform(Effect.LAND_PART, add)
        if len(body) < work.part:
            break
        _has_time(work, opened, (work.dependencies.clock.now() - began).total_seconds())
        body = opened.read(work.part)
    _verify(opened, size, limit)
    yield from complete(work, fetch)
    return size


def complete(work: Work, fetch: SourceFetch) -> Steps[None]:
    """Make the object of the parts."""
    with suppress(ConditionFailed):  # it is there: written by this fetch, whose answer was lost
        yield from perform(Effect.LAND, partial(work.landing.complete, fetch.key, fetch.upload))


def _has_time(work: Work, opened: OpenedSource, seconds: float) -> None:
    """Whether another part is read now."""
    if work.dependencies.remaining() < ENOUGH:
        if not opened.resumable:
            raise PortError("too-slow")
        raise TimeIsUp
    if opened.resumable and seconds > TURN_SECONDS:
        raise TimeIsUp


def _verify(opened: OpenedSource, size: int, limit: int) -> None:
    if opened.size is not None and size != opened.size:
        raise Unanswered("length-differs")
    if size > limit:
        raise PortError("too-large")


def arrived(work: Work, fetch: SourceFetch) -> tuple[int, ...]:
    """Sizes of the parts of an upload, from the first one without a gap; none if there is no upload."""
    try:
        parts = work.landing.arrived(fetch.key, fetch.upload) if fetch.upload else ()
    except NotFound:
        return ()
    return tuple(each.size for number, each in enumerate(parts, 1) if each.number == number)


def landed(work: Work, fetch: SourceFetch) -> int | None:
    """Bytes of the object, if it is there."""
    try:
        return work.dependencies.objects.head(Address(work.dependencies.places.landing, fetch.key)).size
    except NotFound:
        return None


def write(work: Work, row: PullingLine) -> Steps[PullingLine]:
    """Write where the pull is. Raises ConditionFailed if somebody else has."""
    yield from perform(Effect.WRITE_PULL, partial(work.dependencies.pulls.write, row))
    return row


def moment_of(work: Work) -> str:
    """The present time, as rows have it."""
    return moment(work.dependencies.clock.now())

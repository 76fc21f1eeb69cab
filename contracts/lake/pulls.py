"""Where the pull of a line is: when it is due, what is being fetched, and how it ended before. Pure functions."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from lakegate.contracts.lake.lifecycle import instant_of, moment
from lakegate.contracts.model.schedules import schedule

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.contracts.model.policy import Pull

MAX_ENDS: Final = 20
"""Ends that a line remembers."""
MAX_NAME: Final = 100
"""Characters of a source's name in the key of its object."""


class PullOutcome(StrEnum):
    """How a pull ended."""

    FETCHED = "FETCHED"
    UNCHANGED = "UNCHANGED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class SourceIdentity:
    """What a source states of its content: two contents with the same known identity are the same."""

    etag: str = ""
    """As the source writes it, with quotes."""
    modified: str = ""
    """As the source writes it."""
    version: str = ""
    """Of an object of S3."""

    @property
    def is_known(self) -> bool:
        """Whether the source states anything."""
        return bool(self.etag or self.modified or self.version)

    def is_as(self, seen: SourceIdentity) -> bool:
        """Whether this is what was seen: by the strongest statement that both have."""
        for one, other in ((self.etag, seen.etag), (self.version, seen.version), (self.modified, seen.modified)):
            if one and other:
                return one == other
        return False


@dataclass(frozen=True, slots=True)
class SourceFetch:
    """A source that is being fetched: all of it has this identity, and goes to this key."""

    due: str
    """The time of the schedule."""
    began: str
    key: str
    source: SourceIdentity
    size: int | None = None
    """Bytes; None: the source does not state it."""
    resumable: bool = False
    """Whether the source can be opened again in its middle."""
    upload: str = ""
    """Id of the upload in parts; empty before there is one."""


@dataclass(frozen=True, slots=True)
class PullEnd:
    """The end of one pull."""

    outcome: PullOutcome
    at: str
    key: str = ""
    """Of what was fetched."""
    size: int = 0
    """Bytes of what was fetched."""
    reason: str = ""
    """A code, of what failed."""


@dataclass(frozen=True, slots=True)
class PullingLine:
    """The pull of a line. Times are as `moment` writes them."""

    line: str
    plan: str = ""
    """Digest of the plan that the schedule is of; empty: the line is not pulled."""
    version: str = ""
    """Of the contract."""
    source: str = ""
    schedule: str = ""
    next: str = ""
    """When it is due; empty: never."""
    leased: str = ""
    """Until when a tick has it."""
    failures: int = 0
    """Of this pull, in a row: each is followed by another attempt."""
    fetch: SourceFetch | None = None
    seen: SourceIdentity = SourceIdentity()
    """Of what was fetched last."""
    ends: tuple[PullEnd, ...] = ()
    """The latest first."""
    revision: int = 0

    @property
    def due(self) -> str:
        """When a tick has to look at it; empty: never."""
        return max(self.next, self.leased) if self.next else ""

    def is_due(self, at: str) -> bool:
        """Whether a tick has to look at it now."""
        return "" < self.due <= at


def planned(line: PullingLine, pull: Pull, version: str, plan: str, now: str) -> PullingLine:
    """The line under another plan: due as before if the schedule is the same one; of another source nothing is known."""
    due = line.next if line.next and line.schedule == pull.schedule else following(pull.schedule, now)
    known = line if line.source == pull.source else replace(line, fetch=None, seen=SourceIdentity(), failures=0)
    return replace(_next(known), plan=plan, version=version, source=pull.source, schedule=pull.schedule, next=due)


def unplanned(line: PullingLine) -> PullingLine:
    """The line when nothing is pulled any more; how pulls ended stays."""
    return replace(_next(line), plan="", version="", source="", schedule="", next="", leased="", fetch=None, failures=0)


def asked(line: PullingLine, now: str) -> PullingLine:
    """The line when a person wants it to be pulled now."""
    return replace(_next(line), next=min(now, line.next or now))


def leased(line: PullingLine, until: str) -> PullingLine:
    """The line while a tick has it."""
    return replace(_next(line), leased=until)


def fetching(line: PullingLine, fetch: SourceFetch | None) -> PullingLine:
    """The line with what is being fetched; None: what was is given up."""
    return replace(_next(line), fetch=fetch)


def released(line: PullingLine, due: str, *, failed: bool = False, keep: bool = True) -> PullingLine:
    """The line when another tick continues; without `keep` from the beginning."""
    fetch = line.fetch if keep else None
    return replace(_next(line), leased="", next=due, fetch=fetch, failures=line.failures + failed)


def ended(line: PullingLine, end: PullEnd, seen: SourceIdentity | None = None) -> PullingLine:
    """The line after a pull has ended: due again by its schedule."""
    return replace(
        _next(line),
        next=following(line.schedule, end.at),
        leased="",
        failures=0,
        fetch=None,
        seen=seen or line.seen,
        ends=(end, *line.ends)[:MAX_ENDS],
    )


def postponed(line: PullingLine, now: str) -> PullingLine:
    """The line when nothing is to be fetched this time."""
    return replace(_next(line), next=following(line.schedule, now), leased="")


def following(text: str, after: str) -> str:
    """The next time of a schedule; empty if there is none."""
    found = schedule(text).next_after(instant_of(after))
    return moment(found) if found else ""


def key_of(prefix: str, line: PullingLine, source: SourceIdentity) -> str:
    """The key in landing: below the line's route, by the time of the schedule, what is fetched, and the source's name."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", line.source.partition("?")[0].rpartition("/")[2])[-MAX_NAME:]
    what = json.dumps([line.line, line.revision, line.source, asdict(source)])
    digest = hashlib.sha256(what.encode()).hexdigest()[:12]
    stamp = re.sub(r"[-:]", "", line.next[:19])
    return f"{prefix}{stamp}Z-{digest}-{name or 'data'}"


def _next(line: PullingLine) -> PullingLine:
    return replace(line, revision=line.revision + 1)


def has_lasted(fetch: SourceFetch, now: datetime) -> float:
    """Seconds since a fetch began."""
    return (now - instant_of(fetch.began)).total_seconds()

"""What a channel was notified of about a line, and what of it is due: one message for each cause.

A cause is one reason to notify: deliveries below one route that break the same rules, or one change of a line. A channel gets

1. one message when a cause begins,
2. at most one further message in each digest period while it occurs again, with the number of occurrences,
3. one message when it is resolved.

Nothing is sent in quiet hours. All functions are pure: a notice, and what happens to it, give the notice afterwards.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from lakegate.contracts.lake.lifecycle import instant_of, moment

MAX_CAUSES: Final = 50
"""Open causes of one notice; further ones are counted together, so that the item stays below 100 KB."""
MAX_REASONS_OF_CAUSE: Final = 5
LONGEST_REASON: Final = 300
"""Characters."""
REMEMBERED: Final = 300
"""Events: more than one turn of notify takes, so that a turn that was interrupted counts none of them twice."""
TRIES: Final = 8
"""Then a notice is a dead letter: with the pauses between them, after about four hours."""
FIRST_PAUSE: Final = timedelta(minutes=1)
LONGEST_PAUSE: Final = timedelta(hours=2)
ONCE: Final = frozenset({"accepted", "awaiting", "breaking", "deprecated", "drift", "lineage"})
"""Kinds that nothing resolves: each occurrence is a cause of its own, which ends when it was sent."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """What one event says about a line: a cause that occurred, and the kinds of causes that it ends."""

    event: str
    """Its id; the same for every repetition."""
    at: str
    """RFC 3339, UTC, six decimals (`moment`)."""
    kind: str = ""
    """One of `lakegate.contracts.lake.subscriptions`, such as `rejected`; empty: no cause occurred."""
    key: str = ""
    """What distinguishes the cause from others of this kind: the same rules of the same producer have the same key."""
    title: str = ""
    """One line."""
    reasons: tuple[str, ...] = ()
    workload: str = ""
    """The delivery; empty if it is about a line."""
    group: str = ""
    """Only causes of the same group, or of none, are ended: the prefix of the producer's route."""
    ends: tuple[str, ...] = ()
    """Kinds of causes that are resolved."""


@dataclass(frozen=True, slots=True)
class OpenCause:
    """An open cause."""

    id: str
    kind: str
    title: str
    reasons: tuple[str, ...]
    first: str
    last: str
    workload: str = ""
    """The latest delivery."""
    group: str = ""
    count: int = 1
    reported: int = 0
    """How many occurrences the last message stated; 0: none was sent."""
    reported_at: str = ""
    resolved: bool = False


@dataclass(frozen=True, slots=True)
class ChannelNotice:
    """The causes of a line that one channel is notified of."""

    line: str
    channel: str
    causes: tuple[OpenCause, ...] = ()
    quiet: str = ""
    """Hours, UTC, in which nothing is sent: `22:00-06:00`; empty: none."""
    digest: int = 24
    """Hours between messages about the same cause."""
    seen: tuple[str, ...] = ()
    """The latest events, the oldest first."""
    tries: int = 0
    """How often sending failed in succession."""
    not_before: str = ""
    error: str = ""
    """Why sending failed: a code, without any text of the receiver's."""
    dead: bool = False
    """Given up after the last try; `retried` begins again."""
    revision: int = 0
    delivery: str = ""
    """Of a channel that gets lineage: the message about the one delivery of the notice. No two are counted together."""
    ended: str = ""
    """When that delivery ended."""

    @property
    def id(self) -> str:
        """The same for the same channel and line, and delivery if it is about one."""
        parts = (self.channel, self.line, self.delivery) if self.delivery else (self.channel, self.line)
        return _digest(*parts)

    @property
    def due(self) -> str:
        """When the next message is to be sent, as `moment` writes it; empty if there is none."""
        times = [] if self.dead else [at for each in self.causes if (at := self._due(each))]
        return after_quiet(max(min(times), self.not_before), self.quiet) if times else ""

    def _due(self, cause: OpenCause) -> str:
        if cause.resolved or not cause.reported:
            return cause.last if cause.resolved else cause.first
        again = moment(instant_of(cause.reported_at) + timedelta(hours=self.digest))
        return again if cause.count > cause.reported else ""

    def ready(self, now: str) -> tuple[OpenCause, ...]:
        """The causes to send a message about now."""
        if not self.due or self.due > now:
            return ()
        return tuple(each for each in self.causes if (at := self._due(each)) and at <= now)


def occurred(notice: ChannelNotice, what: Occurrence) -> ChannelNotice:
    """The notice after an event; the same notice if nothing changes, or if the event was counted before."""
    if what.event in notice.seen:
        return notice
    causes = tuple(_ended(notice, each, what) for each in notice.causes)
    if what.kind:
        causes = _counted(notice, causes, what)
    elif causes == notice.causes:
        return notice
    seen = (*notice.seen, what.event)[-REMEMBERED:]
    return replace(notice, causes=causes, seen=seen, revision=notice.revision + 1)


def _ended(notice: ChannelNotice, cause: OpenCause, what: Occurrence) -> OpenCause:
    is_meant = cause.kind in what.ends and (cause.group in {"", what.group} or cause.id == _others(notice))
    return replace(cause, resolved=True, last=max(cause.last, what.at)) if is_meant and not cause.resolved else cause


def _counted(notice: ChannelNotice, causes: tuple[OpenCause, ...], what: Occurrence) -> tuple[OpenCause, ...]:
    identity, title = _identity(notice, what), what.title
    if len(causes) >= MAX_CAUSES and identity not in {each.id for each in causes}:
        identity, title = _others(notice), f"Further causes: {notice.line}"
    before = next((each for each in causes if each.id == identity), None)
    if before is None:
        reasons = tuple(each[:LONGEST_REASON] for each in what.reasons[:MAX_REASONS_OF_CAUSE])
        return (*causes, OpenCause(identity, what.kind, title, reasons, what.at, what.at, what.workload, what.group))
    again = replace(
        before, count=before.count + 1, last=max(before.last, what.at), workload=what.workload, resolved=False
    )
    return tuple(again if each is before else each for each in causes)


def sent(notice: ChannelNotice, cause: OpenCause, now: str) -> ChannelNotice:
    """The notice after a message about a cause, as it was when it was sent; what happened meanwhile stays due."""
    causes = tuple(after for each in notice.causes if (after := _after_message(each, cause, now)) is not None)
    return replace(notice, causes=causes, tries=0, not_before="", error="", revision=notice.revision + 1)


def _after_message(cause: OpenCause, stated: OpenCause, now: str) -> OpenCause | None:
    """A cause after a message that stated it as it was; None if that ends it."""
    if cause.id != stated.id:
        return cause
    if stated.resolved:
        return None if cause.resolved else replace(cause, reported=0, reported_at="")
    return None if stated.kind in ONCE else replace(cause, reported=stated.count, reported_at=now)


def failed(notice: ChannelNotice, now: str, error: str) -> ChannelNotice:
    """The notice after a failure: it is sent again after a pause that doubles, and is a dead letter after the last try."""
    pause = min(FIRST_PAUSE * 2**notice.tries, LONGEST_PAUSE)
    again = moment(instant_of(now) + pause)
    tries = notice.tries + 1
    return replace(
        notice, tries=tries, not_before=again, error=error, dead=tries >= TRIES, revision=notice.revision + 1
    )


def retried(notice: ChannelNotice) -> ChannelNotice:
    """A dead letter that is sent again."""
    return replace(notice, tries=0, not_before="", dead=False, revision=notice.revision + 1)


def after_quiet(at: str, quiet: str) -> str:
    """A time, or the end of the quiet hours that it is in."""
    if not quiet:
        return at
    begin, end = quiet.split("-")
    clock = at[11:16]
    inside = begin <= clock < end if begin < end else clock >= begin or clock < end
    if not inside:
        return at
    hour, minute = map(int, end.split(":"))
    over = datetime.fromisoformat(at[:10]).replace(hour=hour, minute=minute, tzinfo=UTC)
    return moment(over if end > clock else over + timedelta(days=1))


def _identity(notice: ChannelNotice, what: Occurrence) -> str:
    """The id of a cause: by it a receiver recognises what it was notified of before."""
    return _digest(notice.id, what.kind, what.group, what.key, what.event if what.kind in ONCE else "")


def _others(notice: ChannelNotice) -> str:
    return _digest(notice.id, "others")


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()

"""Notifications: each channel gets one message for each cause (`lakegate.contracts.lake.notices`).

1. `note` counts a message of the outbox in the notices of the channels that subscribed to it. Nothing is sent.
2. `deliver` sends what is due. A channel that fails is tried again later; the others do not wait for it.

The delivery protocol takes no part in this: who is notified is looked up when the outbox is read.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from lakegate.contracts.lake.channels import gets_lineage
from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.lake.notices import ChannelNotice, Occurrence, failed, occurred, retried, sent
from lakegate.contracts.lake.subscriptions import ACCEPTED, ALWAYS, LINEAGE
from lakegate.functions.ports.channels import Notification
from lakegate.functions.ports.errors import ConditionFailed, PortError, TransactionConflict, UnreadableItem
from lakegate.functions.usecases.callbacks import invited
from lakegate.functions.usecases.occurrences import noted
from lakegate.functions.usecases.steps import Defect, Effect, perform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from lakegate.contracts.errors import LakegateError
    from lakegate.contracts.lake.lifecycle import Line
    from lakegate.contracts.lake.notices import OpenCause
    from lakegate.functions.ports.channels import CallbackInvitation
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.occurrences import Noted
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.workload import Message

AWAITING: Final = "awaiting"
"""The kind of cause for which a receiver may answer."""
TRIES: Final = 5
"""How often a notice is written again because another turn has written it."""
DUE_PER_TURN: Final = 1_000
"""Notices of one turn; further ones are left to the next."""
ENOUGH: Final = 12.0
"""Seconds: with less than this left nothing more is sent. As long as one message to a receiver that hangs takes, twice."""


class ChannelSettings(NamedTuple):
    """What one channel is notified of about a line."""

    kinds: frozenset[str]
    quiet: str
    digest: int


def note(dependencies: Dependencies, message: Message) -> Steps[tuple[str, ...]]:
    """Count a message in the notices of the channels that subscribed to it; counting it twice is counting it once.

    Returns the ids of these notices: the index that finds those that are due lags.
    """
    found = noted(dependencies, message)
    if found is None:
        return ()
    ids = []
    for channel, wanted in channels_of(found.line, producers=found.producers).items():
        begun, mine = _of_channel(found, channel, wanted)
        if mine.kind or mine.ends:
            change = partial(_noted, begun=begun, wanted=wanted, what=mine)
            yield from _changed(dependencies, begun.id, change)
            ids.append(begun.id)
    return tuple(ids)


def _of_channel(found: Noted, channel: str, wanted: ChannelSettings) -> tuple[ChannelNotice, Occurrence]:
    """The notice of a channel before anything was counted, and what is counted in it."""
    what, line = found.what, found.line.name
    if gets_lineage(channel):
        kind = LINEAGE if what.workload and LINEAGE in wanted.kinds else ""
        begun = ChannelNotice(line, channel, delivery=what.event, ended=what.at)
        return begun, Occurrence(what.event, what.at, kind, workload=what.workload)
    begun = ChannelNotice(line, channel)
    if what.kind not in wanted.kinds and found.accepted is not None and ACCEPTED in wanted.kinds:
        return begun, found.accepted
    return begun, replace(what, kind=what.kind if what.kind in wanted.kinds else "")


def channels_of(line: Line, *, producers: bool = True) -> dict[str, ChannelSettings]:
    """The channels of a line's subscriptions; one that several subscriptions name has the settings of the first.

    `producers`: whether producers are notified of more than the lifecycle of the line.
    """
    found: dict[str, ChannelSettings] = {}
    for each in line.subscriptions:
        kinds = frozenset(each.on) if producers or each.audience != "producer" else ALWAYS
        for channel in each.to:
            before = found.get(channel, ChannelSettings(frozenset(), each.quiet, each.digest))
            found[channel] = before._replace(kinds=before.kinds | kinds)
    return found


@dataclass(slots=True)
class Delivered:
    """What a turn did, for metrics."""

    sent: int = 0
    failures: list[LakegateError] = field(default_factory=list)
    """Of channels that failed."""
    failing: set[str] = field(default_factory=set)
    dead: int = 0
    """Notices that were given up and wait for a person."""


def deliver(dependencies: Dependencies, noted_now: Iterable[str] = ()) -> Steps[Delivered]:
    """Send what is due, while there is time; a channel that fails is tried again after a pause, by a later turn.

    `noted_now`: ids of notices that may be due beside those that the index finds.
    """
    done = Delivered()
    try:
        due = dependencies.notices.due(dependencies.clock.now(), DUE_PER_TURN)
        for identity in dict.fromkeys((*due, *noted_now)):
            try:
                notice = dependencies.notices.get(identity)
                if notice is not None and notice.channel not in done.failing:
                    yield from _deliver(dependencies, notice, done)
            except PortError as failure:
                if not isinstance(failure, UnreadableItem):
                    raise
                done.failures.append(failure)
            except Exception as error:  # noqa: BLE001 - one notice stops none of the others
                done.failures.append(Defect(identity, error))
        done.dead = len(dependencies.notices.dead(DUE_PER_TURN))
    except PortError as failure:  # of the table: the next turn goes on
        done.failures.append(failure)
    return done


def trial_notification(channel: str, at: datetime) -> Notification:
    """What `lakegate notify test` sends."""
    identity = hashlib.sha256(f"{channel}\0{moment(at)}".encode()).hexdigest()
    text = ("Notifications of data contracts will arrive here.",)
    return Notification(identity, identity, "test", "lakegate", "Test of a channel", text, at)


def retry(dependencies: Dependencies, identity: str) -> Steps[None]:
    """Send a dead letter again, with the next turn."""
    yield from _changed(dependencies, identity, lambda found: retried(found) if found and found.dead else found)


def _deliver(dependencies: Dependencies, notice: ChannelNotice, done: Delivered) -> Steps[None]:
    wanted = channels_of(dependencies.lines.get(notice.line)).get(notice.channel)
    if wanted is None:
        yield from _changed(dependencies, notice.id, _ended)
        return
    current = replace(notice, quiet=wanted.quiet, digest=wanted.digest)
    for cause in current.ready(moment(dependencies.clock.now())):
        if dependencies.remaining() < ENOUGH:
            return
        now = dependencies.clock.now()
        try:
            is_asked = cause.kind == AWAITING and bool(cause.workload)
            callback = (yield from invited(dependencies, notice.channel, cause.workload)) if is_asked else None
            yield from perform(Effect.NOTIFY, partial(_send, dependencies, notice, cause, now, callback))
        except PortError as failure:
            done.failures.append(failure)
            done.failing.add(notice.channel)
            error = f"{type(failure).__name__}: {failure}"
            yield from _changed(dependencies, notice.id, partial(_failed, at=moment(now), error=error))
            return
        done.sent += 1
        yield from _changed(dependencies, notice.id, partial(_sent, cause=cause, at=moment(now)))


def _send(
    dependencies: Dependencies,
    notice: ChannelNotice,
    cause: OpenCause,
    now: datetime,
    callback: CallbackInvitation | None,
) -> None:
    if notice.delivery:
        from lakegate.functions.usecases.lineage import judged_delivery  # noqa: PLC0415 - judgement, where it is asked for

        dependencies.channels.report(notice.channel, judged_delivery(dependencies, notice, cause.workload))
    else:
        notification = _notification(notice, cause, now)
        dependencies.channels.deliver(notice.channel, notification._replace(callback=callback))


def _notification(notice: ChannelNotice, cause: OpenCause, now: datetime) -> Notification:
    identity = hashlib.sha256(f"{cause.id}\0{cause.first}\0{cause.reported}\0{cause.resolved}".encode()).hexdigest()
    return Notification(
        identity,
        cause.id,
        cause.kind,
        notice.line,
        cause.title,
        cause.reasons,
        now,
        cause.count,
        cause.first,
        cause.resolved,
        cause.workload,
    )


def _changed(
    dependencies: Dependencies, identity: str, change: Callable[[ChannelNotice | None], ChannelNotice | None]
) -> Steps[None]:
    """Write a notice, changed by a pure function; nothing is written if the function returns the same notice."""
    for _ in range(TRIES):
        before = dependencies.notices.get(identity)
        after = change(before)
        if after is None or after == before:
            return
        try:
            yield from perform(Effect.WRITE_NOTICE, partial(dependencies.notices.write, after))
        except ConditionFailed:
            if dependencies.notices.get(identity) == after:  # an earlier try of ours arrived
                return
        else:
            return
    raise TransactionConflict("notice")


def _noted(
    before: ChannelNotice | None, begun: ChannelNotice, wanted: ChannelSettings, what: Occurrence
) -> ChannelNotice | None:
    after = occurred(before or begun, what)
    if after is before or after is begun:
        return before
    return replace(after, quiet=wanted.quiet, digest=wanted.digest)


def _sent(before: ChannelNotice | None, cause: OpenCause, at: str) -> ChannelNotice | None:
    return before and sent(before, cause, at)


def _failed(before: ChannelNotice | None, at: str, error: str) -> ChannelNotice | None:
    return before and failed(before, at, error)


def _ended(before: ChannelNotice | None) -> ChannelNotice | None:
    """Nobody subscribes to the channel any more."""
    return before and replace(before, causes=(), revision=before.revision + 1)

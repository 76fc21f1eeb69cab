"""The causes that channels are notified of, one notice for a channel and a dataset: begun, due, sent, retried, given up."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lakegate.base.errors import AccessDenied, NotFound, PortError
from lakegate.base.extension_points import load_extension, load_extensions
from lakegate.base.text import printable
from lakegate.base.timestamps import instant_of, moment
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.features.notifications.notification_text import (
    DESCRIBED,
    MAX_REASONS_OF_CAUSE,
    TITLES,
    accepted_text,
    channels,
    lifecycle_text,
    passing_text,
    reasons_text,
    replaced_text,
)
from lakegate.gate.channel_ports import CallbackInvitation, EndedDelivery, Notification, channel_of, gets_lineage
from lakegate.gate.datasets.dataset_states import DatasetRowStore, DatasetState
from lakegate.gate.datasets.subscriptions import ACCEPTED, ALWAYS, LINEAGE, OF_ALL
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery_store import MESSAGE_LIFE
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Alarm, Effect, Steps, perform
from lakegate.gate.event_bodies import RECALLS
from lakegate.gate.ledger.ledger_store import broken_rules
from lakegate.gate.ports import Message
from lakegate.gate.scheduled_tasks import ScheduledTask, change_row, run_due
from lakegate.gate.send_messages import Delivered, MessageListener
from lakegate.gate.table import due_at
from lakegate.report.overview_page import StandingCause
from lakegate.verdict.verdict import Verdict

if TYPE_CHECKING:
    Described = Callable[[Dependencies, EndedDelivery], object]
    """The report of a delivery to a kind of channel: the type of the extension point `lineage`."""
    Invite = Callable[[Dependencies, str, str], Steps[CallbackInvitation | None]]
    """The way in which the receiver of a channel may decide about a workload: the type of the extension point `invitations`."""

# ---- Notices: one message for each cause ----
# A cause is one reason to notify: deliveries below one route that break the same rules, or a change of a dataset. A channel gets
#
# 1. one message when a cause begins,
# 2. at most one further message in each digest period while it occurs again, with the number of occurrences,
# 3. one message when it is resolved.
#
# Nothing is sent in quiet hours. All functions are pure: a notice, and what happens to it, give the notice afterwards.


MAX_CAUSES: Final = 50
"""Open causes of one notice; further ones are counted together, so that the item stays below 100 KB."""
LONGEST_REASON_OF_CAUSE: Final = 300
"""Characters."""
REMEMBERED: Final = 300
"""Events: more than one turn of notify takes, so that a turn that was interrupted counts none of them twice."""
TRIES_OF_NOTICE: Final = 8
"""Then a notice is a dead letter: with the pauses between them, after about four hours."""
FIRST_PAUSE: Final = timedelta(minutes=1)
LONGEST_PAUSE: Final = timedelta(hours=2)
ONCE: Final = frozenset({"accepted", "awaiting", "passing", "breaking", "deprecated", "drift", "lineage", OF_ALL})
"""Kinds that nothing resolves: each occurrence is a cause of its own, which ends when it was sent."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """The meaning of one event for a dataset: a cause that occurred, and the kinds of causes that it ends."""

    event: str
    """Its id; the same for every repetition."""
    at: str
    """RFC 3339, UTC, six decimals (`moment`)."""
    kind: str = ""
    """One of `lakegate.gate.datasets.subscriptions`, such as `rejected`; empty: no cause occurred."""
    key: str = ""
    """The key that distinguishes the cause from others of this kind: the same rules of the same producer have the same key."""
    title: str = ""
    """One line."""
    reasons: tuple[str, ...] = ()
    workload: str = ""
    """The delivery; empty if it is about a dataset."""
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
    """The number of occurrences that the last message stated; 0: none was sent."""
    reported_at: str = ""
    resolved: bool = False


@dataclass(frozen=True, slots=True)
class ChannelNotice:
    """The causes of a dataset that one channel is notified of."""

    dataset: str = field(metadata=DATASET_KEY)
    channel: str = ""
    """Empty: nobody has written it."""
    causes: tuple[OpenCause, ...] = ()
    quiet: str = ""
    """Hours, UTC, in which nothing is sent: `22:00-06:00`; empty: none."""
    digest: int = 24
    """Hours between messages about the same cause."""
    seen: tuple[str, ...] = ()
    """The latest events, the oldest first."""
    tries: int = 0
    """The number of failed tries in succession."""
    not_before: str = ""
    error: str = ""
    """The reason why sending failed: a code, without any text of the receiver's."""
    dead: bool = False
    """Given up after the last try; `retried` begins again."""
    revision: int = 0
    delivery: str = ""
    """Of a channel that gets lineage: the message about the one delivery of the notice. No two are counted together."""
    ended: str = ""
    """The end of that delivery."""

    @property
    def id(self) -> str:
        """The same for the same channel and dataset, and delivery if it is about one."""
        parts = (self.channel, self.dataset, self.delivery) if self.delivery else (self.channel, self.dataset)
        return _digest(*parts)

    @property
    def due(self) -> str:
        """The time of the next message, as `moment` writes it; empty if there is none."""
        times = [] if self.dead else [at for cause in self.causes if (at := self._due(cause))]
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
        return tuple(cause for cause in self.causes if (at := self._due(cause)) and at <= now)


def occurred(notice: ChannelNotice, what: Occurrence) -> ChannelNotice:
    """The notice after an event; the same notice if nothing changes, or if the event was counted before."""
    if what.event in notice.seen:
        return notice
    causes = tuple(_ended(notice, cause, what) for cause in notice.causes)
    if what.kind:
        causes = _counted(notice, causes, what)
    elif causes == notice.causes:
        return notice
    seen = (*notice.seen, what.event)[-REMEMBERED:]
    return replace(notice, causes=causes, seen=seen)


def _ended(notice: ChannelNotice, cause: OpenCause, what: Occurrence) -> OpenCause:
    is_meant = cause.kind in what.ends and (cause.group in {"", what.group} or cause.id == _others(notice))
    return replace(cause, resolved=True, last=max(cause.last, what.at)) if is_meant and not cause.resolved else cause


def _counted(notice: ChannelNotice, causes: tuple[OpenCause, ...], what: Occurrence) -> tuple[OpenCause, ...]:
    identity, title = _identity(notice, what), what.title
    if len(causes) >= MAX_CAUSES and identity not in {cause.id for cause in causes}:
        identity, title = _others(notice), f"Further causes: {notice.dataset}"
    before = next((cause for cause in causes if cause.id == identity), None)
    if before is None:
        reasons = tuple(reason[:LONGEST_REASON_OF_CAUSE] for reason in what.reasons[:MAX_REASONS_OF_CAUSE])
        return (*causes, OpenCause(identity, what.kind, title, reasons, what.at, what.at, what.workload, what.group))
    again = replace(
        before, count=before.count + 1, last=max(before.last, what.at), workload=what.workload, resolved=False
    )
    return tuple(again if cause is before else cause for cause in causes)


def sent(notice: ChannelNotice, cause: OpenCause, now: str) -> ChannelNotice:
    """The notice after a message about a cause, as it was when it was sent; what happened meanwhile stays due."""
    causes = tuple(after for each in notice.causes if (after := _after_message(each, cause, now)) is not None)
    return replace(notice, causes=causes, tries=0, not_before="", error="")


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
    return replace(notice, tries=tries, not_before=again, error=error, dead=tries >= TRIES_OF_NOTICE)


def retried(notice: ChannelNotice) -> ChannelNotice:
    """A dead letter that is sent again."""
    return replace(notice, tries=0, not_before="", dead=False)


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


# ---- Items of the table `workloads` ----


KIND: Final = "notice"
DEAD: Final = "dead-notice"
"""Kinds of shards of the index; the first one also of keys."""


def notices(dependencies: Dependencies) -> DatasetRowStore[ChannelNotice]:
    """Notices by their ids."""
    return DatasetRowStore(dependencies.table, KIND, KIND, ChannelNotice, attrgetter("id"), _attributes)


def _attributes(notice: ChannelNotice) -> dict[str, Any]:
    """The place of a dead letter in the index; the end of a notice of one delivery, which is that of its message."""
    index: dict[str, Any] = due_at(DEAD, notice.id, notice.not_before) if notice.dead else {}
    if notice.ended:
        index["expires"] = int((instant_of(notice.ended) + MESSAGE_LIFE).timestamp())
    return index


def open_causes(dependencies: Dependencies, datasets: Iterable[DatasetState]) -> dict[str, tuple[StandingCause, ...]]:
    """What the channels of datasets were notified of and is not resolved, by dataset; each once, however many channels got it."""
    ids = {ChannelNotice(each.name, channel).id for each in datasets for channel in channels_of(each)}
    found: defaultdict[str, dict[tuple[str, str], OpenCause]] = defaultdict(dict)
    for notice in notices(dependencies).written(sorted(ids)).values():
        for cause in notice.causes:
            if not cause.resolved and cause.kind not in ONCE:
                of_dataset = found[notice.dataset]
                known = of_dataset.setdefault((cause.kind, cause.title), cause)
                of_dataset[cause.kind, cause.title] = min(known, cause, key=attrgetter("first"))
    return {
        name: tuple(
            StandingCause(cause.kind, cause.title, cause.count, cause.first)
            for cause in sorted(causes.values(), key=attrgetter("first", "title"))
        )
        for name, causes in found.items()
    }


def dead_notices(dependencies: Dependencies, limit: int) -> tuple[str, ...]:
    """Ids of notices that were given up, the oldest first, by the index, which lags."""
    return dependencies.table.due(DEAD, limit)


# ---- Causes of a message of the outbox ----


class Noted(NamedTuple):
    """An occurrence, and whom it concerns."""

    what: Occurrence
    dataset: DatasetState
    """Whose subscribers are notified."""
    producers: bool = True
    """Whether producers are notified, too: of their deliveries only if the contract agrees (`notifyProducers`)."""
    accepted: Occurrence | None = None
    """The same for who asked for accepted deliveries, and not for what occurred; None where nothing was accepted."""


def noted(dependencies: Dependencies, message: Message) -> Noted | None:
    """The meaning of a message; None if it means nothing to anybody: the dataset has no subscriber with a channel."""
    if message.dataset:
        return _of_dataset(dependencies, message, json.loads(message.body))
    name = json.loads(message.body).get("line")
    dataset = dependencies.datasets.get(name) if name else None
    if dataset is None or not any(subscription.to for subscription in dataset.subscriptions):
        return None
    try:
        workload = dependencies.workloads.get(message.workload)
    except NotFound:
        return None
    what = _of_delivery(message, workload, dataset)
    if what is None:
        return None
    accepted = _accepted(what, message, workload) if message.kind == "published" else None
    return Noted(what, dataset, _agreed(dependencies, workload), accepted)


def _accepted(what: Occurrence, message: Message, workload: Workload) -> Occurrence:
    body = json.loads(message.body)
    title = what.title or printable(f"Accepted: {body['line']}, below {what.group}")
    reasons = tuple(map(printable, accepted_text(workload, body)))
    return replace(what, kind=ACCEPTED, key=workload.id, title=title, reasons=reasons)


def _of_delivery(message: Message, workload: Workload, dataset: DatasetState) -> Occurrence | None:
    kind, ends = _kind(message)
    was_answered = kind == "awaiting" and workload.state is not State.AWAITING
    if was_answered or (not kind and not ends):
        return None
    decision, pin = workload.decision, workload.pin
    group = pin.prefix if pin else ""
    rules = sorted({rule.rule for rule in broken_rules(decision)}) if decision else []
    causes = [str(each.cause) for each in workload.failed[-1:]] if kind == "failed" else rules
    body = json.loads(message.body)
    told = replaced_text(workload, body) if kind == "warned" else passing_text(body) if kind == "passing" else ()
    return Occurrence(
        event=message.id,
        at=moment(message.at),
        kind=kind,
        key=workload.id if kind == "awaiting" else "\0".join(causes),
        title=printable(f"{TITLES[kind]}: {dataset.name}, below {group}") if kind else "",
        reasons=tuple(map(printable, (*told, *reasons_text(workload, kind, causes)))),
        workload=workload.id,
        group=group,
        ends=ends,
    )


def _kind(message: Message) -> tuple[str, tuple[str, ...]]:
    """The kind of a delivery's cause, and the kinds that it ends."""
    if message.kind == "quarantined":
        return "rejected", ("failed",)
    if message.kind == "failed":
        return "failed", ()
    if message.kind == "awaiting":
        return "awaiting", ()
    if message.kind == "passing":
        return "passing", ()
    if message.kind == "published":
        warned = json.loads(message.body)["verdict"] == Verdict.ACCEPTED_WITH_WARNINGS
        return ("warned", ("rejected", "failed", "late")) if warned else ("", ("rejected", "failed", "warned", "late"))
    return "", ()


def _agreed(dependencies: Dependencies, workload: Workload) -> bool:
    """Whether the contract agrees that producers are notified; not where its plan cannot be read."""
    try:
        return dependencies.terms(workload).policy.notify_producers
    except (AccessDenied, Alarm):
        return False


def _of_dataset(dependencies: Dependencies, message: Message, body: Mapping[str, Any]) -> Noted:
    title, reasons = DESCRIBED.get(message.kind, lifecycle_text)(body)
    kind = OF_ALL if message.kind in RECALLS else message.kind if message.kind in DESCRIBED else "deprecated"
    dataset = dependencies.datasets.get(body["follows"] if kind == "breaking" else message.dataset)
    at = moment(message.at)
    is_good = kind == "pull" and body["outcome"] != "FAILED"
    measured = kind == "revalidation" and body["outcome"] != "FAILED"
    if is_good or (measured and not body["stale"]):
        return Noted(Occurrence(message.id, at, ends=(kind,)), dataset)
    broken = sorted(each["rule"] for each in body["stale"]) if measured else []
    key = "\0".join(broken) or title  # a further rule that is broken is another cause
    workload = body["workload"] if kind == OF_ALL else ""
    texts = tuple(map(printable, reasons))
    return Noted(Occurrence(message.id, at, kind, key, printable(title), texts, workload), dataset)


# ---- Notes and deliveries of notices ----
# 1. `note` counts a message of the outbox in the notices of the channels that subscribed to it. Nothing is sent.
# 2. `deliver` sends what is due. A channel that fails is tried again later; the others do not wait for it.
#
# The delivery protocol takes no part in this: who is notified is looked up when the outbox is read.


AWAITING: Final = "awaiting"
"""The kind of cause for which a receiver may answer."""
DUE_PER_TURN: Final = 1_000
"""Notices of one turn; further ones are left to the next."""
SECONDS_OF_NOTICE: Final = 12.0
"""Seconds: with less than this left nothing more is sent. As long as one message to a receiver that hangs takes, twice."""


class ChannelSettings(NamedTuple):
    """Subscribed notifications of one channel about a dataset."""

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
    for channel, wanted in channels_of(found.dataset, producers=found.producers).items():
        begun, mine = _of_channel(found, channel, wanted)
        if mine.kind or mine.ends:
            change = partial(_noted, begun=begun, wanted=wanted, what=mine)
            yield from change_row(dependencies, TASK, begun.id, change)
            ids.append(begun.id)
    return tuple(ids)


def _of_channel(found: Noted, channel: str, wanted: ChannelSettings) -> tuple[ChannelNotice, Occurrence]:
    """The notice of a channel before anything was counted, and what is counted in it."""
    what, dataset = found.what, found.dataset.name
    if gets_lineage(channel):
        kind = LINEAGE if what.workload and what.kind != OF_ALL and LINEAGE in wanted.kinds else ""
        begun = ChannelNotice(dataset, channel, delivery=what.event, ended=what.at)
        return begun, Occurrence(what.event, what.at, kind, workload=what.workload)
    begun = ChannelNotice(dataset, channel)
    if what.kind not in wanted.kinds and found.accepted is not None and ACCEPTED in wanted.kinds:
        return begun, found.accepted
    return begun, replace(what, kind=what.kind if what.kind in wanted.kinds else "")


def channels_of(dataset: DatasetState, *, producers: bool = True) -> dict[str, ChannelSettings]:
    """The channels of a dataset's subscriptions; one that several subscriptions name has the settings of the first.

    `producers`: whether producers are notified of more than the lifecycle of the dataset.
    """
    found: dict[str, ChannelSettings] = {}
    for subscription in dataset.subscriptions:
        kinds = frozenset(subscription.on) if producers or subscription.audience != "producer" else ALWAYS
        kinds |= {OF_ALL}
        for channel in subscription.to:
            before = found.get(channel, ChannelSettings(frozenset(), subscription.quiet, subscription.digest))
            found[channel] = before._replace(kinds=before.kinds | kinds)
    return found


def deliver(dependencies: Dependencies, noted_now: Iterable[str] = ()) -> Steps[Delivered]:
    """Send what is due, while there is time; a channel that fails is tried again after a pause, by a later turn.

    `noted_now`: ids of notices that may be due beside those that the index finds.
    """
    done = Delivered()
    task = replace(TASK, step=lambda _, notice, __: _deliver(dependencies, notice, done))
    yield from run_due(dependencies, done, task, noted_now)
    try:
        done.dead = len(dead_notices(dependencies, DUE_PER_TURN))
    except PortError as failure:  # of the table: the next turn goes on
        done.failures.append(failure)
    return done


def trial_notification(channel: str, at: datetime) -> Notification:
    """The notification of `lakegate notify test`."""
    identity = hashlib.sha256(f"{channel}\0{moment(at)}".encode()).hexdigest()
    text = ("Notifications of data contracts will arrive here.",)
    return Notification(identity, identity, "test", "lakegate", "Test of a channel", text, at)


def retry(dependencies: Dependencies, identity: str) -> Steps[None]:
    """Send a dead letter again, with the next turn."""
    yield from change_row(dependencies, TASK, identity, lambda notice: retried(notice) if notice.dead else notice)


def _deliver(dependencies: Dependencies, notice: ChannelNotice, done: Delivered) -> Steps[None]:
    if notice.channel in done.failing:
        return
    wanted = channels_of(dependencies.datasets.get(notice.dataset)).get(notice.channel)
    if wanted is None:
        yield from change_row(dependencies, TASK, notice.id, partial(replace, causes=()))
        return
    current = replace(notice, quiet=wanted.quiet, digest=wanted.digest)
    for cause in current.ready(dependencies.moment):
        if dependencies.remaining() < SECONDS_OF_NOTICE:
            return
        now = dependencies.now
        try:
            is_asked = cause.kind == AWAITING and bool(cause.workload)
            callback = (yield from _invited(dependencies, notice, cause)) if is_asked else None
            yield from perform(Effect.NOTIFY, _send, dependencies, notice, cause, now, callback)
        except PortError as failure:
            done.failures.append(failure)
            done.failing.add(notice.channel)
            error = f"{type(failure).__name__}: {failure}"
            yield from change_row(dependencies, TASK, notice.id, partial(_failed, at=moment(now), error=error))
            return
        done.sent += 1
        yield from change_row(dependencies, TASK, notice.id, partial(sent, cause=cause, now=moment(now)))


def _invited(dependencies: Dependencies, notice: ChannelNotice, cause: OpenCause) -> Steps[CallbackInvitation | None]:
    """The receiver's way to decide, by the feature that registers at the point `invitations`; None: there is none."""
    invitations: Iterator[Invite] = load_extensions("invitations")
    for invite in invitations:
        if (invitation := (yield from invite(dependencies, notice.channel, cause.workload))) is not None:
            return invitation
    return None


def _send(
    dependencies: Dependencies,
    notice: ChannelNotice,
    cause: OpenCause,
    now: datetime,
    callback: CallbackInvitation | None,
) -> None:
    if notice.delivery:
        described: Described = load_extension("lineage", channel_of(notice.channel).kind)
        ended = EndedDelivery(cause.workload, notice.dataset, notice.delivery, notice.ended)
        channels(dependencies).report(notice.channel, described(dependencies, ended))
    else:
        notification = _notification(notice, cause, now)
        channels(dependencies).deliver(notice.channel, notification._replace(callback=callback))


def _notification(notice: ChannelNotice, cause: OpenCause, now: datetime) -> Notification:
    identity = hashlib.sha256(f"{cause.id}\0{cause.first}\0{cause.reported}\0{cause.resolved}".encode()).hexdigest()
    return Notification(
        identity,
        cause.id,
        cause.kind,
        notice.dataset,
        cause.title,
        cause.reasons,
        now,
        cause.count,
        cause.first,
        cause.resolved,
        cause.workload,
    )


def _noted(before: ChannelNotice, begun: ChannelNotice, wanted: ChannelSettings, what: Occurrence) -> ChannelNotice:
    known = before if before.revision else begun
    after = occurred(known, what)
    return before if after is known else replace(after, quiet=wanted.quiet, digest=wanted.digest)


def _failed(before: ChannelNotice, at: str, error: str) -> ChannelNotice:
    return failed(before, at, error) if before.revision else before


TASK: Final = ScheduledTask(notices, enough=SECONDS_OF_NOTICE, most=DUE_PER_TURN)
LISTENER: Final = MessageListener(note, deliver)

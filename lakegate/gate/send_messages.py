"""Notifications: each channel gets one message for each cause.

1. The `note` of a listener counts a message of the outbox in the notices of the channels that subscribed to it. Nothing is sent.
2. `deliver` sends what is due. A channel that fails is tried again later; the others do not wait for it.

The delivery protocol takes no part in this: who is notified is looked up when the outbox is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final, NamedTuple

from lakegate.base.errors import LakegateError, PortError, UnreadableItem
from lakegate.base.extension_points import load_extensions
from lakegate.gate.datasets import freshness_deadlines
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, guard_steps, perform
from lakegate.gate.ports import Message
from lakegate.gate.scheduled_tasks import Turn, run_due


@dataclass(slots=True)
class Delivered(Turn):
    """Counts of a turn, for metrics; `failures` are of channels."""

    sent: int = 0
    failing: set[str] = field(default_factory=set)
    dead: int = 0
    """Notices that were given up and wait for a person."""

    def add(self, other: Delivered) -> None:
        """Add the counts of another listener."""
        self.sent += other.sent
        self.failures += other.failures
        self.failing |= other.failing
        self.dead += other.dead


class MessageListener(NamedTuple):
    """A listener of the outbox: the type of the extension point `message listeners`."""

    note: Callable[[Dependencies, Message], Steps[tuple[str, ...]]]
    """Counts a message, as often as it is told of, once; ids of what may be due by it."""
    deliver: Callable[[Dependencies, Iterable[str]], Steps[Delivered]]
    """Sends what is due: what the index finds, and what has just been noted."""


def _listeners() -> Iterator[MessageListener]:
    return load_extensions("message listeners")


# ---- Step 13: the messages of the outbox ----


MAX_MESSAGES_OF_CALL: Final = 10
"""Entries of one PutEvents (its API reference)."""
MAX_BODIES_OF_CALL: Final = 200_000
"""Characters of ASCII. All entries of a call have 256 KB (EventBridge user guide, size of PutEvents entries)."""
MAX_MESSAGES_OF_TURN = 2_000
"""Messages of one turn: more than its time is enough for."""
SECONDS_LEFT_TO_CHANNELS = 10.0
"""Seconds that are left to what is not an event: channels, service levels."""


@dataclass(slots=True)
class Notified(Turn):
    """Counts of a turn of notify, for metrics."""

    sent: list[Message] = field(default_factory=list)
    """Marked as sent: each once, unless its mark had no answer."""
    behind: set[str] = field(default_factory=set)
    """Datasets of messages that were not taken: their later ones wait for the next turn, so that none overtakes another."""
    channels: Delivered = field(default_factory=Delivered)


def notify(dependencies: Dependencies) -> Steps[Notified]:
    """Send what is pending, while there is time; what could not be sent stays pending, and its error is returned.

    The event bus comes first: no channel delays it.
    """
    notified, noted = Notified(), list[str]()
    pending = takewhile(
        lambda _: dependencies.remaining() >= SECONDS_LEFT_TO_CHANNELS,
        dependencies.outbox.pending(MAX_MESSAGES_OF_TURN),
    )
    for batch in _batches(pending):
        for message in (yield from _send(dependencies, batch, notified)):
            noted += (yield from notified.guarded(message.id, _note(dependencies, message, notified))) or ()
    yield from run_due(dependencies, notified, freshness_deadlines.TASK)
    for listener in _listeners():
        notified.channels.add((yield from listener.deliver(dependencies, noted)))
    notified.failures += dependencies.taken_out()
    return notified


def _batches(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """Messages as one call takes them, in order."""
    batch, size = list[Message](), 0
    for message in messages:
        if batch and (len(batch) == MAX_MESSAGES_OF_CALL or size + len(message.body) > MAX_BODIES_OF_CALL):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += len(message.body)
    if batch:
        yield batch


def _send(dependencies: Dependencies, batch: list[Message], notified: Notified) -> Steps[list[Message]]:
    """The messages that the event bus has taken. What it does not take with others is sent alone, and then its error counts."""
    batch = [message for message in batch if _dataset_of(message) not in notified.behind]
    if not batch:
        return []
    failures: list[LakegateError] = []
    send = perform(Effect.SEND, dependencies.notifier.send, tuple(batch))
    refused = yield from guard_steps(failures, batch[0].id, send)
    if refused is None and len(batch) == 1:
        notified.failures += failures
        if isinstance(
            failures[0], PortError
        ):  # a defect is the message's own, and stays: the others do not wait for it
            notified.behind.add(_dataset_of(batch[0]))
        return []
    left = [message for message in batch if refused is None or message.id in refused]
    taken = [message for message in batch if message not in left]
    for message in left:
        taken += yield from _send(dependencies, [message], notified)
    return taken


def _dataset_of(message: Message) -> str:
    """The dataset whose messages follow one another; of a delivery without one itself."""
    return message.dataset or json.loads(message.body).get("line") or message.workload


def _note(dependencies: Dependencies, message: Message, notified: Notified) -> Steps[tuple[str, ...]]:
    """Let listeners count a message that was sent, and mark it; ids of what may be due by it."""
    noted: tuple[str, ...] = ()
    try:
        yield from freshness_deadlines.renew(dependencies, message)
        for listener in _listeners():
            noted += yield from listener.note(dependencies, message)
    except UnreadableItem as failure:  # no reason to send the event again, every minute
        notified.failures.append(failure)
    yield from perform(Effect.MARK_SENT, dependencies.outbox.sent, message)
    notified.sent.append(message)
    return noted

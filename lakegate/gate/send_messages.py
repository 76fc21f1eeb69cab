"""Notifications: each channel gets one message for each cause.

1. The `note` of a listener counts a message of the outbox in the notices of the channels that subscribed to it. Nothing is sent.
2. `deliver` sends what is due. A channel that fails is tried again later; the others do not wait for it.

The delivery protocol takes no part in this: who is notified is looked up when the outbox is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from lakegate.base.errors import UnreadableItem
from lakegate.base.extension_points import load_extensions
from lakegate.gate.datasets import freshness_deadlines
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
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


MAX_MESSAGES_OF_TURN = 2_000
"""Messages of one turn: more than its time is enough for."""
SECONDS_LEFT_TO_CHANNELS = 10.0
"""Seconds that are left to what is not an event: channels, service levels."""


@dataclass(slots=True)
class Notified(Turn):
    """Counts of a turn of notify, for metrics."""

    sent: list[Message] = field(default_factory=list)
    """Marked as sent: each once, unless its mark had no answer."""
    channels: Delivered = field(default_factory=Delivered)


def notify(dependencies: Dependencies) -> Steps[Notified]:
    """Send what is pending, while there is time; what could not be sent stays pending, and its error is returned.

    The event bus comes first: no channel delays it.
    """
    notified, noted = Notified(), list[str]()
    for message in takewhile(
        lambda _: dependencies.remaining() >= SECONDS_LEFT_TO_CHANNELS,
        dependencies.outbox.pending(MAX_MESSAGES_OF_TURN),
    ):
        noted += (yield from notified.guarded(message.id, _sent(dependencies, message, notified))) or ()
    yield from run_due(dependencies, notified, freshness_deadlines.TASK)
    for listener in _listeners():
        notified.channels.add((yield from listener.deliver(dependencies, noted)))
    notified.failures += dependencies.taken_out()
    return notified


def _sent(dependencies: Dependencies, message: Message, notified: Notified) -> Steps[tuple[str, ...]]:
    yield from perform(Effect.SEND, dependencies.notifier.send, message)
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

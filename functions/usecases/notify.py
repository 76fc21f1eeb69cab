"""Step 13: send the messages of the outbox, each at least once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from lakegate.functions.ports.errors import PortError
from lakegate.functions.usecases.steps import Effect, perform

if TYPE_CHECKING:
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.workload import Message

BATCH = 100


@dataclass(slots=True)
class Notified:
    """What a turn of notify did, for metrics."""

    sent: list[Message] = field(default_factory=list)
    """Marked as sent: each once, unless its mark had no answer."""
    troubles: list[PortError] = field(default_factory=list)


def notify(dependencies: Dependencies, batch: int = BATCH) -> Steps[Notified]:
    """Send what is pending; what could not be sent stays pending, and its error is returned."""
    notified = Notified()
    for message in dependencies.outbox.pending(batch):
        try:
            yield from _tell(dependencies, message)
            notified.sent.append(message)
        except PortError as trouble:
            notified.troubles.append(trouble)
    return notified


def _tell(dependencies: Dependencies, message: Message) -> Steps[None]:
    yield from perform(Effect.SEND, partial(dependencies.notifier.send, message))
    yield from perform(Effect.MARK_SENT, partial(dependencies.outbox.sent, message))

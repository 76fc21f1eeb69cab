"""Step 13: send the messages of the outbox, each at least once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lakegate.functions.ports.errors import PortError
from lakegate.functions.usecases.steps import Effect, perform

if TYPE_CHECKING:
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.workload import Message

BATCH = 100


def notify(dependencies: Dependencies, batch: int = BATCH) -> Steps[tuple[PortError, ...]]:
    """Send what is pending; what could not be sent stays pending and is returned."""
    troubles = []
    for message in dependencies.outbox.pending(batch):
        try:
            yield from _tell(dependencies, message)
        except PortError as trouble:
            troubles.append(trouble)
    return tuple(troubles)


def _tell(dependencies: Dependencies, message: Message) -> Steps[None]:
    yield from perform(Effect.SEND, partial(dependencies.notifier.send, message))
    yield from perform(Effect.MARK_SENT, partial(dependencies.outbox.sent, message))

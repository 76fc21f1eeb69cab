"""Step 13: what was written together with its cause is told, at least once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from functions.ports import PortError
from functions.usecases.steps import Effect, perform

if TYPE_CHECKING:
    from functions.usecases.gate import Gate
    from functions.usecases.steps import Steps
    from functions.workload import Message

BATCH = 100


def notify(gate: Gate, batch: int = BATCH) -> Steps[tuple[PortError, ...]]:
    """Send what is pending; what could not be sent stays pending and is returned."""
    troubles = []
    for message in gate.outbox.pending(batch):
        try:
            yield from _tell(gate, message)
        except PortError as trouble:
            troubles.append(trouble)
    return tuple(troubles)


def _tell(gate: Gate, message: Message) -> Steps[None]:
    yield from perform(Effect.SEND, partial(gate.notifier.send, message))
    yield from perform(Effect.MARK_SENT, partial(gate.outbox.sent, message))

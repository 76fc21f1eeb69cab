"""Messages that wait to be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lakegate.functions.workload import Message


class Outbox(Protocol):
    """Messages, written in the transaction of the state that they describe; listed by an index that lags."""

    def add(self, message: Message) -> bool:
        """Put a message of its own, of no state, if there is none with its id. Returns whether there was none."""
        ...

    def pending(self, limit: int) -> tuple[Message, ...]:
        """Messages not yet marked, the oldest first."""
        ...

    def sent(self, message: Message) -> None:
        """Mark as sent. Marking twice is done."""
        ...

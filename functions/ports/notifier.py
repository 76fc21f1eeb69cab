"""Where messages are sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lakegate.functions.workload import Message


class Notifier(Protocol):
    """Where messages go: at least once, with the message's id as idempotency key."""

    def send(self, message: Message) -> None:
        """Hand over one message. Raises Throttled."""
        ...

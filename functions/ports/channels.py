"""Where notifications are sent: channels outside of AWS's event bus."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.functions.ports.lineage import JudgedDelivery


class Notification(NamedTuple):
    """One message to one channel."""

    id: str
    """The same for every repetition of the message."""
    key: str
    """Of its cause: the same for all messages about it."""
    kind: str
    """Of the cause; `test` if there is none."""
    line: str
    title: str
    """One line."""
    text: tuple[str, ...]
    """Lines."""
    at: datetime
    times: int = 1
    """How often the cause occurred."""
    since: str = ""
    """RFC 3339: when it occurred first."""
    resolved: bool = False
    workload: str = ""
    """The latest delivery; empty if it is about a line."""


class Channels(Protocol):
    """Channels by reference, at least once: `Notification.id` is the idempotency key."""

    def deliver(self, channel: str, notification: Notification) -> None:
        """Send one notification. Raises PortError with a text that contains no address, no secret and no answer."""
        ...

    def report(self, channel: str, delivery: JudgedDelivery) -> None:
        """Send the lineage of one delivery to a channel that gets it. Raises as `deliver` does."""
        ...

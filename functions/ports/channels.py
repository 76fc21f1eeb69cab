"""Where notifications are sent: channels outside of AWS's event bus."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.functions.ports.lineage import JudgedDelivery


@dataclass(frozen=True, slots=True)
class CallbackInvitation:
    """How the receiver of a notification answers for the delivery that it is about."""

    token: str = field(repr=False)
    """For one answer; nothing keeps it but its receiver."""
    path: str
    """Of the HTTP API."""
    expires: str
    """RFC 3339: until when an answer counts."""


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
    callback: CallbackInvitation | None = None


class Channels(Protocol):
    """Channels by reference, at least once: `Notification.id` is the idempotency key."""

    def deliver(self, channel: str, notification: Notification) -> None:
        """Send one notification. Raises PortError with a text that contains no address, no secret and no answer."""
        ...

    def token(self, channel: str, about: str) -> str:
        """A text that only the channel's receiver can know, the same whenever it is made of the same; empty: it takes none.

        Raises as `deliver` does.
        """
        ...

    def report(self, channel: str, delivery: JudgedDelivery) -> None:
        """Send the lineage of one delivery to a channel that gets it. Raises as `deliver` does."""
        ...

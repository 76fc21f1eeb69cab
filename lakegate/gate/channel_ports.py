"""Messages to channels, and the kinds of channels that features register.

`slack:lakegate-channel-orders` is a channel by reference: it names a secret, not its content.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, ClassVar, Final, NamedTuple, Protocol

from lakegate.base.errors import InputError
from lakegate.base.extension_points import load_extension, names
from lakegate.base.json_codec import Pattern
from lakegate.base.text import join_words


class ReferenceForm(NamedTuple):
    """The form of references to a kind of channel."""

    pattern: str
    words: str


OF_SECRET: Final = ReferenceForm(
    r"[A-Za-z0-9/_+=.@-]{1,400}", "the name of a secret of Secrets Manager, never an address or a key"
)
"""The characters that names of secrets have: Secrets Manager API Reference, CreateSecret, `Name`."""
MOST_CHANNELS: Final = 10
"""Of one subscription."""


class Channel(NamedTuple):
    """A channel, by reference."""

    kind: str
    reference: str


def channel_of(text: str) -> Channel:
    """The channel that a text names. Raises InputError, which does not repeat the text: it may be a secret."""
    kind, _, reference = text.partition(":")
    if kind not in names("channels"):
        raise InputError(f"a channel is one of {join_words([f'{name}:…' for name in names('channels')])}")
    adapter: type[ChannelAdapter] = load_extension("channels", kind)
    if not re.fullmatch(adapter.form.pattern, reference, re.ASCII):
        raise InputError(f"behind {kind}: there is {adapter.form.words}")
    return Channel(kind, reference)


def gets_lineage(channel: str) -> bool:
    """Whether a channel, as a subscription names it, gets the lineage of every delivery, and nothing else.

    The kinds of these channels register at the point `lineage` how a delivery is described to them.
    """
    return channel.partition(":")[0] in names("lineage")


class EndedDelivery(NamedTuple):
    """A delivery whose lineage is reported."""

    workload: str
    dataset: str
    message: str
    """The id of the message about it."""
    at: str
    """The time when it ended."""


@dataclass(frozen=True, slots=True)
class CallbackInvitation:
    """The means by which the receiver of a notification decides about its delivery."""

    token: Annotated[str, Pattern("[A-Za-z0-9_-]{43}")] = field(repr=False)
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
    dataset: str
    title: str
    """One line."""
    text: tuple[str, ...]
    """Datasets."""
    at: datetime
    times: int = 1
    """The number of occurrences of the cause."""
    since: str = ""
    """RFC 3339: when it occurred first."""
    resolved: bool = False
    workload: str = ""
    """The latest delivery; empty if it is about a dataset."""
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

    def report(self, channel: str, delivery: object) -> None:
        """Send the lineage of one delivery to a channel that gets it, as its kind describes it. Raises as `deliver` does."""
        ...


class ChannelAdapter(Protocol):
    """Channels of one kind: the type of the extension point `channels`."""

    form: ClassVar[ReferenceForm]

    def deliver(self, reference: str, notification: Notification) -> None:
        """Send one notification. Raises as `Channels`."""
        ...

"""Tokens by which another system answers for a delivery that waits: their hashes, never themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from datetime import datetime


class CallbackToken(NamedTuple):
    """What a token is for."""

    workload: str
    attempt: int
    channel: str
    """That it was sent to, such as `webhook:lakegate-channel-erp`."""
    until: datetime
    """When it is worth nothing any more."""


class Callbacks(Protocol):
    """What tokens are for, by the SHA-256 of each."""

    def keep(self, digest: str, token: CallbackToken) -> None:
        """Put it; the same again changes nothing."""
        ...

    def get(self, digest: str) -> CallbackToken | None:
        """A strongly consistent read; None for a token that nobody has made, or that has been forgotten."""
        ...

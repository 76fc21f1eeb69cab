"""Idempotency keys of requests: what a caller sends twice under one key is one request."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from datetime import datetime


class KeptRequest(NamedTuple):
    """The first request with a key."""

    fingerprint: str
    """Of what was asked."""
    token: str
    """By which what it created is known: random, so that nobody can guess it."""


class RequestKeys(Protocol):
    """The requests of the last day that had a key."""

    def keep(self, key: str, request: KeptRequest, until: datetime) -> KeptRequest:
        """Put the request if the key is new; the request that is kept under it. `until`: when it may be forgotten."""
        ...

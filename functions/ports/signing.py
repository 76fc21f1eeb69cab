"""The keys that sign the ledger."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol


class SigningKey(Protocol):
    """A private key of Ed25519 that nobody can read."""

    @property
    def arn(self) -> str:
        """Its name in its store."""
        ...

    def public_key(self) -> bytes:
        """Its SubjectPublicKeyInfo."""
        ...

    def sign(self, text: bytes) -> bytes:
        """The signature of a text, the same one each time. Raises SigningDenied."""
        ...


class SigningKeys(NamedTuple):
    """Those of a stack; none of a stack that signs nothing."""

    current: SigningKey | None = None
    replaced: SigningKey | None = None
    """The one before: it signs the records that name the current one."""


UNSIGNED: Final = SigningKeys()
"""Of a stack without a key."""

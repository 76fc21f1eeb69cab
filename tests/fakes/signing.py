"""Keys of Ed25519 in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from lakegate.base.errors import SigningDenied
from lakegate.gate.ledger.signatures import fingerprint


@dataclass
class MemoryKey:
    """SigningKey: the private key that is made of a number."""

    number: int
    denied: bool = False
    """Whether nobody may sign by it."""

    @property
    def arn(self) -> str:
        return f"arn:aws:kms:eu-west-1:123456789012:key/{self.number}"

    @cached_property
    def private(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(bytes([self.number]) * 32)

    @cached_property
    def _public(self) -> bytes:
        return self.private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    def public_key(self) -> bytes:
        return self._public

    @property
    def pem(self) -> bytes:
        return self.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    @cached_property
    def name(self) -> str:
        """Its fingerprint."""
        return fingerprint(self.public_key())

    def sign(self, text: bytes) -> bytes:
        if self.denied:
            raise SigningDenied("Sign: AccessDeniedException")
        return self.private.sign(text)

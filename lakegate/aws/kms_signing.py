"""Keys of KMS that sign."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from lakegate.aws.clients import port_errors
from lakegate.base.errors import AccessDenied, PortError, SigningDenied
from lakegate.gate.ledger.signatures import is_public_key
from lakegate.gate.ports import SigningKeys

ALGORITHM: Final = "ED25519_SHA_512"
MESSAGE_TYPE: Final = "RAW"
"""Ed25519 of RFC 8032. Its signatures are deterministic, so that a repeated commit is the same request."""


@dataclass(frozen=True, slots=True)
class KmsKey:
    """SigningKey; the private key never leaves KMS."""

    client: Any
    arn: str
    _known: list[bytes] = field(default_factory=list, repr=False, compare=False)

    def public_key(self) -> bytes:
        """Asked once; a key never changes."""
        if not self._known:
            with _denials():
                found = self.client.get_public_key(KeyId=self.arn)["PublicKey"]
            if not is_public_key(found):
                raise PortError("GetPublicKey: KeySpec")
            self._known.append(found)
        return self._known[0]

    def sign(self, text: bytes) -> bytes:
        """One request, which KMS answers in some ten milliseconds."""
        with _denials():
            response = self.client.sign(
                KeyId=self.arn, Message=text, MessageType=MESSAGE_TYPE, SigningAlgorithm=ALGORITHM
            )
        return bytes(response["Signature"])


def kms_keys(client: Any, current: str, replaced: str) -> SigningKeys:  # noqa: ANN401 - as boto3 has it
    """The keys of these ARNs; an empty one is none."""
    return SigningKeys(*(KmsKey(client, arn) if arn else None for arn in (current, replaced)))


@contextmanager
def _denials() -> Iterator[None]:
    try:
        with port_errors():
            yield
    except AccessDenied as denied:
        raise SigningDenied(*denied.args) from None

"""Keys of KMS that sign."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from lakegate.contracts.lake.signatures import is_public_key
from lakegate.functions.adapters.errors import port_errors
from lakegate.functions.ports.errors import AccessDenied, PortError, SigningDenied
from lakegate.functions.ports.signing import SigningKeys

ALGORITHM: Final = "ED25519_SHA_512"
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
            found = self._asked("get_public_key")["PublicKey"]
            if not is_public_key(found):
                raise PortError("GetPublicKey: KeySpec")
            self._known.append(found)
        return self._known[0]

    def sign(self, text: bytes) -> bytes:
        """One request, which KMS answers in some ten milliseconds."""
        return bytes(self._asked("sign", Message=text, MessageType="RAW", SigningAlgorithm=ALGORITHM)["Signature"])

    def _asked(self, operation: str, **request: object) -> Any:  # noqa: ANN401 - as boto3 has it
        try:
            with port_errors():
                return getattr(self.client, operation)(KeyId=self.arn, **request)
        except AccessDenied as denied:
            raise SigningDenied(*denied.args) from None


def kms_keys(client: Any, current: str, replaced: str) -> SigningKeys:  # noqa: ANN401 - as boto3 has it
    """The keys of these ARNs; an empty one is none."""
    return SigningKeys(*(KmsKey(client, arn) if arn else None for arn in (current, replaced)))

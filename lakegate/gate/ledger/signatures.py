"""Signatures of blocks: what is signed, the keys that a chain names, and which of its blocks are signed by them.

The stack signs every delivery, in the transaction that commits it; the signature is outside of the canonical form. What people
did is not signed by itself: the next signed block covers it by its digest. docs/ledger.md describes both for other languages.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from lakegate.base.errors import InputError
from lakegate.base.json_codec import sha256_of
from lakegate.base.text import quote
from lakegate.gate.ledger.blocks import AnyBlock, Record

KEY: Final = "key"
"""The kind of the record that names a key."""
PREFIX: Final = b"lakegate-signature/1\n"
"""The beginning of a signed text, so that no signature of a block is one of anything else."""
SPKI: Final = bytes.fromhex("302a300506032b6570032100")
"""The beginning of the SubjectPublicKeyInfo of an Ed25519 key (RFC 8410); the 32 bytes of the key follow."""
_P: Final = 2**255 - 19
_EIGHTH: Final = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
LOW_ORDER: Final = frozenset({0, 1, _EIGHTH, _P - _EIGHTH, _P - 1, _P, _P + 1})
"""The y coordinates, also as no encoder writes them, of the eight points of Ed25519 whose order divides 8."""
LENGTHS: Final = (len(SPKI) + 32, 64)
"""Bytes of a public key and of a signature."""
SHORT: Final = 12
"""Characters of a fingerprint in a sentence."""


class Signature(NamedTuple):
    """Of a block, by a key."""

    key: str
    """The fingerprint of the key."""
    value: bytes


class SignedText(NamedTuple):
    """A block as it is stored."""

    text: bytes
    signature: Signature | None = None


Verifies: TypeAlias = Callable[[bytes, bytes, bytes], bool]
"""Whether a signature is that of a text: public key (SubjectPublicKeyInfo), signature, text. The library is the caller's."""


def signed_text(digest: str) -> bytes:
    """The signed text of a block. The digest is of its chain, height and all else."""
    return PREFIX + digest.encode()


def fingerprint(public_key: bytes) -> str:
    """By which a key is named: SHA-256 of its SubjectPublicKeyInfo, in hexadecimal."""
    return sha256_of(public_key)


def key_content(public_key: bytes, replaces: str | None) -> dict[str, Any]:
    """The content of the record that names a key."""
    return {
        "key": fingerprint(public_key),
        "public_key": base64.b64encode(public_key).decode(),
        "replaces": replaces,
    }


def key_of_pem(text: bytes) -> bytes:
    """The public key in a PEM file. InputError where it is none of Ed25519."""
    lines = [line.strip() for line in text.strip().splitlines()]
    try:
        key = base64.b64decode(b"".join(lines[1:-1]), validate=True)
    except binascii.Error:
        key = b""
    is_pem = lines[:1] == [b"-----BEGIN PUBLIC KEY-----"] and lines[-1:] == [b"-----END PUBLIC KEY-----"]
    if not is_pem or not is_public_key(key):
        raise InputError("not the public key of Ed25519 in PEM (BEGIN PUBLIC KEY); docs/ledger.md says how to get it")
    return key


def signature_from(document: object) -> Signature:
    """The signature of its JSON document, as YAML has it. InputError where it is none."""
    match document:
        case {"key": str() as key, "value": str() as value, **others} if not others:
            try:
                return Signature(key, base64.b64decode(value, validate=True))
            except ValueError:
                pass
    raise InputError("a signature has the members `key` and `value`, which is Base64")


def signature_document(signature: Signature) -> dict[str, str]:
    """The JSON document of a signature."""
    return {"key": signature.key, "value": base64.b64encode(signature.value).decode()}


def is_public_key(public_key: bytes) -> bool:
    """Whether it is the SubjectPublicKeyInfo of an Ed25519 key, and by none of the keys for which anybody can sign any text."""
    is_key = public_key.startswith(SPKI) and len(public_key) == LENGTHS[0]
    return is_key and int.from_bytes(public_key[len(SPKI) :], "little") & ~(1 << 255) not in LOW_ORDER


@dataclass(slots=True)
class ChainKey:
    """A key that a chain names."""

    public_key: bytes
    height: int
    """Of its record."""
    signed: int = 0
    """Blocks with a valid signature by it."""


@dataclass(slots=True)
class Signatures:
    """Signers of blocks, as the blocks of a chain pass, the lowest first."""

    verifies: Verifies
    given: str | None = None
    """The fingerprint of a key that is known from elsewhere."""
    keys: dict[str, ChainKey] = field(default_factory=dict)
    """By fingerprint, the oldest first."""
    current: str = ""
    """The key that signs from here on; empty below the first record of a key."""
    covered: int = -1
    """The highest block with a valid signature: it and all below it are what its signer saw."""

    @property
    def is_by_given(self) -> bool:
        """Whether the given key signed a block: it proves all below, and the keys that replace it."""
        return self.given is not None and self.given in self.keys and self.keys[self.given].signed > 0

    def faults(
        self, height: int, block: AnyBlock, digest: str, signature: Signature | None
    ) -> Iterator[tuple[str, str]]:
        """Faults of the signature of the next block: the fault's name (`ledger.Wrong`), and why."""
        new = ""
        if isinstance(block, Record) and block.kind == KEY:
            public_key = base64.b64decode(block.content["public_key"])
            new = fingerprint(public_key)
            self.keys.setdefault(new, ChainKey(public_key, height))
            if not is_public_key(public_key):
                yield "unknown-key", f"{_short(new)} is no key of Ed25519 that only its owner can sign with"
            if block.content != key_content(public_key, self.current or None):
                yield "unknown-key", f"it does not name {_short(new)} as the one that replaces {_short(self.current)}"
        signer = self.current or new
        if signature is None:
            if signer and (new or not isinstance(block, Record)):
                yield "unsigned", f"{_short(signer)} should have signed it"
        elif signature.key != signer:
            yield "unknown-key", f"signed by {_short(signature.key)}, not by {_short(signer)}"
        elif not self._holds(signature, digest):
            yield "signature", f"it is not what {_short(signer)} signed"
        else:
            self.keys[signer].signed += 1
            self.covered = height
        self.current = new or self.current

    def _holds(self, signature: Signature, digest: str) -> bool:
        is_one = len(signature.value) == LENGTHS[1]
        return is_one and self.verifies(self.keys[signature.key].public_key, signature.value, signed_text(digest))


def _short(key: str) -> str:
    return f"the key {quote(key[:SHORT])}" if key else "none"

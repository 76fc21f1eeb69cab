"""Keys of Ed25519 that sign blocks, and signed chains, for the tests of signatures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from lakegate.contracts.lake.block import GENESIS, Block, canonical, digest
from lakegate.contracts.lake.records import Record, event_id
from lakegate.contracts.lake.signatures import Signature, SignedText, fingerprint, key_content, signed_text
from tests.unit.ledger_chain import RECORD, a_block

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakegate.contracts.lake.block import AnyBlock


@dataclass(frozen=True)
class Pair:
    """A private key by its number, with its public key."""

    number: int

    @cached_property
    def private(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(bytes([self.number]) * 32)

    @cached_property
    def public(self) -> bytes:
        return self.private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    @cached_property
    def name(self) -> str:
        return fingerprint(self.public)

    @property
    def pem(self) -> bytes:
        return self.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def sign(self, block: AnyBlock) -> Signature:
        return Signature(self.name, self.private.sign(signed_text(digest(block))))


ONE, TWO, FORGER = Pair(1), Pair(2), Pair(9)


def key_record(height: int, previous: str, pair: Pair, replaces: Pair | None = None, **content: Any) -> Record:
    """The record that names a key."""
    return Record(
        kind="key",
        height=height,
        previous=previous,
        system_time=RECORD.system_time,
        chain=RECORD.chain,
        actor="arn:aws:kms:eu-west-1:123456789012:key/1",
        event=event_id("key", RECORD.chain, pair.name),
        content={**key_content(pair.public, replaces.name if replaces else None), **content},
    )


def signed_chain(steps: Iterable[str], one: Pair = ONE, two: Pair = TWO) -> list[SignedText]:
    """A chain by its steps: `old` an unsigned delivery, `key` names a key, `next` rotates to the second, `block` is a signed
    delivery, `record` is of a person.
    """
    chain: list[SignedText] = []
    signer, previous = one, GENESIS
    for height, step in enumerate(steps):
        block: Block | Record = a_block(height, previous)
        by: Pair | None = signer
        if step == "key":
            block = key_record(height, previous, one)
        elif step == "next":
            block, signer = key_record(height, previous, two, one), two
        elif step == "record":
            block = replace(RECORD, height=height, previous=previous, event=event_id("replay", height))
        chain.append(SignedText(canonical(block), by.sign(block) if by and step not in {"old", "record"} else None))
        previous = digest(block)
    return chain

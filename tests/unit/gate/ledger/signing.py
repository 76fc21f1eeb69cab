"""Keys of Ed25519 that sign blocks, and signed chains, for the tests of signatures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from lakegate.gate.ledger.blocks import GENESIS, AnyBlock, Block, Record, canonical, digest, event_id
from lakegate.gate.ledger.signatures import Signature, SignedText, key_content, signed_text
from tests.fakes.signing import MemoryKey
from tests.unit.gate.ledger.ledger_chain import RECORD, a_block

ONE, TWO, FORGER = MemoryKey(1), MemoryKey(2), MemoryKey(9)


def signature_by(key: MemoryKey, block: AnyBlock) -> Signature:
    """Of a block."""
    return Signature(key.name, key.sign(signed_text(digest(block))))


def key_record(
    height: int, previous: str, pair: MemoryKey, replaces: MemoryKey | None = None, **content: Any
) -> Record:
    """The record that names a key."""
    return Record(
        kind="key",
        height=height,
        previous=previous,
        system_time=RECORD.system_time,
        chain=RECORD.chain,
        actor=pair.arn,
        event=event_id("key", RECORD.chain, pair.name),
        content={**key_content(pair.public_key(), replaces.name if replaces else None), **content},
    )


def signed_chain(steps: Iterable[str], one: MemoryKey = ONE, two: MemoryKey = TWO) -> list[SignedText]:
    """A chain by its steps: `old` an unsigned delivery, `key` names a key, `next` rotates to the second, `block` is a signed
    delivery, `record` is of a person.
    """
    chain: list[SignedText] = []
    signer, previous = one, GENESIS
    for height, step in enumerate(steps):
        block: Block | Record = a_block(height, previous)
        by: MemoryKey | None = signer
        if step == "key":
            block = key_record(height, previous, one)
        elif step == "next":
            block, signer = key_record(height, previous, two, one), two
        elif step == "record":
            block = replace(RECORD, height=height, previous=previous, event=event_id("replay", height))
        chain.append(
            SignedText(canonical(block), signature_by(by, block) if by and step not in {"old", "record"} else None)
        )
        previous = digest(block)
    return chain

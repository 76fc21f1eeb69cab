"""A chain of blocks and a record, for the tests of the ledger."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from lakegate.cli.datasets.chain_proofs import signatures_by
from lakegate.gate.ledger.blocks import (
    GENESIS,
    AnyBlock,
    Block,
    BlockKind,
    LedgerObject,
    Record,
    canonical,
    digest,
    event_id,
    parse_block,
)
from lakegate.gate.ledger.signatures import SignedText
from lakegate.gate.ledger.verification import ChainFault, verify_signed


def a_block(height: int = 0, previous: str = GENESIS) -> Block:
    return Block(
        kind=BlockKind.PUBLISHED,
        height=height,
        previous=previous,
        system_time=f"2026-11-21T11:30:00.{height:06}Z",
        chain="orders/lines_v1",
        workload=hashlib.sha256(str(height).encode()).hexdigest(),
        contract_version="1.2.0",
        plan="b" * 64,
        verdict="accepted",
        objects=(LedgerObject(f"accepted/{height}.csv", "v1", 12, "sha256:ab"),),
        rows=10,
        rejected_rows=0,
        event_time=("2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"),
    )


def a_chain(length: int) -> list[Block]:
    chain: list[Block] = []
    for height in range(length):
        chain.append(a_block(height, digest(chain[-1]) if chain else GENESIS))
    return chain


def verify_stored(
    texts: Iterable[bytes], head: str | None = None, anchors: Mapping[int, str] | None = None
) -> tuple[ChainFault, ...]:
    """The faults of an unsigned chain, by its texts; its name is that of the lowest block."""
    stored = [SignedText(text) for text in texts]
    readable = [block.chain for each in stored if (block := parse_block(each.text)) is not None]
    return verify_signed(stored, (readable or [""])[0], signatures_by(None), head, anchors)


def verify(
    blocks: Iterable[AnyBlock], head: str | None = None, anchors: Mapping[int, str] | None = None
) -> tuple[ChainFault, ...]:
    """The same, by its blocks."""
    return verify_stored(map(canonical, blocks), head, anchors)


CHAIN = a_chain(5)
HEAD = digest(CHAIN[-1])
STORED = [canonical(block) for block in CHAIN]


RECORD = Record(
    kind="replay",
    height=5,
    previous=HEAD,
    system_time="2026-11-21T11:30:00.000005Z",
    chain="orders/lines_v1",
    actor="arn:aws:sts::123456789012:assumed-role/Operator/eve",
    event=event_id("replay", "w", 1),
    content={"workload": "w", "state": "FAILED", "attempt": 1, "replayed_by": "w"},
)

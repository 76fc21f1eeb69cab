"""A chain of blocks and a record, for the tests of the ledger."""

from __future__ import annotations

import hashlib

from lakegate.contracts.lake.block import (
    GENESIS,
    Block,
    BlockKind,
    LedgerObject,
    canonical,
    digest,
)
from lakegate.contracts.lake.records import Record, event_id


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

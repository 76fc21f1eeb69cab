"""Deliveries with typed files: the contract, what a correct job writes, and the promise about blocks.

P2: a block lists the typed files of its own delivery alone: what its job wrote of all accepted rows, and of all rejected ones,
in their order, each stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest

from lakegate.contract.delivery_policy import PublishAs
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.ledger.blocks import Block
from lakegate.plan.plan import Plan
from lakegate.plan.result import WrittenFile
from tests.fakes.objects import MemoryObjects, Stored
from tests.simulation import contract
from tests.simulation.contract import read_json
from tests.simulation.sliced_job import keep_once

MOST = 4
"""Rows of a typed file: each byte is one."""
FIRST = b"typed:"
"""The beginning of each typed file, which no delivery has."""


@contextmanager
def with_typed_files() -> Iterator[None]:
    """The simulated contract publishes accepted rows as typed files, too, whatever else it says."""
    with pytest.MonkeyPatch.context() as patch:
        for version, body in list(contract.PLANS.items()):
            plan = typed_plan(body)
            patch.setitem(contract.PLANS, version, plan)
            patch.setitem(contract.DIGESTS, version, contract.digest(plan))
            patch.setitem(contract.VERSION_OF, contract.digest(plan), version)
        yield


@lru_cache(64)
def typed_plan(body: bytes) -> bytes:
    """A plan that publishes typed files, too."""
    plan = Plan.from_bytes(body)
    return replace(plan, policy=replace(plan.policy, publish_as=PublishAs.ICEBERG)).to_bytes()


def typed_files_of(
    objects: MemoryObjects, asked: Mapping[str, Any], accepted: bytes, rejected: bytes
) -> dict[str, Any]:
    """Members of the result: the typed files of the accepted, and of the rejected rows."""
    found: dict[str, Any] = {}
    for member, name, body in (("typed_files", "part", accepted), ("rejected_files", "rejected", rejected)):
        files = []
        for number, rows in enumerate(_divided(body)):
            uri = f"{asked['output_uri']}/table/{name}-{number:05}.parquet"
            written = keep_once(objects, uri, FIRST + rows)
            files.append(WrittenFile(uri, written.size, written.etag, len(rows)))
        found[member] = tuple(files)
    return found


def fault_of(block: Block, row: Workload, shares: tuple[bytes, bytes], lake: Mapping[str, list[Stored]]) -> str:
    """What is wrong with the typed files of a block; empty: nothing. `shares`: accepted and rejected rows of its delivery."""
    assert row.pin is not None
    plan = read_json(lake[f"plans/{row.pin.plan}.json"][-1].body) if row.pin.plan else {"policy": {}}
    if plan["policy"].get("publish_as") != "iceberg" or block.kind != "published":
        return (
            ""
            if block.typed_keys == frozenset() and block.table is None
            else "a block has typed files that its contract does not publish, or of what is rejected"
        )
    folder = f"{block.chain}/ingest_date={row.pin.ingest_date}/workload={row.id}/_table"
    listed = (("accepted", "part", block.table), ("quarantine", "rejected", block.rejected_table or ()))
    for (share, name, files), body in zip(listed, shares, strict=True):
        parts = _divided(body)
        wanted = [(f"{share}/{folder}/{name}-{number:05}.parquet", len(rows)) for number, rows in enumerate(parts)]
        if files is None or [(each.key, each.rows) for each in files] != wanted:
            return "a block lists other typed files than those of its rows"
        if [[stored.body for stored in lake.get(key, ())] for key, _ in wanted] != [[FIRST + rows] for rows in parts]:
            return "a typed file of a block is not there, or has other rows"
    return ""


def _divided(rows: bytes) -> list[bytes]:
    return [rows[begin : begin + MOST] for begin in range(0, len(rows), MOST)]

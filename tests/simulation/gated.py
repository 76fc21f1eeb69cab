"""The world of a gated table: a producer who commits to a branch, others who move main, the gate, and who publishes."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lakegate.contract.delivery_policy import ADDED, OnReject, Pull
from lakegate.contract.file_formats import Format, Storage
from lakegate.features.pull.snapshots.gated_tables import PINS, GatedBranch, SnapshotPins
from lakegate.features.pull.snapshots.iceberg_branches import SnapshotSource
from lakegate.features.pull.snapshots.name_snapshots import deliver_snapshots
from lakegate.features.pull.snapshots.publish_snapshots import FollowedSnapshots, publish_snapshots
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import ConcurrentUpdate, Steps, run
from lakegate.gate.ledger.blocks import Block, BlockKind
from lakegate.gate.ports import Address
from lakegate.gate.registry.registry_rows import Publication, Route
from lakegate.gate.scheduled_tasks import Turn
from tests.fakes.gated_tables import MemoryGatedTable, rows_in
from tests.fakes.pulls import MemoryLandingParts
from tests.simulation.contract import PLAN, digest
from tests.simulation.environment import LAKE, LANDING, LINE, PREFIX, Environment
from tests.simulation.stage import Fault
from tests.simulation.test_recalls import play

SOURCE = "iceberg://sales/orders?branch=audit"
STAGED = "iceberg://sales/orders?wap=*"
BRANCH = GatedBranch("sales", "orders", "audit")
GATED = replace(
    PLAN,
    storage=Storage(Format.PARQUET),
    policy=replace(PLAN.policy, on_reject=OnReject.FILE, pull=Pull(SOURCE, "rate(5 minutes)")),
)


class JudgedRows(Environment):
    """Whose jobs read Parquet."""

    def _judged(self, asked: Mapping[str, Any]) -> bytes:
        return content_of(super()._judged(asked)).encode()


def publish_gated(env: Environment, rows: str = "", source: str = SOURCE) -> None:
    """Publish the contract of a gated table."""
    body = replace(GATED, policy=replace(GATED.policy, pull=Pull(source, "rate(5 minutes)", rows=rows))).to_bytes()
    env.memory.objects.put(Address(LAKE, f"plans/{digest(body)}.json"), body)
    route = Route(LANDING, PREFIX, "orders", "lines", 1, "1.1.0", "active", digest(body))
    labels = (("pull", "lines"), ("gated-table", "lines"))
    own = Publication("orders", "1.1.0", "active", "c", (route,), plans=(("lines", digest(body)),), labels=labels)
    env.memory.registry.publish(own)


def content_of(body: bytes) -> str:
    """The rows of a judged file."""
    return rows_in(pq.read_table(io.BytesIO(body))["name"].to_pylist())


@dataclass(frozen=True, slots=True)
class MemorySnapshots(SnapshotSource):
    """SnapshotSource: written without a library of Iceberg; somebody may act meanwhile."""

    meanwhile: Callable[[], object] = int

    def _write(self, _branch: GatedBranch, file: Path, pins: SnapshotPins, added: frozenset[str] | None) -> None:
        from lakegate.base.json_codec import encode  # noqa: PLC0415 - as in the original

        assert isinstance(self.tables, MemoryGatedTable)
        self.tables.write(int(pins.snapshot), file, {PINS: json.dumps(encode(pins))}, added)
        self.meanwhile()


@dataclass
class GatedWorld:
    """What a test plays with."""

    env: JudgedRows = field(default_factory=JudgedRows)
    table: MemoryGatedTable = field(default_factory=MemoryGatedTable)
    meanwhile: Callable[[], object] = int
    rows: str = ""
    source: str = SOURCE
    judged: dict[int, str] = field(default_factory=dict)
    """By snapshot, the rows that the gate has judged."""
    deliveries: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        publish_gated(self.env, self.rows, self.source)
        self.table.adds = self.rows == ADDED
        self.landing = MemoryLandingParts(self.env.memory.objects, LANDING)

    # who acts

    def delivers(self) -> Steps[Turn]:
        """A tick that looks at the branch, and delivers what is named."""
        source = MemorySnapshots(self.table, frozenset(), meanwhile=self._act)
        return deliver_snapshots(self.env.dependencies, self.table, source, self.landing, 200)

    def _act(self) -> None:
        self.meanwhile()

    def publishes(self) -> Steps[FollowedSnapshots]:
        """A turn of who follows the ledger."""
        return publish_snapshots(self.env.dependencies, self.table, LINE)

    def tick(self, minutes: float = 6) -> Turn:
        """The next tick without faults."""
        self.env.memory.clock.sleep(60 * minutes)
        return run(self.delivers(), self.env.memory.clock)

    def look(self) -> None:
        """Ticks until what is on the branch has landed."""
        for minutes in (6, 6, 1):
            self.tick(minutes)

    def gate(self) -> None:
        """Take what landed, judge it, commit its block, and delete it."""
        objects = self.env.memory.objects
        for each in objects.versions(LANDING, PREFIX).versions:
            body = objects.read(Address(LANDING, each.key, each.version))
            stated = (pq.read_metadata(io.BytesIO(body)).metadata or {}).get(PINS.encode(), b"{}")
            snapshot = int(json.loads(stated).get("snapshot", 0))
            if "-forged" not in each.key:
                self.deliveries[snapshot] += 1
                self.judged[snapshot] = content_of(body)
            upload = self.env.upload(f"{PREFIX}taken-{each.version}{'-forged' if '-forged' in each.key else ''}", body)
            objects.delete(Address(LANDING, each.key, each.version))
            clock = self.env.dependencies.clock
            run(intake(self.env.dependencies, LANDING, upload.version.key), clock)
            for _, job in self.env.new_jobs():
                run(job, clock)
            row = self.env.dependencies.workloads.get(upload.workload)
            run(advance(DeliveryTurn(self.env.dependencies, row)), clock)

    def publish(self) -> FollowedSnapshots:
        """A turn without faults."""
        followed = run(self.publishes(), self.env.dependencies.clock)
        self.holds()
        return followed

    def tries(self, at: int = -1, fault: Fault = Fault.NONE, meanwhile: Callable[[], object] = int) -> int:
        """A turn, which may find that others are faster. Returns its effects."""
        try:
            return play(self, self.publishes(), at, fault, meanwhile)
        except ConcurrentUpdate:
            self.holds()
            return at + 1

    def forge(self, like: bytes, name: str) -> None:
        """The producer uploads an object of its own with the footer of a snapshot."""
        stated = (pq.read_metadata(io.BytesIO(like)).metadata or {})[PINS.encode()].decode()
        file = io.BytesIO()
        rows = pq.read_table(io.BytesIO(like))
        with pq.ParquetWriter(file, rows.schema, compression="none") as writer:
            writer.write_table(rows)
            writer.add_key_value_metadata({PINS: stated})
        self.env.memory.objects.put(Address(LANDING, f"{PREFIX}{name}-forged"), file.getvalue())

    # what holds

    def accepted(self) -> dict[int, str]:
        """By snapshot, the rows of the accepted objects that state it."""
        found = {}
        for block in self.env.dependencies.ledger.blocks(LINE):
            if isinstance(block, Block) and block.kind is BlockKind.PUBLISHED:
                stored = block.objects[0]
                body = self.env.memory.objects.read(Address(LAKE, stored.key, stored.version))
                stated = (pq.read_metadata(io.BytesIO(body)).metadata or {}).get(PINS.encode())
                if stated:
                    found[int(json.loads(stated)["snapshot"])] = content_of(body)
        return found

    def holds(self) -> None:
        """What the gate made main was accepted by a block, as its files are, on a snapshot that it is based on, once each."""
        accepted = self.accepted()
        for before, snapshot in self.table.written:
            assert accepted.get(snapshot, "").startswith("good"), "not accepted"
            assert self.judged[snapshot] == accepted[snapshot] == self.table.compared[snapshot], "other rows"
            assert before in {*self.line(snapshot), None}, "a commit of others is lost"
            assert before is not None or snapshot == self.table.written[0][1]
        assert max(Counter(each for _, each in self.table.written).values(), default=1) == 1, "twice"
        assert max(self.deliveries.values(), default=1) == 1, "one snapshot is two deliveries"
        if self.rows == ADDED:
            self._adds_up(accepted)

    def _adds_up(self, accepted: Mapping[int, str]) -> None:
        """What is on main by the gate is in accepted data, once."""
        rows = [row for each in accepted.values() for row in each.split("+")]
        assert len(rows) == len(set(rows)), "rows are accepted twice"
        for before, snapshot in self.table.written:
            assert {*self.table.way(snapshot, before)} <= {*self.table.asked[snapshot]}, "rows that were not judged"

    def line(self, snapshot: int) -> list[int]:
        """A snapshot and those before it."""
        found: list[int] = []
        at: int | None = snapshot
        while at is not None:
            found.append(at)
            at = self.table.parents.get(at)
        return found

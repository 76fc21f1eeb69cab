"""Tables of producers in memory: branches, a current snapshot that moves under a condition, and files that may be exchanged."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lakegate.base.errors import ConditionFailed
from lakegate.base.json_codec import sha256_of
from lakegate.features.pull.snapshots.gated_tables import GatedBranch, SnapshotFiles, TableState


@dataclass(slots=True)
class MemoryGatedTable:
    """GatedTables: one table, under whatever name; no table once it is dropped."""

    uuid: str | None = "0a"
    main: int | None = None
    head: int | None = None
    parents: dict[int, int | None] = field(default_factory=dict)
    past: list[int] = field(default_factory=list)
    contents: dict[int, str] = field(default_factory=dict)
    """By snapshot, what its files have now."""
    written: list[tuple[int | None, int]] = field(default_factory=list)
    """The commits of the gate: from which current snapshot to which."""
    compared: dict[int, str] = field(default_factory=dict)
    """By snapshot, what its files had when they were last asked for: no commit has a condition on files."""
    made: int = 0

    def state(self, _branch: GatedBranch) -> TableState | None:
        if self.uuid is None:
            return None
        return TableState(self.uuid, self.main, self.head, dict(self.parents), frozenset(self.past))

    def files(self, _branch: GatedBranch, snapshot: int) -> SnapshotFiles | None:
        if self.uuid is None or snapshot not in self.parents:
            return None
        self.compared[snapshot] = self.contents[snapshot]
        return SnapshotFiles(sha256_of(f"{snapshot}:{self.contents[snapshot]}"), 1, len(self.contents[snapshot]))

    def set_main(self, _branch: GatedBranch, state: TableState, snapshot: int) -> None:
        if (self.uuid, self.main) != (state.uuid, state.main) or snapshot not in self.parents:
            raise ConditionFailed
        self.written.append((self.main, snapshot))
        self.move(snapshot)

    # what others do

    def commit(self, content: str, *, to_main: bool = False) -> int:
        """A snapshot on the branch, which begins at the current one; or a foreign one on main."""
        self.made += 1
        base = self.main if to_main or self.head is None else self.head
        self.parents[self.made], self.contents[self.made] = base, content
        if to_main:
            self.move(self.made)
        else:
            self.head = self.made
        return self.made

    def move(self, snapshot: int) -> None:
        """Another current snapshot."""
        self.main = snapshot
        self.past.append(snapshot)

    def rebase(self, content: str) -> int:
        """A snapshot on the branch, which begins anew at the current one."""
        self.head = None
        return self.commit(content)

    def write(self, snapshot: int, file: Path, stated: dict[str, str]) -> None:
        """The rows of a snapshot, with texts in the footer."""
        rows = pa.table({"name": [self.contents[snapshot]], "amount": pa.array([1], pa.int64())})
        with pq.ParquetWriter(file, rows.schema) as writer:
            writer.write_table(rows)
            writer.add_key_value_metadata(stated)

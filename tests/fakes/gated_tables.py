"""Tables of producers in memory: branches, a current snapshot that moves under a condition, and files that may be exchanged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lakegate.base.errors import ConditionFailed, PortError
from lakegate.base.json_codec import sha256_of
from lakegate.features.pull.snapshots.gated_tables import GatedBranch, SnapshotFiles, TableState


def rows_in(contents: Iterable[str]) -> str:
    """What several snapshots have added, as one text: a bad row is the first one."""
    return "+".join(sorted(contents))


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
    asked: dict[int, list[int]] = field(default_factory=dict)
    """By snapshot, those whose rows were asked for with it."""
    adds: bool = False
    """Whether what a snapshot has is beside what those have that it is based on; else it is the whole table."""
    staged: list[int] = field(default_factory=list)
    changed: set[int] = field(default_factory=set)
    """Snapshots that change or delete rows of the one before."""
    made: int = 0

    def state(self, branch: GatedBranch) -> TableState | None:
        if self.uuid is None:
            return None
        heads: tuple[int, ...] = () if self.head is None else (self.head,)
        if not branch.branch:
            below = {each for top in (self.main, self.head) for each in self.way(top, None)}
            free = [each for each in self.staged if each in self.parents and each not in below.union(self.past)]
            heads = tuple(
                each for each in free if self.parents[each] == self.main or each == free[-1] > (self.main or 0)
            )
        return TableState(self.uuid, self.main, heads, dict(self.parents), frozenset(self.past))

    def files(self, _branch: GatedBranch, snapshot: int, since: int | None = None) -> SnapshotFiles | None:
        if self.uuid is None or not {snapshot, since} <= {*self.parents, None}:
            return None
        self.asked[snapshot] = way = self.way(snapshot, since) if self.adds or since else [snapshot]
        if self.changed.intersection(way if since is not None else ()):
            raise PortError("rows-changed")
        self.compared[snapshot] = text = rows_in(self.contents[each] for each in way)
        added = None if since is None else frozenset(map(str, way))
        return SnapshotFiles(sha256_of(f"{snapshot}:{since}:{text}"), len(way), len(text), added)

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

    def stage(self, content: str) -> int:
        """A snapshot that is based on the current one, and that no branch has."""
        self.made += 1
        self.parents[self.made], self.contents[self.made] = self.main, content
        self.staged.append(self.made)
        return self.made

    def move(self, snapshot: int) -> None:
        """Another current snapshot."""
        self.main = snapshot
        self.past.append(snapshot)

    def rebase(self, content: str) -> int:
        """A snapshot on the branch, which begins anew at the current one."""
        self.head = None
        return self.commit(content)

    def way(self, snapshot: int | None, since: int | None) -> list[int]:
        """A snapshot and those between it and another one that it is based on."""
        found: list[int] = []
        at: int | None = snapshot
        while at not in {since, None}:
            assert at is not None
            found.append(at)
            at = self.parents.get(at)
        return found

    def write(self, snapshot: int, file: Path, stated: dict[str, str], added: frozenset[str] | None) -> None:
        """The rows of a snapshot, or those that some added, with texts in the footer."""
        whole = self.way(snapshot, None) if self.adds else [snapshot]
        names = [self.contents[each] for each in (whole if added is None else sorted(map(int, added)))]
        rows = pa.table({"name": names, "amount": pa.array([1] * len(names), pa.int64())})
        with pq.ParquetWriter(file, rows.schema) as writer:
            writer.write_table(rows)
            writer.add_key_value_metadata(stated)

"""Tables of a catalog in memory: a commit is on the current snapshot, or refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from lakegate.base.errors import ConditionFailed, InputError
from lakegate.features.tables.compact_table import ListedFile, MergedFile
from lakegate.features.tables.keep_table import FilesRewritten, ShownState, TableKind, TableSnapshot
from lakegate.features.tables.table_description import COMPACTED
from lakegate.gate.ledger.blocks import TableFile
from lakegate.gate.ports import Address, ObjectReader


class StoredSnapshot(NamedTuple):
    """A snapshot with the files of the table; one of another program has no state of ours."""

    id: int
    state: ShownState | None
    files: tuple[str, ...]
    """Keys; a file that was added twice is there twice, as its rows are."""
    replaces: bool = False
    """Whether it has the same rows as the one before."""
    removed: tuple[str, ...] = ()
    """Files that its metadata names as removed."""

    @property
    def named(self) -> frozenset[str]:
        """The files whose statistics its metadata has."""
        return frozenset((*self.files, *self.removed))


@dataclass(slots=True)
class MemoryTables:
    """CatalogTables."""

    objects: ObjectReader
    lake: str
    kind: TableKind = TableKind.ACCEPTED
    tables: dict[str, list[StoredSnapshot]] = field(default_factory=dict)
    """By dataset."""
    metadata: dict[str, dict[str, StoredSnapshot]] = field(default_factory=dict)
    """By dataset and address the files of metadata, also of snapshots that were taken out."""
    expired: dict[str, str] = field(default_factory=dict)
    """By dataset, until it is cleared."""
    compacted: set[str] = field(default_factory=set)
    """Datasets whose contract asks that small files are put together."""
    merged: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By its name, the keys of the typed files that a file was made of; also of files that no snapshot has."""
    foreign: set[str] = field(default_factory=set)
    """Files of other programs."""
    until: dict[str, str] = field(default_factory=dict)
    """By dataset, when the first file is to leave."""
    made: int = 0
    """The number of the newest snapshot, or merged file."""

    def shown(self, dataset: str) -> ShownState | None:
        snapshots = self.tables.get(dataset)
        if snapshots is None:
            return None
        if not snapshots:
            return ShownState()
        expired = self.expired.get(dataset, "")
        for each in reversed(snapshots):
            if each.state is not None:
                until = self.until.get(dataset, "")
                return each.state._replace(snapshot=snapshots[-1].id, expired=expired, until=until)
            if not each.replaces:
                raise InputError("another program has changed rows of the table")
        return ShownState(snapshot=snapshots[-1].id, expired=expired)

    def make(self, dataset: str, first: TableFile | None) -> None:
        if self.kind is TableKind.ACCEPTED:
            assert first is not None
            self.objects.head(Address(self.lake, first.key))
        self.tables.setdefault(dataset, [])

    def commit(self, snapshot: TableSnapshot, shown: ShownState) -> ShownState:
        snapshots = self.tables.get(snapshot.dataset)
        if snapshots is None or (snapshots[-1].id if snapshots else None) != shown.snapshot:
            raise ConditionFailed
        files = list(snapshots[-1].files) if snapshots else []
        if not set(snapshot.removed) <= {*files, *self._inside(files)}:
            raise FilesRewritten
        added = [each.key for each in snapshot.added]
        for each in added:
            self.objects.head(Address(self.lake, each))
        if snapshot.is_whole:
            left = [each for each in files if each in self.merged and set(self.merged[each]) <= set(added)]
        else:
            broken = [each for each in files if set(self.merged.get(each, (each,))) & set(snapshot.removed)]
            left = [each for each in files if each not in broken]
            added += [each for each in self._inside(broken) if each not in snapshot.removed]
        added = [each for each in added if each not in self._inside(left)]
        if snapshot.description is not None:
            asked = COMPACTED in dict(snapshot.description.properties)
            (self.compacted.add if asked else self.compacted.discard)(snapshot.dataset)
        state = ShownState(snapshot.height, snapshot.digest, self._next())
        if (standing := snapshot.standing) is not None:
            self.expired[snapshot.dataset] = f"before {state.snapshot}"
            snapshots[:] = [each for each in snapshots if set(self.parts(each.named)) <= standing]
        self._keep(
            snapshot.dataset, StoredSnapshot(state.snapshot or 0, state, (*left, *added), removed=snapshot.removed)
        )
        self.until[snapshot.dataset] = snapshot.until
        return state._replace(expired=self.expired.get(snapshot.dataset, ""), until=snapshot.until)

    def leftovers(self, dataset: str, now: datetime, erased: AbstractSet[str]) -> tuple[str, ...]:
        assert now.tzinfo is not None
        snapshots = self.tables.get(dataset, [])
        used, named = {each.id for each in snapshots}, {key for each in snapshots for key in each.named}
        gone = (address for address, each in self.metadata.get(dataset, {}).items() if each.id not in used)
        return (*gone, *(name for name, parts in self.merged.items() if name not in named and erased & {*parts}))

    def discard(self, dataset: str, address: str) -> None:
        self.metadata[dataset].pop(address, None)
        self.merged.pop(address, None)

    def clear(self, dataset: str, shown: ShownState) -> ShownState:
        snapshots = self.tables.get(dataset)
        if not snapshots or snapshots[-1].id != shown.snapshot:
            raise ConditionFailed
        self.expired.pop(dataset, None)
        return shown._replace(expired="")

    def files(self, dataset: str, shown: ShownState) -> tuple[ListedFile, ...]:
        snapshots = self.tables.get(dataset)
        if not snapshots or snapshots[-1].id != shown.snapshot or dataset not in self.compacted:
            return ()
        found = (each for each in snapshots[-1].files if each not in self.foreign)
        return tuple(ListedFile(each, 1, len(self.parts([each]))) for each in found)

    def merge(self, dataset: str, group: Sequence[ListedFile]) -> MergedFile:
        parts = self.parts(each.address for each in group)
        for each in parts:
            self.objects.head(Address(self.lake, each))
        name = f"tables/{dataset}/{self._next()} of {len(parts)}"
        self.merged[name] = parts
        return MergedFile(name, tuple(each.address for each in group))

    def put(self, dataset: str, merged: MergedFile, shown: ShownState) -> None:
        snapshots = self.tables.get(dataset)
        if not snapshots or snapshots[-1].id != shown.snapshot:
            raise ConditionFailed
        files = snapshots[-1].files
        if merged.address in files:
            return
        if not set(merged.of) <= set(files):
            raise FilesRewritten
        left = (each for each in files if each not in merged.of)
        self._keep(
            dataset, StoredSnapshot(self._next(), None, (*left, merged.address), replaces=True, removed=merged.of)
        )

    def _inside(self, files: Iterable[str]) -> tuple[str, ...]:
        return tuple(part for each in files for part in self.merged.get(each, ()))

    def parts(self, files: Iterable[str]) -> tuple[str, ...]:
        """The typed files, and those of other programs, whose rows files have."""
        return tuple(part for each in files for part in self.merged.get(each, (each,)))

    def _next(self) -> int:
        self.made += 1
        return self.made

    def _keep(self, dataset: str, snapshot: StoredSnapshot) -> None:
        self.tables[dataset].append(snapshot)
        self.metadata.setdefault(dataset, {})[f"tables/{dataset}/{snapshot.id}"] = snapshot

    def write_foreign(self, dataset: str, files: tuple[str, ...], *, replaces: bool) -> None:
        """A snapshot of another program; `replaces`: with the same rows."""
        self.foreign |= {*files} - {*self.rows(dataset)}
        self._keep(dataset, StoredSnapshot(self._next(), None, files, replaces))

    def rows(self, dataset: str) -> tuple[str, ...]:
        """The keys of the files that a reader reads now."""
        snapshots = self.tables.get(dataset)
        return snapshots[-1].files if snapshots else ()

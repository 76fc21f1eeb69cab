"""Tables of a catalog in memory: a commit is on the current snapshot, or refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from lakegate.base.errors import ConditionFailed, InputError
from lakegate.features.tables.keep_table import FilesRewritten, ShownState, TableSnapshot
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


@dataclass(slots=True)
class MemoryTables:
    """CatalogTables."""

    objects: ObjectReader
    lake: str
    tables: dict[str, list[StoredSnapshot]] = field(default_factory=dict)
    """By dataset."""

    def shown(self, dataset: str) -> ShownState | None:
        snapshots = self.tables.get(dataset)
        if snapshots is None:
            return None
        if not snapshots:
            return ShownState()
        for each in reversed(snapshots):
            if each.state is not None:
                return each.state._replace(snapshot=snapshots[-1].id)
            if not each.replaces:
                raise InputError("another program has changed rows of the table")
        return ShownState(snapshot=snapshots[-1].id)

    def make(self, dataset: str, first: TableFile) -> None:
        self.objects.head(Address(self.lake, first.key))
        self.tables.setdefault(dataset, [])

    def commit(self, snapshot: TableSnapshot, shown: ShownState) -> ShownState:
        snapshots = self.tables.get(snapshot.dataset)
        if snapshots is None or (snapshots[-1].id if snapshots else None) != shown.snapshot:
            raise ConditionFailed
        files = list(snapshots[-1].files) if snapshots else []
        if not set(snapshot.removed) <= set(files):
            raise FilesRewritten
        for each in snapshot.added:
            self.objects.head(Address(self.lake, each.key))
        left = [] if snapshot.is_whole else [each for each in files if each not in snapshot.removed]
        state = ShownState(snapshot.height, snapshot.digest, len(snapshots) + 1)
        snapshots.append(StoredSnapshot(len(snapshots) + 1, state, (*left, *(each.key for each in snapshot.added))))
        return state

    def write_foreign(self, dataset: str, files: tuple[str, ...], *, replaces: bool) -> None:
        """A snapshot of another program; `replaces`: with the same rows."""
        snapshots = self.tables[dataset]
        snapshots.append(StoredSnapshot(len(snapshots) + 1, None, files, replaces))

    def rows(self, dataset: str) -> tuple[str, ...]:
        """The keys of the files that a reader reads now."""
        snapshots = self.tables.get(dataset)
        return snapshots[-1].files if snapshots else ()

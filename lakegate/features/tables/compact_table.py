"""Compaction: the rows of many small files of a table are put into one, in a snapshot of the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from lakegate.base.errors import ConditionFailed
from lakegate.features.tables.keep_table import FilesRewritten, ShownState
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform

# ---- The port ----


class ListedFile(NamedTuple):
    """A data file of a table."""

    address: str
    size: int
    """Bytes."""
    parts: int
    """Typed files whose rows it has: 1 of one that a run wrote."""


class MergedFile(NamedTuple):
    """A file that has the rows of others, and is to be in their place."""

    address: str
    of: tuple[str, ...]
    """The addresses of the others."""


class CompactedTables(Protocol):
    """The tables of a catalog, whose files can be put together: that changes no rows, and not the height that is shown.

    No file is deleted: those of before are in earlier snapshots, and typed files are those of the ledger.
    """

    def shown(self, dataset: str) -> ShownState | None:
        """See `lakegate.features.tables.keep_table.CatalogTables`."""
        ...

    def files(self, dataset: str, shown: ShownState) -> tuple[ListedFile, ...]:
        """The typed files of the snapshot that is shown, and those that were put together of them, as they came.

        None where another snapshot is current, or the contract asks for no compaction.
        """
        ...

    def merge(self, dataset: str, group: Sequence[ListedFile]) -> MergedFile:
        """Write the rows of files into one, which is in no snapshot yet. It has a name of its own each time."""
        ...

    def put(self, dataset: str, merged: MergedFile, shown: ShownState) -> None:
        """Put a merged file in the place of the others, in a snapshot of its own. A table that lists it stays as it is.

        Raises ConditionFailed where another snapshot is current, and FilesRewritten where it lacks one of the others.
        """
        ...


# ---- Which files are put together ----
# Thirty-two small files become one, and thirty-two of these again: so rows are written twice at most. One file has the rows of so
# many typed files and bytes at most, because they come back one by one when a delivery among them leaves the table.


LEAST_FILES: Final = 32
MOST_PARTS: Final = 1_024
MOST_BYTES: Final = 256 << 20
SMALL_PARTS: Final = MOST_PARTS // 2
SMALL_BYTES: Final = MOST_BYTES // 8
"""A file of so many parts, or bytes, stays as it is."""


def groups(files: Iterable[ListedFile]) -> Iterator[tuple[ListedFile, ...]]:
    """Files that are to be put together: small ones, as many as are worth it or as fit."""
    held: tuple[list[ListedFile], list[ListedFile]] = [], []
    for each in files:
        if each.size >= SMALL_BYTES or each.parts >= SMALL_PARTS:
            continue
        group = held[each.parts >= LEAST_FILES]
        if not _fits([*group, each]):
            yield tuple(group)
            group.clear()
        group.append(each)
    yield from (tuple(group) for group in held if len(group) >= LEAST_FILES)


def _fits(group: Sequence[ListedFile]) -> bool:
    return sum(each.size for each in group) <= MOST_BYTES and sum(each.parts for each in group) <= MOST_PARTS


# ---- The table of a dataset ----


MOST_GROUPS: Final = 8
"""Of one turn of a dataset: others have their turn, too."""
SECONDS_OF_GROUP: Final = 240.0
"""With less time left no group is begun. One of 1,024 files, or of 256 MB, takes half a minute to two minutes."""
TRIES: Final = 10
"""To put a file into a table that others commit to."""


@dataclass(slots=True)
class CompactedTable:
    """What a compaction did for a table."""

    dataset: str
    merged: list[int] = field(default_factory=list)
    """Of each file that was put in, how many it replaced."""


def compact_table(dependencies: Dependencies, tables: CompactedTables, dataset: str) -> Steps[CompactedTable]:
    """Put small files of a table together, group by group, while there is time."""
    compacted = CompactedTable(dataset)
    shown = tables.shown(dataset)
    if shown is None:
        return compacted
    for number, group in enumerate(groups(tables.files(dataset, shown))):
        if number >= MOST_GROUPS or dependencies.remaining() < SECONDS_OF_GROUP:
            break
        merged = yield from perform(Effect.MERGE_FILES, tables.merge, dataset, group)
        if (yield from _put(tables, dataset, merged)):
            compacted.merged.append(len(merged.of))
    return compacted


def _put(tables: CompactedTables, dataset: str, merged: MergedFile) -> Steps[bool]:
    """Whether the table has the file then. Deliveries that came meanwhile do not matter, unless a file has left with one."""
    for _ in range(TRIES):
        shown = tables.shown(dataset)
        if shown is None:
            break
        try:
            yield from perform(Effect.PUT_MERGED, tables.put, dataset, merged, shown)
        except ConditionFailed:
            continue
        except FilesRewritten:
            break
        return True
    return False

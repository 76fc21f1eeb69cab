"""The current rows of a line of snapshots, found from its slices: a key has a row unless its newest event removes one.

The slices stay on this machine, so that what a later snapshot retracts or corrects is read from them.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakegate.contracts.errors import InputError
from lakegate.contracts.odf.columns import COMMON
from lakegate.contracts.plan.slices import PublishedSlice, StateRun
from lakegate.engine.read.local import LocalStore
from lakegate.engine.slices.earlier import Content, earlier_rows
from lakegate.engine.slices.events import TAKEN_BACK, SnapshotDifference
from lakegate.engine.slices.merging import Identified
from lakegate.engine.slices.state import PLACED, StateRecords, write_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from lakegate.engine.slices.identities import Hashes


@dataclass(slots=True)
class CurrentRows:
    """The rows of a line of snapshots, below a delivery."""

    records: NDArray[np.void] = field(default_factory=lambda: np.empty(0, PLACED))
    """By key."""
    slices: list[PublishedSlice] = field(default_factory=list)

    def add(self, files: Iterable[Path], key: tuple[str, ...], time: str | None) -> None:
        """The events of slices, too, in the order of their offsets. `time`: a column that is no content. InputError."""
        for path in files:
            tables, common = _events_of(path)
            found = Identified.of(iter(tables), key, _present(tables, time))
            operations, offsets = (np.concatenate([*map(np.asarray, each)]).astype(np.int64) for each in common)
            keys, place = np.unique(found.keys[::-1], return_index=True)
            last = len(found.keys) - 1 - place
            new = last[~np.isin(operations[last], TAKEN_BACK)]
            added = StateRecords.of(found.keys[new], found.contents[new], offsets[new]).records
            self._replace(keys, added)
            self.slices.append(PublishedSlice(path.as_uri(), int(offsets[0]), len(offsets)))

    def _replace(self, keys: Hashes, added: NDArray[np.void]) -> None:
        """Put records in the place of those with some keys; all are sorted. The others are moved, and not sorted again."""
        begins, ends = (np.searchsorted(self.records["key"], keys, side) for side in ("left", "right"))
        stays = np.delete(self.records, begins[ends > begins])
        self.records = np.insert(stays, np.searchsorted(stays["key"], added["key"]), added)

    def whole(self, folder: Path, as_of: str) -> StateRun:
        """The state of the line as a file; `as_of`: of its newest snapshot."""
        path = folder / "state.bin"
        rows, digest = write_run(StateRecords(self.records), [], path)
        return StateRun(path.as_uri(), rows, digest, as_of)

    def events(
        self,
        tables: Callable[[], Iterator[pa.Table]],
        key: tuple[str, ...],
        time: str | None,
        schema: pa.Schema,
        path: Path,
    ) -> Iterator[pa.Table]:
        """The events of a snapshot that is merged; `path`: of a file for retracted and corrected rows."""
        content = Content(schema, () if time is None else (time,))
        rows = Identified.of(tables(), key, content.without)
        difference = SnapshotDifference.of(rows, self.records)
        with earlier_rows(LocalStore(), self.slices, difference.taken_back, content, path) as earlier:
            yield from difference.tables(tables(), earlier)


def _events_of(path: Path) -> tuple[list[pa.Table], tuple[list[pa.Array], list[pa.Array]]]:
    """The rows of a slice without the common columns; operations and offsets."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - only lines of snapshots need it

    try:
        with path.open("rb") as file, closing(ParquetFile(file)) as parquet:
            tables = [pa.Table.from_batches([each]) for each in parquet.iter_batches()]
        operations, offsets = ([each.column(name) for each in tables] for name in (COMMON[1], COMMON[0]))
        if tables:
            return [each.drop_columns(list(COMMON)) for each in tables], (operations, offsets)
    except (pa.ArrowException, KeyError):
        pass
    raise InputError("a file is no slice of the line")


def _present(tables: list[pa.Table], column: str | None) -> tuple[str, ...]:
    """A column, if the slice has it."""
    return (column,) if column is not None and column in tables[0].column_names else ()

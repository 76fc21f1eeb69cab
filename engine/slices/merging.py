"""The merge strategy `ledger`: of the accepted rows of a delivery, those whose keys are new become slices.

1. Hash key and content of each accepted row.
2. Look the keys up in the state of the line, and compare contents.
3. Write the rows with new keys, the first one of each, in the order of the delivery.
4. Write their keys and contents as a new file of the state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from lakegate.contracts.plan.slices import Merged, WrittenRun
from lakegate.engine.slices.delivery import SLICE_ROWS, written_slice
from lakegate.engine.slices.identities import HASH_BYTES, complete, row_hashes
from lakegate.engine.slices.state import StateRecords, StoredRun, kept, write_run
from lakegate.engine.slices.writer import divided

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import duckdb
    from numpy.typing import NDArray

    from lakegate.contracts.plan.slices import MergeOrder, WrittenSlice
    from lakegate.engine.read.chunk import Store
    from lakegate.engine.slices.delivery import AcceptedSlices, Keep
    from lakegate.engine.slices.identities import Hashes
    from lakegate.engine.slices.writer import Begin

STATE: Final = "state.bin"


@dataclass(frozen=True, slots=True)
class MergedDelivery:
    """What a delivery adds to its line."""

    accepted: AcceptedSlices
    order: MergeOrder
    begin: Begin
    folder: str
    """Where slices and state are written."""

    def write(
        self, store: Store, connection: duckdb.DuckDBPyConnection, folder: Path, keep: Keep
    ) -> tuple[tuple[WrittenSlice, ...], Merged]:
        """Write slices and state by way of a folder of this machine; `connection`: a database that is not locked."""
        rows = Identified.of(self.rows(connection), self.order.key)
        runs = [StoredRun(store, each) for each in self.order.runs]
        compared = rows.compared(runs)
        begin, count = self.begin, int(compared.is_new.sum())
        own_keys = compared.is_new & rows.has_key
        keys = int(own_keys.sum())
        new = of_rows(self.rows(connection), compared.is_new)
        found = self.slices(new, _counts(count), begin, folder, keep)
        left = kept(self.order.runs, keys)
        run = self.state(rows.records(own_keys), runs[len(left) :], folder, keep) if keys else None
        numbers = begin.offset, compared.known, compared.changed, compared.vanished, count - keys
        return found, Merged(*numbers, self.order.runs, left if run else self.order.runs, run)

    def rows(self, connection: duckdb.DuckDBPyConnection) -> Iterator[pa.Table]:
        """The accepted rows."""
        for each in self.accepted.slices:
            yield from each.rows(self.accepted.columns, connection)

    def slices(
        self, rows: Iterator[pa.Table], counts: Sequence[int], begin: Begin, folder: Path, keep: Keep
    ) -> tuple[WrittenSlice, ...]:
        """Write rows, of which each slice has so many."""
        found: list[WrittenSlice] = []
        for at, tables in groupby(divided(rows, counts), key=lambda each: each[0]):
            uri = f"{self.folder}/part-{at:05}.parquet"
            own = replace(begin, offset=begin.offset + sum(counts[:at]))
            rows_of_slice = (table for _, table in tables)
            found.append(written_slice(rows_of_slice, self.accepted.columns.schema, own, uri, folder, keep))
        return tuple(found)

    def state(self, new: StateRecords, taken_up: Sequence[StoredRun], folder: Path, keep: Keep) -> WrittenRun:
        """Write the file of the state."""
        path, uri = folder / STATE, f"{self.folder}/{STATE}"
        rows, digest = write_run(new, taken_up, path)
        size, etag = path.stat().st_size, keep(path, uri)
        path.unlink()
        return WrittenRun(uri, size, etag, rows, digest)


def _counts(rows: int) -> list[int]:
    """Rows of each slice."""
    return [min(SLICE_ROWS, rows - begin) for begin in range(0, rows, SLICE_ROWS)]


@dataclass(frozen=True, slots=True)
class AgainstState:
    """What the rows of a delivery are to its line."""

    is_new: NDArray[np.bool_]
    """Of each row."""
    known: int
    """Rows with a key and a content that are there."""
    changed: int
    """Rows with a key that is there, and another content."""
    vanished: int
    """Keys of the line without a row."""


@dataclass(frozen=True, slots=True)
class Identified:
    """Keys and contents of rows, as hashes."""

    keys: Hashes
    contents: Hashes
    has_key: NDArray[np.bool_]
    """Of each row whether no column of its key is null. A row with a null in its key is never the same as another one."""

    @staticmethod
    def of(tables: Iterator[pa.Table], key: tuple[str, ...], without: tuple[str, ...] = ()) -> Identified:
        """Those of some rows; `without`: columns that are no content."""
        none = (np.zeros(0, f"S{HASH_BYTES}"),) * 2 + (np.zeros(0, bool),)
        found = [
            (row_hashes(keys), row_hashes(table.drop_columns(list(without))), complete(keys))
            for table in tables
            for keys in [table.select(key)]
        ]
        return Identified(*(np.concatenate(each) for each in zip(none, *found, strict=True)))

    def compared(self, runs: Sequence[StoredRun]) -> AgainstState:
        """With the state of the line; of several rows with one key, the first one counts, and rows without one are new."""
        keys, own = self.keys[self.has_key], self.contents[self.has_key]
        unique, first, place = np.unique(keys, return_index=True, return_inverse=True)
        is_known, known = np.zeros(len(unique), bool), own[first]
        for each in runs:
            is_here, contents = each.contents(unique)
            known = np.where(is_here, contents, known)
            is_known |= is_here
        is_new = ~self.has_key
        is_new[np.flatnonzero(self.has_key)[first[~is_known]]] = True
        changed = int((own != known[place]).sum())
        repeated = len(self.keys) - int(is_new.sum()) - changed
        return AgainstState(is_new, repeated, changed, sum(each.run.rows for each in runs) - int(is_known.sum()))

    def records(self, chosen: NDArray[np.bool_]) -> StateRecords:
        """Of some rows, no two with one key."""
        return StateRecords.of(self.keys[chosen], self.contents[chosen])


def of_rows(tables: Iterator[pa.Table], chosen: NDArray[np.bool_]) -> Iterator[pa.Table]:
    """The chosen rows of consecutive tables."""
    begin = 0
    for table in tables:
        yield table.filter(pa.array(chosen[begin : begin + len(table)]))
        begin += len(table)

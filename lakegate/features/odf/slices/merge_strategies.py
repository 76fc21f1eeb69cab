"""append, ledger, snapshot, upsert: which rows become slices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from lakegate.base.timestamps import instant_of, moment
from lakegate.engine.accepted_rows import FILE_ROWS, AcceptedRows
from lakegate.engine.attempt import Backend, Workspace
from lakegate.engine.read.data_source import Store
from lakegate.features.odf.format.odf_names import COMMON
from lakegate.features.odf.slices.earlier_rows import Content, EarlierRows, earlier_rows
from lakegate.features.odf.slices.merge_state import (
    HASH_BYTES,
    PLACED,
    Hashes,
    StateRecords,
    StoredRun,
    complete,
    kept_runs,
    row_hashes,
    write_run,
)
from lakegate.features.odf.slices.slice_writer import (
    AcceptedSlices,
    Begin,
    RowsOfSlice,
    divided,
    event_moments,
    written_slice,
)
from lakegate.plan.request import Request
from lakegate.plan.slice_order import Merged, MergedSnapshot, MergeOrder, SliceOrder, StateRun, WrittenRun, WrittenSlice

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray


# ---- Differences of a snapshot (RFC-015) ----
# 1. `retract`: rows whose keys the snapshot does not have, in the order of their offsets.
# 2. In the order of the snapshot: `append` of a row with a new key; `correctFrom` with the values of before, and then
#    `correctTo`, of a row with other values. Rows with the same values give no event.
#
# An upsert is a snapshot without step 1: a key that does not come stays as it is.


APPEND, RETRACT, CORRECT_FROM, CORRECT_TO = range(4)
TAKEN_BACK: Final = (RETRACT, CORRECT_FROM)
"""Operations whose rows are no state."""
NEW: Final = -1


@dataclass(frozen=True, slots=True)
class SnapshotDifference:
    """A snapshot, or an upsert, against the state of before; no key is in it twice."""

    rows: Identified
    places: NDArray[np.int64]
    """Of each row of the snapshot the offset of the row with its key before, or NEW."""
    events: NDArray[np.int64]
    """Of each row how many events it gives: 0, 1 or 2."""
    retracted: NDArray[np.int64]
    """Offsets of rows whose keys the snapshot does not have, ascending."""
    taken_back: NDArray[np.void]
    """Records of these, and of rows that have other values now, ascending by offset."""
    kept: NDArray[np.void]
    """Records of rows whose keys an upsert does not have; of a snapshot none."""

    @staticmethod
    def of(rows: Identified, state: NDArray[np.void], *, keeps: bool = False) -> SnapshotDifference:
        """`state`: by key, each once; `keeps`: whether rows whose keys do not come stay."""
        places = np.full(len(rows.keys), NEW, np.int64)
        is_same, is_left = np.zeros(len(rows.keys), bool), np.ones(len(state), bool)
        is_taken_back = is_left.copy()
        if len(state):
            found = np.minimum(np.searchsorted(state["key"], rows.keys), len(state) - 1)
            is_here = state["key"][found] == rows.keys
            places[is_here] = state["offset"][found[is_here]]
            is_same = is_here & (state["content"][found] == rows.contents)
            is_left[found[is_here]] = False
            is_taken_back[found[is_same]] = False
        events = np.where(is_same, 0, np.where(places == NEW, 1, 2))
        is_kept = is_left & keeps
        taken_back = state[is_taken_back & ~is_kept]
        retracted = np.sort(state["offset"][is_left & ~is_kept].astype(np.int64))
        taken_back = taken_back[np.argsort(taken_back["offset"])]
        return SnapshotDifference(rows, places, events, retracted, taken_back, state[is_kept])

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        """Rows that are the same; appended, retracted and corrected ones."""
        same, appended, corrected = np.bincount(self.events, minlength=3).tolist()
        return same, appended, len(self.retracted), corrected

    def counts(self, most: int) -> list[int]:
        """Events of each slice: at most so many, and the two of a correction together."""
        begins = self._ends[self.events == CORRECT_FROM] - CORRECT_FROM
        total, counts, begin = len(self.retracted) + int(self.events.sum()), [], 0
        while begin < total:
            end = min(begin + most, total)
            at = int(np.searchsorted(begins, end - 1))
            if end < total and at < len(begins) and begins[at] == end - 1:
                end -= 1
            counts.append(end - begin)
            begin = end
        return counts

    @property
    def _ends(self) -> NDArray[np.int64]:
        """Of each row the place after its last event."""
        ends: NDArray[np.int64] = len(self.retracted) + np.cumsum(self.events)
        return ends

    def state(self, offset: int) -> StateRecords:
        """The state after the events, the first of which has this offset."""
        offsets = np.where(self.events == 0, self.places, offset + self._ends - 1)
        own = StateRecords.of(self.rows.keys, self.rows.contents, offsets)
        return StateRecords(np.insert(own.records, np.searchsorted(own.records["key"], self.kept["key"]), self.kept))

    def tables(self, delivered: Iterable[pa.Table], earlier: EarlierRows) -> Iterator[pa.Table]:
        """The events, with their operations in a column."""
        for table in earlier.of(self.retracted):
            yield _with(table, np.full(len(table), RETRACT))
        begin = 0
        for table in delivered:
            own = slice(begin, begin + len(table))
            begin += len(table)
            events, places = self.events[own], self.places[own]
            rows = np.flatnonzero(events)
            if len(rows):
                corrected = np.flatnonzero(events == CORRECT_FROM)
                before = earlier.taken(places[corrected])
                kinds = np.where(places[rows] == NEW, APPEND, CORRECT_TO)
                order = np.argsort(np.concatenate([2 * corrected, 2 * rows + 1]), kind="stable")
                both = pa.concat_tables([before, table.take(pa.array(rows))])
                yield _with(both, np.concatenate([np.full(len(corrected), CORRECT_FROM), kinds])).take(pa.array(order))


def _with(table: pa.Table, operations: NDArray[np.int64]) -> pa.Table:
    return table.append_column(COMMON[1], pa.array(operations.astype(np.uint8)))


# ---- `ledger`: rows with new keys ----
# 1. Hash key and content of each accepted row.
# 2. Look the keys up in the state of the dataset, and compare contents.
# 3. Write the rows with new keys, the first one of each, in the order of the delivery.
# 4. Write their keys and contents as a new file of the state.


STATE: Final = "state.bin"


@dataclass(frozen=True, slots=True)
class MergedDelivery:
    """The rows that a delivery adds to its dataset."""

    accepted: AcceptedSlices
    order: MergeOrder
    begin: Begin
    folder: str
    """The folder of slices and state."""

    def write(self, workspace: Workspace) -> tuple[tuple[WrittenSlice, ...], Merged]:
        """Write slices and state by way of a folder of this machine."""
        rows = Identified.of(self.rows(workspace.connection), self.order.key)
        runs = [StoredRun(workspace.store, entry) for entry in self.order.runs]
        compared = rows.compared(runs)
        begin, count = self.begin, int(compared.is_new.sum())
        own_keys = compared.is_new & rows.has_key
        keys = int(own_keys.sum())
        new = of_rows(self.rows(workspace.connection), compared.is_new)
        slices = self.slices(
            new, [min(FILE_ROWS, count - begin) for begin in range(0, count, FILE_ROWS)], begin, workspace
        )
        left = kept_runs(self.order.runs, keys)
        run = self.state(rows.records(own_keys), runs[len(left) :], workspace) if keys else None
        numbers = begin.offset, compared.known, compared.changed, compared.vanished, count - keys
        return slices, Merged(*numbers, self.order.runs, left if run else self.order.runs, run)

    def rows(self, connection: duckdb.DuckDBPyConnection) -> Iterator[pa.Table]:
        for entry in self.accepted.slices:
            yield from entry.rows.tables(self.accepted.columns, connection)

    def slices(
        self, rows: Iterator[pa.Table], counts: Sequence[int], begin: Begin, workspace: Workspace
    ) -> tuple[WrittenSlice, ...]:
        """Write rows, of which each slice has so many."""
        slices: list[WrittenSlice] = []
        for at, tables in groupby(divided(rows, counts), key=lambda entry: entry[0]):
            uri = f"{self.folder}/part-{at:05}.parquet"
            own = replace(begin, offset=begin.offset + sum(counts[:at]))
            rows_of_slice = (table for _, table in tables)
            slices.append(written_slice(rows_of_slice, self.accepted.columns.schema, own, uri, workspace))
        return tuple(slices)

    def state(self, new: StateRecords, taken_up: Sequence[StoredRun], workspace: Workspace) -> WrittenRun:
        """Write the file of the state."""
        path, uri = workspace.folder / STATE, f"{self.folder}/{STATE}"
        rows, digest = write_run(new, taken_up, path)
        size, etag = path.stat().st_size, workspace.keep(path, uri)
        path.unlink()
        return WrittenRun(uri, size, etag, rows, digest)


@dataclass(frozen=True, slots=True)
class AgainstState:
    """The relation of a delivery's rows to their dataset."""

    is_new: NDArray[np.bool_]
    """Of each row."""
    known: int
    """Rows with a key and a content that are there."""
    changed: int
    """Rows with a key that is there, and another content."""
    vanished: int
    """Keys of the dataset without a row."""


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
        return Identified(*(np.concatenate(entry) for entry in zip(none, *found, strict=True)))

    def compared(self, runs: Sequence[StoredRun]) -> AgainstState:
        """With the state of the dataset; of several rows with one key, the first one counts, and rows without one are new."""
        keys, own = self.keys[self.has_key], self.contents[self.has_key]
        unique, first, place = np.unique(keys, return_index=True, return_inverse=True)
        is_known, known = np.zeros(len(unique), bool), own[first]
        for run in runs:
            is_here, contents = run.contents(unique)
            known = np.where(is_here, contents, known)
            is_known |= is_here
        is_new = ~self.has_key
        is_new[np.flatnonzero(self.has_key)[first[~is_known]]] = True
        changed = int((own != known[place]).sum())
        repeated = len(self.keys) - int(is_new.sum()) - changed
        return AgainstState(is_new, repeated, changed, sum(entry.run.rows for entry in runs) - int(is_known.sum()))

    def records(self, chosen: NDArray[np.bool_]) -> StateRecords:
        """Of some rows, no two with one key."""
        return StateRecords.of(self.keys[chosen], self.contents[chosen])


def of_rows(tables: Iterator[pa.Table], chosen: NDArray[np.bool_]) -> Iterator[pa.Table]:
    """The chosen rows of consecutive tables."""
    begin = 0
    for table in tables:
        yield table.filter(pa.array(chosen[begin : begin + len(table)]))
        begin += len(table)


# ---- `snapshot`: the difference to the one before ----
# 1. Hash key and content of each accepted row; find the time of the snapshot.
# 2. Compare with the whole state of the dataset, which is one file: a snapshot is as large.
# 3. Read the rows that are retracted or corrected, by their offsets.
# 4. Write the events (`lakegate.features.odf.slices.merge_strategies`), and the state with the snapshot.
#
# A snapshot that is older than the newest one before, that has no time, or a key twice, changes nothing. An upsert has the
# system time, so that the order is that of acceptance.


@dataclass(frozen=True, slots=True)
class SnapshotDelivery(MergedDelivery):
    """The changes of a snapshot, or of an upsert, to its dataset."""

    def write(self, workspace: Workspace) -> tuple[tuple[WrittenSlice, ...], Merged]:
        order, begin, runs = self.order.snapshot, self.begin, self.order.runs
        assert order is not None
        times = _Times(begin.event_time)
        without = () if begin.event_time is None else (begin.event_time,)
        rows = Identified.of(times.seen(self.rows(workspace.connection)), self.order.key, without)
        without_key = len(rows.keys) - len(np.unique(rows.keys[rows.has_key]))
        newest = max((entry.as_of for entry in runs), default="")
        now = begin.system_time
        time = max(moment(now), newest) if order.keeps else times.found(order.time, now)
        found = MergedSnapshot(time, newest, without_key)
        if not found.is_merged:
            return (), Merged(begin.offset, len(rows.keys), 0, 0, 0, runs, runs, snapshot=found)
        difference = SnapshotDifference.of(rows, stored_state(workspace.store, runs), keeps=order.keeps)
        same, appended, retracted, corrected = difference.numbers
        found = replace(found, appended=appended, retracted=retracted, corrected=corrected)
        if runs and not found.events:
            kept = tuple(replace(entry, as_of=found.time) for entry in runs)
            return (), Merged(begin.offset, same, 0, 0, 0, runs, kept, snapshot=found)
        events = replace(begin, event_time=None, moment=instant_of(found.time))
        content = Content(self.accepted.columns.schema, without)
        path = workspace.folder / "before.arrow"
        with earlier_rows(workspace.store, order.slices, difference.taken_back, content, path) as earlier:
            tables = difference.tables(self.rows(workspace.connection), earlier)
            slices = self.slices(tables, difference.counts(FILE_ROWS), events, workspace)
        run = self.state(difference.state(begin.offset), (), workspace)
        return slices, Merged(begin.offset, same, 0, 0, 0, runs, (), run, found)


def stored_state(store: Store, runs: Sequence[StateRun]) -> NDArray[np.void]:
    """All records of the state of a dataset of snapshots."""
    return np.concatenate([np.empty(0, PLACED), *(block for run in runs for block in StoredRun(store, run).blocks())])


@dataclass(slots=True)
class _Times:
    """The times in a column."""

    column: str | None
    rows: int = 0
    distinct: frozenset[datetime | None] = frozenset()

    def seen(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """The same tables."""
        for table in tables:
            self.rows += len(table)
            if self.column is not None and len(self.distinct) <= 1:
                values = pa.concat_arrays(table.column(self.column).chunks)
                self.distinct |= frozenset(event_moments(values).unique().to_pylist())
            yield table

    def found(self, given: str, now: datetime) -> str:
        """The time of the snapshot, at most now; empty where the rows have not one in common.

        A time to come would make every later snapshot late. Without rows, or a column, the given one.
        """
        if self.column is None or not self.rows:
            return min(given, moment(now))
        time = next(iter(self.distinct)) if len(self.distinct) == 1 else None
        return moment(min(time, now)) if time else ""


# ---- Extension point `row writers` ----


class SliceWriter:
    """See `lakegate.engine.attempt.RowWriter`."""

    step: Final = "slice"

    def memory(self, request: Request) -> int:
        """Of a dataset of snapshots its whole state."""
        merge = request.slices.merge if request.slices else None
        return sum(run.rows for run in merge.runs) * PLACED.itemsize if merge and merge.snapshot else 0

    def write(self, accepted: AcceptedRows, request: Request, backend: Backend) -> dict[str, Any]:
        """Slices, and what became of rows that are merged: those in one process, as each is compared with those before it."""
        order = request.slices
        assert order is not None
        found = AcceptedSlices.of(accepted, request, order)
        if order.merge is None:
            written = tuple(backend.in_tasks(partial(RowsOfSlice.write, columns=found.columns), found.slices))
            return {"slices": written, **_repeat_order(order, written)}
        kind = MergedDelivery if order.merge.snapshot is None else SnapshotDelivery
        merging = kind(found, order.merge, found.begin, f"{request.output_uri}/slices")
        slices, merged = backend.in_driver(merging.write)
        return {"slices": slices, "merge": merged, **_repeat_order(order, slices)}


def _repeat_order(order: SliceOrder, slices: Sequence[WrittenSlice]) -> dict[str, str]:
    """Members of the result that repeat the order, by which the gate finds out whether it still holds."""
    return {"watermark": order.watermark, "system_time": order.system_time if slices else ""}


WRITER: Final = SliceWriter()

"""The merge strategy `snapshot`: a delivery has all current rows; how it differs from the one before becomes slices.

1. Hash key and content of each accepted row; find the time of the snapshot.
2. Compare with the whole state of the line, which is one file: a snapshot is as large.
3. Read the rows that are retracted or corrected, by their offsets.
4. Write the events (`lakegate.engine.slices.events`), and the state with the snapshot.

A snapshot that is older than the newest one before, that has no time, or a key twice, changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakegate.contracts.lake.lifecycle import instant_of, moment
from lakegate.contracts.plan.slices import Merged, MergedSnapshot
from lakegate.engine.slices.delivery import SLICE_ROWS
from lakegate.engine.slices.earlier import Content, earlier_rows
from lakegate.engine.slices.events import SnapshotDifference
from lakegate.engine.slices.merging import Identified, MergedDelivery
from lakegate.engine.slices.state import PLACED, StoredRun
from lakegate.engine.slices.writer import event_moments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    import duckdb
    from numpy.typing import NDArray

    from lakegate.contracts.plan.slices import StateRun, WrittenSlice
    from lakegate.engine.read.chunk import Store
    from lakegate.engine.slices.delivery import Keep


@dataclass(frozen=True, slots=True)
class SnapshotDelivery(MergedDelivery):
    """What a snapshot changes in its line."""

    def write(
        self, store: Store, connection: duckdb.DuckDBPyConnection, folder: Path, keep: Keep
    ) -> tuple[tuple[WrittenSlice, ...], Merged]:
        """See `MergedDelivery`."""
        order, begin, runs = self.order.snapshot, self.begin, self.order.runs
        assert order is not None
        times = _Times(begin.event_time)
        without = () if begin.event_time is None else (begin.event_time,)
        rows = Identified.of(times.seen(self.rows(connection)), self.order.key, without)
        without_key = len(rows.keys) - len(np.unique(rows.keys[rows.has_key]))
        newest = max((each.as_of for each in runs), default="")
        found = MergedSnapshot(times.found(order.time, begin.system_time), newest, without_key)
        if not found.is_merged:
            return (), Merged(begin.offset, len(rows.keys), 0, 0, 0, runs, runs, snapshot=found)
        difference = SnapshotDifference.of(rows, stored_state(store, runs))
        same, appended, retracted, corrected = difference.numbers
        found = replace(found, appended=appended, retracted=retracted, corrected=corrected)
        if runs and not found.events:
            kept = tuple(replace(each, as_of=found.time) for each in runs)
            return (), Merged(begin.offset, same, 0, 0, 0, runs, kept, snapshot=found)
        events = replace(begin, event_time=None, moment=instant_of(found.time))
        content = Content(self.accepted.columns.schema, without)
        with earlier_rows(store, order.slices, difference.taken_back, content, folder / "before.arrow") as earlier:
            tables = difference.tables(self.rows(connection), earlier)
            slices = self.slices(tables, difference.counts(SLICE_ROWS), events, folder, keep)
        run = self.state(difference.state(begin.offset), (), folder, keep)
        return slices, Merged(begin.offset, same, 0, 0, 0, runs, (), run, found)


def stored_state(store: Store, runs: Sequence[StateRun]) -> NDArray[np.void]:
    """All records of the state of a line of snapshots."""
    return np.concatenate([np.empty(0, PLACED), *(each for run in runs for each in StoredRun(store, run).blocks())])


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

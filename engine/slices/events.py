"""How a snapshot differs from the state of its line, as events of Open Data Fabric (RFC-015).

1. `retract`: rows whose keys the snapshot does not have, in the order of their offsets.
2. In the order of the snapshot: `append` of a row with a new key; `correctFrom` with the values of before, and then `correctTo`,
   of a row with other values. Rows with the same values give no event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from lakegate.contracts.odf.columns import COMMON
from lakegate.engine.slices.state import StateRecords

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from lakegate.engine.slices.earlier import EarlierRows
    from lakegate.engine.slices.merging import Identified

APPEND, RETRACT, CORRECT_FROM, CORRECT_TO = range(4)
TAKEN_BACK: Final = (RETRACT, CORRECT_FROM)
"""Operations whose rows are no state."""
NEW: Final = -1


@dataclass(frozen=True, slots=True)
class SnapshotDifference:
    """A snapshot against the state of before; no key is in it twice."""

    rows: Identified
    places: NDArray[np.int64]
    """Of each row of the snapshot the offset of the row with its key before, or NEW."""
    events: NDArray[np.int64]
    """Of each row how many events it gives: 0, 1 or 2."""
    retracted: NDArray[np.int64]
    """Offsets of rows whose keys the snapshot does not have, ascending."""
    taken_back: NDArray[np.void]
    """Records of these, and of rows that have other values now, ascending by offset."""

    @staticmethod
    def of(rows: Identified, state: NDArray[np.void]) -> SnapshotDifference:
        """`state`: by key, each once."""
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
        taken_back = state[is_taken_back]
        retracted = np.sort(state["offset"][is_left].astype(np.int64))
        return SnapshotDifference(rows, places, events, retracted, taken_back[np.argsort(taken_back["offset"])])

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        """Rows that are the same; appended, retracted and corrected ones."""
        same, appended, corrected = np.bincount(self.events, minlength=3).tolist()
        return same, appended, len(self.retracted), corrected

    def counts(self, most: int) -> list[int]:
        """Events of each slice: at most so many, and the two of a correction together."""
        begins = self._ends[self.events == CORRECT_FROM] - CORRECT_FROM
        total, found, begin = len(self.retracted) + int(self.events.sum()), [], 0
        while begin < total:
            end = min(begin + most, total)
            at = int(np.searchsorted(begins, end - 1))
            if end < total and at < len(begins) and begins[at] == end - 1:
                end -= 1
            found.append(end - begin)
            begin = end
        return found

    @property
    def _ends(self) -> NDArray[np.int64]:
        """Of each row the place after its last event."""
        found: NDArray[np.int64] = len(self.retracted) + np.cumsum(self.events)
        return found

    def state(self, offset: int) -> StateRecords:
        """The state after the events, the first of which has this offset."""
        offsets = np.where(self.events == 0, self.places, offset + self._ends - 1)
        return StateRecords.of(self.rows.keys, self.rows.contents, offsets)

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

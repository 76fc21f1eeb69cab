"""Slices built again from what arrived: the logical hash of the rows that each of them must have.

Rows are neither judged nor stored. What was accepted is known: the originals of a delivery are all of its accepted rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakegate.contracts.door.file_signatures import UnreadableError
from lakegate.contracts.errors import InputError
from lakegate.contracts.odf.columns import COMMON
from lakegate.contracts.odf.multihash import HashCode, multihash
from lakegate.engine.digest.logical import LogicalHash
from lakegate.engine.measure.tables import database
from lakegate.engine.read.open import open_source
from lakegate.engine.slices.columns import SliceColumns
from lakegate.engine.slices.current import CurrentRows
from lakegate.engine.slices.identities import HASH_BYTES, complete, row_hashes
from lakegate.engine.slices.merging import of_rows
from lakegate.engine.slices.writer import divided, schema_of, with_common

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.request import StagedPart
    from lakegate.engine.read.chunk import Store
    from lakegate.engine.slices.identities import Hashes
    from lakegate.engine.slices.writer import Begin


@dataclass(slots=True)
class RowsBefore:
    """The keys of a line that merges its rows, below a delivery, as hashes: 16 bytes each."""

    levels: list[Hashes] = field(default_factory=list)
    """Sorted; each at least twice as long as the next one, so that a key is moved as often as their number at most."""

    def add(self, files: Iterable[Path], key: tuple[str, ...]) -> None:
        """Those of slices, too. InputError where a file is none."""
        new = joined([keys[has_key] for keys, has_key in _keys(rows_of(files), key)])
        while self.levels and len(self.levels[-1]) < 2 * len(new):
            new = joined([self.levels.pop(), new])
        if len(new):
            self.levels.append(new)

    def new(self, tables: Iterator[pa.Table], key: tuple[str, ...]) -> NDArray[np.bool_]:
        """Which rows have no key, or one that is not there; of several with one key, the first."""
        none = np.zeros(0, f"S{HASH_BYTES}"), np.zeros(0, bool)
        keys, has_key = (np.concatenate(each) for each in zip(none, *_keys(tables, key), strict=True))
        is_new = np.zeros(len(keys), bool)
        is_new[np.unique(keys, return_index=True)[1]] = True
        for each in self.levels:
            is_new &= each[np.minimum(np.searchsorted(each, keys), len(each) - 1)] != keys
        chosen: NDArray[np.bool_] = is_new | ~has_key
        return chosen


def _keys(tables: Iterable[pa.Table], key: tuple[str, ...]) -> Iterator[tuple[Hashes, NDArray[np.bool_]]]:
    """The hashes of the keys of some rows, and whether no column of each is null; contents are not needed."""
    for keys in (table.select(key) for table in tables):
        yield row_hashes(keys), complete(keys)


def joined(keys: Sequence[Hashes]) -> Hashes:
    """Sorted, none twice."""
    found: Hashes = np.unique(np.concatenate([np.zeros(0, f"S{HASH_BYTES}"), *keys]))
    return found


def rows_of(files: Iterable[Path]) -> Iterator[pa.Table]:
    """The rows of slices without the common columns. InputError where a file is none."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - only lines that merge rows need it

    try:
        for path in files:
            for batch in ParquetFile(path).iter_batches():
                yield pa.Table.from_batches([batch]).drop_columns(list(COMMON))
    except (pa.ArrowException, KeyError):
        raise InputError("a file is no slice of the line") from None


def logical_hashes(  # noqa: PLR0913, PLR0917 - what arrived, and where the slices begin and end
    plan: Plan,
    parts: tuple[StagedPart, ...],
    store: Store,
    begin: Begin,
    counts: Sequence[int],
    folder: Path,
    before: RowsBefore | CurrentRows | None = None,
) -> tuple[str, ...]:
    """The logical hash of each slice, of which the numbers of rows are known, as multihashes.

    One more hash for rows beyond the last slice, and fewer hashes if there are not enough rows. InputError where an object cannot
    be read by the plan.
    """
    found: list[LogicalHash] = []
    try:
        columns = SliceColumns(plan, open_source(plan, parts, store))
        whole, offset = schema_of(columns.schema), begin.offset
        tables, policy = _tables(columns, folder), plan.policy
        if isinstance(before, CurrentRows):
            again, path = partial(_tables, columns, folder), folder / "before.arrow"
            tables = before.events(again, policy.merge_key, policy.event_time, columns.schema, path)
        elif policy.merge_key:
            tables = of_rows(tables, (before or RowsBefore()).new(_tables(columns, folder), policy.merge_key))
        for at, rows in divided(tables, counts):
            while len(found) <= at:
                found.append(LogicalHash(whole))
            found[at].update(with_common(rows, whole, begin, offset))
            offset += len(rows)
    except UnreadableError as error:
        raise InputError(f"an original cannot be read by its plan: {error}") from None
    return tuple(multihash(HashCode.ARROW0_SHA3_256, each.digest()) for each in found)


def _tables(columns: SliceColumns, folder: Path) -> Iterator[pa.Table]:
    with database(folder) as connection:
        for share in columns.source.shares:
            for chunk in columns.source.chunks(share):
                yield columns.table(chunk, connection)

"""Rows of earlier slices of a dataset by their offsets: of each slice that has some, only the row groups with them are read.

Offset and content of each are those of the merge state: no value is retracted or corrected that was not published.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.base.errors import InputError
from lakegate.engine.read.data_source import AddressedFile, Store
from lakegate.features.odf.format.odf_names import COMMON
from lakegate.features.odf.slices.merge_state import row_hashes
from lakegate.plan.slice_order import PublishedSlice

if TYPE_CHECKING:
    from numpy.typing import NDArray


AT_ONCE = 1 << 16
"""Rows that are in memory."""


@dataclass(frozen=True, slots=True)
class Content:
    """The columns of rows."""

    schema: pa.Schema
    without: tuple[str, ...] = ()
    """Columns that are no content."""


@dataclass(frozen=True, slots=True)
class EarlierRows:
    """Rows in a file of this machine, which is mapped into memory."""

    offsets: NDArray[np.int64]
    """Of its rows, ascending."""
    table: pa.Table

    def taken(self, offsets: NDArray[np.int64]) -> pa.Table:
        """Rows in this order; all of them are there."""
        return self.table.take(pa.array(np.searchsorted(self.offsets, offsets)))

    def of(self, offsets: NDArray[np.int64]) -> Iterator[pa.Table]:
        """Likewise, some at a time."""
        for begin in range(0, len(offsets), AT_ONCE):
            yield self.taken(offsets[begin : begin + AT_ONCE])


@contextmanager
def earlier_rows(
    store: Store, slices: Sequence[PublishedSlice], records: NDArray[np.void], content: Content, path: Path
) -> Iterator[EarlierRows]:
    """Rows by their records in the state, ascending by offset; `path`: of the file, which is deleted.

    InputError where a slice has not the rows that it is listed with, or other values.
    """
    offsets = records["offset"].astype(np.int64)
    with pa.ipc.new_file(str(path), content.schema) as writer:
        for entry in slices:
            own = records[slice(*np.searchsorted(offsets, (entry.offset, entry.offset + entry.rows)))]
            for table in _rows_of_piece(store, entry, own, content) if len(own) else ():
                writer.write_table(table)
    with pa.memory_map(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
        if len(table) != len(offsets):
            raise InputError(
                "the slices of the dataset do not have all rows of its state: `lakegate verify DATASET` gives the reason"
            )
        yield EarlierRows(offsets, table)
    path.unlink()


def _rows_of_piece(
    store: Store, piece: PublishedSlice, records: NDArray[np.void], content: Content
) -> Iterator[pa.Table]:
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - only datasets of snapshots need it

    offsets = records["offset"].astype(np.int64)
    try:
        with closing(AddressedFile(store, piece.uri)) as file, ParquetFile(file) as parquet:
            about, begin = parquet.metadata, piece.offset
            names = [COMMON[0], *(name for name in content.schema.names if name in parquet.schema_arrow.names)]
            for group in range(about.num_row_groups):
                end = begin + about.row_group(group).num_rows
                own = records[slice(*np.searchsorted(offsets, (begin, end)))]
                if len(own):
                    yield _conform_table(parquet.read_row_group(group, columns=names), own, begin, content)
                begin = end
    except (pa.ArrowException, KeyError):
        raise _altered(piece) from None
    except OSError as error:
        if error.errno is not None:  # of the storage; Arrow's own has none
            raise
        raise _altered(piece) from None


def _conform_table(table: pa.Table, records: NDArray[np.void], begin: int, content: Content) -> pa.Table:
    """These rows of a row group; a column that it does not have is null."""
    offsets = records["offset"].astype(np.int64)
    rows = table.take(pa.array(offsets - begin))
    if not pc.equal(rows.column(COMMON[0]).cast(pa.int64()), pa.chunked_array([pa.array(offsets)])).to_numpy().all():
        raise pa.ArrowInvalid("other offsets")
    columns = (
        rows.column(entry.name).cast(entry.type) if entry.name in rows.column_names else pa.nulls(len(rows), entry.type)
        for entry in content.schema
    )
    conformed = pa.table(list(columns), schema=content.schema)
    if not np.array_equal(row_hashes(conformed.drop_columns(list(content.without))), records["content"]):
        raise pa.ArrowInvalid("other values")
    return conformed


def _altered(piece: PublishedSlice) -> InputError:
    name = piece.uri.rpartition("/")[2]
    return InputError(
        f"the slice {name} from offset {piece.offset:,} is not as listed: `lakegate verify DATASET --objects` names it"
    )

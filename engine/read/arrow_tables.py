"""Parquet and ORC, by Arrow: row groups and stripes are read in workers, one after the other, as columns of our kinds.

Arrow reads every type of both formats and knows no time zone of a machine; Spark's own readers refuse some types, take a moment
of ORC for one of the machine's zone, and days before 1582 for others (decision 88).
"""

from __future__ import annotations

import io
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contracts.kinds import UnreadableError
from contracts.model import Format
from spark_jobs.limits import GRACE, GRACE_VALUES, LONGEST_FOOTER, MOST_COLUMNS, RATIO, unreadable
from spark_jobs.physical import Kind, Physical
from spark_jobs.store import store_for
from spark_jobs.table_read import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

BATCH = 4096
"""Rows that are handed over at a time, at most."""
MOST_AT_ONCE = 16 << 20
"""Bytes that are handed over at a time, but for a single row."""
_ENDS = {Format.PARQUET: 8, Format.ORC: 1}
"""Bytes at the end of a file that say how long its footer is."""


class AddressedFile(io.RawIOBase):
    """An object of a storage as a file that can be read anywhere."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._store, self._address, self._at = store_for(address), address, 0
        self.size = self._store.size(address)
        self.failure: OSError | None = None
        """What the storage answered: no word about the file itself."""

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Where it stands."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go elsewhere; the place."""
        begun = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        self._at = begun + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        """So many bytes from where it stands, fewer at the end."""
        wanted = min(self.size - self._at, size if size >= 0 else self.size)
        try:
            found = self._store.part(self._address, self._at, wanted) if wanted > 0 else b""
        except OSError as error:
            self.failure = error
            raise
        self._at += len(found)
        return found


@dataclass(frozen=True, slots=True)
class ArrowTables:
    """Files of one of the two formats."""

    format: Format

    def describe(self, address: str) -> Table:
        """See `TableFormat`."""
        from spark_jobs.arrow import physical  # noqa: PLC0415 - loads Arrow

        with closing(AddressedFile(address)) as file:
            _refuse_footer(file, self.format)
            opened = _opened(self.format, file)
            schema = Physical(
                Kind.RECORD, "record", parts=tuple((each.name, physical(each.type)) for each in opened.schema)
            )
            _refuse_bomb(opened, schema, file.seek(0, io.SEEK_END))
            return Table(schema, opened.rows)

    def frame(self, spark: SparkSession, address: str, table: Table, names: list[str]) -> DataFrame:
        """See `TableFormat`."""
        with closing(AddressedFile(address)) as file:
            groups = _opened(self.format, file).groups
        kinds, form = dict(table.schema.parts), self.format

        def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for group in batch.column(0).to_pylist():
                    yield from columns_of(form, address, group, [(name, kinds[name]) for name in names])

        sql = ", ".join(["broken STRING", *(f"x{at} {kinds[name].sql}" for at, name in enumerate(names))])
        return spark.range(0, groups, 1, max(1, groups)).mapInArrow(read, sql)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A file whose footer was read."""

    schema: pa.Schema
    rows: int
    groups: int
    unpacked: int
    """Bytes that its footer says it unpacks to; 0 where it does not say."""
    read: Callable[[int, list[str]], Iterator[Any]]


def columns_of(form: Format, address: str, group: int, wanted: list[tuple[str, Physical]]) -> Iterator[pa.RecordBatch]:
    """The columns of one row group or stripe, in a worker; `broken` says why there are no more."""
    import pyarrow as pa  # noqa: PLC0415 - a worker's import

    names = [name for name, _ in wanted]
    with closing(AddressedFile(address)) as file:
        try:
            most, total = max(GRACE_VALUES, RATIO * file.size), 0
            for batch in _opened(form, file).read(group, names):
                size = sum(map(_size, batch.columns))
                total += size
                if total > most:
                    yield _broken(wanted, "bomb")
                    return
                rows = max(1, min(BATCH, batch.num_rows * MOST_AT_ONCE // max(1, size)))
                for start in range(0, batch.num_rows, rows):
                    yield _handed_over(batch.slice(start, rows), wanted)
        except (pa.ArrowException, OSError, ValueError):
            if file.failure is not None:
                raise
            yield _broken(wanted, "inside")


def _handed_over(batch: Any, wanted: list[tuple[str, Physical]]) -> pa.RecordBatch:  # noqa: ANN401 - a batch or a table
    import pyarrow as pa  # noqa: PLC0415 - a worker's import

    from spark_jobs.arrow import canonical  # noqa: PLC0415 - likewise

    columns = [batch.column(batch.schema.get_field_index(name)) for name, _ in wanted]
    arrays = [canonical(column, kind) for column, (_, kind) in zip(columns, wanted, strict=True)]
    names = ["broken", *(f"x{at}" for at in range(len(arrays)))]
    return pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows, pa.string()), *arrays], names=names)


def _size(column: Any) -> int:  # noqa: ANN401 - an array, or pieces of one
    """Bytes that a column takes in memory; of a dictionary those that its values take once each stands in its place."""
    import pyarrow as pa  # noqa: PLC0415 - a worker's import
    import pyarrow.compute as pc  # noqa: PLC0415 - likewise

    if isinstance(column, pa.ChunkedArray):
        return sum(map(_size, column.chunks))
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary).cast(pa.int64())
    return int(pc.sum(lengths.take(column.indices)).as_py() or 0)


def _broken(wanted: list[tuple[str, Physical]], code: str) -> pa.RecordBatch:
    """One row that says that the rest of the file cannot be read."""
    import pyarrow as pa  # noqa: PLC0415 - a worker's import

    from spark_jobs.arrow import type_of  # noqa: PLC0415 - likewise

    arrays = [pa.nulls(1, type_of(kind)) for _, kind in wanted]
    names = ["broken", *(f"x{at}" for at in range(len(arrays)))]
    return pa.RecordBatch.from_arrays([pa.array([code], pa.string()), *arrays], names=names)


def _opened(form: Format, file: AddressedFile) -> _Opened:
    import pyarrow as pa  # noqa: PLC0415 - a worker's import, too

    try:
        return _OPEN[form](file)
    except (pa.ArrowException, OSError, ValueError, EOFError):
        if file.failure is not None:
            raise
        raise unreadable("footer") from None


def _parquet(file: AddressedFile) -> _Opened:
    from pyarrow.parquet import ParquetFile, read_metadata  # noqa: PLC0415 - a worker's import, too

    about = read_metadata(file)
    leaves = [about.schema.column(at) for at in range(about.num_columns)]
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY" and "." not in leaf.path]
    # A text that stands a million times is in memory once, until it is handed over.
    opened = ParquetFile(
        file,
        metadata=about,
        read_dictionary=texts,
        coerce_int96_timestamp_unit="us",
        arrow_extensions_enabled=False,
    )
    chunks = [
        about.row_group(at).column(each) for at in range(about.num_row_groups) for each in range(about.num_columns)
    ]
    return _Opened(
        opened.schema_arrow,
        about.num_rows,
        about.num_row_groups,
        sum(chunk.total_uncompressed_size for chunk in chunks),
        lambda group, names: _batches(opened, group, names),
    )


def _batches(opened: Any, group: int, names: list[str]) -> Iterator[Any]:  # noqa: ANN401 - Arrow ships no types
    """The rows of a group; without a wanted column as many empty ones as it counts."""
    if names:
        yield from opened.iter_batches(batch_size=BATCH, row_groups=[group], columns=names)
    else:
        yield opened.read_row_group(group, columns=[])


def _orc(file: AddressedFile) -> _Opened:
    from pyarrow.orc import ORCFile  # noqa: PLC0415 - a worker's import, too

    opened = ORCFile(file)

    def read(stripe: int, names: list[str]) -> Iterator[Any]:
        yield opened.read_stripe(stripe, columns=names or None)

    return _Opened(opened.schema, opened.nrows, opened.nstripes, 0, read)


_OPEN: dict[Format, Callable[[AddressedFile], _Opened]] = {Format.PARQUET: _parquet, Format.ORC: _orc}


# --- bounds


def _refuse_footer(file: AddressedFile, form: Format) -> None:
    """Parquet says the length of its footer at its end; a longer one than a schema needs would fill the memory."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _ENDS[form]))
    end = file.read()
    if form is Format.PARQUET:
        if not end.endswith(b"PAR1"):
            raise unreadable("footer")
        if int.from_bytes(end[:4], "little") > min(size, LONGEST_FOOTER):
            raise unreadable("footer")


def _refuse_bomb(opened: _Opened, schema: Physical, size: int) -> None:
    leaves = sum(1 for _ in schema.leaves())
    if leaves > MOST_COLUMNS:
        raise UnreadableError("too-wide", f"the file has {leaves:,} columns, more than {MOST_COLUMNS:,}: deliver fewer")
    refuse_values(opened.rows, leaves, opened.unpacked, size)


def refuse_values(rows: int, leaves: int, unpacked: int, size: int) -> None:
    """UnreadableError where a file says it holds far more values than its bytes can be expected to."""
    if unpacked > max(GRACE, RATIO * size) or rows * leaves * 8 > max(GRACE_VALUES, RATIO * size):
        raise unreadable("bomb")

"""Parquet and ORC, by Arrow: a file's schema, and its row groups and stripes one after the other.

Arrow reads every type of both formats and knows no time zone of a machine (decision 2).
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.engine.read.addressed import AddressedFile
from lakegate.engine.read.bounds import GRACE_VALUES, LONGEST_FOOTER, RATIO, unreadable
from lakegate.engine.read.schema import Table, refuse_values, refuse_wide
from lakegate.engine.type.arrow import physical_of
from lakegate.engine.type.physical import Kind, Physical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lakegate.engine.read.chunk import Share, Store

BATCH = 4096
"""Rows of a Parquet file that are in memory at a time, where their texts may be long; else `MAX_ROWS`."""
MAX_ROWS = 1 << 16
_FIXED = 8
"""Bytes of a value of fixed size, about."""
_LONG = 1 << 10
"""Bytes of a text from which on a dictionary costs more than it saves."""
_FOOTER_END = 8
"""Bytes at the end of a Parquet file: the length of the footer, and the signature."""
SHARE_ROWS = 1 << 17
"""Rows of one share."""
MAX_AT_ONCE = 16 << 20
"""The most bytes of a batch, unless a single row has more."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A file whose footer was read."""

    schema: pa.Schema
    rows: int
    groups: int
    unpacked: int
    """Decompressed bytes by its footer; 0 if the footer does not contain them."""
    read: Callable[[int, list[str]], Iterator[Any]]
    """The columns with these names of a row group or stripe, as batches."""


@dataclass(frozen=True, slots=True)
class ArrowFormat:
    """A file format that Arrow reads."""

    open: Callable[[AddressedFile], Opened]
    check_footer: Callable[[AddressedFile], None]
    """UnreadableError where reading the footer would fill the memory."""


@dataclass(frozen=True, slots=True)
class ArrowReader:
    """Parquet and ORC files (`lakegate.engine.read.tables.Reader`)."""

    format: ArrowFormat
    store: Store

    def described(self, address: str) -> Table:
        """See `Reader`."""
        with closing(AddressedFile(self.store, address)) as file:
            self.format.check_footer(file)
            opened = _opened(self.format, file)
            parts = tuple((each.name, physical_of(each)) for each in opened.schema)
            table = Table(Physical(Kind.RECORD, "record", parts=parts), opened.rows, _bounds(opened))
            refuse_wide(table.schema)
            refuse_values(table, opened.unpacked, file.size)
            return table

    def batches(self, share: Share, names: list[str]) -> Iterator[Any]:
        """See `Reader`."""
        for group in range(share.start, share.end):
            with closing(AddressedFile(self.store, share.address)) as file:
                yield from _parts(self.format, file, group, names)


def _bounds(opened: Opened) -> tuple[int, ...]:
    """Whole row groups, few small ones together."""
    step = max(1, SHARE_ROWS * opened.groups // max(1, opened.rows))
    return (*range(0, opened.groups, step), opened.groups)


def _parts(form: ArrowFormat, file: AddressedFile, group: int, names: list[str]) -> Iterator[Any]:
    """These columns of one row group or stripe, in batches of bounded size; UnreadableError if they are damaged."""
    try:
        most, total = max(GRACE_VALUES, RATIO * file.size), 0
        for batch in _opened(form, file).read(group, names):
            size = sum(map(_size, batch.columns))
            total += size
            if total > most:
                raise unreadable("bomb")
            rows = max(1, min(MAX_ROWS, batch.num_rows * MAX_AT_ONCE // max(1, size)))
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)
    except (pa.ArrowException, OSError, ValueError):
        if file.failure is not None:
            raise
        raise unreadable("inside") from None


def _size(column: Any) -> int:  # noqa: ANN401 - an array, or pieces of one
    """Bytes that a column takes in memory; of a dictionary those of its expanded values."""
    if isinstance(column, pa.ChunkedArray):
        return sum(map(_size, column.chunks))
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary).cast(pa.int64())
    return int(pc.sum(lengths.take(column.indices)).as_py() or 0)


def _opened(form: ArrowFormat, file: AddressedFile) -> Opened:
    try:
        return form.open(file)
    except (pa.ArrowException, OSError, ValueError, EOFError):
        if file.failure is not None:
            raise
        raise unreadable("footer") from None


def _parquet(file: AddressedFile) -> Opened:
    from pyarrow.parquet import ParquetFile, read_metadata  # noqa: PLC0415 - other formats do not need its 30 ms

    about = read_metadata(file)
    leaves = [about.schema.column(at) for at in range(about.num_columns)]
    texts = [leaf.path for at, leaf in enumerate(leaves) if _may_repeat(about, at, leaf)]
    # A text that occurs a million times is in memory once, until the batch is returned.
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
    return Opened(
        opened.schema_arrow,
        about.num_rows,
        about.num_row_groups,
        sum(chunk.total_uncompressed_size for chunk in chunks),
        lambda group, names: _batches(opened, group, names),
    )


def _may_repeat(about: Any, at: int, leaf: Any) -> bool:  # noqa: ANN401 - Arrow ships no types
    """Whether the texts of a column are short on average, so that many may be equal: of long ones, a dictionary is a copy."""
    chunks = [about.row_group(group).column(at) for group in range(about.num_row_groups)]
    values, size = (sum(getattr(each, name) for each in chunks) for name in ("num_values", "total_uncompressed_size"))
    return leaf.physical_type == "BYTE_ARRAY" and "." not in leaf.path and size <= _LONG * values


def _batches(opened: Any, group: int, names: list[str]) -> Iterator[Any]:  # noqa: ANN401 - Arrow ships no types
    """The rows of a group; without a wanted column that many empty ones."""
    if names:
        yield from opened.iter_batches(
            batch_size=_rows_at_once(opened.metadata, group), row_groups=[group], columns=names
        )
    else:
        yield opened.read_row_group(group, columns=[])


def _rows_at_once(about: Any, group: int) -> int:  # noqa: ANN401 - likewise
    """Rows that take some MiB, by what the footer counts; fewer if a text in a list may occur many times."""
    leaves = [about.schema.column(at) for at in range(about.num_columns)]
    chunks = [about.row_group(group).column(at) for at in range(about.num_columns)]
    sizes: list[int] = [
        max(chunk.total_uncompressed_size, chunk.num_values * max(_FIXED, leaf.length or 0))
        for leaf, chunk in zip(leaves, chunks, strict=True)
    ]
    most = BATCH if any(leaf.physical_type == "BYTE_ARRAY" and "." in leaf.path for leaf in leaves) else MAX_ROWS
    rows: int = about.row_group(group).num_rows
    return max(1, min(most, MAX_AT_ONCE * rows // max(1, sum(sizes))))


def _orc(file: AddressedFile) -> Opened:
    from pyarrow.orc import ORCFile  # noqa: PLC0415 - other formats do not need its 20 ms

    opened = ORCFile(file)

    def read(stripe: int, names: list[str]) -> Iterator[Any]:
        yield opened.read_stripe(stripe, columns=names or None)

    return Opened(opened.schema, opened.nrows, opened.nstripes, 0, read)


def _accept_footer(_: AddressedFile) -> None:
    """The length of an ORC file's footer is one byte."""


def _check_footer(file: AddressedFile) -> None:
    """The end of a Parquet file contains the length of its footer: UnreadableError if it is not plausible."""
    file.seek(max(0, file.size - _FOOTER_END))
    end = file.read()
    length = int.from_bytes(end[:4], "little")
    if not end.endswith(b"PAR1") or length > min(file.size, LONGEST_FOOTER):
        raise unreadable("footer")


PARQUET = ArrowFormat(_parquet, _check_footer)
ORC = ArrowFormat(_orc, _accept_footer)

"""Parquet and ORC, by Arrow: a file's schema, and its row groups and stripes one after the other.

Arrow reads every type of both formats and knows no time zone of a machine (decision 88).
"""

from __future__ import annotations

import io
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contracts.model import Format
from engine.read.limits import GRACE_VALUES, LONGEST_FOOTER, RATIO, unreadable
from engine.read.schema import Table, refuse_values, refuse_wide
from engine.type.physical import Kind, Physical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from engine.read.chunk import Store

BATCH = 4096
"""Rows of a Parquet file that are in memory at a time, where their texts may be long; else `MOST_ROWS`."""
MOST_ROWS = 1 << 16
_FIXED = 8
"""Bytes of a value of fixed size, about."""
SHARE_ROWS = 1 << 17
"""Rows of one share."""
MOST_AT_ONCE = 16 << 20
"""Bytes that are handed over at a time, but for a single row."""
_ENDS = {Format.PARQUET: 8, Format.ORC: 1}
"""Bytes at the end of a file that say how long its footer is."""


class AddressedFile(io.RawIOBase):
    """An object of a storage as a file that can be read anywhere."""

    def __init__(self, store: Store, address: str) -> None:
        super().__init__()
        self._store, self._address, self._at = store, address, 0
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
class _Opened:
    """A file whose footer was read."""

    schema: pa.Schema
    rows: int
    groups: int
    unpacked: int
    """Bytes that its footer says it unpacks to; 0 where it does not say."""
    read: Callable[[int, list[str]], Iterator[Any]]


def described(form: Format, store: Store, address: str) -> Table:
    """A file's own account of itself; UnreadableError where it is damaged, or a bomb."""
    from engine.type.arrow import physical  # noqa: PLC0415 - loads Arrow

    with closing(AddressedFile(store, address)) as file:
        _refuse_footer(file, form)
        opened = _opened(form, file)
        parts = tuple((each.name, physical(each.type)) for each in opened.schema)
        table = Table(Physical(Kind.RECORD, "record", parts=parts), opened.rows, _bounds(opened))
        refuse_wide(table.schema)
        refuse_values(table, opened.unpacked, file.size)
        return table


def _bounds(opened: _Opened) -> tuple[int, ...]:
    """Whole row groups, few small ones together."""
    step = max(1, SHARE_ROWS * opened.groups // max(1, opened.rows))
    return (*range(0, opened.groups, step), opened.groups)


def batches(form: Format, store: Store, address: str, group: int, names: list[str]) -> Iterator[Any]:
    """Those columns of one row group or stripe, as record batches or tables; UnreadableError where there are no more."""
    import pyarrow as pa  # noqa: PLC0415 - half a second that other formats need not pay

    with closing(AddressedFile(store, address)) as file:
        try:
            most, total = max(GRACE_VALUES, RATIO * file.size), 0
            for batch in _opened(form, file).read(group, names):
                size = sum(map(_size, batch.columns))
                total += size
                if total > most:
                    raise unreadable("bomb")
                rows = max(1, min(MOST_ROWS, batch.num_rows * MOST_AT_ONCE // max(1, size)))
                for start in range(0, batch.num_rows, rows):
                    yield batch.slice(start, rows)
        except (pa.ArrowException, OSError, ValueError):
            if file.failure is not None:
                raise
            raise unreadable("inside") from None


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
        yield from opened.iter_batches(
            batch_size=_rows_at_once(opened.metadata, group), row_groups=[group], columns=names
        )
    else:
        yield opened.read_row_group(group, columns=[])


def _rows_at_once(about: Any, group: int) -> int:  # noqa: ANN401 - likewise
    """Rows that take some MiB, by what the footer counts; fewer where a text in a list may stand there many times."""
    leaves = [about.schema.column(at) for at in range(about.num_columns)]
    chunks = [about.row_group(group).column(at) for at in range(about.num_columns)]
    sizes: list[int] = [
        max(chunk.total_uncompressed_size, chunk.num_values * max(_FIXED, leaf.length or 0))
        for leaf, chunk in zip(leaves, chunks, strict=True)
    ]
    most = BATCH if any(leaf.physical_type == "BYTE_ARRAY" and "." in leaf.path for leaf in leaves) else MOST_ROWS
    rows: int = about.row_group(group).num_rows
    return max(1, min(most, MOST_AT_ONCE * rows // max(1, sum(sizes))))


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

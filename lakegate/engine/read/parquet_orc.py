"""Parquet and ORC, by Arrow: a file's schema, and its row groups and stripes one after the other.

Arrow reads every type of both formats and knows no time zone of a machine (decision 2). Each share opens its file once.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.engine.read.data_source import AddressedFile, Share, Store
from lakegate.engine.read.parquet_footer import (
    BYTES,
    DELTA_LENGTHS,
    DELTA_TEXTS,
    INT96,
    MAGIC,
    Footer,
    RowGroup,
    longest_page,
    read_footer,
)
from lakegate.engine.read.read_bounds import GRACE_VALUES, MAX_PAGE, RATIO, unreadable
from lakegate.engine.read.stored_columns import Table, refuse_values, refuse_wide
from lakegate.engine.read.stored_types import Kind, Physical, of_any_zone, physical_of

BATCH_ROWS = 4096
"""Rows of a Parquet file that are in memory at a time, where their texts may be long; else `MAX_ROWS`."""
MAX_ROWS = 1 << 16
_FIXED = 8
"""Bytes of a value of fixed size, about."""
_LONG = 1 << 10
"""Bytes of a text from which on a dictionary costs more than it saves."""
SHARE_ROWS = 1 << 17
"""Rows of one share."""
MAX_AT_ONCE = 16 << 20
"""The most bytes of a batch, unless a single row has more."""
_SHARED = 16 << 20
"""Bytes of texts that share their beginnings with others, and are in memory at a time."""
_KEPT = 4
"""Footers of a delivery that are kept for its next shares."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A file whose footer was read."""

    schema: pa.Schema
    rows: int
    groups: int
    unpacked: int
    """Decompressed bytes by its footer; 0 if the footer does not contain them."""
    read: Callable[[AddressedFile, range, list[str]], Iterator[Any]]
    """The columns with these names of row groups or stripes, as batches of any size."""


@dataclass(frozen=True, slots=True)
class ArrowReader:
    """Parquet and ORC files (`lakegate.engine.read.stored_columns.Reader`)."""

    open: Callable[[AddressedFile], Opened]
    store: Store
    _known: dict[str, Opened] = field(default_factory=dict, compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process footers are read again: they may be large."""
        return ArrowReader, (self.open, self.store)

    def described(self, address: str) -> Table:
        with closing(AddressedFile(self.store, address)) as file:
            opened = self._opened(file, address)
            parts = tuple((each.name, physical_of(each)) for each in opened.schema)
            # whole row groups, few small ones together
            step = max(1, SHARE_ROWS * opened.groups // max(1, opened.rows))
            bounds = (*range(0, opened.groups, step), opened.groups)
            table = Table(Physical(Kind.RECORD, "record", parts=parts), opened.rows, bounds)
            refuse_wide(table.schema)
            refuse_values(table, opened.unpacked, file.size)
            return table

    def batches(self, share: Share, names: list[str]) -> Iterator[Any]:
        with closing(AddressedFile(self.store, share.address)) as file:
            opened = self._opened(file, share.address)
            yield from _bounded(file, opened.read(file, range(share.start, share.end), names))

    def _opened(self, file: AddressedFile, address: str) -> Opened:
        known = self._known.get(address)
        if known is None:
            try:
                known = self.open(file)
            except (pa.ArrowException, OSError, ValueError, EOFError):
                if file.failure is not None:
                    raise
                raise unreadable("footer") from None
            for oldest in list(self._known)[: 1 - _KEPT]:  # a copy: other threads add some
                self._known.pop(oldest, None)
            self._known[address] = known
        return known


def _bounded(file: AddressedFile, batches: Iterator[Any]) -> Iterator[Any]:
    """The same rows in batches of bounded size, small ones together; UnreadableError if they are damaged."""
    try:
        most, total = max(GRACE_VALUES, RATIO * file.size), 0
        waiting: list[Any] = []
        held = count = 0
        for batch in batches:
            size = sum(map(_size, batch.columns))
            total += size
            if total > most:
                raise unreadable("bomb")
            if waiting and (held + size > MAX_AT_ONCE or count + batch.num_rows > MAX_ROWS):
                yield _joined(waiting)
                waiting, held, count = [], 0, 0
            rows = max(1, min(MAX_ROWS, batch.num_rows * MAX_AT_ONCE // max(1, size)))
            if batch.num_rows <= rows:
                waiting.append(batch)
                held, count = held + size, count + batch.num_rows
                continue
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)
        if waiting:
            yield _joined(waiting)
    except (pa.ArrowException, OSError, ValueError):
        if file.failure is not None:
            raise
        raise unreadable("inside") from None


def _joined(batches: list[Any]) -> Any:  # noqa: ANN401 - batches of record batches or tables
    """Several batches as one."""
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _size(column: Any) -> int:  # noqa: ANN401 - an array, or pieces of one
    """Bytes that a column takes in memory; of a dictionary those of its expanded values."""
    if isinstance(column, pa.ChunkedArray):
        return sum(map(_size, column.chunks))
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary).cast(pa.int64())
    return int(pc.sum(lengths.take(column.indices)).as_py() or 0)


def open_parquet(file: AddressedFile) -> Opened:
    """A Parquet file (`ArrowReader.open`)."""
    from pyarrow.parquet import read_metadata  # noqa: PLC0415 - other formats do not need its 30 ms

    footer = read_footer(file)
    content = pa.BufferReader(MAGIC + footer.content)
    try:
        about = read_metadata(content)
        schema = parquet_file(content, about).schema_arrow
        if footer.of_values != footer.content:
            about = read_metadata(pa.BufferReader(MAGIC + footer.of_values))
    except (pa.ArrowException, OSError, ValueError):
        raise unreadable("schema") from None
    has_values = {leaf.path[0] for leaf in footer.leaves}
    written = _written_schema(footer.arrow)
    older = {leaf.path[0] for leaf in footer.leaves if leaf.kind == INT96}
    columns = [_with_durations(each, written.get(each.name)) for each in schema if each.name in has_values]
    return Opened(
        pa.schema([of_any_zone(column) if column.name in older else column for column in columns]),
        footer.rows,
        len(footer.groups),
        sum(chunk.unpacked for group in footer.groups for chunk in group.chunks),
        lambda file, groups, names: _of_groups(footer, about, file, groups, names),
    )


def _written_schema(text: bytes) -> dict[str, pa.Field]:
    """The fields of the Arrow schema that a writer has added; none where this Arrow does not know all of its types."""
    try:
        return {each.name: each for each in pa.ipc.read_schema(pa.BufferReader(b64decode(text)))} if text else {}
    except (pa.ArrowException, ValueError):
        return {}


def _with_durations(column: pa.Field, written: pa.Field | None) -> pa.Field:
    """A column with the durations in it named: Parquet has no type for them, and they are no whole numbers."""
    if written is None:
        return column
    kind, other = column.type, written.type
    if pa.types.is_duration(other):
        return column.with_type(other)
    if pa.types.is_struct(kind) and pa.types.is_struct(other):
        members = [other.field(each.name) if other.get_field_index(each.name) >= 0 else None for each in kind]
        return column.with_type(pa.struct(map(_with_durations, kind, members)))
    if pa.types.is_map(kind) and pa.types.is_map(other):
        return column.with_type(pa.map_(kind.key_field, _with_durations(kind.item_field, other.item_field)))
    if pa.types.is_list(kind) and hasattr(other, "value_field"):
        return column.with_type(pa.list_(_with_durations(kind.value_field, other.value_field)))
    return column


def parquet_file(file: Any, about: Any = None, texts: Collection[str] = ()) -> Any:  # noqa: ANN401 - Arrow ships no types
    """Arrow's own reader, which compares checksums; `about`: metadata that was read before, `texts`: columns as dictionaries."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - likewise

    return ParquetFile(
        file,
        metadata=about,
        read_dictionary=list(texts),
        coerce_int96_timestamp_unit="us",
        arrow_extensions_enabled=False,
        page_checksum_verification=True,
    )


def _of_groups(
    footer: Footer,
    about: Any,  # noqa: ANN401 - Arrow ships no types
    file: AddressedFile,
    groups: range,
    names: list[str],
) -> Iterator[Any]:
    """The rows of row groups; without a wanted column that many empty ones."""
    wanted = footer.of(names)
    footer.refuse([footer.groups[at] for at in groups], names)
    for at, chunk in ((at, footer.groups[group].chunks[at]) for group in groups for at in wanted):
        if chunk.unpacked > MAX_PAGE and longest_page(file, chunk) > MAX_PAGE:
            raise unreadable("page", name=footer.leaves[at].path[0])
    for run in _runs(footer, groups, wanted):
        chosen, rows = [footer.groups[at] for at in run], 0
        # A text that occurs a million times is in memory once, until the batch is returned.
        opened = parquet_file(
            file, about, [footer.leaves[at].path[0] for at in wanted if _may_repeat(footer, chosen, at)]
        )
        if names:
            batches = opened.iter_batches(_rows_at_once(footer, file, chosen, wanted), row_groups=run, columns=names)
        else:
            batches = [opened.read_row_groups(run, columns=[])]
        for batch in batches:
            rows += batch.num_rows
            yield batch
        if rows != sum(group.rows for group in chosen):
            raise unreadable("counts")


def _runs(footer: Footer, groups: range, wanted: list[int]) -> Iterator[list[int]]:
    """Row groups that are read together: small ones up to some MiB."""
    run: list[int] = []
    held = 0
    for at in groups:
        size = _unpacked(footer, footer.groups[at], wanted)
        if run and held + size > MAX_AT_ONCE:
            yield run
            run, held = [], 0
        run.append(at)
        held += size
    yield run


def _unpacked(footer: Footer, group: RowGroup, wanted: list[int]) -> int:
    """Bytes that columns of a group have in memory, by what the footer counts."""
    return sum(
        max(group.chunks[at].unpacked, group.chunks[at].values * max(_FIXED, footer.leaves[at].width)) for at in wanted
    )


def _may_repeat(footer: Footer, groups: list[RowGroup], at: int) -> bool:
    """Whether the texts of a column are short on average, so that many may be equal: of long ones, a dictionary is a copy."""
    leaf, chunks = footer.leaves[at], [group.chunks[at] for group in groups]
    is_text = leaf.kind == BYTES and len(leaf.path) == 1
    has_delta = any({DELTA_LENGTHS, DELTA_TEXTS} & chunk.encodings for chunk in chunks)
    return (
        is_text
        and not has_delta
        and sum(chunk.unpacked for chunk in chunks) <= _LONG * sum(chunk.values for chunk in chunks)
    )


def _rows_at_once(footer: Footer, file: AddressedFile, groups: list[RowGroup], wanted: list[int]) -> int:
    """Rows that take some MiB, by what the footer counts; fewer where a few bytes of the file may be a long text in each row."""
    rows = sum(group.rows for group in groups)
    most = MAX_AT_ONCE * rows // max(1, sum(_unpacked(footer, group, wanted) for group in groups))
    for at in wanted:
        leaf, chunks = footer.leaves[at], [group.chunks[at] for group in groups]
        if leaf.kind == BYTES and len(leaf.path) > 1:
            most = min(most, BATCH_ROWS)
        shared = [longest_page(file, chunk) for chunk in chunks if DELTA_TEXTS in chunk.encodings]
        most = min(most, _SHARED // max(1, *shared)) if shared else most
    return max(1, min(most, MAX_ROWS))


def open_orc(file: AddressedFile) -> Opened:
    """An ORC file (`ArrowReader.open`)."""
    from pyarrow.orc import ORCFile  # noqa: PLC0415 - other formats do not need its 20 ms

    def read(file: AddressedFile, stripes: range, names: list[str]) -> Iterator[Any]:
        opened = ORCFile(file)
        # Arrow takes a name with points for the path of a part: then all columns are read.
        chosen = None if any("." in name for name in names) else names or None
        for at in stripes:
            yield opened.read_stripe(at, columns=chosen)

    opened = ORCFile(file)
    try:
        schema = opened.schema
    except pa.ArrowNotImplementedError:
        raise unreadable("no-struct") from None
    return Opened(schema, opened.nrows, opened.nstripes, 0, read)

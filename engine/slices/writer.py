"""Writes rows as one slice: Parquet with zstd, statistics and page indexes, ODF's common columns first."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as is_type

from lakegate.contracts.odf.columns import COMMON
from lakegate.contracts.odf.multihash import HashCode, multihash
from lakegate.engine.digest.logical import LogicalHash
from lakegate.engine.digest.slices import statistics_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from lakegate.engine.digest.slices import SliceStatistics

GROUP_ROWS: Final = 1 << 17
GROUP_BYTES: Final = 64 << 20
"""A row group ends with the chunk that reaches one of the two."""
_MOMENT = pa.timestamp("ms", "UTC")
_KINDS = (pa.uint64(), pa.uint8(), _MOMENT, _MOMENT)
_FIRST, _LAST = -62135596800000, 253402300799999
"""Milliseconds from 1970 to the years 1 and 9999: event times beyond are none (`lakegate.engine.digest.slices`)."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Where a slice begins, and the times of its rows."""

    offset: int
    system_time: datetime
    event_time: str | None
    """The column with the times of events; where it has none, the system time is."""
    watermark: datetime | None = None
    """Events before it are late."""
    moment: datetime | None = None
    """The time of all events, if they have one in common."""


@dataclass(frozen=True, slots=True)
class SliceFile:
    """What was written."""

    statistics: SliceStatistics
    size: int
    logical: str
    physical: str
    late: int
    """Rows with events before the watermark."""


def write_slice(rows: Iterable[pa.Table], schema: pa.Schema, begin: Begin, target: Path) -> SliceFile:
    """Write tables of the plan's columns as one slice; there is at least one row."""
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 - whoever writes no slices does not need its 30 ms

    whole = schema_of(schema)
    fields = list(whole)[: len(COMMON)]
    logical = LogicalHash(whole)
    late = 0

    def written() -> Iterator[pa.RecordBatch]:
        nonlocal late
        offset = begin.offset
        with ParquetWriter(
            target,
            whole,
            compression="zstd",
            use_dictionary=[each for field in fields[1:] + list(schema) for each in _leaves(field.name, field.type)],
            column_encoding={COMMON[0]: "DELTA_BINARY_PACKED"},
            write_page_index=True,
        ) as writer:
            for group in _groups(rows):
                batch = with_common(group, whole, begin, offset)
                writer.write_batch(batch, row_group_size=len(batch))
                logical.update(batch)
                late += _late(batch, begin)
                offset += len(batch)
                yield batch

    statistics = statistics_of(whole, written())
    with target.open("rb") as file:
        physical = hashlib.file_digest(file, "sha3_256").digest()
    return SliceFile(
        statistics,
        target.stat().st_size,
        multihash(HashCode.ARROW0_SHA3_256, logical.digest()),
        multihash(HashCode.SHA3_256, physical),
        late,
    )


def schema_of(columns: pa.Schema) -> pa.Schema:
    """The columns of a slice: the common ones, then the plan's."""
    return pa.schema([*(pa.field(*each, nullable=False) for each in zip(COMMON, _KINDS, strict=True)), *columns])


def divided(tables: Iterable[pa.Table], counts: Sequence[int]) -> Iterator[tuple[int, pa.Table]]:
    """The same rows in pieces, each with the number of its slice; rows beyond the last one have the next number."""
    ends, position = list(accumulate(counts)), 0
    for table in tables:
        rest = table
        while len(rest):
            at = bisect_right(ends, position)
            piece = rest[: ends[at] - position] if at < len(ends) else rest
            yield at, piece
            position, rest = position + len(piece), rest[len(piece) :]


def _groups(rows: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The rows of each row group."""
    held: list[pa.Table] = []
    for table in rows:
        held.append(table)
        if sum(len(each) for each in held) >= GROUP_ROWS or sum(each.nbytes for each in held) >= GROUP_BYTES:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)


def with_common(group: pa.Table, schema: pa.Schema, begin: Begin, offset: int) -> pa.RecordBatch:
    """Rows of a slice, the first of them with this offset; there is at least one. Without a column `op` they are appended."""
    count = len(group)
    now = pa.repeat(pa.scalar(begin.system_time, _MOMENT), count)
    events = now if begin.moment is None else pa.repeat(pa.scalar(begin.moment, _MOMENT), count)
    has_operations = COMMON[1] in group.column_names
    common = [
        pa.array(np.arange(offset, offset + count, dtype=np.uint64)),
        _whole(group.column(COMMON[1])) if has_operations else pa.array(np.zeros(count, np.uint8)),
        now,
        events if begin.event_time is None else _event_times(_whole(group.column(begin.event_time)), now),
    ]
    columns = map(group.column, schema.names[len(COMMON) :])
    return pa.RecordBatch.from_arrays([*common, *map(_whole, columns)], schema=schema)


def _late(batch: pa.RecordBatch, begin: Begin) -> int:
    if begin.watermark is None:
        return 0
    found: int = pc.sum(pc.less(batch.column(COMMON[3]), pa.scalar(begin.watermark, pa.timestamp("us", "UTC")))).as_py()
    return found


def _event_times(values: pa.Array, now: pa.Array) -> pa.Array:
    """Whole milliseconds; a day is its midnight."""
    moments = event_moments(values)
    return pc.if_else(pc.is_valid(moments), moments, now)


def event_moments(values: pa.Array) -> pa.Array:
    """Times of events of a column, in whole milliseconds; null where it has none."""
    if is_type.is_date32(values.type):
        moments = values.cast(pa.timestamp("ms")).cast(pa.int64())
    else:
        micros = np.asarray(values.cast(pa.int64()).fill_null(0))
        moments = pa.array(np.floor_divide(micros, 1000), mask=np.asarray(values.is_null()))
    known = pc.and_(pc.greater_equal(moments, _FIRST), pc.less_equal(moments, _LAST))
    return pc.if_else(pc.fill_null(known, fill_value=False), moments, None).cast(_MOMENT)


def _leaves(path: str, found: pa.DataType) -> Iterator[str]:
    """The columns of Parquet that a field consists of."""
    if is_type.is_struct(found):
        for each in found.fields:
            yield from _leaves(f"{path}.{each.name}", each.type)
    elif is_type.is_list(found):
        yield from _leaves(f"{path}.list.element", found.value_type)
    else:
        yield path


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks)

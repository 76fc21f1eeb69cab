"""Slice files: accepted rows as typed columns, ODF's common columns first."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as is_type

from lakegate.base.errors import InputError
from lakegate.base.text import quote
from lakegate.base.timestamps import instant_of, moment
from lakegate.engine.accepted_rows import AcceptedRows, RowsOfFile
from lakegate.engine.row_groups import row_groups
from lakegate.engine.typed_columns import PlanColumns, TypedColumns, in_one_array
from lakegate.features.odf.format.logical_hash import (
    LogicalHash,
    SliceStatistics,
    is_binary,
    is_list,
    is_text,
    statistics_of,
    unwrap_type,
)
from lakegate.features.odf.format.multihash import HashCode, multihash
from lakegate.features.odf.format.odf_names import COMMON
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.slice_order import SliceOrder, WrittenSlice

if TYPE_CHECKING:
    from lakegate.engine.attempt import Workspace

# ---- Parquet files ----


_MOMENT = pa.timestamp("ms", "UTC")
_KINDS = (pa.uint64(), pa.uint8(), _MOMENT, _MOMENT)
_FIRST, _LAST = -62135596800000, 253402300799999
"""Milliseconds from 1970 to the years 1 and 9999: event times beyond are none (`lakegate.features.odf.format.logical_hash`)."""


@dataclass(frozen=True, slots=True)
class Begin:
    """The first offset of a slice, and the times of its rows."""

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
    """A written slice."""

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
            use_dictionary=[leave for field in fields[1:] + list(schema) for leave in _leaves(field.name, field.type)],
            column_encoding={COMMON[0]: "DELTA_BINARY_PACKED"},
            write_page_index=True,
        ) as writer:
            for group in row_groups(rows):
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
    return pa.schema([*(pa.field(*entry, nullable=False) for entry in zip(COMMON, _KINDS, strict=True)), *columns])


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


def with_common(group: pa.Table, schema: pa.Schema, begin: Begin, offset: int) -> pa.RecordBatch:
    """Rows of a slice, the first of them with this offset; there is at least one. Without a column `op` they are appended."""
    count = len(group)
    now = pa.repeat(pa.scalar(begin.system_time, _MOMENT), count)
    events = now if begin.moment is None else pa.repeat(pa.scalar(begin.moment, _MOMENT), count)
    has_operations = COMMON[1] in group.column_names
    common = [
        pa.array(np.arange(offset, offset + count, dtype=np.uint64)),
        in_one_array(group.column(COMMON[1])) if has_operations else pa.array(np.zeros(count, np.uint8)),
        now,
        events if begin.event_time is None else _event_times(in_one_array(group.column(begin.event_time)), now),
    ]
    columns = map(group.column, schema.names[len(COMMON) :])
    return pa.RecordBatch.from_arrays([*common, *map(in_one_array, columns)], schema=schema)


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
        for field in found.fields:
            yield from _leaves(f"{path}.{field.name}", field.type)
    elif is_type.is_list(found):
        yield from _leaves(f"{path}.list.element", found.value_type)
    else:
        yield path


# ---- Slices of accepted rows ----


@dataclass(frozen=True, slots=True)
class RowsOfSlice:
    """Accepted rows that become one slice."""

    uri: str
    begin: Begin
    rows: RowsOfFile

    def write(self, workspace: Workspace, columns: TypedColumns) -> WrittenSlice:
        """Write it by way of a folder of this machine."""
        rows = self.rows.tables(columns, workspace.connection)
        return written_slice(rows, columns.schema, self.begin, self.uri, workspace)


def written_slice(
    rows: Iterable[pa.Table], schema: pa.Schema, begin: Begin, uri: str, workspace: Workspace
) -> WrittenSlice:
    """Write rows as a slice at an address, by way of a folder of this machine."""
    target = workspace.folder / "slice.parquet"
    found = write_slice(rows, schema, begin, target)
    etag = workspace.keep(target, uri)
    target.unlink()
    statistics = found.statistics
    first, last = statistics.event_times
    return WrittenSlice(
        uri,
        found.size,
        etag,
        statistics.last_offset + 1 - statistics.first_offset,
        statistics.first_offset,
        (moment(first), moment(last)),
        found.logical,
        found.physical,
        found.late,
    )


@dataclass(frozen=True, slots=True)
class AcceptedSlices:
    """The accepted rows of a delivery, divided into slices."""

    columns: TypedColumns
    slices: tuple[RowsOfSlice, ...]
    begin: Begin

    @staticmethod
    def of(accepted: AcceptedRows, request: Request, order: SliceOrder) -> AcceptedSlices:
        """Those that the request orders; its delivery is accepted."""
        watermark = instant_of(order.watermark) if order.watermark else None
        begin = Begin(order.offset, instant_of(order.system_time or request.judged_at), order.event_time, watermark)
        offset = order.offset
        found: list[RowsOfSlice] = []
        for number, rows in enumerate(accepted.files()):
            uri = f"{request.output_uri}/slices/part-{number:05}.parquet"
            found.append(RowsOfSlice(uri, replace(begin, offset=offset), rows))
            offset += rows.count
        return AcceptedSlices(TypedColumns(accepted.plan, accepted.source), tuple(found), begin)


# ---- ODF's schema from Arrow's types ----


_UNITS = {"s": "Second", "ms": "Millisecond", "us": "Microsecond", "ns": "Nanosecond"}


def odf_fields(columns: Iterable[pa.Field]) -> tuple[dict[str, Any], ...]:
    """Each column as a `DataField`. InputError for a type that ODF does not have."""
    return tuple({"name": column.name, **_member("type", *_of_field(column))} for column in columns)


def plan_fields(plan: Plan) -> tuple[dict[str, Any], ...]:
    """The columns of the slices that are written by a plan."""
    return odf_fields(schema_of(PlanColumns(plan).schema))


def bare(fields: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The part of a schema that a file must have: names and types in their order, without options and attributes."""
    return [(field.get("name"), _bare(field, "type")) for field in fields]


def _bare(value: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - nested lists
    kind, found = value.get(f"{name}_type"), value.get(name, {})
    match kind:
        case "DataTypeOption":
            return _bare(found, "inner")
        case "DataTypeStruct":
            return [kind, bare(found.get("fields", ()))]
        case "DataTypeList":
            return [kind, _bare(found, "item_type")]
        case "DataTypeMap":
            return [kind, _bare(found, "key_type"), _bare(found, "value_type")]
        case "DataTypeTimestamp" | "DataTypeTime":
            return [kind, found.get("unit", "Millisecond"), found.get("timezone", "UTC")]
        case _:
            return [kind, *sorted((key, found[key]) for key in found if key != "fixed_length")]


def _member(name: str, kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{name}_type": f"DataType{kind}", name: value}


def _of_field(field: pa.Field) -> tuple[str, dict[str, Any]]:
    found = _of(field.type, field.name)
    return ("Option", _member("inner", *found)) if field.nullable else found


def _of(kind: pa.DataType, name: str) -> tuple[str, dict[str, Any]]:
    kind = unwrap_type(kind)
    if is_type.is_struct(kind):
        return "Struct", {"fields": list(odf_fields(kind.fields))}
    if is_list(kind):
        return "List", _member("item_type", *_of_field(kind.value_field))
    for applies, written in _FIELD_KINDS:
        if applies(kind):
            return written(kind)
    raise InputError(f"the column {quote(name)} has a type that ODF does not have ({kind})")


def _timestamp(kind: pa.DataType) -> tuple[str, dict[str, Any]]:
    zone = {} if kind.tz is None else {"timezone": kind.tz}
    return "Timestamp", {"unit": _UNITS[kind.unit], **zone}


_FIELD_KINDS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], tuple[str, dict[str, Any]]]], ...] = (
    (is_type.is_boolean, lambda _: ("Bool", {})),
    (is_type.is_integer, lambda kind: (f"{'' if is_type.is_signed_integer(kind) else 'U'}Int{kind.bit_width}", {})),
    (is_type.is_floating, lambda kind: (f"Float{kind.bit_width}", {})),
    (is_type.is_decimal, lambda kind: ("Decimal", {"precision": kind.precision, "scale": kind.scale})),
    (is_type.is_date, lambda _: ("Date", {})),
    (is_type.is_time, lambda kind: ("Time", {"unit": _UNITS[kind.unit]})),
    (is_type.is_timestamp, _timestamp),
    (is_text, lambda _: ("String", {})),
    (is_binary, lambda _: ("Binary", {})),
)

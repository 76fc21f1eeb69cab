"""Types inside files (Arrow), and the declared types they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.contract.contract_model import Shape
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.plan import PlanField

# ---- Types of a file as kinds ----
# Types are compared structurally, never by a cast that might succeed. Where a column's kind cannot hold values of the declared
# type, none of its values is one, and the reason names the file's own type.


class Kind(Enum):
    """The kinds of values in all formats, each with its type in Spark."""

    TEXT = "STRING"
    BYTES = "BINARY"
    WHOLE = "BIGINT"
    EXACT = "DECIMAL"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    BOOLEAN = "BOOLEAN"
    DATE = "DATE"
    TIME = "STRING "
    """A time of day, which Spark has no type for: as text."""
    MOMENT = "TIMESTAMP"
    """With a zone, or without one, which is UTC (docs/types.md)."""
    RECORD = "STRUCT"
    LIST = "ARRAY"
    MAP = "MAP"
    NOTHING = "STRING  "
    """A column of nulls alone."""
    OTHER = "BOOLEAN "
    """Whatever no declared type has: only whether a value is there is known."""


@dataclass(frozen=True, slots=True)
class Physical:
    """The type of a column, or of a part of one."""

    kind: Kind
    words: str
    """The file's own name for it, for reasons."""
    digits: tuple[int, int] = (0, 0)
    """Precision and scale of an exact number."""
    parts: tuple[tuple[str, Physical], ...] = ()
    """Of a record its members; of a list `[]`; of a map `{key}` and `{value}`."""
    limits: tuple[int, int] | None = None
    """The least and the greatest whole number of the type, where the file may hold others."""
    is_required: bool = field(default=False, compare=False)
    """Whether the schema forbids nulls; files with and without may be one delivery."""
    is_of_any_zone: bool = field(default=False, compare=False)
    """Of moments: whether its type does not say if they have a zone."""

    @property
    def has_zone(self) -> bool | None:
        """Whether its type says that moments have a zone; None where it does not say it (INT96), and of other kinds.

        Parquet `isAdjustedToUTC`, ORC `timestamp with local time zone`, Avro `timestamp-*` beside `local-timestamp-*`.
        """
        if self.kind is not Kind.MOMENT or self.is_of_any_zone:
            return None
        return "tz=" in self.words or self.words.startswith("timestamp-")

    def part(self, step: str) -> Physical | None:
        """The part that a step of a plan's path leads to."""
        name = step[1:] if self.kind is Kind.RECORD and step.startswith(".") else step
        return dict(self.parts).get(name)

    @property
    def sql(self) -> str:
        """The type that Spark is given for it; members of records are named by their places."""
        inner = [part.sql for _, part in self.parts]
        match self.kind:
            case Kind.EXACT:
                return f"DECIMAL({self.digits[0]}, {self.digits[1]})"
            case Kind.RECORD:
                return f"STRUCT<{', '.join(f'f{at}: {each}' for at, each in enumerate(inner))}>"
            case Kind.LIST | Kind.MAP:
                return f"{self.kind.value}<{', '.join(inner)}>"
            case _:
                return str(self.kind.value).strip()

    def leaves(self) -> Iterator[Physical]:
        """The type itself, or all types without parts below it."""
        if not self.parts:
            yield self
        for _, part in self.parts:
            yield from part.leaves()


_HELD = {
    LogicalType.STRING: {Kind.TEXT},
    LogicalType.INTEGER: {Kind.WHOLE, Kind.EXACT},
    LogicalType.NUMBER: {Kind.WHOLE, Kind.EXACT, Kind.FLOAT, Kind.DOUBLE},
    LogicalType.DECIMAL: {Kind.WHOLE, Kind.EXACT},
    LogicalType.BOOLEAN: {Kind.BOOLEAN},
    LogicalType.DATE: {Kind.DATE},
    LogicalType.TIME: {Kind.TIME, Kind.TEXT},
    LogicalType.TIMESTAMP: {Kind.MOMENT},
    LogicalType.BINARY: {Kind.BYTES, Kind.TEXT},
}
"""The kinds whose values can be of a declared type (docs/data.md)."""
_SHAPES = {Shape.RECORD: Kind.RECORD, Shape.LIST: Kind.LIST, Shape.MAP: Kind.MAP}


def holds(physical: Physical, planned: PlanField) -> bool:
    """Whether a column of that type can contain values of the declared one."""
    if physical.kind is Kind.NOTHING or planned.shape is Shape.ANY:
        return True
    if planned.shape in _SHAPES:
        return physical.kind is _SHAPES[planned.shape]
    if planned.zone is not None and physical.has_zone is (not planned.zone):
        return False
    is_fraction = physical.kind is Kind.EXACT and physical.digits[1] > 0
    return physical.kind in _HELD[planned.type] and not (is_fraction and planned.type is LogicalType.INTEGER)


LONG_DIGITS = 18
ANY_ZONE = b"any zone"
"""The mark of columns whose moments may have a zone or none: INT96 of Parquet, which writers give both meanings."""
TYPES = {
    Kind.TEXT: LogicalType.STRING,
    Kind.BYTES: LogicalType.BINARY,
    Kind.WHOLE: LogicalType.INTEGER,
    Kind.FLOAT: LogicalType.NUMBER,
    Kind.DOUBLE: LogicalType.NUMBER,
    Kind.BOOLEAN: LogicalType.BOOLEAN,
    Kind.DATE: LogicalType.DATE,
    Kind.TIME: LogicalType.TIME,
    Kind.MOMENT: LogicalType.TIMESTAMP,
}


# ---- Types of Arrow as kinds ----


MAX_DIGITS = 38
_UNSIGNED_DIGITS = (20, 0)
MOMENT, _NAIVE = pa.timestamp("us", "UTC"), pa.timestamp("us")
LAST_MOMENT = (1 << 63) - 1
"""Microseconds that 64 bits hold, before and after 1970."""
LAST_EXACT = (1 << 127) - 1
"""The digits of the greatest number of 128 bits."""
LAST_DAY = (1 << 31) - 1
"""The days at the ends of 32 bits, which stand for all beyond them."""
_MICROSECONDS = {"s": 1_000_000, "ms": 1000}
_OF_MICROSECOND = 1000
"""Nanoseconds of a microsecond."""
_DAY = 86_400_000_000
_JULIAN_1970 = 2_440_588
_INT96 = np.dtype([("of_day", "<i8"), ("day", "<i4")])
_LIMITS = {
    pa.int8(): (-(1 << 7), (1 << 7) - 1),
    pa.int16(): (-(1 << 15), (1 << 15) - 1),
    pa.uint8(): (0, (1 << 8) - 1),
    pa.uint16(): (0, (1 << 16) - 1),
}


def physical(kind: pa.DataType) -> Physical:
    """The kind of an Arrow type."""
    if pa.types.is_dictionary(kind):
        return physical(kind.value_type)
    words = str(kind)
    with_parts = next((each for is_of, each in _WITH_PARTS.items() if is_of(kind)), None)
    if with_parts is not None:
        found, name, parts = with_parts
        return Physical(found, name, parts=parts(kind))
    if pa.types.is_decimal128(kind) and kind.scale >= 0:
        return Physical(Kind.EXACT, words, (kind.precision, kind.scale))
    if kind == pa.uint64():
        return Physical(Kind.EXACT, words, _UNSIGNED_DIGITS)
    found_kind = next((each for is_of, each in _KINDS.items() if is_of(kind)), Kind.OTHER)
    return Physical(found_kind, words, limits=_LIMITS.get(kind))


def physical_of(column: pa.Field) -> Physical:
    """The kind of a column, or of a part of one."""
    is_open = ANY_ZONE in (column.metadata or {})
    return replace(physical(column.type), is_required=not column.nullable, is_of_any_zone=is_open)


def of_any_zone(column: pa.Field) -> pa.Field:
    """A column whose moments may have a zone or none: its type does not say it."""
    kind = column.type
    if pa.types.is_struct(kind):
        return column.with_type(pa.struct(map(of_any_zone, kind)))
    if pa.types.is_map(kind):
        return column.with_type(pa.map_(kind.key_field, of_any_zone(kind.item_field)))
    if pa.types.is_list(kind):
        return column.with_type(pa.list_(of_any_zone(kind.value_field)))
    return column.with_metadata({ANY_ZONE: b""}) if pa.types.is_timestamp(kind) else column


# ---- Values that do not fit their own type ----
# A file may hold what its type excludes: a moment beyond 64 bits of microseconds, a decimal of more digits than it declares, a
# number beyond its bits. Such a value is there, and none of its type: it never becomes another one.


def fit_values(array: pa.Array, kind: Physical) -> tuple[pa.Array, pa.Array | None]:
    """The values of a column for its kind, and whether each fits the file's own type; None where all do.

    Moments are microseconds without a zone; one that does not fit is beyond all calendars. Others are as the file has them.
    """
    if kind.kind is Kind.MOMENT:
        return _int96(array) if pa.types.is_fixed_size_binary(array.type) else _microseconds(array)
    if kind.kind is Kind.EXACT and pa.types.is_decimal128(array.type):
        # The view cannot lie: the same 128 bits of the same scale, with room for all digits that they may have.
        wide = array.view(pa.decimal128(MAX_DIGITS, array.type.scale))
        fits = _within(wide, *(_unscaled(sign * (10 ** kind.digits[0] - 1), wide.type) for sign in (-1, 1)))
        if fits is None:
            return array, None
        # DuckDB writes no number below -(2^127 - 1); the one that there is does not fit either.
        return pc.max_element_wise(wide, _unscaled(-LAST_EXACT, wide.type), skip_nulls=False), fits
    if kind.kind is Kind.DATE and pa.types.is_date32(array.type):
        days = array.view(pa.int32())  # the same 32 bits: days since 1970
        return array, _within(days, pa.scalar(1 - LAST_DAY, pa.int32()), pa.scalar(LAST_DAY - 1, pa.int32()))
    if kind.limits is not None:
        return array, _within(array, *(pa.scalar(limit, pa.int64()) for limit in kind.limits))
    return array, None


def keep_fitting(array: pa.Array, kind: Physical) -> tuple[pa.Array, pa.Array]:
    """The values of a column as `fit_values` has them, and the same with nulls for those that do not fit."""
    found, fits = fit_values(array, kind)
    return found, found if fits is None else pc.if_else(fits, found, pa.scalar(None, found.type))


def _within(array: pa.Array, least: pa.Scalar, most: pa.Scalar) -> pa.Array | None:
    """Whether each value is between two others; None where all are."""
    fits = pc.and_(pc.greater_equal(array, least), pc.less_equal(array, most))
    return None if pc.all(fits).as_py() is not False else fits


def _unscaled(number: int, kind: pa.DataType) -> pa.Scalar:
    """The decimal with these digits and the scale of a type."""
    return pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(number.to_bytes(16, "little", signed=True))])[0]


def _microseconds(array: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Digits past the microsecond are cut off, before 1970 too. A moment with a zone is one of UTC, as one without is."""
    unit, numbers = (
        array.type.unit,
        array.view(pa.int64()),
    )  # the view cannot lie: moments are 64-bit numbers of their unit
    fits = None
    if unit == "ns":
        cut = pc.divide(numbers, _OF_MICROSECOND)  # towards 0
        numbers = pc.subtract(cut, pc.greater(pc.multiply(cut, _OF_MICROSECOND), numbers).cast(pa.int64()))
    elif unit != "us":
        most = LAST_MOMENT // _MICROSECONDS[unit]
        fits = _within(numbers, pa.scalar(-most), pa.scalar(most))
        if fits is not None:
            ends = pc.if_else(pc.greater(numbers, 0), pa.scalar(most), pa.scalar(-most))
            numbers = pc.if_else(fits, numbers, ends)
        numbers = pc.multiply_checked(numbers, _MICROSECONDS[unit])
    return numbers.view(_NAIVE), fits


def _int96(array: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """INT96 as it is stored: nanoseconds of the day in 64 bits, then the Julian day in 32 (parquet-format, deprecated types)."""
    parts = np.frombuffer(array.buffers()[1], _INT96, len(array), array.offset * _INT96.itemsize)
    nanoseconds, days = parts["of_day"], parts["day"].astype(np.int64) - _JULIAN_1970
    fit = (nanoseconds >= 0) & (nanoseconds < _DAY * _OF_MICROSECOND) & (np.abs(days) < LAST_MOMENT // _DAY)
    ends = np.where(days < 0, -LAST_MOMENT, LAST_MOMENT)
    numbers = np.where(fit, np.where(fit, days, 0) * _DAY + nanoseconds // _OF_MICROSECOND, ends)
    valid = array.is_valid()
    fits = None if fit.all() else pc.if_else(valid, pa.array(fit), pa.scalar(None, pa.bool_()))
    return pc.if_else(valid, pa.array(numbers), pa.scalar(None, pa.int64())).view(_NAIVE), fits


def to_canonical(array: pa.Array, kind: Physical) -> pa.Array:
    """The array as its kind is handed to Spark; a value that does not fit the file's own type is null."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    special = _CANONICAL.get(kind.kind)
    if special is not None:
        return special(array, kind)
    return keep_fitting(array, kind)[1].cast(_TYPES[kind.kind])  # a checked cast, to a type at least as wide


def _moments(array: pa.Array, kind: Physical) -> pa.Array:
    """Microseconds; null for INT96 that Spark would write with nanoseconds of no day, or with a day that wraps 64 bits."""
    moments = keep_fitting(array, kind)[1]
    if not kind.is_of_any_zone:
        return moments
    numbers, first = moments.view(pa.int64()), _JULIAN_1970 * _DAY
    fits = _within(numbers, pa.scalar(-first), pa.scalar(LAST_MOMENT - first))
    return moments if fits is None else pc.if_else(fits, moments, pa.scalar(None, _NAIVE))


def _record(array: pa.Array, kind: Physical) -> pa.Array:
    members = [to_canonical(each, part) for each, (_, part) in zip(array.flatten(), kind.parts, strict=True)]
    names = [f"f{at}" for at in range(len(members))]
    return pa.StructArray.from_arrays(members, names=names, mask=array.is_null()) if members else array


def mark_present(array: pa.Array, _: Physical | None = None) -> pa.Array:
    """Whether each value is there: true, or null."""
    return pc.if_else(array.is_valid(), pa.scalar(True), pa.scalar(None, pa.bool_()))


def _list(array: pa.Array, kind: Physical) -> pa.Array:
    if not pa.types.is_list(array.type):
        array = array.cast(pa.list_(array.type.value_type))
    whole = pa.concat_arrays([array.slice(0, 0), array])
    return pa.ListArray.from_arrays(whole.offsets, to_canonical(whole.values, kind.parts[0][1]), mask=whole.is_null())


def _map(array: pa.Array, kind: Physical) -> pa.Array:
    key, value = (part for _, part in kind.parts)
    whole = pa.concat_arrays([array.slice(0, 0), array])
    keys, values = to_canonical(whole.keys, key), to_canonical(whole.items, value)
    return pa.MapArray.from_arrays(whole.offsets, keys, values, mask=whole.is_null())


_WITH_PARTS: dict[Callable[[pa.DataType], bool], tuple[Kind, str, Callable[[pa.DataType], Parts]]] = {
    pa.types.is_struct: (Kind.RECORD, "record", lambda kind: tuple((each.name, physical_of(each)) for each in kind)),
    pa.types.is_map: (
        Kind.MAP,
        "map",
        lambda kind: (("{key}", physical(kind.key_type)), ("{value}", physical_of(kind.item_field))),
    ),
    **{
        is_list: (Kind.LIST, "list", lambda kind: (("[]", physical_of(kind.value_field)),))
        for is_list in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    },
}

_CANONICAL: dict[Kind, Callable[[pa.Array, Physical], pa.Array]] = {
    Kind.RECORD: _record,
    Kind.LIST: _list,
    Kind.MAP: _map,
    Kind.TIME: lambda array, _: array.cast(pa.string()),
    Kind.OTHER: mark_present,
    Kind.MOMENT: lambda array, kind: _moments(array, kind).view(MOMENT),  # microseconds of UTC, as they are
    Kind.EXACT: lambda array, kind: keep_fitting(array, kind)[1].cast(pa.decimal128(*kind.digits)),
}

_KINDS: dict[Callable[[pa.DataType], bool], Kind] = {
    pa.types.is_string: Kind.TEXT,
    pa.types.is_large_string: Kind.TEXT,
    pa.types.is_binary: Kind.BYTES,
    pa.types.is_large_binary: Kind.BYTES,
    pa.types.is_fixed_size_binary: Kind.BYTES,
    pa.types.is_integer: Kind.WHOLE,
    pa.types.is_float16: Kind.FLOAT,
    pa.types.is_float32: Kind.FLOAT,
    pa.types.is_float64: Kind.DOUBLE,
    pa.types.is_boolean: Kind.BOOLEAN,
    pa.types.is_date: Kind.DATE,
    pa.types.is_time: Kind.TIME,
    pa.types.is_timestamp: Kind.MOMENT,
    pa.types.is_null: Kind.NOTHING,
}

_TYPES = {
    Kind.TEXT: pa.string(),
    Kind.BYTES: pa.binary(),
    Kind.WHOLE: pa.int64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.DATE: pa.date32(),
    Kind.NOTHING: pa.string(),
}


if TYPE_CHECKING:
    Parts = tuple[tuple[str, Physical], ...]

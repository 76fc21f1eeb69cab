"""Types inside files (Arrow), and the declared types they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

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
MOMENT = pa.timestamp("us", "UTC")


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
    return Physical(next((each for is_of, each in _KINDS.items() if is_of(kind)), Kind.OTHER), words)


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


def canonical(array: pa.Array, kind: Physical) -> pa.Array:
    """The array as its kind is handed to Spark."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    special = _CANONICAL.get(kind.kind)
    return array.cast(_TYPES[kind.kind]) if special is None else special(array, kind)


def _record(array: pa.Array, kind: Physical) -> pa.Array:
    members = [canonical(each, part) for each, (_, part) in zip(array.flatten(), kind.parts, strict=True)]
    names = [f"f{at}" for at in range(len(members))]
    return pa.StructArray.from_arrays(members, names=names, mask=array.is_null()) if members else array


def present(array: pa.Array, _: Physical | None = None) -> pa.Array:
    """Whether each value is there: true, or null."""
    return pc.if_else(array.is_valid(), pa.scalar(True), pa.scalar(None, pa.bool_()))


def _moment(array: pa.Array, _: Physical) -> pa.Array:
    return array.cast(pa.timestamp("us", array.type.tz), safe=False).cast(MOMENT)


def _list(array: pa.Array, kind: Physical) -> pa.Array:
    if not pa.types.is_list(array.type):
        array = array.cast(pa.list_(array.type.value_type))
    whole = pa.concat_arrays([array.slice(0, 0), array])
    return pa.ListArray.from_arrays(whole.offsets, canonical(whole.values, kind.parts[0][1]), mask=whole.is_null())


def _map(array: pa.Array, kind: Physical) -> pa.Array:
    key, value = (part for _, part in kind.parts)
    whole = pa.concat_arrays([array.slice(0, 0), array])
    keys, values = canonical(whole.keys, key), canonical(whole.items, value)
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
    Kind.OTHER: present,
    Kind.MOMENT: _moment,
    Kind.EXACT: lambda array, kind: array.cast(pa.decimal128(*kind.digits)),
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

"""Types of an Avro schema (1.12): one walk yields the kind of each type, and the column that its values are taken into."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import pyarrow as pa

from lakegate.admission.file_signatures import UnreadableError
from lakegate.base.text import quote
from lakegate.engine.read.avro_columns import (
    Column,
    Exacts,
    Lists,
    Maps,
    Nulls,
    NumberValues,
    Optional,
    Others,
    ReadValue,
    Records,
    TextColumn,
    Truths,
    read_bytes,
    read_clock,
    read_day,
    read_fixed,
    read_float,
    read_number,
    read_symbol,
    read_truth,
)
from lakegate.engine.read.stored_types import MAX_DIGITS, Kind, Physical

Typed = tuple[Physical, Column]
MAX_DEPTH = 64
MAX_TYPES = 100_000
"""Types of one schema: named types that use each other twice would multiply without an end."""
NUMBERS: dict[str, tuple[Kind, tuple[str, pa.DataType, ReadValue]]] = {
    "int": (Kind.WHOLE, ("q", pa.int64(), read_number)),
    "long": (Kind.WHOLE, ("q", pa.int64(), read_number)),
    "float": (Kind.FLOAT, ("f", pa.float32(), partial(read_float, form=struct.Struct("<f")))),
    "double": (Kind.DOUBLE, ("d", pa.float64(), partial(read_float, form=struct.Struct("<d")))),
}
"""Types that are numbers of a width, each with its kind and how its column is made."""
LOGICAL: dict[tuple[str, str], tuple[Kind, tuple[str, pa.DataType, ReadValue]]] = {
    ("int", "date"): (Kind.DATE, ("i", pa.date32(), read_day)),
    ("int", "time-millis"): (Kind.TIME, ("q", pa.time64("us"), read_clock)),
    ("long", "time-micros"): (Kind.TIME, ("q", pa.time64("us"), read_number)),
    **{
        ("long", f"{zone}timestamp-{word}"): (Kind.MOMENT, ("q", pa.timestamp(unit), read_number))
        for zone in ("", "local-")
        for word, unit in (("millis", "ms"), ("micros", "us"), ("nanos", "ns"))
    },
}
"""Logical types other than decimals, with the type that each annotates."""
PLAIN: dict[str, tuple[Kind, Callable[[dict[str, Any]], Column]]] = {
    "null": (Kind.NOTHING, lambda _: Nulls()),
    "boolean": (Kind.BOOLEAN, lambda _: Truths(read_truth)),
    "bytes": (Kind.BYTES, lambda schema: TextColumn(pa.binary(), _bytes_reader(schema))),
    "fixed": (Kind.BYTES, lambda schema: TextColumn(pa.binary(), _bytes_reader(schema))),
    "string": (Kind.TEXT, lambda _: TextColumn(pa.string(), read_bytes)),
    "enum": (
        Kind.TEXT,
        lambda schema: TextColumn(
            pa.string(), partial(read_symbol, symbols=[str(symbol).encode() for symbol in schema["symbols"]])
        ),
    ),
}
"""Other types without parts."""
DIGITS_OF_BIT = Fraction(301029995663981195, 10**18)
"""The logarithm of 2 to base 10: a power would be as long as a producer's precision says."""
_INT = -(1 << 31), (1 << 31) - 1
WIDER = {frozenset({"int", "long"}): "long", frozenset({"float", "double"}): "double"}
"""Unions that Spark reads as the wider of two types."""
NAMED = {"record", "error", "enum", "fixed"}


class NamedTypes:
    """The named types of a schema so far (Avro 1.12, "Names"), and how many types were read."""

    def __init__(self) -> None:
        self._types: dict[str, Any] = {}
        self.read = 0

    def add(self, schema: dict[str, Any], space: str) -> str:
        """Keep a named type with its aliases, if it is one; the namespace of the types inside of it."""
        if schema["type"] not in NAMED or "name" not in schema:
            return space
        name = _full_name(str(schema["name"]), schema.get("namespace"), space)
        inside = name.rpartition(".")[0]
        self._types[name] = schema, inside
        for alias in schema.get("aliases") or ():
            self._types.setdefault(_full_name(str(alias), None, inside), self._types[name])
        return inside

    def of(self, name: str, space: str) -> Any:  # noqa: ANN401 - what JSON holds, and its namespace
        """The type with a name, and the namespace inside of it. UnreadableError if there is none.

        A name without a point is one of the enclosing namespace; where it has none, one without a namespace, as in Java.
        """
        full = _full_name(name, None, space)
        kind = self._types.get(full) or self._types.get(name)
        if kind is None:
            raise UnreadableError("schema", f"the schema of the Avro file defines no type {quote(full)}, which it uses")
        return kind


def _full_name(name: str, own: object, space: str) -> str:
    """A name with its namespace: a name with a point has it; else the type's own one, else the enclosing one."""
    if "." in name:
        return name.removeprefix(".")
    found = own if isinstance(own, str) else space
    return f"{found}.{name}" if found else name


def read_schema(schema: object) -> Typed:
    """The kind of a whole schema, and its column; UnreadableError if it is invalid or recursive."""
    try:
        return _read_type(schema, NamedTypes(), "", 0)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UnreadableError("schema", "the schema of the Avro file cannot be read, or leads back to itself") from None


def _read_type(schema: Any, known: NamedTypes, space: str, depth: int) -> Typed:  # noqa: ANN401 - what JSON holds
    known.read += 1
    if depth > MAX_DEPTH or known.read > MAX_TYPES:
        raise ValueError(depth)
    if isinstance(schema, list):
        kind, column = _read_union(schema, known, space, depth + 1)
        return replace(kind, is_required="null" not in schema), column
    about = {"type": schema} if isinstance(schema, str) else schema
    word = about["type"]
    if not isinstance(word, str):
        return _read_type(word, known, space, depth + 1)
    inside = known.add(about, space)
    if about is schema and word in _WITH_PARTS:
        kind, column = _WITH_PARTS[word](about, lambda part: _read_type(part, known, inside, depth + 1))
    elif word in NUMBERS or word in PLAIN:
        kind, column = _read_leaf(word, about)
    else:
        # A named type is read as it stands where it is defined.
        named, home = known.of(word, space)
        named = {**named, "name": named["name"].rpartition(".")[2], "namespace": home}
        kind, column = _read_type(named, known, home, depth + 1)
    return replace(kind, is_required=word != "null"), column


def _read_record(schema: Any, read_part: Callable[[Any], Typed]) -> Typed:  # noqa: ANN401 - what JSON holds
    members = [(member["name"], *read_part(member["type"])) for member in schema["fields"]]
    kind = Physical(Kind.RECORD, "record", parts=tuple((name, part) for name, part, _ in members))
    return kind, Records([(name, column) for name, _, column in members])


def _read_array(schema: Any, read_part: Callable[[Any], Typed]) -> Typed:  # noqa: ANN401 - what JSON holds
    element, column = read_part(schema["items"])
    return Physical(Kind.LIST, "array", parts=(("[]", element),)), Lists([column])


def _read_map(schema: Any, read_part: Callable[[Any], Typed]) -> Typed:  # noqa: ANN401 - what JSON holds
    value, column = read_part(schema["values"])
    kind = Physical(Kind.MAP, "map", parts=(("{key}", Physical(Kind.TEXT, "string")), ("{value}", value)))
    return kind, Maps([TextColumn(pa.string(), read_bytes), column])


_WITH_PARTS = {"record": _read_record, "error": _read_record, "array": _read_array, "map": _read_map}


def _read_union(members: list[Any], known: NamedTypes, space: str, depth: int) -> Typed:
    values = [member for member in members if member != "null"]
    if not values:
        return Physical(Kind.NOTHING, "null"), Optional(Nulls(), [None for _ in members])
    plain = frozenset(member for member in values if isinstance(member, str))
    if len(plain) == len(values) and plain in WIDER:
        word = WIDER[plain]
        kind, form = NUMBERS[word]
        wide = NumberValues(*form)
        reads = [None if member == "null" else wide.reading(NUMBERS[member][1][2]) for member in members]
        return Physical(kind, word), Optional(wide, reads)
    types = [None if member == "null" else _read_type(member, known, space, depth) for member in members]
    if len(values) > 1:
        return Physical(Kind.OTHER, "union"), Others([each and each[1] for each in types])
    ((only, column),) = filter(None, types)
    return only, Optional(column, [each and column.read for each in types])


def _read_leaf(word: str, schema: dict[str, Any]) -> Typed:
    logical = logical_of(word, schema)
    if isinstance(logical, tuple):
        precision, scale = logical
        words, read = f"decimal({precision}, {scale})", _bytes_reader(schema)
        if precision > MAX_DIGITS:
            return Physical(Kind.OTHER, words), TextColumn(pa.binary(), read)
        return Physical(Kind.EXACT, words, logical), Exacts(pa.decimal128(precision, scale), read)
    if logical:
        kind, form = LOGICAL[word, logical]
        return Physical(kind, logical), NumberValues(*form)
    if word in NUMBERS:
        kind, form = NUMBERS[word]
        return Physical(kind, word, limits=_INT if word == "int" else None), NumberValues(*form)
    kind, make_column = PLAIN[word]
    return Physical(kind, word), make_column(schema)


def _bytes_reader(schema: dict[str, Any]) -> ReadValue:
    return partial(read_fixed, size=int(schema["size"])) if schema["type"] == "fixed" else read_bytes


def logical_of(word: str, schema: dict[str, Any]) -> str | tuple[int, int]:
    """The logical type of a leaf, of a decimal its precision and scale; empty without one.

    An invalid one is ignored, and the type is that which it annotates (Avro 1.12, "Logical Types").
    """
    name = schema.get("logicalType")
    if not isinstance(name, str):
        return ""
    if name != "decimal" or word not in {"bytes", "fixed"}:
        return name if (word, name) in LOGICAL else ""
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision or precision == 0:
        return ""
    is_too_wide = word == "fixed" and precision > (8 * int(schema["size"]) - 1) * DIGITS_OF_BIT
    return "" if is_too_wide else (precision, scale)

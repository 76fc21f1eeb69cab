"""Types of an Avro schema (1.12) in the kinds of `lakegate.engine.type.physical`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from lakegate.contracts.door.file_signatures import UnreadableError
from lakegate.engine.type.physical import Kind, Physical

DEEPEST = 64
MAX_TYPES = 100_000
"""Types of one schema: named types that use each other twice would multiply without an end."""
SIMPLE = {
    "null": Kind.NOTHING,
    "boolean": Kind.BOOLEAN,
    "int": Kind.WHOLE,
    "long": Kind.WHOLE,
    "float": Kind.FLOAT,
    "double": Kind.DOUBLE,
    "bytes": Kind.BYTES,
    "string": Kind.TEXT,
    "enum": Kind.TEXT,
    "fixed": Kind.BYTES,
}
LOGICAL = {
    ("int", "date"): Kind.DATE,
    ("int", "time-millis"): Kind.TIME,
    ("long", "time-micros"): Kind.TIME,
    **{
        ("long", f"{zone}timestamp-{unit}"): Kind.MOMENT
        for zone in ("", "local-")
        for unit in ("millis", "micros", "nanos")
    },
}
WIDER = {frozenset({"int", "long"}): "long", frozenset({"float", "double"}): "double"}
"""Unions that Spark reads as the wider of two types."""


class _Names(dict[str, Any]):
    """The named types of a schema so far, and how many types were read."""

    read = 0


def physical(schema: object) -> Physical:
    """The kind of a whole schema; UnreadableError if it is invalid or recursive."""
    try:
        return _physical(schema, _Names(), 0)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UnreadableError("schema", "the schema of the Avro file cannot be read, or leads back to itself") from None


def _physical(schema: Any, known: _Names, depth: int) -> Physical:  # noqa: ANN401 - what JSON holds
    known.read += 1
    if depth > DEEPEST or known.read > MAX_TYPES:
        raise ValueError(depth)
    if isinstance(schema, list):
        return replace(_union(schema, known, depth), is_required="null" not in schema)
    if isinstance(schema, str):
        found = Physical(SIMPLE[schema], schema) if schema in SIMPLE else _physical(known[schema], known, depth + 1)
        return replace(found, is_required=schema != "null")
    word = schema["type"]
    if not isinstance(word, str):
        return _physical(word, known, depth + 1)
    if "name" in schema:
        known |= dict.fromkeys(names_of(schema), schema)
    with_parts = _WITH_PARTS.get(word)
    return replace((with_parts or partial(_leaf, word))(schema, known, depth), is_required=word != "null")


def _record(schema: Any, known: _Names, depth: int) -> Physical:  # noqa: ANN401 - what JSON holds
    members = tuple((each["name"], _physical(each["type"], known, depth + 1)) for each in schema["fields"])
    return Physical(Kind.RECORD, "record", parts=members)


def _array(schema: Any, known: _Names, depth: int) -> Physical:  # noqa: ANN401 - what JSON holds
    return Physical(Kind.LIST, "array", parts=(("[]", _physical(schema["items"], known, depth + 1)),))


def _map(schema: Any, known: _Names, depth: int) -> Physical:  # noqa: ANN401 - what JSON holds
    value = _physical(schema["values"], known, depth + 1)
    return Physical(Kind.MAP, "map", parts=(("{key}", Physical(Kind.TEXT, "string")), ("{value}", value)))


_WITH_PARTS = {"record": _record, "error": _record, "array": _array, "map": _map}


def _leaf(word: str, schema: dict[str, Any], known: _Names, depth: int) -> Physical:
    logical = str(schema.get("logicalType"))
    if logical == "decimal" and word in {"bytes", "fixed"}:
        precision, scale = int(schema["precision"]), int(schema.get("scale", 0))
        return Physical(Kind.EXACT, f"decimal({precision}, {scale})", (precision, scale))
    if (word, logical) in LOGICAL:
        return Physical(LOGICAL[word, logical], logical)
    return Physical(SIMPLE[word], word) if word in SIMPLE else _physical(word, known, depth + 1)


def _union(members: list[Any], known: _Names, depth: int) -> Physical:
    values = [each for each in members if each != "null"]
    if len(values) == 1:
        return _physical(values[0], known, depth + 1)
    plain = frozenset(each for each in values if isinstance(each, str))
    if len(plain) == len(values) and plain in WIDER:
        return Physical(SIMPLE[WIDER[plain]], WIDER[plain])
    return Physical(Kind.OTHER if values else Kind.NOTHING, "union" if values else "null")


def names_of(schema: dict[str, Any]) -> list[str]:
    """The names that a named type is known by."""
    name, space = str(schema["name"]), schema.get("namespace")
    return [name, f"{space}.{name}"] if space else [name]

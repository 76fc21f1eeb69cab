"""Reads fields of DCS: each key that says something of values is one row in a table of small functions."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from contracts.formats.nesting import NESTED_KIND
from contracts.formats.odcs_options import RANGES, UNMEASURED_DATE
from contracts.formats.quality import Owner, quality_rules
from contracts.formats.values import exact, examples, rule_id, texts
from contracts.model import Field, Rule
from contracts.types import LogicalType

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator

    from contracts.formats.dcs_layers import Definitions, Layers
    from contracts.formats.notes import Notes
    from contracts.formats.odcs_options import Said
    from contracts.nodes import Place

TYPES = {
    **dict.fromkeys(("string", "text", "varchar"), LogicalType.STRING),
    **dict.fromkeys(("int", "integer", "long", "bigint"), LogicalType.INTEGER),
    **dict.fromkeys(("number", "float", "double"), LogicalType.NUMBER),
    **dict.fromkeys(("decimal", "numeric"), LogicalType.DECIMAL),
    "boolean": LogicalType.BOOLEAN,
    **dict.fromkeys(("timestamp", "timestamp_tz", "timestamp_ntz"), LogicalType.TIMESTAMP),
    "date": LogicalType.DATE,
    "time": LogicalType.TIME,
    "bytes": LogicalType.BINARY,
}
NESTED = ("array", "map", "object", "record", "struct", "variant", "json")
"""Types whose values have parts of their own."""
WIDTHS = {"int": "i32", "integer": "i32", "float": "f32"}
"""The types that the specification gives 32 bits."""
NULL = "null"
MOST_WHOLE, MOST_SCALE = 19, 18
"""Digits before and after the point that a type's grammar leaves open; a wider precision restricts nothing."""
FORMATTED = (LogicalType.DATE, LogicalType.TIME, LogicalType.TIMESTAMP)


def read_field(layers: Layers, path: str, definitions: Definitions, ordinals: Counter[str]) -> tuple[Field, list[Rule]]:
    """A field and every rule it states, what is said about its inner parts included."""
    notes = definitions.notes
    inner = [read_field(each, name, definitions, ordinals) for name, each in _inner(layers, path, definitions)]
    nested = [rule for _, rules in inner for rule in rules]
    logical = _logical(layers)
    _warn(layers, logical, notes)
    field = Field(
        name=path,
        type=logical or LogicalType.STRING,
        origin=layers.own.origin,
        description=layers["description"].text,
        classification=layers["classification"].text,
        personal=layers["pii"].flag,
        declared=layers["type"].text,
        parts=tuple(each for each, _ in inner),
        examples=examples(layers["examples"], layers["example"]),
    )
    return field, [*_rules(layers, path, logical, ordinals, notes), *nested]


def _logical(layers: Layers) -> LogicalType | None:
    """The type values are judged by; a number with a precision or a scale is an exact one."""
    said = TYPES.get(layers["type"].text or "")
    is_exact = layers["precision"].present or layers["scale"].present
    return LogicalType.DECIMAL if said is LogicalType.NUMBER and is_exact else said


def _rules(
    layers: Layers, path: str, logical: LogicalType | None, ordinals: Counter[str], notes: Notes
) -> Iterator[Rule]:
    for at, (kind, arguments) in _said(layers, logical):
        yield Rule(rule_id(ordinals, path, kind), kind, at.origin, (path,), arguments)
    for place in layers.places:
        yield from quality_rules(Owner(place, path, path, graded=False), ordinals, notes)


def _said(layers: Layers, logical: LogicalType | None) -> Iterator[tuple[Place, Said]]:
    yield from ((layers["type"], said) for said in _type(layers, logical))
    for key in ("required", "unique"):
        if layers[key].flag:
            yield layers[key], (key, {})
    for key, said in SAID.items():
        if layers[key].present:
            yield layers[key], said(layers[key])
    if layers["format"].present:
        yield layers["format"], _format(layers["format"], logical)
    if logical is LogicalType.DECIMAL:
        yield from _digits(layers["precision"], layers["scale"])


def _type(layers: Layers, logical: LogicalType | None) -> Iterator[Said]:
    declared = layers["type"].text or ""
    if logical is not None:
        yield "type", {}
    if declared in WIDTHS:
        low, high = RANGES[WIDTHS[declared]]
        yield "minimum", {"value": low, "exclusive": False}
        yield "maximum", {"value": high, "exclusive": False}
    if declared == NULL:
        yield "custom", {"engine": "great-expectations", "call": "expect_column_values_to_be_null", "args": {}}
    if declared in NESTED:
        yield NESTED_KIND, {}


def _format(place: Place, logical: LogicalType | None) -> Said:
    """The forms of texts; of dates and times the specification knows none."""
    if logical in FORMATTED:
        return UNMEASURED_DATE, {"option": "format", "value": place.written}
    return "format", {"value": place.written}


def _digits(precision: Place, scale: Place) -> Iterator[tuple[Place, Said]]:
    """So many digits at most, and so many of them after the point (none, where only the precision is said)."""
    after = scale.number if scale.present else Decimal(0)
    is_said = scale.present or precision.present
    if not is_said or after is None or not 0 <= after <= MOST_SCALE:
        return
    step = Decimal(1).scaleb(-int(after))
    yield scale if scale.present else precision, ("multipleOf", {"value": step})
    if precision.number is not None and after < precision.number <= after + MOST_WHOLE:
        bound = Decimal(10) ** int(precision.number - after) - step
        yield precision, ("minimum", {"value": -bound, "exclusive": False})
        yield precision, ("maximum", {"value": bound, "exclusive": False})


def _value(kind: str, *, exclusive: bool | None = None) -> Callable[[Place], Said]:
    opened = {} if exclusive is None else {"exclusive": exclusive}
    return lambda place: (kind, {"value": exact(place), **opened})


SAID: dict[str, Callable[[Place], Said]] = {
    "minLength": _value("minLength"),
    "maxLength": _value("maxLength"),
    "pattern": lambda place: ("pattern", {"pattern": place.text or ""}),
    "minimum": _value("minimum", exclusive=False),
    "maximum": _value("maximum", exclusive=False),
    "exclusiveMinimum": _value("minimum", exclusive=True),
    "exclusiveMaximum": _value("maximum", exclusive=True),
    "enum": lambda place: ("enum", {"values": texts(place)}),
    "references": lambda place: ("foreignKey", {"to": place.text or ""}),
}


def _inner(layers: Layers, path: str, definitions: Definitions) -> Iterator[tuple[str, Layers]]:
    """The inner parts of a field: of a record, of an array's items, of a map's keys and values."""
    parts = [(f"{path}.{name}", each) for name, each in layers["fields"].entries.items()]
    for suffix, key in (("[]", "items"), (".key", "keys"), (".value", "values")):
        if layers[key].entries:
            parts.append((path + suffix, layers[key]))
    for name, place in parts:
        inner = definitions.layers(place, layers)
        if inner is not None:
            yield name, inner


def _warn(layers: Layers, logical: LogicalType | None, notes: Notes) -> None:
    declared = layers["type"].text
    if declared is None:
        notes.warning("no-type", layers.own, "The field has no type: say its `type`.")
    if logical in FORMATTED and layers["format"].present:
        message = "Dates and times are read as ISO 8601 alone: remove the `format`, or say the type is a text."
        notes.warning("date-format", layers["format"], message)

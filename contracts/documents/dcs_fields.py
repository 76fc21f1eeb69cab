"""Reads fields of DCS. Each key that constrains values is one row of a table."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.nested_fields import NESTED_KIND
from lakegate.contracts.documents.odcs_options import RANGES, UNMEASURED_DATE
from lakegate.contracts.documents.quality import Owner, quality_rules
from lakegate.contracts.documents.values import exact, examples, rule_id, texts
from lakegate.contracts.model.contract import Field, Rule
from lakegate.contracts.model.origin import FieldSource, Transformation
from lakegate.contracts.model.types import LogicalType

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterator

    from lakegate.contracts.documents.dcs_layers import Definitions, Layers
    from lakegate.contracts.documents.nodes import Place
    from lakegate.contracts.documents.notes import Notes
    from lakegate.contracts.documents.odcs_options import KindAndArguments

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
"""Types with nested fields."""
WIDTHS = {"int": "i32", "integer": "i32", "float": "f32"}
"""The types that the specification defines with 32 bits."""
NULL = "null"
MAX_WHOLE, MAX_SCALE = 19, 18
"""The most digits before and after the point that bounds are made of; a wider precision has no effect."""
MAX_DIGITS = 20
"""The most digits before the point of a decimal (docs/types.md)."""
FORMATTED = (LogicalType.DATE, LogicalType.TIME, LogicalType.TIMESTAMP)


def read_field(layers: Layers, path: str, definitions: Definitions, ordinals: Counter[str]) -> tuple[Field, list[Rule]]:
    """A field with all its rules, including those of nested fields."""
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
        sources=tuple(_sources(layers["lineage"]["inputFields"])),
    )
    return field, [*_rules(layers, path, logical, ordinals, notes), *nested]


def _sources(inputs: Place) -> Iterator[FieldSource]:
    for each in inputs.items:
        steps = (
            Transformation(
                step["type"].text or "", step["subtype"].text, step["description"].text, step["masking"].flag
            )
            for step in each["transformations"].items
        )
        yield FieldSource(each["namespace"].text or "", each["name"].text or "", each["field"].text or "", tuple(steps))


def _logical(layers: Layers) -> LogicalType | None:
    """The logical type of the values; a number with a precision or a scale is a decimal."""
    logical = TYPES.get(layers["type"].text or "")
    is_exact = layers["precision"].present or layers["scale"].present
    return LogicalType.DECIMAL if logical is LogicalType.NUMBER and is_exact else logical


def _rules(
    layers: Layers, path: str, logical: LogicalType | None, ordinals: Counter[str], notes: Notes
) -> Iterator[Rule]:
    for at, (kind, arguments) in _declared_rules(layers, logical):
        yield Rule(rule_id(ordinals, path, kind), kind, at.origin, (path,), arguments)
    for place in layers.places:
        yield from quality_rules(Owner(place, path, path, graded=False), ordinals, notes)


def _declared_rules(layers: Layers, logical: LogicalType | None) -> Iterator[tuple[Place, KindAndArguments]]:
    yield from ((layers["type"], rule) for rule in _type(layers, logical))
    for key in ("required", "unique"):
        if layers[key].flag:
            yield layers[key], (key, {})
    for key, rule_of in CONSTRAINTS.items():
        if layers[key].present:
            yield layers[key], rule_of(layers[key])
    if layers["format"].present:
        yield layers["format"], _format(layers["format"], logical)
    if logical is LogicalType.DECIMAL:
        yield from _digits(layers["precision"], layers["scale"])
    if logical is LogicalType.INTEGER:
        yield from _bounds(layers["precision"], Decimal(0), most=MAX_WHOLE - 1)


def _type(layers: Layers, logical: LogicalType | None) -> Iterator[KindAndArguments]:
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


def _format(place: Place, logical: LogicalType | None) -> KindAndArguments:
    """The `format` of texts. The specification defines none for dates and times."""
    if logical in FORMATTED:
        return UNMEASURED_DATE, {"option": "format", "value": place.written}
    return "format", {"value": place.written}


def _digits(precision: Place, scale: Place) -> Iterator[tuple[Place, KindAndArguments]]:
    """The bounds that precision and scale set; the scale is 0 if only the precision is given."""
    after = scale.number if scale.present else Decimal(0)
    is_given = scale.present or precision.present
    if not is_given or after is None or not 0 <= after <= MAX_SCALE:
        return
    step = Decimal(1).scaleb(-int(after))
    yield scale if scale.present else precision, ("multipleOf", {"value": step})
    yield from _bounds(precision, after, most=after + MAX_WHOLE)


def _bounds(precision: Place, after: Decimal, most: Decimal | int) -> Iterator[tuple[Place, KindAndArguments]]:
    """The largest number of so many digits, `after` of which follow the point."""
    digits = precision.number
    if digits is not None and 0 < digits <= most:
        bound = Decimal(10) ** int(digits - after) - Decimal(1).scaleb(-int(after))
        yield precision, ("minimum", {"value": -bound, "exclusive": False})
        yield precision, ("maximum", {"value": bound, "exclusive": False})


def _value(kind: str, *, exclusive: bool | None = None) -> Callable[[Place], KindAndArguments]:
    opened = {} if exclusive is None else {"exclusive": exclusive}
    return lambda place: (kind, {"value": exact(place), **opened})


CONSTRAINTS: dict[str, Callable[[Place], KindAndArguments]] = {
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
    """The nested fields: of a record, of an array's items, of a map's keys and values."""
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
        notes.warning("no-type", layers.own, "The field has no type: add `type`.")
    precision, scale = layers["precision"].number, layers["scale"].number
    whole = (precision or Decimal(0)) - (scale or Decimal(0))
    if logical is LogicalType.DECIMAL and (whole > MAX_DIGITS or (scale or Decimal(0)) > MAX_SCALE):
        place = layers["precision"] if whole > MAX_DIGITS else layers["scale"]
        message = (
            f"Numbers of more than {MAX_DIGITS} digits before the point, or {MAX_SCALE} after it, are not read as decimals, "
            "so that they are rejected: declare fewer digits, or the type `string` with a `pattern`."
        )
        notes.warning("too-many-digits", place, message)
    if logical in FORMATTED and layers["format"].present:
        message = "Dates and times are read as ISO 8601 alone: remove the `format`, or declare the type `string`."
        notes.warning("date-format", layers["format"], message)

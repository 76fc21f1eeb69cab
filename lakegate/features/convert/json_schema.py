"""JSON Schema written and read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lakegate.base.errors import InputError
from lakegate.base.text import quote
from lakegate.contract.contract_model import Contract, Dataset, Field, Shape, shape_of
from lakegate.contract.documents.declared_types import declared_type, lost_type
from lakegate.contract.documents.document_tree import Place, exact
from lakegate.contract.documents.imported_schema import (
    Converted,
    ExpressedRequirements,
    ImportedSchema,
    contract_of,
    part,
)
from lakegate.contract.documents.key_table import OFFSET
from lakegate.contract.documents.odcs_fields import TIMEZONE
from lakegate.contract.documents.read_document import parse
from lakegate.contract.field_paths import KEY, VALUE, FieldPath, column_path, element_path, member_path
from lakegate.contract.file_formats import Format
from lakegate.contract.logical_types import GRAMMARS, LogicalType
from lakegate.rules.field_constraints import TEXT_FORMS, WITHOUT_OFFSET

if TYPE_CHECKING:
    Convert = Callable[[ExpressedRequirements, Field], dict[str, Any]]

# ---- Contracts from JSON Schema ----
# A keyword that is not in the tables below is listed. References stay inside of the document; one that leads back to itself is
# refused. A property whose values are of several types is left out: a contract declares one type of each field.


TYPES = {
    "string": LogicalType.STRING,
    "integer": LogicalType.INTEGER,
    "number": LogicalType.NUMBER,
    "boolean": LogicalType.BOOLEAN,
}

MOMENTS = {"date": LogicalType.DATE, "date-time": LogicalType.TIMESTAMP}
"""Formats of strings that are types; a `time` of JSON Schema has an offset, which no type of Lakegate has."""
OPTIONS = {
    LogicalType.STRING: ("minLength", "maxLength", "pattern"),
    **dict.fromkeys(
        (LogicalType.INTEGER, LogicalType.NUMBER),
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    ),
}
"""The keywords of each type that are rules."""
_OF_RECORDS = ("properties", "required", "additionalProperties")
WHOLE = {"object": ("minProperties", "maxProperties"), "array": ("minItems", "maxItems", "uniqueItems")}
"""The keywords of a list or an object as a whole that are rules."""
NESTED = {
    "object": (*_OF_RECORDS, *WHOLE["object"]),
    "array": ("items", *WHOLE["array"]),
}
CHOICES, TOGETHER = ("anyOf", "oneOf"), "allOf"
READ = ("type", "format", "enum", "const", "description", "title", "$ref")
SILENT = ("$schema", "$id", "$comment", "$defs", "definitions", "$anchor")
"""Keywords that describe no values; a default of null is another."""
REFERENCE, NULL = "$ref", "null"


def read(text: bytes, name: str) -> tuple[Contract, tuple[str, ...]]:
    """A draft for records of the schema, and what of the schema is not in it.

    ContractError if the text is no JSON within the limits of documents, InputError if it describes no record.
    """
    reader = _Reader(parse(text).top, ImportedSchema(name, storage=Format.ANY_JSON))
    dataset = reader.schema.dataset(reader.members(reader.record(), None, ()))
    return contract_of(name, [dataset], reader.schema.lost)


class _Reader:
    """Reads the places of one schema."""

    def __init__(self, top: Place, schema: ImportedSchema) -> None:
        self.top = top
        self.schema = schema

    def record(self) -> Place:
        """The schema of a record: the root, or the items of a root that is a list of records."""
        if self._kind(self.top) != "array" or not self.top["items"].entries:
            return self.top
        self._list_rest(self.top, (*READ, "items"))
        return self.top["items"]

    def members(self, place: Place, path: FieldPath | None, trail: tuple[str, ...]) -> Iterator[Field]:
        """The properties of an object."""
        place, trail = self._follow_references(place, trail)
        if not place["properties"].entries:
            raise InputError(f"{place.path} describes no object with `properties`")
        self._list_rest(place, (*READ, *NESTED["object"]) if path else (*READ, *_OF_RECORDS))
        required = {item.text for item in place["required"].items}
        for key, entry in place["properties"].entries.items():
            inner = member_path(path, key) if path else column_path(key)
            field = self._field(entry, inner, trail)
            if field is not None:
                yield field
                if key in required:
                    self._require(entry, inner, trail)

    def _require(self, place: Place, path: FieldPath, trail: tuple[str, ...]) -> None:
        """A required key has a value, unless its value may be null."""
        may_be_null = self._has_null(place)
        while (step := self._step(place, trail)) is not None:
            place, trail = step
            may_be_null = may_be_null or self._has_null(place)
        kinds = {item.text for item in (place["type"].items or [place["type"]])}
        values = [item.scalar for item in place["enum"].items]
        if may_be_null or NULL in kinds or None in values:
            self.schema.lose(path, "`required` of a key whose value may be null")
        else:
            self.schema.rule("required", path)

    def _field(self, place: Place, path: FieldPath, trail: tuple[str, ...]) -> Field | None:
        """A field with its rules; None if it is left out."""
        own = place["description"].text or place["title"].text
        place, trail = self._follow_references(place, trail)
        kind = self._kind(place)
        description = own or place["description"].text or place["title"].text
        match kind:
            case "object":
                return self._object(place, path, trail, description)
            case "array":
                self._list_rest(place, (*READ, *NESTED["array"]))
                items = self._field(place["items"], element_path(path), trail) if place["items"].entries else None
                if items is None:
                    self.schema.lose(path, "left out: the type of its items is not one that a field can have")
                    return None
                self._whole(place, path, "array")
                return self.schema.nested(path, "array", [items], description)
            case str():
                return self._value(place, path, TYPES[kind], description)
            case _:
                self.schema.lose(path, "left out: its values are of several types, or of none that is declared")
                return None

    def _object(self, place: Place, path: FieldPath, trail: tuple[str, ...], description: str | None) -> Field | None:
        """A record, or a map where only `additionalProperties` describes the values."""
        if place["properties"].entries:
            parts = list(self.members(place, path, trail))
            self._whole(place, path, "object")
            return self.schema.nested(path, "object", parts, description) if parts else None
        value = place["additionalProperties"]
        self._list_rest(place, (*READ, "additionalProperties", *WHOLE["object"]))
        field = self._field(value, member_path(path, VALUE), trail) if value.entries else None
        if field is None:
            self.schema.lose(path, "left out: an object without `properties`")
            return None
        self._whole(place, path, "object")
        return self.schema.nested(
            path, "map", [self.schema.value(member_path(path, KEY), LogicalType.STRING), field], description
        )

    def _whole(self, place: Place, path: FieldPath, kind: str) -> None:
        """The rules of a list or an object as a whole."""
        for key in WHOLE[kind]:
            value = exact(place[key])
            if isinstance(value, Decimal):
                self.schema.rule(key, path, value=value)
            elif place[key].flag:
                self.schema.rule(key, path)

    def _value(self, place: Place, path: FieldPath, kind: LogicalType, description: str | None) -> Field:
        form = place["format"].text
        if kind is LogicalType.STRING and form == "date-time":
            self.schema.rule(TIMEZONE, path)
        own = MOMENTS.get(form or "", kind) if kind is LogicalType.STRING else kind
        options = OPTIONS.get(own, ())
        self._list_rest(place, (*READ, *options))
        field = self.schema.value(path, own, description)
        if form is not None and own is kind:
            if kind is LogicalType.STRING and form in TEXT_FORMS:
                self.schema.rule("format", path, value=form)
            else:
                self.schema.lose(path, f"the format {quote(form)}")
        for key in options:
            if place[key].present:
                self._option(place[key], path, key)
        places = place["enum"].items or ([place["const"]] if place["const"].present else [])
        values = [item for item in places if item.scalar is not None]
        wanted = (int, Decimal) if own.numeric else (str,)
        if places and values and all(_is_of(value.scalar, wanted) for value in values):
            self.schema.rule("enum", path, values=tuple(value.written for value in values))
        elif places:
            self.schema.lose(path, "`enum` or `const` with values of another type")
        return field

    def _option(self, place: Place, path: FieldPath, key: str) -> None:
        value = exact(place)
        if key == "pattern" and isinstance(value, str):
            self.schema.rule("pattern", path, pattern=value)
        elif key in {"minimum", "maximum"} and isinstance(value, Decimal):
            self.schema.rule(key, path, value=value, exclusive=False)
        elif key.startswith("exclusive") and isinstance(value, Decimal):
            self.schema.rule(key.removeprefix("exclusive").lower(), path, value=value, exclusive=True)
        elif key != "pattern" and isinstance(value, Decimal):
            self.schema.rule(key, path, value=value)
        else:
            self.schema.lose(path, f"`{key}`: it has another form than in draft 7 and later")

    def _kind(self, place: Place) -> str | None:
        """The only type of the values beside null; where none is declared, that of the keywords or of the listed values."""
        declared = [item.text for item in (place["type"].items or [place["type"]]) if item.text not in {None, NULL}]
        if len(declared) == 1:
            return declared[0] if declared[0] in {*TYPES, *NESTED} else None
        if declared:
            return None
        if place["properties"].present or place["items"].present:
            return "object" if place["properties"].present else "array"
        values = [item.scalar for item in (place["enum"].items or [place["const"]]) if item.scalar is not None]
        if values and all(isinstance(value, str) for value in values):
            return "string"
        return "integer" if values and all(_is_of(value, (int,)) for value in values) else None

    def _follow_references(self, place: Place, trail: tuple[str, ...]) -> tuple[Place, tuple[str, ...]]:
        """The place that a reference leads to, the only alternative beside null, or the only schema of `allOf`.

        InputError if a reference leads back, outside, or nowhere.
        """
        while (step := self._step(place, trail)) is not None:
            place, trail = step
        return place, trail

    def _step(self, place: Place, trail: tuple[str, ...]) -> tuple[Place, tuple[str, ...]] | None:
        """The place that this one stands for; None for a place that describes values itself."""
        if (reference := place[REFERENCE]).present:
            target = reference.written
            if target in trail:
                raise InputError(
                    f"{reference.path}: {quote(target)} leads back to itself: a contract has no recursive fields"
                )
            if target != "#" and not target.startswith("#/"):
                raise InputError(
                    f"{reference.path}: {quote(target)} is outside of this document, and nothing else is read"
                )
            self._list_rest(place, (REFERENCE, "description", "title"))
            # characters may be written as `%` and two digits (RFC 6901 §6)
            definition = self.top.at_pointer(unquote(target))
            if not definition.entries:
                raise InputError(f"{reference.path}: {quote(target)} names nothing in this document")
            return definition, (*trail, target)
        found = self._only(place)
        if found is None:
            return None
        self._list_rest(place, (found[0], "description", "title"))
        return found[1], trail

    def _only(self, place: Place) -> tuple[str, Place] | None:
        """The only schema of `anyOf`, `oneOf` (beside null) or `allOf`, with the keyword; None if the place has a type itself."""
        if place["type"].present:
            return None
        for key in (*CHOICES, TOGETHER):
            schemas = [item for item in place[key].items if key == TOGETHER or not self._is_null(item)]
            if len(schemas) == 1:
                return key, schemas[0]
        return None

    def _has_null(self, place: Place) -> bool:
        """Whether one alternative of a place is null."""
        return any(self._is_null(item) for key in CHOICES for item in place[key].items)

    def _is_null(self, place: Place) -> bool:
        """Whether a schema describes null alone."""
        return place["type"].text == NULL or [item.scalar for item in place["enum"].items] == [None]

    def _list_rest(self, place: Place, read: tuple[str, ...]) -> None:
        for key, entry in place.entries.items():
            is_silent = key in SILENT or (
                key == "default" and entry.scalar is None and not entry.entries and not entry.items
            )
            if key not in read and not is_silent:
                self.schema.lose(entry.path, "the keyword has no equivalent")
        if place["additionalProperties"].flag is False and "additionalProperties" in read:
            self.schema.lose(place["additionalProperties"].path, "use `additionalFields: forbid` of the extension")


def _is_of(value: Any, kinds: tuple[type, ...]) -> bool:  # noqa: ANN401 - a scalar of a document
    return isinstance(value, kinds) and not isinstance(value, bool)


# ---- JSON Schema of one record ----


DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TYPES = {
    LogicalType.INTEGER: {"type": "integer"},
    LogicalType.NUMBER: {"type": "number"},
    LogicalType.DECIMAL: {"type": "number"},
    LogicalType.BOOLEAN: {"type": "boolean"},
    LogicalType.DATE: {"type": "string", "format": "date"},
    LogicalType.TIME: {"type": "string", "pattern": f"^(?:{GRAMMARS[LogicalType.TIME].pattern})$"},
    LogicalType.TIMESTAMP: {"type": "string", "format": "date-time"},
}
"""`format: time` of JSON Schema needs an offset, which no time of day of Lakegate has: it has a pattern instead."""
_WITHOUT_OFFSET = {"type": "string", "pattern": WITHOUT_OFFSET}
_TEXT = {"type": "string"}


def json_schema(contract: Contract, dataset: Dataset) -> Converted:
    """The schema of a record; null is allowed where a field is not required."""
    requirements = ExpressedRequirements.in_contract(contract, dataset)
    lost = list(_lost(dataset.fields, requirements))
    about = {"$schema": DIALECT, "title": dataset.name, "$comment": f"{contract.id} {contract.version}"}
    body = about | _record(requirements, dataset.fields)
    return Converted(json.dumps(body, indent=2) + "\n", (*lost, *requirements.omitted()))


def _lost(fields: tuple[Field, ...], requirements: ExpressedRequirements) -> Iterator[str]:
    """The types that JSON Schema does not have: of moments, those that may have no offset, which `date-time` demands."""
    for field in fields:
        found, is_value = declared_type(field, requirements), shape_of(field) is Shape.VALUE
        if is_value and field.type is LogicalType.TIMESTAMP and found.zone is not True:
            words = (
                "a text with a pattern"
                if found.zone is False
                else "`format: date-time`, which demands an offset from UTC"
            )
            yield lost_type(field, words)
        elif is_value and field.type in {LogicalType.TIME, LogicalType.BINARY}:
            yield lost_type(field, "a text with a pattern" if field.type is LogicalType.TIME else "a text")
        elif found.length and not found.is_rule:
            yield lost_type(field, "a text of any length")
        elif (is_value and field.type is LogicalType.DECIMAL) or (found.bits and not found.is_rule):
            yield lost_type(field, "a number")
        yield from _lost(field.parts, requirements)


def _record(requirements: ExpressedRequirements, fields: tuple[Field, ...]) -> dict[str, Any]:
    required = [field.own_name for field in fields if requirements.is_present(field.name)]
    members = {field.own_name: _field(requirements, field, is_required=field.own_name in required) for field in fields}
    return {"type": "object", "properties": members, **({"required": required} if required else {})}


def _field(requirements: ExpressedRequirements, field: Field, *, is_required: bool) -> dict[str, Any]:
    found = _VALUES.get(shape_of(field), _value)(requirements, field)
    if not is_required and "type" in found:
        found["type"] = [found["type"], "null"]
        if "enum" in found:
            found["enum"] = [*found["enum"], None]
    return found | ({"description": field.description} if field.description else {})


def _value(requirements: ExpressedRequirements, field: Field) -> dict[str, Any]:
    value: dict[str, Any] = dict(_TYPES.get(field.type, _TEXT))
    if field.type is LogicalType.TIMESTAMP:
        declared = declared_type(field, requirements)
        value = dict(_WITHOUT_OFFSET) if declared.zone is False else value
        for kind in (OFFSET, TIMEZONE) if declared.is_rule else ():
            requirements.has(field.name, kind)
    if field.type is LogicalType.STRING:
        value |= _text(requirements, field.name)
    elif field.type.numeric:
        value |= _bounds(requirements, field.name)
    words = requirements.words(field.name) if field.type is LogicalType.STRING or field.type.numeric else None
    if words is not None:
        value["enum"] = [_number(Decimal(word)) if field.type.numeric else word for word in words]
    return value


def _text(requirements: ExpressedRequirements, path: FieldPath) -> dict[str, Any]:
    patterns = [str(rule.arguments["pattern"]) for rule in requirements.of(path, "pattern")]
    lengths: dict[str, Any] = {
        kind: int(str(rule.arguments["value"]))
        for kind in ("minLength", "maxLength")
        for rule in requirements.of(path, kind)
    }
    forms = [str(rule.arguments["value"]) for rule in requirements.of(path, "format")]
    lengths |= {"format": forms[-1]} if forms else {}
    if len(patterns) > 1:
        return lengths | {"allOf": [{"pattern": one} for one in patterns]}
    return lengths | ({"pattern": patterns[0]} if patterns else {})


def _bounds(requirements: ExpressedRequirements, path: FieldPath) -> dict[str, Any]:
    bounds: dict[str, Any] = {}
    for kind in ("minimum", "maximum", "multipleOf"):
        for rule in requirements.of(path, kind):
            is_open = bool(rule.arguments.get("exclusive", False))
            key = f"exclusive{kind.capitalize()}" if is_open else kind
            bounds[key] = _number(Decimal(str(rule.arguments["value"])))
    return bounds


def _number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def _list(requirements: ExpressedRequirements, field: Field) -> dict[str, Any]:
    items = part(field, "[]")
    return {"type": "array"} | ({} if items is None else {"items": _part(requirements, items)})


def _map(requirements: ExpressedRequirements, field: Field) -> dict[str, Any]:
    value = part(field, ".value")
    return {"type": "object"} | ({} if value is None else {"additionalProperties": _part(requirements, value)})


def _part(requirements: ExpressedRequirements, field: Field) -> dict[str, Any]:
    return _field(requirements, field, is_required=requirements.has(field.name, "required"))


_VALUES: dict[Shape, Convert] = {
    Shape.RECORD: lambda requirements, item: _record(requirements, item.parts),
    Shape.LIST: _list,
    Shape.MAP: _map,
    Shape.ANY: lambda _requirements, _each: {},
}

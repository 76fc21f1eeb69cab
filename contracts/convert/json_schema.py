"""JSON Schema (draft 2020-12) of one record of a dataset, as JSON lines and JSON arrays have it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lakegate.contracts.compile.rules.nested_fields import shape_of
from lakegate.contracts.convert.promises import Converted, ExpressedPromises, own_name, part
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.plan import Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.model.contract import Contract, Dataset, Field

    Convert = Callable[[ExpressedPromises, Field], dict[str, Any]]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TYPES = {
    LogicalType.INTEGER: {"type": "integer"},
    LogicalType.NUMBER: {"type": "number"},
    LogicalType.DECIMAL: {"type": "number"},
    LogicalType.BOOLEAN: {"type": "boolean"},
    LogicalType.DATE: {"type": "string", "format": "date"},
    LogicalType.TIME: {"type": "string"},
    LogicalType.TIMESTAMP: {"type": "string"},
}
"""`format: date-time` and `time` of JSON Schema need an offset, which Lakegate's types do not: they are left out."""
_TEXT = {"type": "string"}


def json_schema(contract: Contract, dataset: Dataset) -> Converted:
    """The schema of a record; null is allowed where a field is not required."""
    promises = ExpressedPromises(dataset)
    about = {"$schema": DIALECT, "title": dataset.name, "$comment": f"{contract.id} {contract.version}"}
    body = about | _record(promises, dataset.fields, None)
    return Converted(json.dumps(body, indent=2) + "\n", promises.omitted())


def _record(promises: ExpressedPromises, fields: tuple[Field, ...], parent: Field | None) -> dict[str, Any]:
    required = [own_name(each, parent) for each in fields if promises.is_present(each.name)]
    members = {
        own_name(each, parent): _field(promises, each, is_required=own_name(each, parent) in required)
        for each in fields
    }
    return {"type": "object", "properties": members, **({"required": required} if required else {})}


def _field(promises: ExpressedPromises, each: Field, *, is_required: bool) -> dict[str, Any]:
    found = _VALUES.get(shape_of(each), _value)(promises, each)
    if not is_required and "type" in found:
        found["type"] = [found["type"], "null"]
        if "enum" in found:
            found["enum"] = [*found["enum"], None]
    return found | ({"description": each.description} if each.description else {})


def _value(promises: ExpressedPromises, each: Field) -> dict[str, Any]:
    found: dict[str, Any] = dict(_TYPES.get(each.type, _TEXT))
    if each.type is LogicalType.STRING:
        found |= _text(promises, each.name)
    elif each.type.numeric:
        found |= _bounds(promises, each.name)
    words = promises.words(each.name) if each.type is LogicalType.STRING or each.type.numeric else None
    if words is not None:
        found["enum"] = [_number(Decimal(word)) if each.type.numeric else word for word in words]
    return found


def _text(promises: ExpressedPromises, path: str) -> dict[str, Any]:
    patterns = [str(rule.arguments["pattern"]) for rule in promises.of(path, "pattern")]
    lengths: dict[str, Any] = {
        kind: int(str(rule.arguments["value"]))
        for kind in ("minLength", "maxLength")
        for rule in promises.of(path, kind)
    }
    forms = [str(rule.arguments["value"]) for rule in promises.of(path, "format")]
    lengths |= {"format": forms[-1]} if forms else {}
    if len(patterns) > 1:
        return lengths | {"allOf": [{"pattern": one} for one in patterns]}
    return lengths | ({"pattern": patterns[0]} if patterns else {})


def _bounds(promises: ExpressedPromises, path: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind in ("minimum", "maximum", "multipleOf"):
        for rule in promises.of(path, kind):
            is_open = bool(rule.arguments.get("exclusive", False))
            key = f"exclusive{kind.capitalize()}" if is_open else kind
            found[key] = _number(Decimal(str(rule.arguments["value"])))
    return found


def _number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def _list(promises: ExpressedPromises, each: Field) -> dict[str, Any]:
    items = part(each, "[]")
    return {"type": "array"} | ({} if items is None else {"items": _part(promises, items)})


def _map(promises: ExpressedPromises, each: Field) -> dict[str, Any]:
    value = part(each, ".value")
    return {"type": "object"} | ({} if value is None else {"additionalProperties": _part(promises, value)})


def _part(promises: ExpressedPromises, each: Field) -> dict[str, Any]:
    return _field(promises, each, is_required=promises.has(each.name, "required"))


_VALUES: dict[Shape, Convert] = {
    Shape.RECORD: lambda promises, each: _record(promises, each.parts, each),
    Shape.LIST: _list,
    Shape.MAP: _map,
    Shape.ANY: lambda _promises, _each: {},
}

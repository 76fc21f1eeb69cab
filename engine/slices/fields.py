"""The columns of slices as fields of ODF's schema (RFC-016), from Arrow's types; a column that may be null is an option."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.types as is_type

from lakegate.contracts.errors import InputError
from lakegate.contracts.words import shown
from lakegate.engine.digest.types import is_binary, is_list, is_text, unwrapped
from lakegate.engine.slices.columns import PlanColumns
from lakegate.engine.slices.writer import schema_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pyarrow as pa

    from lakegate.contracts.plan.plan import Plan

_UNITS = {"s": "Second", "ms": "Millisecond", "us": "Microsecond", "ns": "Nanosecond"}


def odf_fields(columns: Iterable[pa.Field]) -> tuple[dict[str, Any], ...]:
    """Each column as a `DataField`. InputError for a type that ODF does not have."""
    return tuple({"name": each.name, **_member("type", *_of_field(each))} for each in columns)


def plan_fields(plan: Plan) -> tuple[dict[str, Any], ...]:
    """The columns of the slices that are written by a plan."""
    return odf_fields(schema_of(PlanColumns(plan).schema))


def bare(fields: Iterable[Mapping[str, Any]]) -> list[Any]:
    """What a file must have of a schema: names and types in their order, without options and attributes."""
    return [(each.get("name"), _bare(each, "type")) for each in fields]


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
    kind = unwrapped(kind)
    if is_type.is_struct(kind):
        return "Struct", {"fields": list(odf_fields(kind.fields))}
    if is_list(kind):
        return "List", _member("item_type", *_of_field(kind.value_field))
    for applies, written in _KINDS:
        if applies(kind):
            return written(kind)
    raise InputError(f"the column {shown(name)} has a type that ODF does not have ({kind})")


def _whole(kind: pa.DataType) -> tuple[str, dict[str, Any]]:
    return f"{'' if is_type.is_signed_integer(kind) else 'U'}Int{kind.bit_width}", {}


def _timestamp(kind: pa.DataType) -> tuple[str, dict[str, Any]]:
    zone = {} if kind.tz is None else {"timezone": kind.tz}
    return "Timestamp", {"unit": _UNITS[kind.unit], **zone}


_KINDS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], tuple[str, dict[str, Any]]]], ...] = (
    (is_type.is_boolean, lambda _: ("Bool", {})),
    (is_type.is_integer, _whole),
    (is_type.is_floating, lambda kind: (f"Float{kind.bit_width}", {})),
    (is_type.is_decimal, lambda kind: ("Decimal", {"precision": kind.precision, "scale": kind.scale})),
    (is_type.is_date, lambda _: ("Date", {})),
    (is_type.is_time, lambda kind: ("Time", {"unit": _UNITS[kind.unit]})),
    (is_type.is_timestamp, _timestamp),
    (is_text, lambda _: ("String", {})),
    (is_binary, lambda _: ("Binary", {})),
)

"""The schema of a dataset as an event `SetDataSchema` of Open Data Fabric (RFC-016), with ODF's common columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.nested_fields import shape_of
from lakegate.contracts.convert.promises import Converted, ExpressedPromises, own_name, part, unread_csv
from lakegate.contracts.draft.yaml_text import Items, Mapping, YamlEntry, written
from lakegate.contracts.errors import InputError
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.plan import Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.draft.yaml_text import Scalar
    from lakegate.contracts.model.contract import Contract, Dataset, Field


def odf(_contract: Contract, dataset: Dataset) -> Converted:
    """The logical types of the columns that a slice of the dataset has; InputError where a field has the name of a common one.

    ODF reads CSV (`AddPushSource`) with one word for null, and with numbers as the types' grammars have them.
    """
    promises = ExpressedPromises(dataset)
    taken = sorted({each.name for each in dataset.fields} & set(COMMON))
    if taken:
        raise InputError(f"ODF has columns of its own with the names {', '.join(taken)}: rename the fields")
    common = [_named(name, kind) for name, kind in COMMON.items()]
    fields = Items([*common, *(_field(promises, each, None) for each in dataset.fields)])
    event = [YamlEntry("kind", "SetDataSchema"), YamlEntry("schema", Mapping([YamlEntry("fields", fields)]))]
    return Converted(written(Mapping(event)), (*unread_csv(dataset, 1), *promises.omitted()))


def _kind(name: str, **more: Scalar | Mapping | Items) -> Mapping:
    return Mapping([YamlEntry("kind", name), *(YamlEntry(key, value) for key, value in more.items())])


_MILLISECONDS = _kind("Timestamp", unit="Millisecond", timezone="UTC")
COMMON = {
    "offset": _kind("UInt64"),
    "op": _kind("UInt8"),
    "system_time": _MILLISECONDS,
    "event_time": _MILLISECONDS,
}
"""The columns that every slice has before its own, with the names of ODF's default vocabulary."""
DESCRIPTION = "opendatafabric.org/description"
_TEXT = _kind("String")
_TYPES = {
    LogicalType.INTEGER: _kind("Int64"),
    LogicalType.NUMBER: _kind("Float64"),
    LogicalType.DECIMAL: _kind("Decimal", precision=38, scale=18),
    LogicalType.BOOLEAN: _kind("Bool"),
    LogicalType.DATE: _kind("Date"),
    LogicalType.TIME: _kind("Time", unit="Microsecond"),
    LogicalType.TIMESTAMP: _kind("Timestamp", unit="Microsecond", timezone="UTC"),
    LogicalType.BINARY: _kind("Binary"),
}


def _named(name: str, kind: Mapping, description: str | None = None) -> Mapping:
    extra = Mapping([YamlEntry(DESCRIPTION, description or "")])
    about = [YamlEntry("extra", extra)] if description else []
    return Mapping([YamlEntry("name", name), YamlEntry("type", kind), *about])


def _field(promises: ExpressedPromises, each: Field, parent: Field | None) -> Mapping:
    return _named(own_name(each, parent), _optional(promises, each), each.description)


def _optional(promises: ExpressedPromises, each: Field | None) -> Mapping:
    """The type of a value, which may be null unless it is required; text where nothing is declared."""
    if each is None:
        return _kind("Option", inner=_TEXT)
    kind = _SHAPES.get(shape_of(each), _value)(promises, each)
    return kind if promises.is_present(each.name) else _kind("Option", inner=kind)


def _value(_promises: ExpressedPromises, each: Field) -> Mapping:
    return _TYPES.get(each.type, _TEXT)


def _record(promises: ExpressedPromises, each: Field) -> Mapping:
    if not each.parts:
        return _TEXT
    return _kind("Struct", fields=Items([_field(promises, one, each) for one in each.parts]))


def _list(promises: ExpressedPromises, each: Field) -> Mapping:
    return _kind("List", itemType=_optional(promises, part(each, "[]")))


def _map(promises: ExpressedPromises, each: Field) -> Mapping:
    """A key is never null."""
    key = part(each, ".key")
    return _kind(
        "Map",
        keyType=_TEXT if key is None else _value(promises, key),
        valueType=_optional(promises, part(each, ".value")),
    )


_SHAPES: dict[Shape, Callable[[ExpressedPromises, Field], Mapping]] = {
    Shape.RECORD: _record,
    Shape.LIST: _list,
    Shape.MAP: _map,
    Shape.ANY: lambda _promises, _each: _TEXT,
}

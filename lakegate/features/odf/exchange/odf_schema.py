"""ODF schemas (RFC-016) written and read."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lakegate.base.errors import InputError
from lakegate.base.text import quote
from lakegate.contract.contract_model import Contract, Dataset, Field, Shape, shape_of
from lakegate.contract.documents.declared_types import unexpressed_fields
from lakegate.contract.documents.document_tree import Place
from lakegate.contract.documents.imported_schema import (
    Converted,
    ExpressedRequirements,
    ImportedSchema,
    contract_of,
    part,
    unread_csv,
)
from lakegate.contract.documents.read_document import parse
from lakegate.contract.documents.yaml_writer import Items, Mapping, Scalar, YamlEntry, write_document
from lakegate.contract.field_paths import KEY, VALUE, FieldPath, column_path, element_path, member_path
from lakegate.contract.file_formats import Format
from lakegate.contract.logical_types import PRECISION, LogicalType

# ---- `SetDataSchema` of a dataset (RFC-016) ----


def odf(contract: Contract, dataset: Dataset) -> Converted:
    """The logical types of the columns that a slice of the dataset has; InputError where a field has the name of a common one.

    ODF reads CSV (`AddPushSource`) with one word for null, and with numbers as the types' grammars have them.
    """
    requirements = ExpressedRequirements.in_contract(contract, dataset)
    taken = sorted({field.own_name for field in dataset.fields} & set(COMMON))
    if taken:
        raise InputError(f"ODF has columns of its own with the names {', '.join(taken)}: rename the fields")
    common = [_name_field(name, kind) for name, kind in COMMON.items()]
    fields = Items([*common, *(_field(requirements, field) for field in dataset.fields)])
    event = [YamlEntry("kind", "SetDataSchema"), YamlEntry("schema", Mapping([YamlEntry("fields", fields)]))]
    types = unexpressed_fields(dataset.fields, requirements, "the type that slices have")
    return Converted(write_document(Mapping(event)), (*types, *unread_csv(dataset, 1), *requirements.omitted()))


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
    LogicalType.BOOLEAN: _kind("Bool"),
    LogicalType.DATE: _kind("Date"),
    LogicalType.TIME: _kind("Time", unit="Microsecond"),
    LogicalType.TIMESTAMP: _kind("Timestamp", unit="Microsecond", timezone="UTC"),
    LogicalType.BINARY: _kind("Binary"),
}


def _name_field(name: str, kind: Mapping, description: str | None = None) -> Mapping:
    extra = Mapping([YamlEntry(DESCRIPTION, description or "")])
    about = [YamlEntry("extra", extra)] if description else []
    return Mapping([YamlEntry("name", name), YamlEntry("type", kind), *about])


def _field(requirements: ExpressedRequirements, field: Field) -> Mapping:
    return _name_field(field.own_name, _optional(requirements, field), field.description)


def _optional(requirements: ExpressedRequirements, field: Field | None) -> Mapping:
    """The type of a value, which may be null unless it is required; text where nothing is declared."""
    if field is None:
        return _kind("Option", inner=_TEXT)
    kind = _SHAPES.get(shape_of(field), _value)(requirements, field)
    return kind if requirements.is_present(field.name) else _kind("Option", inner=kind)


def _value(_requirements: ExpressedRequirements, field: Field) -> Mapping:
    if field.type is LogicalType.DECIMAL:
        return _kind("Decimal", precision=PRECISION, scale=field.scale)
    return _TYPES.get(field.type, _TEXT)


def _record(requirements: ExpressedRequirements, field: Field) -> Mapping:
    if not field.parts:
        return _TEXT
    return _kind("Struct", fields=Items([_field(requirements, one) for one in field.parts]))


def _map(requirements: ExpressedRequirements, field: Field) -> Mapping:
    """A key is never null."""
    key = part(field, ".key")
    return _kind(
        "Map",
        keyType=_TEXT if key is None else _value(requirements, key),
        valueType=_optional(requirements, part(field, ".value")),
    )


_SHAPES: dict[Shape, Callable[[ExpressedRequirements, Field], Mapping]] = {
    Shape.RECORD: _record,
    Shape.LIST: lambda requirements, entry: _kind("List", itemType=_optional(requirements, part(entry, "[]"))),
    Shape.MAP: _map,
    Shape.ANY: lambda _requirements, _each: _TEXT,
}


# ---- Contracts from `SetDataSchema` ----
# ODF's common columns are left out: every slice has them. What is not an `Option` is required. Attributes other than
# descriptions, and options of types that no logical type has, are listed.


EVENT = "SetDataSchema"
WHOLE = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
TYPES = {
    **dict.fromkeys(WHOLE, LogicalType.INTEGER),
    **dict.fromkeys(("float16", "float32", "float64"), LogicalType.NUMBER),
    "decimal": LogicalType.DECIMAL,
    "bool": LogicalType.BOOLEAN,
    "date": LogicalType.DATE,
    "time": LogicalType.TIME,
    "timestamp": LogicalType.TIMESTAMP,
    "string": LogicalType.STRING,
    "binary": LogicalType.BINARY,
}
"""By kind, in lower case: RFC-013 leaves the case of kinds to who writes them."""
PARTS = {"struct": ("fields",), "list": ("itemType",), "map": ("keyType", "valueType"), "option": ("inner",)}
"""The keys of each kind that has parts."""
OPTIONS = {"decimal": ("precision", "scale"), "time": ("unit",), "timestamp": ("unit", "timezone")}
"""The keys of each other kind."""
UTC, FINE = "utc", "nanosecond"


def read(text: bytes, name: str) -> tuple[Contract, tuple[str, ...]]:
    """A draft for the columns of the schema, and what of the schema is not in it.

    ContractError if the text is not YAML within the limits of documents, InputError if it has no such event.
    """
    top = parse(text).top
    content = top["content"]
    # a later schema replaces those before
    events = [top, *top.items, *content["metadata"].items, content["event"]]
    schemas = [event["schema"] for event in events if _fold_word(event["kind"]) == EVENT.lower()]
    if not schemas:
        raise InputError(f"{name} has no event `{EVENT}`: give one, or the manifest of a dataset or a block with one")
    if not schemas[-1]["fields"].items:
        raise InputError(f"{schemas[-1].path} of {name} has no `fields`: a schema of RFC-016 lists its columns there")
    schema = schemas[-1]
    reader = _Reader(ImportedSchema(name, storage=Format.PARQUET))
    own = [item for item in schema["fields"].items if item["name"].text not in COMMON]
    dataset = reader.schema.dataset(reader.fields(own, None))
    reader.list_rest(schema, ("fields",), "$.schema")
    return contract_of(name, [dataset], reader.schema.lost)


def _fold_word(place: Place) -> str:
    return (place.text or "").lower()


def _kind_at(place: Place) -> str:
    """A type is a mapping with its kind, or the kind alone."""
    return _fold_word(place) or _fold_word(place["kind"])


class _Reader:
    """Reads the fields of one schema."""

    def __init__(self, schema: ImportedSchema) -> None:
        self.schema = schema

    def fields(self, places: list[Place], within: FieldPath | None) -> Iterator[Field]:
        """The fields of a schema or of a record."""
        for place in places:
            name = place["name"].text
            if name is None:
                raise InputError(f"{place.path} has no `name`: every field of a schema has one")
            path = member_path(within, name) if within else column_path(name)
            self.list_rest(place, ("name", "type", "extra"), path)
            self.list_rest(place["extra"], (DESCRIPTION,), path)
            field = self._value(place["type"], path, place["extra"][DESCRIPTION].text)
            if field is not None:
                yield field

    def list_rest(self, place: Place, read: tuple[str, ...], path: str) -> None:
        """List the keys that have no equivalent."""
        for key in place.entries:
            if key not in read:
                self.schema.lose(path, f"{quote(key)} has no equivalent")

    def _value(
        self, place: Place, path: FieldPath, description: str | None = None, *, is_key: bool = False
    ) -> Field | None:
        """A field, which is required unless its type is an option; None for values that no logical type has."""
        inner = place
        while _kind_at(inner) == "option":
            inner = inner["inner"]
        kind = _kind_at(inner)
        self.list_rest(inner, ("kind", *PARTS.get(kind, ()), *OPTIONS.get(kind, ())), path)
        field = (
            self._read_nested(kind, inner, path, description)
            if kind in PARTS
            else self._scalar(inner, path, description)
        )
        if field is None:
            self.schema.lose(path, f"left out: no logical type has values of the type {quote(kind or 'none')}")
        elif inner is place and not is_key:
            self.schema.rule("required", path)
        return field

    def _read_nested(self, kind: str, place: Place, path: FieldPath, description: str | None) -> Field | None:
        if kind == "struct":
            parts = list(self.fields(place["fields"].items, path))
            return self.schema.nested(path, "object", parts, description) if parts else None
        if kind == "list":
            declared, fields = "array", [self._value(place["itemType"], element_path(path))]
        else:
            key = self._value(place["keyType"], member_path(path, KEY), is_key=True)
            declared, fields = "map", [key, self._value(place["valueType"], member_path(path, VALUE))]
        known = [entry for entry in fields if entry is not None]
        return self.schema.nested(path, declared, known, description) if len(known) == len(fields) else None

    def _scalar(self, place: Place, path: FieldPath, description: str | None) -> Field | None:
        kind = TYPES.get(_kind_at(place))
        if kind is None:
            return None
        if _fold_word(place["unit"]) == FINE:
            self.schema.lose(path, "nanoseconds: values are compared in microseconds")
        if place["timezone"].present and _fold_word(place["timezone"]) != UTC:
            self.schema.lose(path, f"the time zone {quote(place['timezone'].text)}: timestamps are moments in UTC")
        return self.schema.value(path, kind, description, self._digits(place, path, kind))

    def _digits(self, place: Place, path: str, kind: LogicalType) -> str | None:
        if kind is not LogicalType.DECIMAL:
            return None
        digits, scale = place["precision"].scalar, place["scale"].scalar
        if isinstance(digits, int) and isinstance(scale, int) and 0 <= scale <= digits <= PRECISION:
            return f"decimal({digits},{scale})"
        self.schema.lose(
            path, f"its precision and scale: a decimal has at most {PRECISION} digits, and no negative scale"
        )
        return None

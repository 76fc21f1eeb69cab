"""Contracts from schemas of Open Data Fabric (RFC-016): an event `SetDataSchema`, alone or in the manifest of a dataset or block.

ODF's common columns are left out: every slice has them. What is not an `Option` is required. Attributes other than
descriptions, and options of types that no logical type has, are listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.convert.imported import ImportedSchema, contract_of
from lakegate.contracts.convert.odf import COMMON, DESCRIPTION
from lakegate.contracts.documents.document import parse
from lakegate.contracts.errors import InputError
from lakegate.contracts.model.storage import Format
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.documents.nodes import Place
    from lakegate.contracts.model.contract import Contract, Field

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
MAX_DIGITS = 38


def read(text: bytes, name: str) -> tuple[Contract, tuple[str, ...]]:
    """A draft for the columns of the schema, and what of the schema is not in it.

    ContractError if the text is not YAML within the limits of documents, InputError if it has no such event.
    """
    schema = _schema_of(parse(text).top, name)
    reader = _Reader(ImportedSchema(name, storage=Format.PARQUET))
    own = [each for each in schema["fields"].items if each["name"].text not in COMMON]
    dataset = reader.schema.dataset(reader.fields(own, ""))
    reader.list_rest(schema, ("fields",), "$.schema")
    return contract_of(name, [dataset], reader.schema.lost)


def _schema_of(top: Place, name: str) -> Place:
    """The last schema of the events: a later one replaces those before."""
    content = top["content"]
    events = [top, *top.items, *content["metadata"].items, content["event"]]
    schemas = [each["schema"] for each in events if _folded(each["kind"]) == EVENT.lower()]
    if not schemas:
        raise InputError(f"{name} has no event `{EVENT}`: give one, or the manifest of a dataset or a block with one")
    if not schemas[-1]["fields"].items:
        raise InputError(f"{schemas[-1].path} of {name} has no `fields`: a schema of RFC-016 lists its columns there")
    return schemas[-1]


def _folded(place: Place) -> str:
    return (place.text or "").lower()


def _kind(place: Place) -> str:
    """A type is a mapping with its kind, or the kind alone."""
    return _folded(place) or _folded(place["kind"])


class _Reader:
    """Reads the fields of one schema."""

    def __init__(self, schema: ImportedSchema) -> None:
        self.schema = schema

    def fields(self, places: list[Place], within: str) -> Iterator[Field]:
        """The fields of a schema or of a record."""
        for each in places:
            name = each["name"].text
            if name is None:
                raise InputError(f"{each.path} has no `name`: every field of a schema has one")
            path = f"{within}.{name}" if within else name
            self.list_rest(each, ("name", "type", "extra"), path)
            self.list_rest(each["extra"], (DESCRIPTION,), path)
            found = self._value(each["type"], path, each["extra"][DESCRIPTION].text)
            if found is not None:
                yield found

    def list_rest(self, place: Place, read: tuple[str, ...], path: str) -> None:
        """List the keys that have no equivalent."""
        for key in place.entries:
            if key not in read:
                self.schema.lose(path, f"{shown(key)} has no equivalent")

    def _value(self, place: Place, path: str, description: str | None = None, *, is_key: bool = False) -> Field | None:
        """A field, which is required unless its type is an option; None for values that no logical type has."""
        inner = place
        while _kind(inner) == "option":
            inner = inner["inner"]
        kind = _kind(inner)
        self.list_rest(inner, ("kind", *PARTS.get(kind, ()), *OPTIONS.get(kind, ())), path)
        found = (
            self._nested(kind, inner, path, description) if kind in PARTS else self._scalar(inner, path, description)
        )
        if found is None:
            self.schema.lose(path, f"left out: no logical type has values of the type {shown(kind or 'none')}")
        elif inner is place and not is_key:
            self.schema.rule("required", path)
        return found

    def _nested(self, kind: str, place: Place, path: str, description: str | None) -> Field | None:
        if kind == "struct":
            parts = list(self.fields(place["fields"].items, path))
            return self.schema.nested(path, "object", parts, description) if parts else None
        if kind == "list":
            declared, found = "array", [self._value(place["itemType"], f"{path}[]")]
        else:
            key = self._value(place["keyType"], f"{path}.key", is_key=True)
            declared, found = "map", [key, self._value(place["valueType"], f"{path}.value")]
        known = [each for each in found if each is not None]
        return self.schema.nested(path, declared, known, description) if len(known) == len(found) else None

    def _scalar(self, place: Place, path: str, description: str | None) -> Field | None:
        kind = TYPES.get(_kind(place))
        if kind is None:
            return None
        if _folded(place["unit"]) == FINE:
            self.schema.lose(path, "nanoseconds: values are compared in microseconds")
        if place["timezone"].present and _folded(place["timezone"]) != UTC:
            self.schema.lose(path, f"the time zone {shown(place['timezone'].text)}: timestamps are moments in UTC")
        return self.schema.value(path, kind, description, self._digits(place, path, kind))

    def _digits(self, place: Place, path: str, kind: LogicalType) -> str | None:
        if kind is not LogicalType.DECIMAL:
            return None
        digits, scale = place["precision"].scalar, place["scale"].scalar
        if isinstance(digits, int) and isinstance(scale, int) and 0 <= scale <= digits <= MAX_DIGITS:
            return f"decimal({digits},{scale})"
        self.schema.lose(
            path, f"its precision and scale: a decimal has at most {MAX_DIGITS} digits, and no negative scale"
        )
        return None

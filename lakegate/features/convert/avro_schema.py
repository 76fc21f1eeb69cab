"""The Avro schema of a dataset: one record, whose optional fields may be null."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from lakegate.base.errors import InputError
from lakegate.base.text import quote
from lakegate.contract.contract_model import Contract, Dataset, Field, Shape, shape_of
from lakegate.contract.documents.declared_types import declared_type, express, lost_type
from lakegate.contract.documents.imported_schema import Converted, ExpressedRequirements, part
from lakegate.contract.logical_types import PRECISION, LogicalType

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
NAMESPACE = re.compile(rf"{NAME.pattern}(?:\.{NAME.pattern}){{0,31}}")
INT_BITS = 32
PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
LOGICAL = {
    "date": "int",
    "time-millis": "int",
    "time-micros": "long",
    "timestamp-millis": "long",
    "timestamp-micros": "long",
    "timestamp-nanos": "long",
    "local-timestamp-millis": "long",
    "local-timestamp-micros": "long",
    "local-timestamp-nanos": "long",
    "decimal": "bytes",
    "uuid": "string",
}
"""The logical types of Avro 1.12, each with the type that it annotates here."""
TYPES: dict[LogicalType, Any] = {
    LogicalType.STRING: "string",
    LogicalType.INTEGER: "long",
    LogicalType.NUMBER: "double",
    LogicalType.BOOLEAN: "boolean",
    LogicalType.DATE: {"type": "int", "logicalType": "date"},
    LogicalType.TIME: {"type": "long", "logicalType": "time-micros"},
    LogicalType.TIMESTAMP: {"type": "long", "logicalType": "timestamp-micros"},
    LogicalType.BINARY: "bytes",
}


def avro(contract: Contract, dataset: Dataset) -> Converted:
    """The schema as JSON. InputError for a name that Avro does not have."""
    writer = AvroWriter(ExpressedRequirements.in_contract(contract, dataset))
    record = writer.record(dataset.name, dataset.fields, None)
    namespace = dataset.native.get("avroNamespace")
    if namespace is not None and NAMESPACE.fullmatch(namespace) is None:
        writer.lost.append("avroNamespace (it is no name of Avro)")
    elif namespace is not None:
        record = {"type": "record", "name": record["name"], "namespace": namespace} | record
    if dataset.description:
        record["doc"] = dataset.description
    text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    return Converted(text, (*writer.lost, *writer.requirements.omitted()))


@dataclass(slots=True)
class AvroWriter:
    """The types of one dataset."""

    requirements: ExpressedRequirements
    lost: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    """Of records: Avro knows each name once."""

    def record(self, name: str, fields: tuple[Field, ...], parent: Field | None) -> dict[str, Any]:
        """A record with its fields."""
        stem = _check_name(re.sub(r"[^A-Za-z0-9_]+", "_", name) if parent else name)
        own = next(each for at in count(1) if (each := stem if at == 1 else f"{stem}_{at}") not in self.names)
        self.names.add(own)
        return {"type": "record", "name": own, "fields": [self._member(entry) for entry in fields]}

    def _member(self, entry: Field) -> dict[str, Any]:
        kind = self._with_null(entry)
        optional = {"default": None} if isinstance(kind, list) else {}
        doc = {"doc": entry.description} if entry.description else {}
        return {"name": _check_name(entry.own_name), "type": kind, **optional, **doc}

    def _with_null(self, entry: Field) -> Any:  # noqa: ANN401 - JSON
        kind = self._type(entry)
        return kind if self.requirements.has(entry.name, "required") or kind == "null" else ["null", kind]

    def _type(self, entry: Field) -> Any:  # noqa: ANN401 - JSON
        match shape_of(entry):
            case Shape.RECORD if entry.parts:
                return self.record(entry.name, entry.parts, entry)
            case Shape.LIST:
                return {"type": "array", "items": self._inner(entry, "[]")}
            case Shape.MAP:
                return {"type": "map", "values": self._inner(entry, ".value")}
            case Shape.VALUE:
                return self._own(entry) or self._value(entry)
            case _:
                self.lost.append(f"{entry.name} (Avro has no values of any type: it is a text)")
                return "string"

    def _inner(self, entry: Field, suffix: str) -> Any:  # noqa: ANN401 - JSON
        found = part(entry, suffix)
        return ["null", "string"] if found is None else self._with_null(found)

    def _own(self, entry: Field) -> Any:  # noqa: ANN401 - JSON
        """The type that the contract names for Avro; None, and it is listed, where Avro has no such one."""
        kind, logical = entry.native.get("avroType"), entry.native.get("avroLogicalType")
        if kind is None and logical is None:
            return None
        kind = kind or LOGICAL.get(logical or "", "")
        if kind not in PRIMITIVES or (logical is not None and LOGICAL.get(logical) != kind):
            self.lost.append(f"{entry.name} (avroType, avroLogicalType: Avro has no such type)")
            return None
        if logical is None:
            return kind
        digits = self._digits(entry) if logical == "decimal" else {}
        return {"type": kind, "logicalType": logical, **digits}

    def _digits(self, entry: Field) -> dict[str, int]:
        """Those that the field declares; else those of the gate."""
        precision, scale = declared_type(entry, self.requirements).digits or (PRECISION, entry.scale)
        return {"precision": precision, "scale": scale}

    def _value(self, entry: Field) -> Any:  # noqa: ANN401 - JSON
        """The type of a value; moments of which the field says that they have no offset are local ones."""
        found = declared_type(entry, self.requirements)
        if found.digits is not None or found.zone is not None or found.bits == INT_BITS:
            express(entry, found, self.requirements)
        elif not found.is_plain and not found.is_rule:
            self.lost.append(lost_type(entry, "int" if found.bits else "string"))
        if found.bits is not None:
            return "int"
        if entry.type is LogicalType.DECIMAL:
            return {"type": "bytes", "logicalType": "decimal", **self._digits(entry)}
        if found.zone is False:
            return {"type": "long", "logicalType": "local-timestamp-micros"}
        return TYPES[entry.type]


def _check_name(name: str) -> str:
    if NAME.fullmatch(name) is None:
        raise InputError(f"Avro has no name {quote(name)}: its names are of letters, digits and _")
    return name

"""Rules that do not fit their field's type; lists and records without parts."""

from __future__ import annotations

from collections.abc import Iterator

from lakegate.base.text import quote
from lakegate.contract.contract_model import Contract
from lakegate.contract.documents.document_tree import Document
from lakegate.lints.findings import Finding, fields_of, rules_of

PARTS = {
    "ODCS": {"object": "properties", "array": "items", "map": "map"},
    "DCS": {**dict.fromkeys(("object", "record", "struct"), "fields"), "array": "items", "map": "values"},
    "DCM": {**dict.fromkeys(("map", "struct", "union"), "children"), "array": "arrayDataType"},
}
"""The key that declares the nested fields, by format and declared type."""


def without_parts(contract: Contract, document: Document) -> Iterator[Finding]:
    """An array declares its items, a record its fields, a map its values."""
    parts = PARTS[contract.format.split()[0]]
    for field in fields_of(contract):
        place, declared = document.at(field.origin.path), (field.declared or "").lower()
        if declared in parts and not field.parts and not place["$ref"].present:
            yield place.path, f"This {declared} does not declare its nested fields: add `{parts[declared]}`."


def without_values(contract: Contract, document: Document) -> Iterator[Finding]:
    """An ENUM of DCM has its values in a rule `allowedValues`: the type has no place for them."""
    listed = {name for rule in rules_of(contract) if rule.kind == "allowedValues" for name in rule.fields}
    for field in fields_of(contract):
        is_enum = contract.format.startswith("DCM") and (field.declared or "").lower() == "enum"
        if is_enum and field.name not in listed:
            words = "names no values, so that every text is one: add a rule `type: allowedValues` for it"
            yield document.at(field.origin.path).path, f"{quote(field.name)} {words}."


def row_count_of_field(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A row count belongs to the dataset: at a field it looks like a property of the field."""
    for rule in rules_of(contract):
        if rule.kind == "rowCount" and (".properties[" in rule.origin.path or ".fields." in rule.origin.path):
            yield rule.origin.path, "rowCount counts the rows of the dataset, whatever the field: move the rule there."


COLUMN_KINDS = ("complete", "distinct", "min", "max", "mean", "stdev", "allowedValues")
"""Rules of DCM that need a column."""


def without_column(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A rule about values has a field."""
    for rule in rules_of(contract):
        if rule.kind in COLUMN_KINDS and not rule.fields:
            yield rule.origin.path, f"The rule of type {rule.kind} names no column: add `columns`."

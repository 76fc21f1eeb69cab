"""Keys and ids: positions without effect, optional key fields, duplicate names and ids."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lakegate.contracts.lint.walk import fields_of, is_odcs, properties_of, rules_of
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.documents.nodes import Place, Step
    from lakegate.contracts.lint.finding import Finding
    from lakegate.contracts.model.contract import Contract

POSITIONS = {"primaryKeyPosition": "primaryKey", "partitionKeyPosition": "partitioned"}
"""Each position with the flag it belongs to."""
PARTS = {
    "ODCS": {"object": "properties", "array": "items", "map": "map"},
    "DCS": {**dict.fromkeys(("object", "record", "struct"), "fields"), "array": "items", "map": "values"},
    "DCM": {**dict.fromkeys(("map", "struct", "union"), "children"), "array": "arrayDataType"},
}
"""The key that declares the nested fields, by format and declared type."""


def repeated_position(_contract: Contract, document: Document) -> Iterator[Finding]:
    """No two parts of a key stand at one position of it."""
    for siblings in properties_of(document):
        for key, flag in POSITIONS.items():
            flagged = [each[key] for each in siblings if each[flag].flag]
            yield from ((place.path, "Another part of the key has this position.") for place in _repeated(flagged))


def idle_position(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A position in a key is that of a part of the key."""
    for siblings in properties_of(document):
        for each in siblings:
            for key, flag in POSITIONS.items():
                if (each[key].number or 0) > 0 and not each[flag].flag:
                    message = f"The property is not part of the key: add `{flag}: true`, or remove the position."
                    yield each[key].path, message


def optional_key(contract: Contract, document: Document) -> Iterator[Finding]:
    """A field of a primary key is not declared optional."""
    for dataset in contract.datasets:
        named = {name for rule in dataset.rules if rule.kind == "primaryKey" for name in rule.fields}
        for field in dataset.fields:
            place = document.at(field.origin.path)["required"]
            if field.name in named and place.flag is False:
                yield place.path, "A part of the primary key is never missing: remove `required: false`."


def repeated_rule(contract: Contract, _document: Document) -> Iterator[Finding]:
    """No rule duplicates another rule of the same fields."""
    for dataset in contract.datasets:
        seen: set[str] = set()
        for rule in (each for each in dataset.rules if each.kind not in {"text", "nested", "serviceLevel"}):
            rule_key = repr(
                (rule.kind, rule.fields, sorted(rule.arguments.items(), key=str), rule.comparison, rule.tolerance)
            )
            if rule_key in seen:
                yield rule.origin.path, "Another rule is identical, with the same fields: remove one."
            seen.add(rule_key)


def repeated_id(contract: Contract, document: Document) -> Iterator[Finding]:
    """An id is unique among its neighbours: references by id must find one thing."""
    ids: dict[tuple[Step, ...], list[Place]] = {}
    for place in document.named("id") if is_odcs(contract) else ():
        *around, item = place.steps[:-1] or ("",)
        if isinstance(item, int) and around[-1:] != ["quality"]:
            ids.setdefault(tuple(around), []).append(place)
    for siblings in ids.values():
        for each in _repeated(siblings):
            yield each.path, f"The id {shown(each.written)} is taken by a neighbour: give each its own."


def repeated_physical_name(_contract: Contract, document: Document) -> Iterator[Finding]:
    """No two properties of an object are one column of the table behind it."""
    for siblings in properties_of(document):
        for each in _repeated([item["physicalName"] for item in siblings]):
            yield each.path, f"Another property is the column {shown(each.written)} too."


def without_parts(contract: Contract, document: Document) -> Iterator[Finding]:
    """An array declares its items, a record its fields, a map its values."""
    parts = PARTS[contract.format.split()[0]]
    for field in fields_of(contract):
        place, declared = document.at(field.origin.path), (field.declared or "").lower()
        if declared in parts and not field.parts and not place["$ref"].present:
            yield place.path, f"This {declared} does not declare its nested fields: add `{parts[declared]}`."


def row_count_of_field(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A row count belongs to the dataset: at a field it looks like a property of the field."""
    for rule in rules_of(contract):
        if rule.kind == "rowCount" and (".properties[" in rule.origin.path or ".fields." in rule.origin.path):
            yield rule.origin.path, "rowCount counts the rows of the dataset, whatever the field: move the rule there."


def _repeated(places: list[Place]) -> list[Place]:
    """The places whose text occurred before."""
    seen: Counter[str] = Counter()
    found = []
    for place in places:
        if place.present:
            seen[place.written] += 1
            if seen[place.written] > 1:
                found.append(place)
    return found

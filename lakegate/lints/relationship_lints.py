"""References: relationships, service level elements and timestamp fields with an unknown or wrong target."""

from __future__ import annotations

from collections.abc import Iterator

from lakegate.base.text import did_you_mean, plural, quote
from lakegate.contract.contract_model import Contract, Field
from lakegate.contract.documents.document_tree import Document, Place
from lakegate.contract.documents.odcs import ANCHOR, qualify_target
from lakegate.contract.field_paths import ELEMENTS, column_name, path_of, steps_of
from lakegate.contract.logical_types import LogicalType
from lakegate.lints.findings import Finding, is_odcs
from lakegate.rules.compile_plan import with_parts
from lakegate.rules.relationship_rules import form_elsewhere

MAX_KNOWN = 400
"""The most names that are searched for a hint."""


def dangling(contract: Contract, document: Document) -> Iterator[Finding]:
    """A relationship refers to a field of this contract, or to another document."""
    known = fields_by_path(contract)
    for place in _targets(document):
        text = place.text or ""
        if _is_here(text) and _target(text, known, document) is None:
            hint = did_you_mean(text, list(known)[:MAX_KNOWN])
            form = form_elsewhere(contract)
            words = f"{quote(text)} is not a field of this contract; a field of another contract is written `{form}`."
            yield place.path, f"{words}{hint}"


def of_itself(contract: Contract, document: Document) -> Iterator[Finding]:
    """A field does not refer to itself: every row would satisfy that."""
    known = fields_by_path(contract)
    for dataset in contract.datasets:
        for rule in (entry for entry in dataset.rules if entry.kind == "foreignKey"):
            own = [dataset.field(name) for name in rule.fields]
            if (
                own
                and None not in own
                and own == [_target(entry, known, document) for entry in str(rule.arguments.get("to", "")).split(",")]
            ):
                yield rule.origin.path, "The reference leads back to its own field: name the field it should lead to."


def unequal(contract: Contract, document: Document) -> Iterator[Finding]:
    """Both ends of a relationship have the same number of fields."""
    if not is_odcs(contract):
        return
    for place in document.named("relationships[]"):
        sources, targets = place["from"].items, place["to"].items
        if sources and targets and len(sources) != len(targets):
            yield (
                place.path,
                f"{plural(len(sources), 'field')} cannot refer to {len(targets)}: name as many on both sides.",
            )


def of_other_type(contract: Contract, document: Document) -> Iterator[Finding]:
    """Both ends of a relationship have the same type: else no values are equal."""
    known = fields_by_path(contract)
    for dataset in contract.datasets:
        for rule in (entry for entry in dataset.rules if entry.kind == "foreignKey"):
            targets = str(rule.arguments.get("to", "")).split(",")
            for name, text in zip(rule.fields, targets, strict=False):
                own, target = dataset.field(name), _target(text, known, document)
                if own and target and _family(own.type) is not _family(target.type):
                    message = f"{quote(name)} is a {own.type.value}, and {quote(text)} a {target.type.value}."
                    yield rule.origin.path, message


def _targets(document: Document) -> Iterator[Place]:
    """Every text that refers to a field."""
    for place in document.named("relationships[]"):
        yield from (item for item in (place["to"], *place["to"].items) if item.text)
    yield from (
        place for place in document.named("references") if place.text and place.steps[0] in {"models", "definitions"}
    )


def _is_here(text: str) -> bool:
    """Whether a reference stays in this document."""
    return "://" not in text and (ANCHOR not in text or text.startswith(ANCHOR))


def _target(text: str, known: dict[str, Field], document: Document) -> Field | None:
    """The target field of a reference in this document: by names and dots, or by ids and slashes (ODCS)."""
    name = qualify_target(document.top, text) if "/" in text else text
    return known.get(name)


def fields_by_path(contract: Contract) -> dict[str, Field]:
    """Every field by its dataset and its path; the items of an array have no step of their own."""
    return {
        f"{dataset.name}.{text}": part
        for dataset in contract.datasets
        for field in dataset.fields
        for part in reversed(list(with_parts((field,))))
        for text in {path_of(step for step in steps_of(part.name) or () if step != ELEMENTS), column_name(part.name)}
    }


def _family(logical: LogicalType) -> LogicalType:
    """The type that values are compared as."""
    return LogicalType.NUMBER if logical.numeric else logical

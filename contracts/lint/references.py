"""References: relationships, service level elements and timestamp fields with an unknown or wrong target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.nested_fields import with_parts
from lakegate.contracts.compile.rules.references import form_elsewhere
from lakegate.contracts.compile.rules.service_levels import MOMENTS
from lakegate.contracts.documents.odcs_references import ANCHOR, qualified
from lakegate.contracts.documents.service_levels import TIMESTAMPS, qualified_element
from lakegate.contracts.lint.walk import is_odcs
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.words import counted, did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.documents.nodes import Place
    from lakegate.contracts.lint.finding import Finding
    from lakegate.contracts.model.contract import Contract, Field

MAX_KNOWN = 400
"""The most names that are searched for a hint."""


def dangling(contract: Contract, document: Document) -> Iterator[Finding]:
    """A relationship refers to a field of this contract, or to another document."""
    known = _named(contract)
    for place in _targets(document):
        text = place.text or ""
        if _is_here(text) and _target(text, known, document) is None:
            hint = did_you_mean(text, list(known)[:MAX_KNOWN])
            form = form_elsewhere(contract)
            words = f"{shown(text)} is not a field of this contract; a field of another contract is written `{form}`."
            yield place.path, f"{words}{hint}"


def of_itself(contract: Contract, document: Document) -> Iterator[Finding]:
    """A field does not refer to itself: every row would satisfy that."""
    known = _named(contract)
    for dataset in contract.datasets:
        for rule in (each for each in dataset.rules if each.kind == "foreignKey"):
            own = [dataset.field(name) for name in rule.fields]
            if (
                own
                and None not in own
                and own == [_target(each, known, document) for each in str(rule.arguments.get("to", "")).split(",")]
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
                f"{counted(len(sources), 'field')} cannot refer to {len(targets)}: name as many on both sides.",
            )


def of_other_type(contract: Contract, document: Document) -> Iterator[Finding]:
    """Both ends of a relationship have the same type: else no values are equal."""
    known = _named(contract)
    for dataset in contract.datasets:
        for rule in (each for each in dataset.rules if each.kind == "foreignKey"):
            targets = str(rule.arguments.get("to", "")).split(",")
            for name, text in zip(rule.fields, targets, strict=False):
                own, target = dataset.field(name), _target(text, known, document)
                if own and target and _family(own.type) is not _family(target.type):
                    message = f"{shown(name)} is a {own.type.value}, and {shown(text)} a {target.type.value}."
                    yield rule.origin.path, message


def unknown_element(contract: Contract, document: Document) -> Iterator[Finding]:
    """A service level refers to an existing dataset or field."""
    known = {each.name: None for each in contract.datasets} | _named(contract)
    for place, written in _elements(document):
        name = qualified_element(written, [each.name for each in contract.datasets])
        if written not in known and name not in known:
            message = f"{shown(written)} is not a dataset or field here.{did_you_mean(name, list(known)[:MAX_KNOWN])}"
            yield place.path, message


def not_a_moment(contract: Contract, document: Document) -> Iterator[Finding]:
    """The timestamp field of a service level is a date or timestamp."""
    known = _named(contract)
    for place in document.named(*TIMESTAMPS):
        field = known.get(place.text or "")
        if field and field.type not in MOMENTS:
            yield place.path, f"{shown(place.text)} is a {field.type.value}: name a date or a timestamp."


def _elements(document: Document) -> Iterator[tuple[Place, str]]:
    for place in (
        document.top["slaDefaultElement"],
        *(each["element"] for each in document.top["slaProperties"].items),
    ):
        yield from ((place, each.strip()) for each in (place.text or "").split(",") if each.strip())
    yield from ((place, place.text) for place in document.named(*TIMESTAMPS) if place.text)


def _targets(document: Document) -> Iterator[Place]:
    """Every text that refers to a field."""
    for place in document.named("relationships[]"):
        yield from (each for each in (place["to"], *place["to"].items) if each.text)
    yield from (
        place for place in document.named("references") if place.text and place.steps[0] in {"models", "definitions"}
    )


def _is_here(text: str) -> bool:
    """Whether a reference stays in this document."""
    return "://" not in text and (ANCHOR not in text or text.startswith(ANCHOR))


def _target(text: str, known: dict[str, Field], document: Document) -> Field | None:
    """The target field of a reference in this document: by names and dots, or by ids and slashes (ODCS)."""
    name = qualified(document.top, text) if "/" in text else text
    return known.get(name)


def _named(contract: Contract) -> dict[str, Field]:
    """Every field by its dataset and its path; the items of an array have no step of their own."""
    return {
        f"{dataset.name}.{part.name.replace('[]', '')}": part
        for dataset in contract.datasets
        for field in dataset.fields
        for part in reversed(list(with_parts((field,))))
    }


def _family(logical: LogicalType) -> LogicalType:
    """The type that values are compared as."""
    return LogicalType.NUMBER if logical.numeric else logical

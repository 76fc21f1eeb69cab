"""Rules about values: kinds that do not fit their field, empty ranges, and lists with duplicates."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING

from lakegate.contracts.documents.nodes import Node, address
from lakegate.contracts.lint.walk import pairs
from lakegate.contracts.model.literals import literal
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.documents.nodes import Step
    from lakegate.contracts.lint.finding import Finding
    from lakegate.contracts.model.contract import Contract, Dataset, Field, Rule

COLUMN_KINDS = ("complete", "distinct", "min", "max", "mean", "stdev", "allowedValues")
"""Rules of DCM that need a column."""
OF_TEXTS = ("minLength", "maxLength", "pattern")
TEXTS = (LogicalType.STRING, LogicalType.BINARY)
LISTS = ("parameter", "values", "validValues", "missingValues")
SURPRISES = re.compile(r"(?i:yes|no|on|off)|0[0-9]+|0[xo][0-9a-fA-F]+|[0-9][0-9_]*_[0-9_]*|[0-9]+(?::[0-5]?[0-9])+")
"""Unquoted texts that YAML 1.1 reads as booleans, octal or sexagesimal numbers."""
SIDES = (
    ({"minimum": "value", "min": "parameter"}, {"maximum": "value", "max": "parameter"}),
    ({"minLength": "value"}, {"maxLength": "value"}),
    ({"minItems": "value"}, {"maxItems": "value"}),
    ({"minProperties": "value"}, {"maxProperties": "value"}),
)
"""Kinds that set bounds of a field, with the argument of the bound."""


def without_column(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A rule about values has a field."""
    for dataset in contract.datasets:
        for rule in dataset.rules:
            if rule.kind in COLUMN_KINDS and not rule.fields:
                yield rule.origin.path, f"The rule of type {rule.kind} names no column: add `columns`."


def measured_as_text(contract: Contract, _document: Document) -> Iterator[Finding]:
    """Lengths and patterns are for texts: values of other types are measured as they are written."""
    for dataset in contract.datasets:
        for rule, field in pairs(dataset):
            if rule.kind in OF_TEXTS and field.type not in TEXTS:
                message = (
                    f"{shown(field.name)} is a {field.type.value}, and {rule.kind} is for texts: say another type."
                )
                yield rule.origin.path, message


def reversed_bounds(contract: Contract, _document: Document) -> Iterator[Finding]:
    """The rules of a field allow at least one value."""
    for dataset in contract.datasets:
        for low_kinds, high_kinds in SIDES:
            greatest: dict[str, tuple[Rule, Decimal | str]] = {}
            for rule, field, low in _bounds(dataset, low_kinds):
                _, known = greatest.get(field.name, (rule, low))
                if known is low or _crossed(low, known, is_open=False):
                    greatest[field.name] = (rule, low)
            for rule, field, high in _bounds(dataset, high_kinds):
                other, low = greatest.get(field.name, (rule, high))
                if _crossed(low, high, is_open=other is not rule and (_is_open(rule) or _is_open(other))):
                    yield rule.origin.path, f"No value of {shown(field.name)} is between {low} and {high}."


def _bounds(dataset: Dataset, kinds: Mapping[str, str]) -> Iterator[tuple[Rule, Field, Decimal | str]]:
    for rule, field in pairs(dataset):
        value = rule.arguments.get(kinds.get(rule.kind, ""))
        if isinstance(value, Decimal) or (isinstance(value, str) and literal(field.type, value)):
            yield rule, field, value


def _crossed(low: Decimal | str, high: Decimal | str, *, is_open: bool) -> bool:
    if isinstance(low, Decimal) and isinstance(high, Decimal):
        return low > high or (is_open and low == high)
    same_shape = isinstance(low, str) and isinstance(high, str) and len(low) == len(high)
    return same_shape and (str(low) > str(high) or (is_open and low == high))


def _is_open(rule: Rule) -> bool:
    return rule.arguments.get("exclusive") is True


def repeated_value(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A list contains each value once."""
    for dataset in contract.datasets:
        for rule in dataset.rules:
            for key in LISTS:
                values = rule.arguments.get(key)
                listed = values if isinstance(values, tuple) else ()
                counts = Counter(each for each in listed if not isinstance(each, tuple | dict))
                for value in [each for each, count in counts.items() if count > 1]:
                    yield rule.origin.path, f"The value {shown(value)} is listed twice: once is enough."


def surprising(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A text that YAML 1.1 reads as another type is quoted."""
    for steps, node in _scalars(document.root, ()):
        if node.bare and isinstance(node.content, str) and SURPRISES.fullmatch(node.written):
            yield address(steps), f"Other tools do not read {shown(node.written)} as text: put it in quotes."


def _scalars(node: Node, steps: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], Node]]:
    if isinstance(node.content, tuple):
        for index, each in enumerate(node.content):
            yield from _scalars(each, (*steps, index))
    elif isinstance(node.content, dict):
        for key, each in node.content.items():
            yield from _scalars(each, (*steps, key))
    else:
        yield steps, node

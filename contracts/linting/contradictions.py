"""Rules that exclude each other, and values of a contract that break its own rules."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING

from contracts.errors import ContractError
from contracts.linting.judge import holds
from contracts.linting.linear import superlinear
from contracts.linting.walk import pairs
from contracts.rules.table import compile_rule
from contracts.types import LogicalType
from contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from contracts.check import Check
    from contracts.document import Document
    from contracts.linting.finding import Finding
    from contracts.model import Contract, Dataset, Field, Rule

LISTS = {"enum": "values", "allowedValues": "parameter", "invalidValues": "validValues"}
"""Kinds of closed lists, each with the argument that holds it."""
JUDGED = (
    "type",
    "enum",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "multipleOf",
    "format",
    "min",
    "max",
)
"""Kinds that judge one value by itself."""
MOST_JUDGED = 200
"""Values of one list that are judged."""
NEEDS_NULLS = {"mustBeGreaterThan": 0, "mustBeGreaterOrEqualTo": 1, "mustBe": 1}
"""Operators that ask for bad rows, each with the least number that does."""


def list_breaks_field(contract: Contract, _document: Document) -> Iterator[Finding]:
    """Every value of a closed list is one that the field's other rules let through."""
    for dataset in contract.datasets:
        checks = _checks(contract, dataset)
        for rule, field in pairs(dataset):
            others = [
                each
                for each in checks.get(field.name, ())
                if each.rule != rule.id and each.kind not in {"type", *LISTS}
            ]
            for value in _listed(rule):
                for broken in _broken(others, field, value):
                    yield (
                        rule.origin.path,
                        f"The listed value {shown(value)} breaks another rule of its field: {broken}.",
                    )


def example_breaks_field(contract: Contract, _document: Document) -> Iterator[Finding]:
    """Every example of a field is one that its rules let through."""
    for dataset in contract.datasets:
        checks = _checks(contract, dataset)
        for field in dataset.fields:
            for example in field.examples[:MOST_JUDGED]:
                for broken in _broken(checks.get(field.name, ()), field, example.written or ""):
                    if example.written is not None:
                        yield (
                            example.origin.path,
                            f"The example {shown(example.written)} breaks its own field: {broken}.",
                        )


def no_common_value(contract: Contract, _document: Document) -> Iterator[Finding]:
    """Two closed lists of one field leave it a value."""
    for dataset in contract.datasets:
        seen: dict[str, set[str]] = {}
        for rule, field in pairs(dataset):
            values = set(_listed(rule))
            if values and not values & seen.setdefault(field.name, values):
                yield rule.origin.path, f"No value of this list is in the other list of {shown(field.name)}."


def required_and_null(contract: Contract, _document: Document) -> Iterator[Finding]:
    """No rule waits for missing values of a field that is required."""
    for dataset in contract.datasets:
        required = {name for rule in dataset.rules if rule.kind in {"required", "primaryKey"} for name in rule.fields}
        for rule, field in pairs(dataset):
            comparison = rule.comparison
            if rule.kind == "nullValues" and comparison is not None and comparison.operands and field.name in required:
                least = NEEDS_NULLS.get(comparison.operator)
                if least is not None and comparison.operands[0] >= least:
                    yield rule.origin.path, f"{shown(field.name)} is required, so it never has the nulls this asks for."


def no_multiple_between(contract: Contract, _document: Document) -> Iterator[Finding]:
    """Between two bounds lies a multiple of what values must be multiples of."""
    for dataset in contract.datasets:
        ends: dict[tuple[str, str], Decimal] = {}
        for rule, field in pairs(dataset):
            value = rule.arguments.get("value")
            if rule.kind in {"minimum", "maximum", "multipleOf"} and isinstance(value, Decimal):
                ends[field.name, rule.kind] = value
        for (name, kind), factor in ends.items():
            low, high = ends.get((name, "minimum")), ends.get((name, "maximum"))
            if kind == "multipleOf" and low is not None and high is not None and _skipped_over(low, high, factor):
                rule = next(each for each in dataset.rules if each.kind == kind and name in each.fields)
                yield rule.origin.path, f"No multiple of {factor:f} lies between {low:f} and {high:f}."


def _skipped_over(low: Decimal, high: Decimal, factor: Decimal) -> bool:
    """Whether two bounds leave room, and no multiple of a factor is in it."""
    return (
        factor > 0 and low <= high and ceil(Fraction(low) / Fraction(factor)) > floor(Fraction(high) / Fraction(factor))
    )


def bound_not_whole(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A bound of whole numbers is a whole number: 1.5 is a bound of 1 or 2."""
    for dataset in contract.datasets:
        for rule, field in pairs(dataset):
            value = rule.arguments.get("value", rule.arguments.get("parameter"))
            is_bound = rule.kind in {"minimum", "maximum", "min", "max"} and field.type is LogicalType.INTEGER
            if is_bound and isinstance(value, Decimal) and value != value.to_integral_value():
                yield rule.origin.path, f"{shown(field.name)} is an integer, and {value} is none: write a whole number."


def contradicting_thresholds(contract: Contract, _document: Document) -> Iterator[Finding]:
    """Two rules that count the same rows can both hold."""
    for dataset in contract.datasets:
        seen: dict[object, tuple[Decimal | None, Decimal | None]] = {}
        for rule in (each for each in dataset.rules if each.comparison is not None and each.comparison.operands):
            assert rule.comparison is not None
            ends = _ends(rule.comparison.operator, rule.comparison.operands)
            subject = (rule.kind, rule.fields, repr(sorted(rule.arguments.items(), key=str)), rule.comparison.percent)
            low, high = seen.setdefault(subject, ends)
            if _apart(low, ends[1]) or _apart(ends[0], high):
                yield rule.origin.path, "Another rule asks for numbers that this one refuses: no delivery meets both."


def _checks(contract: Contract, dataset: Dataset) -> dict[str, list[Check]]:
    """The checks of single values, by field; rules that do not compile, or whose patterns may take forever, are left out."""
    found: dict[str, list[Check]] = {}
    for rule, field in pairs(dataset):
        if rule.kind in JUDGED + tuple(LISTS) and superlinear(str(rule.arguments.get("pattern", ""))) is None:
            try:
                found.setdefault(field.name, []).extend(compile_rule(contract, dataset, rule, (field,)))
            except ContractError:
                continue
    return found


def _broken(checks: Iterable[Check], field: Field, value: str) -> Iterator[str]:
    for check in checks:
        predicate = check.accept.predicate
        if predicate is not None and not holds(predicate, field, value):
            yield check.wanted


def _listed(rule: Rule) -> list[str]:
    values = rule.arguments.get(LISTS.get(rule.kind, ""))
    return [str(each) for each in values if each is not None][:MOST_JUDGED] if isinstance(values, tuple) else []


def _ends(operator: str, operands: tuple[Decimal, ...]) -> tuple[Decimal | None, Decimal | None]:
    """The least and the greatest number that a threshold lets through; its openness does not matter here."""
    match operator:
        case "mustBe":
            return operands[0], operands[0]
        case "mustBeGreaterThan" | "mustBeGreaterOrEqualTo":
            return operands[0], None
        case "mustBeLessThan" | "mustBeLessOrEqualTo":
            return None, operands[0]
        case "mustBeBetween":
            return min(operands), max(operands)
        case _:
            return None, None


def _apart(low: Decimal | None, high: Decimal | None) -> bool:
    return low is not None and high is not None and low > high

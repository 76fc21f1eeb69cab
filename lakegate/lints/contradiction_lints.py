"""Rules, bounds and examples that contradict each other."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from io import StringIO
from itertools import islice
from math import ceil, floor
from typing import NamedTuple

from lakegate.base.errors import ContractError
from lakegate.base.text import quote
from lakegate.contract.contract_model import Contract, Dataset, Field, Rule
from lakegate.contract.delivery_policy import FieldTreatment
from lakegate.contract.documents.document_tree import Document, Place
from lakegate.contract.logical_types import LogicalType, literal
from lakegate.lints.findings import Finding, pairs
from lakegate.lints.pattern_lints import superlinear
from lakegate.plan.check import Check
from lakegate.plan.predicates import holds
from lakegate.rules.rule_kinds import compile_rule

LISTS = {"enum": "values", "allowedValues": "parameter", "invalidValues": "validValues"}
"""Kinds with a list of allowed values, and the argument with the list."""

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
"""Kinds that constrain single values."""
MAX_JUDGED = 200
"""The most values of a list that are checked."""
NEEDS_NULLS = {"mustBeGreaterThan": 0, "mustBeGreaterOrEqualTo": 1, "mustBe": 1}
"""Operators that require bad rows, each with the smallest operand that does."""


def list_breaks_field(contract: Contract, _document: Document) -> Iterator[Finding]:
    """Every value of a closed list is one that the field's other rules let through."""
    for dataset in contract.datasets:
        checks = _checks(contract, dataset)
        for rule, field in pairs(dataset):
            others = [
                entry
                for entry in checks.get(field.name, ())
                if entry.rule != rule.id and entry.kind not in {"type", *LISTS}
            ]
            for value in _list_values(rule):
                for broken in _broken(others, field, value):
                    message = f"The listed value {quote(value)} breaks another rule of its field: {broken}."
                    yield rule.origin.path, message


def example_breaks_field(contract: Contract, document: Document) -> Iterator[Finding]:
    """Every example of a field, and its values in those of a model of DCS, are some that its rules let through."""
    for dataset in contract.datasets:
        checks = _checks(contract, dataset)
        for field in dataset.fields:
            for example in field.examples[:MAX_JUDGED]:
                for broken in _broken(checks.get(field.name, ()), field, example.written or ""):
                    if example.written is not None:
                        message = f"The example {quote(example.written)} breaks its own field: {broken}."
                        yield example.origin.path, message
        for place in document.at(dataset.origin.path)["examples"].items if contract.format.startswith("DCS") else ():
            rows = _rows(place, {field.own_name for field in dataset.fields})
            for message in dict.fromkeys(_faults(dataset, rows, checks)):
                yield place.path, f"In this example {message}."


class _Row(NamedTuple):
    """A row of an example."""

    values: Mapping[str, str]
    """Of columns with a single value."""
    present: Collection[str]
    """The columns that are not null."""
    names: Collection[str]
    """All columns."""


def _rows(example: Place, known: Collection[str]) -> list[_Row]:
    """The rows of an example of a model: a record, records, or a text as CSV with a header. None of any other text."""
    if not example.text:
        records = [example] if example.entries else [item for item in example.items if item.entries]
        return [_row_of_record(record.entries) for record in records[:MAX_JUDGED]]
    if example.text.lstrip().startswith(("{", "[")):
        return []
    reader = csv.DictReader(StringIO(example.text), skipinitialspace=True, restval="")
    try:
        rows = list(islice(reader, MAX_JUDGED))
    except csv.Error:  # what is no CSV is no example of rows
        return []
    names = reader.fieldnames or ()
    if set(names).isdisjoint(known):
        return []
    filled = ({name: row[name] for name in names if row[name]} for row in rows)
    return [_Row(entry, entry.keys(), names) for entry in filled]


def _row_of_record(entries: Mapping[str, Place]) -> _Row:
    values = {name: entry.written for name, entry in entries.items() if entry.scalar is not None}
    return _Row(
        values, {*values, *(name for name, entry in entries.items() if entry.entries or entry.is_list)}, entries
    )


def _faults(dataset: Dataset, rows: Iterable[_Row], checks: Mapping[str, Iterable[Check]]) -> Iterator[str]:
    """Values and columns of example rows that the rules of their fields refuse; of each field the first of a kind."""
    rows, fields = list(rows), {field.own_name: field for field in dataset.fields}
    columns = {field.name: name for name, field in fields.items()}
    for name, field in fields.items():
        broken = (row.values[name] for row in rows if name in row.values)
        first = next((entry for entry in broken if any(_broken(checks.get(field.name, ()), field, entry))), None)
        if first is not None:
            yield f"{quote(first)} breaks the field {quote(name)}"
    keys = [rule for rule in dataset.rules if rule.kind in {"required", "unique", "primaryKey"}]
    for rule in keys:
        names = [columns[entry] for entry in rule.fields if entry in columns]
        if rule.kind != "unique":
            lacking = [entry for entry in names if any(entry not in row.present for row in rows)]
            yield from (f"the required field {quote(entry)} has no value in a row" for entry in lacking)
        if rule.kind != "required" and len(names) == len(rule.fields):
            values = [tuple(row.values[entry] for entry in names) for row in rows if set(names) <= row.values.keys()]
            if len(set(values)) < len(values):
                yield f"two rows have the same {' and '.join(map(quote, names))}, which is unique"
    is_open = dataset.policy.additional_fields is FieldTreatment.ALLOW and "additional_fields" in dataset.declared
    others = dict.fromkeys(name for row in rows for name in row.names if name not in fields)
    yield from (f"{quote(other)} is no field of the model" for other in others if not is_open)


def no_common_value(contract: Contract, _document: Document) -> Iterator[Finding]:
    """Two closed lists of one field leave it a value."""
    for dataset in contract.datasets:
        seen: dict[str, set[str]] = {}
        for rule, field in pairs(dataset):
            values = set(_list_values(rule))
            if values and not values & seen.setdefault(field.name, values):
                yield rule.origin.path, f"No value of this list is in the other list of {quote(field.name)}."


def required_and_null(contract: Contract, _document: Document) -> Iterator[Finding]:
    """No rule waits for missing values of a field that is required."""
    for dataset in contract.datasets:
        required = {name for rule in dataset.rules if rule.kind in {"required", "primaryKey"} for name in rule.fields}
        for rule, field in pairs(dataset):
            comparison = rule.comparison
            if rule.kind == "nullValues" and comparison is not None and comparison.operands and field.name in required:
                least = NEEDS_NULLS.get(comparison.operator)
                if least is not None and comparison.operands[0] >= least:
                    yield rule.origin.path, f"{quote(field.name)} is required, so it never has the nulls this asks for."


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
                rule = next(entry for entry in dataset.rules if entry.kind == kind and name in entry.fields)
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
                yield rule.origin.path, f"{quote(field.name)} is an integer, and {value} is none: write a whole number."


def _checks(contract: Contract, dataset: Dataset) -> dict[str, list[Check]]:
    """The checks of single values, by field, without rules that do not compile or whose patterns are too slow."""
    checks: dict[str, list[Check]] = {}
    for rule, field in pairs(dataset):
        if rule.kind in JUDGED + tuple(LISTS) and superlinear(str(rule.arguments.get("pattern", ""))) is None:
            try:
                checks.setdefault(field.name, []).extend(compile_rule(contract, dataset, rule, (field,)))
            except ContractError:
                continue
    return checks


def _broken(checks: Iterable[Check], field: Field, value: str) -> Iterator[str]:
    for check in checks:
        predicate = check.accept.predicate
        if predicate is not None and not holds(predicate, field.type, value, field.scale):
            yield check.wanted


def _list_values(rule: Rule) -> list[str]:
    values = rule.arguments.get(LISTS.get(rule.kind, ""))
    return [str(value) for value in values if value is not None][:MAX_JUDGED] if isinstance(values, tuple) else []


SIDES = (
    ({"minimum": "value", "min": "parameter"}, {"maximum": "value", "max": "parameter"}),
    ({"minLength": "value"}, {"maxLength": "value"}),
    ({"minItems": "value"}, {"maxItems": "value"}),
    ({"minProperties": "value"}, {"maxProperties": "value"}),
)
"""Kinds that set bounds of a field, with the argument of the bound."""


def reversed_bounds(contract: Contract, _document: Document) -> Iterator[Finding]:
    """The rules of a field allow at least one value."""
    for dataset in contract.datasets:
        for low_kinds, high_kinds in SIDES:
            greatest: dict[str, tuple[Rule, Decimal | str]] = {}
            for rule, field, low in _bounds(dataset, low_kinds):
                _, known = greatest.get(field.name, (rule, low))
                if known is low or _are_crossed(low, known, is_open=False):
                    greatest[field.name] = (rule, low)
            for rule, field, high in _bounds(dataset, high_kinds):
                other, low = greatest.get(field.name, (rule, high))
                if _are_crossed(low, high, is_open=other is not rule and (_is_open(rule) or _is_open(other))):
                    yield rule.origin.path, f"No value of {quote(field.name)} is between {low} and {high}."


def _bounds(dataset: Dataset, kinds: Mapping[str, str]) -> Iterator[tuple[Rule, Field, Decimal | str]]:
    for rule, field in pairs(dataset):
        value = rule.arguments.get(kinds.get(rule.kind, ""))
        if isinstance(value, Decimal) or (isinstance(value, str) and literal(field.type, value, field.scale)):
            yield rule, field, value


def _are_crossed(low: Decimal | str, high: Decimal | str, *, is_open: bool) -> bool:
    if isinstance(low, Decimal) and isinstance(high, Decimal):
        return low > high or (is_open and low == high)
    same_shape = isinstance(low, str) and isinstance(high, str) and len(low) == len(high)
    return same_shape and (str(low) > str(high) or (is_open and low == high))


def _is_open(rule: Rule) -> bool:
    return rule.arguments.get("exclusive") is True

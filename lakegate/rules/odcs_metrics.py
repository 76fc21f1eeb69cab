"""ODCS library metrics: rowCount, nullValues, duplicateValues."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from lakegate.contract.contract_model import Contract, Dataset, Field, Rule
from lakegate.contract.documents.odcs_quality import BETWEEN, OPERATORS
from lakegate.plan.check import Check, Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.predicates import All, Length, Matches, Not, Predicate, Present
from lakegate.rules.check_builder import (
    Checks,
    Fields,
    InContract,
    argument,
    check,
    items,
    number_check,
    one_as_written,
    one_of,
    refuse,
    regex,
    valid_in_words,
    whole_number,
    within,
)

# ---- Library metrics of ODCS ----
# The bounds of `mustBeBetween` are inclusive. Percentages are of all rows; those of an empty dataset are 0.


_HUNDRED = Decimal(100)


def row_count(rule: Rule, fields: Fields) -> Check:
    """The number of rows of the dataset."""
    del fields
    interval, percent = interval_of(rule)
    if percent:
        refuse(rule, "unit", "the metric rowCount counts rows: percent of what?")
    return number_check(rule, Metric.ROW_COUNT, interval, "row")


def null_values(rule: Rule, field: Field) -> Check:
    """Rows without a value."""
    return _counted(rule, field, Present(field.name), "null")


def missing_values(rule: Rule, field: Field) -> Check:
    """Rows whose value is in a list of missing values; null is included if the list contains null or the empty text."""
    written = rule.arguments.get("missingValues")
    values = (None,) if written is None else items(rule, written)
    listed = [value for value in values if value is not None]
    parts: tuple[Predicate, ...] = (Not(one_as_written(rule, field, listed)),) if listed else ()
    if None in values or "" in values:
        parts = (Present(field.name), *parts)
    return _counted(rule, field, _all(parts), "missing")


def invalid_values(contract: Contract, dataset: Dataset, rule: Rule, fields: Fields) -> Checks:
    """Rows whose value violates a given condition, or is not in the `enum` of its field; null violates none."""
    del contract
    if not fields:
        refuse(rule, "no-column", "the rule invalidValues must name a column")
    return tuple(_invalid(_with_enum(dataset, rule, field), field) for field in fields)


def _with_enum(dataset: Dataset, rule: Rule, field: Field) -> Rule:
    """A rule without arguments uses the list that its field declares."""
    declared = (
        each.arguments.get("values") for each in dataset.rules if each.kind == "enum" and field.name in each.fields
    )
    values = next(declared, None)
    return rule if rule.arguments or values is None else replace(rule, arguments={"validValues": values})


def _invalid(rule: Rule, field: Field) -> Check:
    parts = tuple(
        part(rule, field, argument(rule, name)) for name, (_, part) in _PARTS.items() if name in rule.arguments
    )
    if not parts or set(rule.arguments) - set(_PARTS):
        known = f"the metric invalidValues knows the arguments {', '.join(_PARTS)}"
        refuse(rule, "no-condition", f"{known}: give it one of them, or give {field.name} an `enum`")
    found = _counted(rule, field, _all(parts), "invalid")
    return replace(found, wanted=found.wanted + valid_in_words(_PARTS, rule.arguments))


def of_every_column(compile_one: Callable[[Rule, Field], Check]) -> InContract:
    """A rule with one check for each of its fields; without fields, for each column of its dataset."""
    return InContract(
        lambda _, dataset, rule, fields: tuple(compile_one(rule, field) for field in fields or dataset.fields),
        by_field=True,
    )


def duplicate_values(rule: Rule, fields: Fields) -> Check:
    """Rows that share their key, of one field or several, with another row."""
    if not fields:
        refuse(
            rule,
            "no-column",
            "the metric duplicateValues must stand on a property, or name some: `arguments: {properties: [a]}`",
        )
    interval, percent = interval_of(rule)
    words = _words(interval, "duplicates", percent=percent)
    return check(rule, fields, Metric.DUPLICATE_ROWS, accept=Tier(interval), wanted=words, unit=_unit(percent=percent))


def _counted(rule: Rule, field: Field, predicate: Predicate, noun: str) -> Check:
    interval, percent = interval_of(rule)
    words = _words(interval, noun, percent=percent)
    tier = Tier(interval, predicate)
    return check(rule, (field,), Metric.FAILING_ROWS, accept=tier, wanted=words, unit=_unit(percent=percent))


def interval_of(rule: Rule) -> tuple[Interval, bool]:
    """The interval of a rule's comparison, and whether it is in percent."""
    comparison = rule.comparison
    if comparison is None or comparison.operator not in OPERATORS:
        refuse(rule, "operator", f"the rule {rule.kind} needs one of the operators {', '.join(OPERATORS)}")
    operands = comparison.operands
    if len(operands) != (2 if comparison.operator in BETWEEN else 1) or list(operands) != sorted(operands):
        refuse(rule, "operands", f"{comparison.operator} needs one number, or for between two with the smaller first")
    if comparison.percent and not all(0 <= operand <= _HUNDRED for operand in operands):
        refuse(rule, "percent", "a percentage lies between 0 and 100")
    return OPERATORS[comparison.operator](*operands), comparison.percent


def _unit(*, percent: bool) -> Unit:
    return Unit.PERCENT if percent else Unit.ROWS


def _words(interval: Interval, noun: str, *, percent: bool) -> str:
    if interval == Interval(Decimal(0), Decimal(0)):
        return f"no {noun} rows" if noun != "duplicates" else "no duplicates"
    return f"{interval} {'%' if percent else 'rows'} {noun}"


def _all(parts: tuple[Predicate, ...]) -> Predicate:
    return parts[0] if len(parts) == 1 else All(parts)


_PARTS: dict[str, tuple[str, Callable[[Rule, Field, object], Predicate]]] = {
    "validValues": ("one of {}", lambda rule, field, value: one_of(rule, field, items(rule, value))),
    "pattern": ("matching {}", lambda rule, field, value: Matches(field.name, regex(rule, str(value)))),
    "minLength": (
        "at least {} characters",
        lambda rule, field, value: Length(field.name, low=whole_number(rule, value)),
    ),
    "maxLength": (
        "at most {} characters",
        lambda rule, field, value: Length(field.name, high=whole_number(rule, value)),
    ),
    "minimum": ("at least {}", lambda rule, field, value: within(rule, field, low=value)),
    "maximum": ("at most {}", lambda rule, field, value: within(rule, field, high=value)),
    "exclusiveMinimum": ("more than {}", lambda rule, field, value: within(rule, field, low=value, low_open=True)),
    "exclusiveMaximum": ("less than {}", lambda rule, field, value: within(rule, field, high=value, high_open=True)),
}
"""Each argument of `invalidValues` with its description and its predicate of a valid value."""
METRICS = ("nullValues", "missingValues", "invalidValues", "duplicateValues", "rowCount")

"""Expectations of Great Expectations about several columns of a row, and about the columns of the file."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.build import argument_of, brief, check, items, number, refuse, unique_rows
from lakegate.contracts.compile.rules.expected_numbers import interval
from lakegate.contracts.plan.check import NONE, Check, HeaderRequirement, Interval, Tier, Unit
from lakegate.contracts.plan.metrics import Metric
from lakegate.contracts.plan.predicate import All, Compare, Not, Present, Relation, Typed, any_present, together, where
from lakegate.contracts.words import limited

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.compile.rules.build import Arguments, Fields
    from lakegate.contracts.model.contract import Field, Rule
    from lakegate.contracts.plan.predicate import Predicate

IGNORED = {
    "both_values_are_missing": "all",
    "either_value_is_missing": "any",
    "neither": "none",
    "all_values_are_missing": "all",
    "any_value_is_missing": "any",
    "never": "none",
}
"""The values of `ignore_row_if`: rows with only nulls, rows with any null, or no rows are ignored."""


def greater(rule: Rule, fields: Fields, arguments: Arguments) -> Check:
    """The first value of a row is greater than the second (or equal to it)."""
    relation = Relation.AT_LEAST if arguments.get("or_equal") is True else Relation.GREATER
    words = f"{'at least' if relation is Relation.AT_LEAST else 'greater than'} {fields[1].name}"
    return _compared(rule, fields, arguments, compare(rule, fields[0], relation, fields[1]), words)


def equal(rule: Rule, fields: Fields, arguments: Arguments) -> Check:
    """The two values of a row are equal."""
    predicate = compare(rule, fields[0], Relation.EQUAL, fields[1])
    return _compared(rule, fields, arguments, predicate, f"equal to {fields[1].name}")


def compare(rule: Rule, first: Field, relation: Relation, second: Field) -> Compare:
    """The predicate of two fields, whose types must be comparable."""
    if first.type is not second.type and not (first.type.numeric and second.type.numeric):
        message = (
            f"{first.name} is a {first.type.value} and {second.name} a {second.type.value}: they cannot be compared"
        )
        refuse(rule, "not-comparable", message)
    return Compare(first.name, relation, second.name)


def _compared(rule: Rule, fields: Fields, arguments: Arguments, predicate: Compare, words: str) -> Check:
    """A row with a null fails, unless it is ignored."""
    given = _kept(rule, fields, arguments)
    there = tuple(Present(field.name) for field in fields)
    return _of_rows(rule, fields, All((*there, predicate)), given, words)


def unique_within_row(rule: Rule, fields: Fields, arguments: Arguments) -> Check:
    """No two values of a row are equal; nulls are equal to each other."""
    parts: list[Predicate] = []
    for first, second in combinations(fields, 2):
        parts.append(Not(compare(rule, first, Relation.EQUAL, second)))
        parts.append(any_present((first.name, second.name)))
    return _of_rows(rule, fields, All(tuple(parts)), _kept(rule, fields, arguments), "values that differ")


def unique_together(rule: Rule, fields: Fields, arguments: Arguments) -> Check:
    """No two rows share their key; nulls compare like values unless rows with any null are ignored."""
    if _ignored(rule, arguments) == "any":
        return replace(unique_rows(rule, fields), row_filter=_kept(rule, fields, arguments))
    typed = (where(Present(field.name), Typed(field.name)) for field in fields)
    given = together(_kept(rule, fields, arguments), *typed)
    return replace(unique_rows(rule, fields), row_filter=given, nulls_alike=True)


def _of_rows(rule: Rule, fields: Fields, predicate: Predicate, given: Predicate | None, words: str) -> Check:
    tier = Tier(NONE, where(given, predicate))
    return check(rule, fields, Metric.FAILING_ROWS, accept=tier, wanted=words, row_filter=given)


def _kept(rule: Rule, fields: Fields, arguments: Arguments) -> Predicate | None:
    """The predicate of the rows that are not ignored; None for all rows."""
    names = [field.name for field in fields]
    kept: dict[str, Callable[[], Predicate | None]] = {
        "all": lambda: any_present(names),
        "any": lambda: together(*map(Present, names)),
        "none": lambda: None,
    }
    return kept[_ignored(rule, arguments)]()


def _ignored(rule: Rule, arguments: Arguments) -> str:
    ignored = str(arguments.get("ignore_row_if") or "all_values_are_missing")
    if ignored not in IGNORED:
        refuse(rule, "not-allowed-argument", f"ignore_row_if is one of {', '.join(IGNORED)}")
    return IGNORED[ignored]


def column_exists(rule: Rule, _: Fields, arguments: Arguments) -> Check:
    """The file has a column of that name."""
    name = str(argument_of(rule, arguments, "column"))
    return of_header(rule, HeaderRequirement(required=(name,)), f"a column {brief(name)}")


def columns_in_order(rule: Rule, _: Fields, arguments: Arguments) -> Check:
    """The file has exactly these columns, in this order."""
    names = tuple(str(each) for each in items(rule, argument_of(rule, arguments, "column_list")))
    return of_header(
        rule,
        HeaderRequirement(names, closed=True, ordered=True),
        f"the columns {brief(', '.join(names))} in this order",
    )


def columns_in_set(rule: Rule, _: Fields, arguments: Arguments) -> Check:
    """The file has these columns, and (unless `exact_match` is false) no others."""
    names = tuple(str(each) for each in items(rule, argument_of(rule, arguments, "column_set")))
    closed = arguments.get("exact_match") is not False
    return of_header(rule, HeaderRequirement(names, closed=closed), f"the columns {brief(', '.join(names))}")


def column_count(rule: Rule, _: Fields, arguments: Arguments) -> Check:
    """The number of columns of the file is within bounds."""
    return _counted(rule, interval(rule, arguments))


def exact_column_count(rule: Rule, _: Fields, arguments: Arguments) -> Check:
    """The file has exactly `value` columns."""
    wanted = number(rule, argument_of(rule, arguments, "value"))
    return _counted(rule, Interval(wanted, wanted))


def _counted(rule: Rule, good: Interval) -> Check:
    return check(rule, (), Metric.COLUMN_COUNT, accept=Tier(good), wanted=limited(good, "column"), unit=Unit.VALUE)


def of_header(rule: Rule, header: HeaderRequirement, words: str) -> Check:
    """A check of the names of the columns."""
    found = check(rule, (), Metric.COLUMNS, accept=Tier(Interval(high=Decimal(0))), wanted=words, unit=Unit.VALUE)
    return replace(found, header=header)

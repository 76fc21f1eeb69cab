"""Table of Deequ's constraints (methods of its `Check`), their arguments, and their checks.

An assertion, which is a function of Scala or Python there, is a comparison in words here: `assertion: ">= 0.95"`.
https://github.com/awslabs/deequ/blob/master/src/main/scala/com/amazon/deequ/checks/Check.scala
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from lakegate.contract.contract_model import Field, Rule
from lakegate.plan.check import NONE, Check, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.predicates import All, Length, Matches, Present, any_present
from lakegate.rules import column_aggregates
from lakegate.rules.check_builder import (
    Technology,
    argument_of,
    brief,
    check,
    in_range,
    items,
    join_values,
    not_measured,
    one_of,
    refuse,
    refuse_nested,
    regex,
    rows,
    skip_check,
    unique_rows,
    whole_number,
    within,
)
from lakegate.rules.column_aggregates import interval

if TYPE_CHECKING:
    from lakegate.rules.check_builder import Arguments, Fields

    Compiled = Check | tuple[Check, ...]

_ASSERTION: Final = re.compile(r"\s*(==|=|>=|<=|>|<)\s*(-?[0-9]{1,30}(?:\.[0-9]{1,30})?)\s*")
ASSERTION: Final = "`assertion` is a comparison with a number, such as `>= 0.95`"


def bounds(rule: Rule, arguments: Arguments, *, default: str | None = None) -> Arguments:
    """The assertion as the bounds that aggregates take. `default`: that of Deequ, where there is one."""
    written = arguments.get("assertion") if arguments.get("assertion") is not None else default
    if written is None:
        refuse(rule, "no-argument", f"{ASSERTION}, and is missing")
    match = _ASSERTION.fullmatch(str(written))
    if match is None:
        refuse(rule, "operand", f"{ASSERTION}, not {brief(str(written))}")
    sign, number = match.groups()
    low = {"min_value": number, "strict_min": sign == ">"} if sign in {"==", "=", ">=", ">"} else {}
    high = {"max_value": number, "strict_max": sign == "<"} if sign in {"==", "=", "<=", "<"} else {}
    return {**low, **high}


def complete(rule: Rule, fields: Fields, _arguments: Arguments) -> Compiled:
    """Every value is present."""
    return tuple(rows(rule, field, Present(field.name), "values present") for field in fields)


def completeness(rule: Rule, fields: Fields, arguments: Arguments) -> Compiled:
    """The share of values that are present, of all rows."""
    good = interval(rule, bounds(rule, arguments, default="== 1"))
    words = f"a share of values present of {good}"
    tier = Tier(good, Present(fields[0].name))
    return check(rule, fields, Metric.FAILING_ROWS, accept=tier, wanted=words, unit=Unit.PART)


def complete_any(rule: Rule, fields: Fields, _arguments: Arguments) -> Compiled:
    """Every row has a value in one of the columns."""
    names = tuple(field.name for field in fields)
    tier = Tier(NONE, any_present(names))
    return check(rule, fields, Metric.FAILING_ROWS, accept=tier, wanted="a value in one of the columns")


def unique(rule: Rule, fields: Fields, _arguments: Arguments) -> Compiled:
    """No two rows share their values."""
    return unique_rows(rule, fields)


def primary_key(rule: Rule, fields: Fields, arguments: Arguments) -> Compiled:
    """Every value is present, and no two rows share their values."""
    found = complete(rule, fields, arguments)
    assert isinstance(found, tuple)
    return (
        *found,
        replace(unique_rows(rule, fields), id=f"{rule.id}:unique/{'+'.join(field.name for field in fields)}"),
    )


def by_bounds(
    compile_one: Callable[[Rule, Fields, Arguments], Compiled],
) -> Callable[[Rule, Fields, Arguments], Compiled]:
    """A constraint of an aggregate of the core, with the bounds of its assertion."""
    return lambda rule, fields, arguments: compile_one(rule, fields, bounds(rule, arguments))


def length(*, greatest: bool) -> Callable[[Rule, Fields, Arguments], Compiled]:
    """The length of the shortest or the longest text."""

    def compile_one(rule: Rule, fields: Fields, arguments: Arguments) -> Check:
        known = bounds(rule, arguments)
        end, other = ("max_value", "min_value") if greatest else ("min_value", "max_value")
        if other in known or known.get("strict_min") or known.get("strict_max"):
            sign = "<=" if greatest else ">="
            return skip_check(rule, fields, f"of lengths, only the assertion {sign} is measured by this version")
        limit = whole_number(rule, known[end])
        predicate = Length(fields[0].name, None if greatest else limit, limit if greatest else None)
        return rows(rule, fields[0], predicate, f"{'at most' if greatest else 'at least'} {limit} characters")

    return compile_one


def least_zero(*, is_open: bool) -> Callable[[Rule, Fields, Arguments], Compiled]:
    """No number is negative, or none is below or equal to 0."""
    return lambda rule, fields, _: in_range(rule, fields[0], within(rule, fields[0], low=0, low_open=is_open))


def contained_in(rule: Rule, fields: Fields, arguments: Arguments) -> Compiled:
    """Every value is one of a list, or between two bounds."""
    low, high = arguments.get("lowerBound"), arguments.get("upperBound")
    if low is not None or high is not None:
        opened = {
            "low_open": arguments.get("includeLowerBound") is False,
            "high_open": arguments.get("includeUpperBound") is False,
        }
        return in_range(rule, fields[0], within(rule, fields[0], low=low, high=high, **opened))
    predicate = one_of(rule, fields[0], items(rule, argument_of(rule, arguments, "allowedValues")))
    return rows(rule, fields[0], predicate, join_values(predicate.values))


def pattern(rule: Rule, fields: Fields, arguments: Arguments) -> Compiled:
    """A regular expression is found in the text of every row; a missing value has none."""
    written = str(argument_of(rule, arguments, "pattern"))
    predicate = All((Present(fields[0].name), Matches(fields[0].name, regex(rule, written))))
    return rows(rule, fields[0], predicate, f"matching {brief(written)}")


@dataclass(frozen=True, slots=True)
class DeequConstraint:
    """A constraint that is measured."""

    compile: Callable[[Rule, Fields, Arguments], Compiled]
    knows: frozenset[str] = frozenset()
    """Its arguments beside the column."""
    columns: str = "one"
    """`one`: a check for each column; `all`: of all columns together; `none`: of the dataset."""


_ASSERTS: Final = frozenset({"assertion"})
_BETWEEN: Final = frozenset({"lowerBound", "upperBound", "includeLowerBound", "includeUpperBound"})

CONSTRAINTS: Final = {
    "hasSize": DeequConstraint(by_bounds(column_aggregates.row_count), _ASSERTS, "none"),
    "isComplete": DeequConstraint(complete),
    "areComplete": DeequConstraint(complete),
    "areAnyComplete": DeequConstraint(complete_any, columns="all"),
    "hasCompleteness": DeequConstraint(completeness, _ASSERTS),
    "isUnique": DeequConstraint(unique),
    "isPrimaryKey": DeequConstraint(primary_key, columns="all"),
    "hasDistinctness": DeequConstraint(by_bounds(column_aggregates.distinct_share), _ASSERTS),
    "hasMin": DeequConstraint(by_bounds(column_aggregates.extreme(greatest=False)), _ASSERTS),
    "hasMax": DeequConstraint(by_bounds(column_aggregates.extreme(greatest=True)), _ASSERTS),
    "hasMean": DeequConstraint(by_bounds(column_aggregates.aggregate(Metric.MEAN, "mean")), _ASSERTS),
    "hasSum": DeequConstraint(by_bounds(column_aggregates.aggregate(Metric.SUM, "sum")), _ASSERTS),
    "hasMinLength": DeequConstraint(length(greatest=False), _ASSERTS),
    "hasMaxLength": DeequConstraint(length(greatest=True), _ASSERTS),
    "hasPattern": DeequConstraint(pattern, frozenset({"pattern"})),
    "isNonNegative": DeequConstraint(least_zero(is_open=False)),
    "isPositive": DeequConstraint(least_zero(is_open=True)),
    "isContainedIn": DeequConstraint(contained_in, _BETWEEN | {"allowedValues"}),
}
"""The constraints that are measured, by name. A standard deviation is that of a sample here, and of all rows there."""
_COLUMNS: Final = frozenset({"column", "columns"})
_SILENT: Final = frozenset({"hint"})
"""Arguments that do not affect the data."""


def deequ(rule: Rule, fields: tuple[Field, ...], call: str, arguments: Arguments) -> tuple[Check, ...]:
    """The checks of one constraint; one that is skipped by name, if it is not measured."""
    constraint = CONSTRAINTS.get(call)
    if constraint is None:
        return (skip_check(rule, fields, not_measured(f"the constraint {brief(call)} of Deequ", call, CONSTRAINTS)),)
    known = constraint.knows | _COLUMNS | _SILENT
    foreign = sorted(key for key, value in arguments.items() if value is not None and key not in known)
    if foreign:
        reason = not_measured(f"the argument {brief(foreign[0])} of {call}", foreign[0], sorted(known))
        return (skip_check(rule, fields, reason),)
    refuse_nested(rule, arguments, constraint.knows - {"allowedValues"})
    if constraint.columns == "none":
        groups: list[tuple[Field, ...]] = [()]
    elif not fields:
        refuse(rule, "no-column", f"{call} must name a column")
    else:
        groups = [fields] if constraint.columns == "all" else [(field,) for field in fields]
    compiled = [constraint.compile(rule, group, arguments) for group in groups]
    return tuple(found for entry in compiled for found in (entry if isinstance(entry, tuple) else (entry,)))


def subjects_of(_call: str, arguments: Arguments) -> tuple[str, ...]:
    """The columns of a call."""
    several = arguments.get("columns")
    names = several if isinstance(several, list | tuple) else [arguments.get("column")]
    return tuple(dict.fromkeys(str(name) for name in names if name is not None))


ENGINE = Technology(
    frozenset({"deequ", "pydeequ"}),
    deequ,
    subjects_of,
    optional=lambda _call, _arguments: (),
    conditions=(),
    is_sql=False,
)

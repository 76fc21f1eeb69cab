"""Checks of aggregates, value sets and columns, shared by technologies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from lakegate.contract.contract_model import Field, Rule
from lakegate.plan.check import Check, HeaderRequirement, Interval, Quantile, QuantileMethod, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.predicates import Not, Predicate, Present
from lakegate.rules.check_builder import (
    Checks,
    Fields,
    argument_of,
    brief,
    check,
    in_range,
    items,
    number,
    number_check,
    refuse,
    within,
)

if TYPE_CHECKING:
    from lakegate.rules.check_builder import Arguments


SOME = Interval(low=Decimal(1))
"""At least one row (or value)."""


def interval(rule: Rule, arguments: Arguments) -> Interval:
    """The interval from `min_value` to `max_value`, at least one of which is given."""
    low, high = (arguments.get(name) for name in ("min_value", "max_value"))
    if low is None and high is None:
        refuse(rule, "no-argument", "min_value or max_value must be given")
    return Interval(
        low=None if low is None else number(rule, low),
        high=None if high is None else number(rule, high),
        low_open=arguments.get("strict_min") is True,
        high_open=arguments.get("strict_max") is True,
    )


def row_count(rule: Rule, _: Fields, arguments: Arguments) -> Check:
    """The number of rows is within bounds."""
    return number_check(rule, Metric.ROW_COUNT, interval(rule, arguments), "row")


def exact_row_count(rule: Rule, _: Fields, arguments: Arguments) -> Check:
    """The dataset has exactly `value` rows."""
    wanted = number(rule, argument_of(rule, arguments, "value"))
    return number_check(rule, Metric.ROW_COUNT, Interval(wanted, wanted), "row")


def aggregate(metric: Metric, words: str) -> Callable[[Rule, Fields, Arguments], Check]:
    """An aggregate of all numbers is within bounds."""
    return lambda rule, fields, arguments: numeric(rule, fields[0], metric, interval(rule, arguments), words)


def numeric(rule: Rule, field: Field, metric: Metric, good: Interval, words: str) -> Check:
    """A check of an aggregate, whose field must be numeric."""
    if not field.type.numeric:
        refuse(rule, "not-numeric", f"{field.name} is a {field.type.value}: a {words} needs numbers")
    return check(rule, (field,), metric, accept=Tier(good), wanted=f"a {words} of {good}", unit=Unit.VALUE)


def median(rule: Rule, fields: Fields, arguments: Arguments) -> Check:
    """The median is within bounds."""
    found = numeric(rule, fields[0], Metric.QUANTILE, interval(rule, arguments), "median")
    return replace(found, quantile=Quantile(Decimal("0.5")))


def quantiles(rule: Rule, fields: Fields, arguments: Arguments) -> Checks:
    """Each quantile, by the nearest-rank method, is within its bounds."""
    quantile_ranges = argument_of(rule, arguments, "quantile_ranges")
    if not isinstance(quantile_ranges, Mapping):
        refuse(rule, "not-a-list", "quantile_ranges holds quantiles and value_ranges")
    shares = [number(rule, item) for item in items(rule, quantile_ranges.get("quantiles"))]
    ranges = [items(rule, item) for item in items(rule, quantile_ranges.get("value_ranges"))]
    if len(shares) != len(ranges):
        refuse(rule, "share", "each quantile has a range of its own")
    return tuple(_quantile(rule, fields[0], *each) for each in zip(shares, ranges, strict=True))


def _quantile(rule: Rule, field: Field, share: Decimal, ends: tuple[object, ...]) -> Check:
    if not 0 <= share <= 1 or len(ends) != len(("low", "high")):
        refuse(rule, "share", "a quantile is a share from 0 to 1, and its range has two ends, each a number or null")
    low, high = (None if end is None else number(rule, end) for end in ends)
    good = Interval(low, high)
    found = numeric(rule, field, Metric.QUANTILE, good, f"quantile {share:f}")
    return replace(found, quantile=Quantile(share, QuantileMethod.NEAREST), id=f"{rule.id}:{share:f}/{field.name}")


def extreme(*, greatest: bool) -> Callable[[Rule, Fields, Arguments], Checks]:
    """The minimum (or maximum) is within bounds: no row is beyond one bound, and some row reaches the other."""

    def compile_all(rule: Rule, fields: Fields, arguments: Arguments) -> Checks:
        low, high = (arguments.get(name) for name in ("min_value", "max_value"))
        opened = (arguments.get("strict_min") is True, arguments.get("strict_max") is True)
        return extremes(rule, fields[0], (low, high), opened, greatest=greatest)

    return compile_all


def extremes(
    rule: Rule, field: Field, ends: tuple[object, object], opened: tuple[bool, bool], *, greatest: bool
) -> Checks:
    """The checks that the minimum (or maximum) is between two bounds; one of them may be None."""
    (low, high), (low_open, high_open) = ends, opened
    if low is None and high is None:
        refuse(rule, "no-argument", "the least or greatest value needs a bound")
    below = None if low is None else within(rule, field, low=low, low_open=low_open)
    above = None if high is None else within(rule, field, high=high, high_open=high_open)
    outer, inner = (above, below) if greatest else (below, above)
    reached = inner if inner is not None else Present(field.name)
    words = "a value" if inner is None else f"a value of {in_range(rule, field, inner).wanted}"
    checks = [replace(some(rule, field, reached, words), id=f"{rule.id}:reached/{field.name}")]
    return (*([in_range(rule, field, outer)] if outer is not None else []), *checks)


def some(rule: Rule, field: Field, predicate: Predicate, words: str) -> Check:
    """A check that at least one row meets a predicate."""
    tier = Tier(SOME, Not(predicate))
    return check(rule, (field,), Metric.FAILING_ROWS, accept=tier, wanted=f"at least one row with {words}")


def distinct_share(rule: Rule, fields: Fields, arguments: Arguments) -> Check:
    """The share of distinct values among the values is within bounds."""
    good = interval(rule, arguments)
    return check(
        rule,
        fields,
        Metric.DISTINCT_SHARE,
        accept=Tier(good),
        wanted=f"a share of distinct values of {good}",
        unit=Unit.PART,
    )


def column_exists(rule: Rule, _: Fields, arguments: Arguments) -> Check:
    """The file has a column of that name."""
    name = str(argument_of(rule, arguments, "column"))
    return of_header(rule, HeaderRequirement(required=(name,)), f"a column {brief(name)}")


def columns_in_set(rule: Rule, _: Fields, arguments: Arguments) -> Check:
    """The file has these columns, and (unless `exact_match` is false) no others."""
    names = tuple(str(item) for item in items(rule, argument_of(rule, arguments, "column_set")))
    closed = arguments.get("exact_match") is not False
    return of_header(rule, HeaderRequirement(names, closed=closed), f"the columns {brief(', '.join(names))}")


def column_count(rule: Rule, _: Fields, arguments: Arguments) -> Check:
    """The number of columns of the file is within bounds."""
    return number_check(rule, Metric.COLUMN_COUNT, interval(rule, arguments), "column")


def of_header(rule: Rule, header: HeaderRequirement, words: str) -> Check:
    """A check of the names of the columns."""
    found = check(rule, (), Metric.COLUMNS, accept=Tier(Interval(high=Decimal(0))), wanted=words, unit=Unit.VALUE)
    return replace(found, header=header)

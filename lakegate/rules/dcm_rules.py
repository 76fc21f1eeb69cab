"""The rules of DCM (table A.3) with their two tolerances.

Inside `warn` passes, outside `warn` but inside `fail` warns, outside `fail` fails; only `warn` given never fails; only `fail`
given passes inside; neither given is no tolerance. `min` and `max` relax what each row must be, all others the good numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Context, Decimal

from lakegate.base.text import format_limit
from lakegate.contract.contract_model import Field, Rule, Severity
from lakegate.plan.check import NONE, Check, Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.predicates import Present, Within
from lakegate.rules.check_builder import (
    Fields,
    argument,
    check,
    items,
    join_values,
    number,
    one_of,
    refuse,
    rows,
    within,
)

_EXACT = Context(prec=1000)
"""Computes bounds without rounding, independent of the caller's context."""


def size(rule: Rule, fields: Fields) -> Check:
    """The number of rows is the parameter, within the tolerance; columns are ignored."""
    del fields
    wanted = number(rule, argument(rule, "parameter"))
    return _tolerant(rule, (), Metric.ROW_COUNT, _around(rule, wanted), format_limit(f"{wanted:f}", "row"))


def complete(rule: Rule, field: Field) -> Check:
    """At least the given share of the rows has a value."""
    share = number(rule, argument(rule, "parameter"))
    if not 0 <= share <= 1:
        refuse(rule, "share", "the parameter of complete is a share from 0 to 1")

    def tier(tolerance: Decimal | None) -> Tier:
        return Tier(Interval(low=_EXACT.subtract(share, tolerance or Decimal(0))), Present(field.name))

    percent = f"{_EXACT.multiply(share, Decimal(100)).normalize():f} %"
    words = "present" if share == 1 else f"at least {percent} present"
    return _tolerant(rule, (field,), Metric.FAILING_ROWS, tier, words, Unit.SHARE)


def distinct(rule: Rule, field: Field) -> Check:
    """The share of distinct values among the non-null values."""

    def tier(tolerance: Decimal | None) -> Tier:
        return Tier(Interval(low=_EXACT.subtract(Decimal(1), tolerance or Decimal(0))))

    return _tolerant(rule, (field,), Metric.DISTINCT_SHARE, tier, "all values distinct", Unit.SHARE)


def minimum(rule: Rule, field: Field) -> Check:
    """No value is below the parameter minus the tolerance."""
    return _bounded(rule, field, "at least", lambda low, slack: within(rule, field, low=_EXACT.subtract(low, slack)))


def maximum(rule: Rule, field: Field) -> Check:
    """No value is above the parameter plus the tolerance."""
    return _bounded(rule, field, "at most", lambda high, slack: within(rule, field, high=_EXACT.add(high, slack)))


def _bounded(rule: Rule, field: Field, words: str, relaxed: Callable[[Decimal, Decimal], Within]) -> Check:
    parameter = number(rule, argument(rule, "parameter"))

    def tier(tolerance: Decimal | None) -> Tier:
        return Tier(NONE, relaxed(parameter, _slack(rule, parameter, tolerance)))

    return _tolerant(rule, (field,), Metric.FAILING_ROWS, tier, f"{words} {parameter:f}", Unit.ROWS)


def mean(rule: Rule, field: Field) -> Check:
    """The arithmetic mean is the parameter, within the tolerance."""
    return _aggregate(rule, field, Metric.MEAN, "a mean of")


def deviation(rule: Rule, field: Field) -> Check:
    """The sample standard deviation is the parameter, within the tolerance."""
    return _aggregate(rule, field, Metric.DEVIATION, "a standard deviation of")


def _aggregate(rule: Rule, field: Field, metric: Metric, words: str) -> Check:
    wanted = number(rule, argument(rule, "parameter"))
    return _tolerant(rule, (field,), metric, _around(rule, wanted), f"{words} {wanted:f}")


def allowed_values(rule: Rule, field: Field) -> Check:
    """Every value is in the parameter's list; there is no tolerance."""
    predicate = one_of(rule, field, items(rule, argument(rule, "parameter")))
    return rows(rule, field, predicate, join_values(predicate.values))


def _around(rule: Rule, parameter: Decimal) -> Callable[[Decimal | None], Tier]:
    def tier(tolerance: Decimal | None) -> Tier:
        slack = _slack(rule, parameter, tolerance)
        return Tier(Interval(_EXACT.subtract(parameter, slack), _EXACT.add(parameter, slack)))

    return tier


def _slack(rule: Rule, parameter: Decimal, tolerance: Decimal | None) -> Decimal:
    if tolerance is not None and not parameter:
        refuse(
            rule,
            "tolerance-of-zero",
            "a relative tolerance on 0 is none: name another parameter, or drop the tolerance",
        )
    return _EXACT.multiply(abs(parameter), tolerance or Decimal(0))


def _tolerant(  # noqa: PLR0913, PLR0917 - a check has these parts
    rule: Rule,
    fields: Fields,
    metric: Metric,
    tier: Callable[[Decimal | None], Tier],
    wanted: str,
    unit: Unit = Unit.VALUE,
) -> Check:
    """The check with the thresholds that its tolerances set."""
    base = check(rule, fields, metric, accept=tier(None), wanted=wanted, unit=unit)
    warn, fail = rule.tolerance.warn, rule.tolerance.fail
    given = [each for each in (warn, fail) if each is not None]
    if any(each < 0 for each in given) or given != sorted(given):
        refuse(rule, "tolerance-order", "tolerances are numbers from 0, and warn is not above fail")
    if not given:
        return base
    words = " and ".join(f"{name} {each:f}" for name, each in (("warn", warn), ("fail", fail)) if each is not None)
    return replace(
        base,
        accept=tier(given[0]),
        tolerate=tier(fail) if warn is not None and fail is not None else None,
        worst=Severity.WARN if fail is None else base.worst,
        wanted=f"{base.wanted} (tolerance: {words})",
    )

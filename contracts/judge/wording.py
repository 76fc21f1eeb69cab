"""Measurements as text for tables and reasons, and as numbers for machines."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from lakegate.contracts.judge.numbers import number_of
from lakegate.contracts.plan.check import Metric, Unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.plan.check import Check
    from lakegate.contracts.plan.result import Measured

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


@dataclass(frozen=True, slots=True)
class ReportedNumbers:
    """A measurement for machines."""

    value: float | None
    """The number that is compared with the requirement; None if there was no value to measure, or if no double represents it."""
    unit: str
    """The unit of the number: `rows`, `percent`, `share`, `seconds`, …"""
    rows: int | None
    """Rows (or elements, or keys) that break the rule, if they are counted."""
    of: int
    """Rows (or elements, or keys) that were measured."""


def in_numbers(check: Check, found: Measured) -> ReportedNumbers:
    """The numbers of a measurement."""
    number = number_of(check, found)
    value = None if number is None else _plain(number)
    return ReportedNumbers(value, _unit(check), found.failing if check.metric.of_rows else None, found.of)


def _plain(number: Fraction) -> float | None:
    """The number for JSON: integers stay integers."""
    if number.denominator == 1:
        return number.numerator
    try:
        return float(number)
    except OverflowError:
        return None


def _unit(check: Check) -> str:
    if check.unit in _UNITS:
        return _UNITS[check.unit]
    if check.metric.is_duration:
        return "seconds"
    return _counted(check) if check.metric.of_rows else _UNITS_OF.get(check.metric, "value")


def measured(check: Check, found: Measured) -> str:
    """The number with its unit, for a sentence."""
    number = number_of(check, found)
    if number is None:
        return "no values to take it of"
    if found.exact is not None:
        return f"{found.exact:f}"
    if check.metric.floating:
        return f"{float(number):.6g}"
    if check.metric.is_duration:
        return lasting(number)
    if check.metric in _NOUNS:
        return _NOUNS[check.metric](int(number))
    return "0 values measured" if found.of == 0 else _COUNTS[check.metric](check, found)


def briefly(check: Check, found: Measured) -> str:
    """The same for a table: failing rows as a percentage only."""
    if check.metric is Metric.FAILING_ROWS and found.of:
        share = Fraction(found.failing or 0, found.of)
        return f"{percent(1 - share)} hold" if check.unit in {Unit.SHARE, Unit.PART} else f"{percent(share)} fail"
    return measured(check, found)


def percent(share: Fraction) -> str:
    """A share as text, never rounded into `0 %` or `100 %` when it is neither."""
    text = f"{float(share) * 100:.2f}".rstrip("0").rstrip(".")
    if text == "0" and share:
        return "< 0.01 %"
    return "> 99.99 %" if text == "100" and share < 1 else f"{text} %"


def lasting(seconds: Fraction) -> str:
    """A duration in the largest unit in which it is at least 2: `36 hours`, `3.5 days`."""
    units = ((_DAY, "days"), (_HOUR, "hours"), (_MINUTE, "minutes"))
    size, name = next((each for each in units if abs(seconds) >= 2 * each[0]), (1, "seconds"))
    return f"{float(seconds / size):.4g} {name}"


def _failing(check: Check, found: Measured) -> str:
    """If a check requires such rows, they do not fail."""
    failing = found.failing or 0
    low = check.accept.interval.low
    if check.unit is Unit.ROWS and low is not None and low > 0:
        return f"{failing:,} of {found.of:,} {_counted(check)}"
    return _share_of(found, f"{_counted(check)} fail")


def _share_of(found: Measured, words: str) -> str:
    failing = found.failing or 0
    return f"{failing:,} of {found.of:,} {words} ({percent(Fraction(failing, found.of))})"


def _counted(check: Check) -> str:
    return "elements" if check.of_elements else "rows"


_NOUNS: dict[Metric, Callable[[int], str]] = {
    Metric.ROW_COUNT: lambda number: f"{number:,} rows",
    Metric.COLUMN_COUNT: lambda number: f"{number:,} columns",
    Metric.COLUMNS: lambda number: f"{number:,} columns otherwise",
    Metric.DISTINCT_COUNT: lambda number: f"{number:,} distinct values",
    Metric.MOST_COMMON: lambda number: f"{number:,} such values",
}
"""Metrics that are defined without values."""
_COUNTS: dict[Metric, Callable[[Check, Measured], str]] = {
    Metric.FAILING_ROWS: _failing,
    Metric.DUPLICATE_ROWS: _failing,
    Metric.UNMATCHED_ROWS: lambda _, found: _share_of(found, "keys are found nowhere"),
    Metric.DUPLICATE_KEYS: lambda _, found: f"{found.failing or 0:,} values in more than one row",
    Metric.DISTINCT_SHARE: lambda _, found: f"{percent(1 - Fraction(found.failing or 0, found.of))} distinct",
}
_UNITS = {Unit.PERCENT: "percent", Unit.SHARE: "share", Unit.PART: "share"}
_UNITS_OF = {
    Metric.ROW_COUNT: "rows",
    Metric.COLUMN_COUNT: "columns",
    Metric.COLUMNS: "columns",
    Metric.DISTINCT_COUNT: "values",
    Metric.DUPLICATE_KEYS: "values",
    Metric.MOST_COMMON: "values",
    Metric.MEAN_LENGTH: "characters",
}

"""Measurements as text for tables and reasons, and as numbers for machines."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from lakegate.contracts.plan.check import Unit
from lakegate.contracts.plan.metrics import Metric
from lakegate.contracts.plan.numbers import number_of
from lakegate.contracts.words import counted, limited

if TYPE_CHECKING:
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
    return _counted(check) if check.metric.of_rows else check.metric.spec.unit


def measured(check: Check, found: Measured) -> str:
    """The number with its unit, for a sentence."""
    number, spec = number_of(check, found), check.metric.spec
    if number is None:
        return "no values to take it of"
    if found.exact is not None:
        return f"{found.exact:f}"
    if check.metric.floating:
        return f"{float(number):.6g}"
    if check.metric.is_duration:
        return lasting(number)
    if spec.noun:
        return counted(int(number), *spec.noun)
    metric = f" (its metric: {found.number:.6g})" if check.metric.is_external and found.number is not None else ""
    one, many = spec.text or _failing(check)
    return _counts(one if found.failing == 1 else many, found) + metric if found.of else "0 values measured"


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
    units = ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute"))
    size, name = next((each for each in units if abs(seconds) >= 2 * each[0]), (1, "second"))
    return limited(f"{float(seconds / size):.4g}", name)


def _failing(check: Check) -> tuple[str, str]:
    """The sentences of a count, of one row and of several; if a check requires such rows, they do not fail."""
    low = check.accept.interval.low
    counts = f"{{failing:,}} of {{counted_{_counted(check)}}}"
    if check.unit is Unit.ROWS and low is not None and low > 0:
        return counts, counts
    return f"{counts} fails ({{bad}})", f"{counts} fail ({{bad}})"


def _counts(text: str, found: Measured) -> str:
    """A sentence of `lakegate.contracts.plan.metrics` with the counts of a measurement."""
    bad = Fraction(found.failing or 0, found.of)
    return text.format(
        failing=found.failing or 0,
        of=found.of,
        counted_rows=counted(found.of, "row"),
        counted_elements=counted(found.of, "element"),
        counted_keys=counted(found.of, "key"),
        bad=percent(bad),
        good=percent(1 - bad),
    )


def _counted(check: Check) -> str:
    return "elements" if check.of_elements else "rows"


_UNITS = {Unit.PERCENT: "percent", Unit.SHARE: "share", Unit.PART: "share"}

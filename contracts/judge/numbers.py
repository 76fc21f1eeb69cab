"""Computes the number of a check from its measurement, and asks the thresholds of the check whether it is good."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from lakegate.contracts.plan.check import EPSILON, Unit
from lakegate.contracts.plan.metrics import Number

if TYPE_CHECKING:
    from lakegate.contracts.plan.check import Check, Tier
    from lakegate.contracts.plan.result import Measured


def tier_holds(check: Check, tier: Tier, found: Measured) -> bool:
    """Whether a measurement is good for a tier; False if there was no value to measure."""
    number = number_of(check, found)
    return number is not None and tier.interval.holds(number, EPSILON if check.metric.floating else Fraction(0))


def number_of(check: Check, found: Measured) -> Fraction | None:
    """The number that is compared with the interval; None if there was no value to measure."""
    kind = check.metric.spec.number
    if kind is Number.ANSWER:
        return None if found.exact is None else Fraction(found.exact)
    if kind in {Number.FLOATING, Number.SECONDS}:
        return Fraction(found.number) if found.number is not None and math.isfinite(found.number) else None
    if kind is Number.TOTAL:
        return Fraction(found.of)
    failing = Fraction(found.failing or 0)
    if kind is Number.REMAINING:
        return found.of - failing
    share = failing / found.of if found.of else Fraction(0)
    return {
        Unit.ROWS: failing,
        Unit.VALUE: failing,
        Unit.PERCENT: share * 100,
        Unit.SHARE: 1 - share,
        Unit.PART: 1 - share if found.of else Fraction(0),
    }[check.unit]

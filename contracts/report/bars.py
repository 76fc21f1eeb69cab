"""The share of failing rows of a check beside the share that it allows, as numbers that a bar shows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from lakegate.contracts.plan.check import Unit

if TYPE_CHECKING:
    from lakegate.contracts.judge.outcomes import CheckOutcome
    from lakegate.contracts.plan.check import Check


@dataclass(frozen=True, slots=True)
class Bar:
    """Shares of the rows that a check is taken over, in percent from 0 to 100."""

    failing: float
    allowed: float | None
    """The largest share with which the check passes; None where no share is the limit."""


def bar(check: Check, outcome: CheckOutcome) -> Bar | None:
    """The bar of a check that counts failing rows; None for every other check, and where nothing was measured."""
    numbers = outcome.numbers
    if numbers is None or numbers.rows is None or not numbers.of:
        return None
    return Bar(_percent(Fraction(numbers.rows, numbers.of)), _allowed(check, numbers.of))


def _allowed(check: Check, of: int) -> float | None:
    interval = check.accept.interval
    if interval.outside:
        return None
    if check.unit in {Unit.SHARE, Unit.PART}:
        return None if interval.low is None else _percent(1 - Fraction(interval.low))
    if interval.high is None:
        return None
    return _percent(Fraction(interval.high) / (100 if check.unit is Unit.PERCENT else of))


def _percent(share: Fraction) -> float:
    return round(float(min(max(share, Fraction(0)), Fraction(1)) * 100), 4)

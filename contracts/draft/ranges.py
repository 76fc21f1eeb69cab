"""Ranges with a margin: what is probably still right in the next delivery."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

MARGIN = Decimal("0.5")
"""The share of the spread that is added at each end."""
DIGITS = 2
"""Digits of a bound that are written; it is rounded outwards."""
YEARS_AHEAD = 10
LAST_YEAR = 9999
SMALLEST_WHOLE, LARGEST_WHOLE = -(2**63), 2**63 - 1


def bounds(low: Decimal, high: Decimal) -> tuple[Decimal, Decimal]:
    """Bounds around the numbers from `low` to `high`; what has one sign keeps it."""
    spread = high - low or abs(high) or Decimal(1)
    least = _rounded(low - MARGIN * spread, spread, ROUND_FLOOR)
    most = _rounded(high + MARGIN * spread, spread, ROUND_CEILING)
    return (max(least, Decimal(0)) if low >= 0 else least), (min(most, Decimal(0)) if high <= 0 and low < 0 else most)


def whole_bounds(low: int, high: int) -> tuple[int, int]:
    """The same of whole numbers, within 64 bits; 0 and 1 are marks, which have no margin."""
    if (low, high) == (0, 1):
        return low, high
    least, most = bounds(Decimal(low), Decimal(high))
    least, most = least.to_integral_value(ROUND_FLOOR), most.to_integral_value(ROUND_CEILING)
    return max(int(least), SMALLEST_WHOLE), min(int(most), LARGEST_WHOLE)


def first_day(low: str, high: str) -> str:
    """The first day of a year that lies before dates from `low` to `high`, by half of their spread and at least a year."""
    first, last = int(low[:4]), int(high[:4])
    return f"{max(1, first - max(1, (last - first) // 2)):04}-01-01"


def last_day(high: str) -> str:
    """The last day of a year that lies ten years after a date."""
    return f"{min(LAST_YEAR, int(high[:4]) + YEARS_AHEAD):04}-12-31"


def _rounded(number: Decimal, spread: Decimal, rounding: str) -> Decimal:
    """The number with so many digits as make two of the spread, rounded outwards."""
    step = Decimal(1).scaleb(spread.adjusted() - DIGITS + 1)
    return (number / step).to_integral_value(rounding) * step

"""The band of usual numbers by those of earlier deliveries: median and robust spread, by weekday or month where these differ.

Numbers are compared on a scale where their spread does not depend on their size: counts, durations and positive values by their
logarithm, shares by the arc sine of their root. The spread is the larger of the scaled median absolute deviation and the scaled
distance between the first and the last decile, so that a mode that one in five deliveries has belongs to what is usual. It has
a floor: what counts and shares of so many rows differ by anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Final, NamedTuple

FEWEST: Final = 14
"""Earlier numbers without which nothing is said."""
LAST: Final = 30
"""The last numbers that one is compared with."""
LAST_OF_SEASON: Final = 20
"""Those of the same weekday or month."""
FEWEST_OF_SEASON: Final = 4
"""Weeks, or years, in which the weekday or month has a number."""
CLEARLY_SMALLER: Final = 0.5
"""The spread within weekdays or months is at most this part of that of all numbers."""
WIDTH: Final = 4.0
"""Half of the band, in spreads."""
OF_FEW: Final = 2.0
"""By how much wider it is where few numbers are compared: by this part of one number."""
LEAST_SPREAD: Final = 0.03
"""Of counts, durations and values: this part of them."""
LEAST_SHARE: Final = 0.02
"""Of shares, as an angle: near 0 the band ends at one percent."""
OF_MEDIAN_DEVIATION: Final = 1.4826
OF_DECILES: Final = 0.3902
"""What makes a median absolute deviation, and a distance of deciles, the standard deviation of a normal distribution."""
SEEN_BEFORE: Final = 2
"""Compared numbers that were as far out on the same side: then it is usual."""
LARGEST_LOG: Final = 709.0
"""The exponential of more is no floating-point number."""
HOUR: Final = 3600.0
WEEKDAYS: Final = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
MONTHS: Final = (
    *("Januaries", "Februaries", "Marches", "Aprils", "Mays", "Junes"),
    *("Julys", "Augusts", "Septembers", "Octobers", "Novembers", "Decembers"),
)


class Past(NamedTuple):
    """The number of an earlier delivery."""

    at: datetime
    """When it landed; aware."""
    number: float


@dataclass(frozen=True, slots=True)
class Band:
    """The usual numbers, both ends included."""

    low: float
    high: float
    median: float
    deliveries: int
    """Those that were compared."""
    season: str
    """The weekday or month that they share, in the plural; empty: none."""


# ---- Scales ----


class Scale(Enum):
    """The kind of a number: how its spread depends on its size."""

    COUNT = "count"
    SHARE = "share"
    DURATION = "duration"
    """Seconds."""
    VALUE = "value"


class _Scaling(NamedTuple):
    """A number on a scale, and back."""

    to: Callable[[float], float]
    back: Callable[[float], float]
    least: float
    """The smallest spread."""


def _scalings(scale: Scale, numbers: Sequence[float], rows: float) -> tuple[_Scaling, ...]:
    """Those of a kind; of values that have one sign two, because those near 0 may change it. `rows`: of the delivery."""
    if scale is Scale.SHARE:
        return (_Scaling(_angle, _share, max(LEAST_SHARE, 0.5 / math.sqrt(max(rows, 1.0)))),)
    middle = quantile(sorted(numbers), 0.5)
    if scale is Scale.COUNT:
        return (_Scaling(_log_above, _above_of_log, max(LEAST_SPREAD, 1 / math.sqrt(middle + 1))),)
    if scale is Scale.DURATION and min(numbers) >= 0:
        return (_Scaling(_log_above, _above_of_log, LEAST_SPREAD),)
    plain = _Scaling(float, float, LEAST_SPREAD * quantile(sorted(map(abs, numbers)), 0.5))
    if min(numbers) > 0:
        return _Scaling(_log, _of_log, LEAST_SPREAD), plain
    if max(numbers) < 0:
        return _Scaling(lambda number: -_log(-number), lambda scaled: -_of_log(-scaled), LEAST_SPREAD), plain
    return (plain,)


def _log(number: float) -> float:
    return math.log(number) if number > 0 else -math.inf


def _of_log(scaled: float) -> float:
    return math.exp(min(scaled, LARGEST_LOG))


def _log_above(number: float) -> float:
    return _log(number + 1)


def _above_of_log(scaled: float) -> float:
    return _of_log(scaled) - 1


def _angle(share: float) -> float:
    return math.asin(math.sqrt(min(max(share, 0.0), 1.0)))


def _share(angle: float) -> float:
    return math.sin(min(max(angle, 0.0), math.pi / 2)) ** 2


# ---- The band ----


def unusual(scale: Scale, at: datetime, past: Sequence[Past], number: float, rows: float = 1.0) -> Band | None:
    """The band that the number of a delivery lies outside of; None: it is usual, or there is not history enough.

    `at`: when it landed. `past`: the newest first. `rows`: of the delivery. A number is usual, too, where some earlier ones were
    at least half as far outside. With two scales, the band has what is usual on one of them.
    """
    if len(past) < FEWEST:
        return None
    found: list[Band] = []
    for scaling in _scalings(scale, [each.number for each in past], rows):
        band = _unusual_on(scaling, scale, at.astimezone(UTC), past, number)
        if band is None:
            return None
        found.append(band)
    return replace(found[0], low=min(band.low for band in found), high=max(band.high for band in found))


def _unusual_on(scaling: _Scaling, scale: Scale, at: datetime, past: Sequence[Past], number: float) -> Band | None:
    compared = _compared([Past(each.at.astimezone(UTC), scaling.to(each.number)) for each in past], at)
    if compared is None:
        return None
    middle = quantile(sorted(each.number for each in compared.last), 0.5)
    half = WIDTH * (1 + OF_FEW / len(compared.last)) * max(compared.spread, scaling.least)
    low, high, median = (scaling.back(each) for each in (middle - half, middle + half, middle))
    if scale is Scale.DURATION:
        high = max(high, median + HOUR)
    if low <= number <= high:
        return None
    side = 1 if number > high else -1
    edge = middle + half * side
    far = (edge + scaling.to(number)) / 2
    if sum(each.number * side >= far * side for each in compared.every) >= SEEN_BEFORE:
        return None
    return Band(low, high, median, len(compared.last), compared.season)


class _Compared(NamedTuple):
    """Earlier numbers, scaled, that one is compared with."""

    last: Sequence[Past]
    every: Sequence[Past]
    spread: float
    season: str


def _compared(past: Sequence[Past], at: datetime) -> _Compared | None:
    """Those of the same weekday or month, where these clearly differ, else the last ones. None: that weekday has too few."""
    everything = spread_of([each.number for each in past])
    for key, cycle, words in ((_weekday, _week, WEEKDAYS), (_month, _year, MONTHS)):
        within = _spread_within(past, key, cycle)
        if within is None or within > CLEARLY_SMALLER * everything:
            continue
        same = [each for each in past if key(each.at) == key(at)]
        if len({cycle(each.at) for each in same}) < FEWEST_OF_SEASON:
            return None
        last = same[:LAST_OF_SEASON]
        return _Compared(last, same, max(within, spread_of([each.number for each in last])), words[key(at)])
    spread = spread_of([each.number for each in past[:LAST]])
    return _Compared(past[:LAST], past, spread, "")


def spread_of(numbers: Sequence[float]) -> float:
    """The robust standard deviation of numbers; at least one."""
    ordered = sorted(numbers)
    middle = quantile(ordered, 0.5)
    deviation = quantile(sorted(abs(number - middle) for number in ordered), 0.5)
    deciles = quantile(ordered, 0.9) - quantile(ordered, 0.1)
    return max(OF_MEDIAN_DEVIATION * deviation, OF_DECILES * deciles)


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which a share of sorted numbers lies, interpolated."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _spread_within(
    past: Iterable[Past], key: Callable[[datetime], int], cycle: Callable[[datetime], Hashable]
) -> float | None:
    """The spread of numbers around the median of their weekday or month; None where too few of these have been seen."""
    groups: dict[int, list[Past]] = {}
    for each in past:
        groups.setdefault(key(each.at), []).append(each)
    known = [group for group in groups.values() if len({cycle(each.at) for each in group}) >= FEWEST_OF_SEASON]
    rest: list[float] = []
    for group in known:
        middle = quantile(sorted(each.number for each in group), 0.5)
        rest += [each.number - middle for each in group]
    return spread_of(rest) if len(known) > 1 and len(rest) >= FEWEST else None


def _weekday(at: datetime) -> int:
    return at.weekday()


def _week(at: datetime) -> tuple[int, int]:
    return at.isocalendar()[:2]


def _month(at: datetime) -> int:
    return at.month - 1


def _year(at: datetime) -> int:
    return at.year

"""The order of requirements: whether one accepts less data than another.

A requirement is a compiled check, so that the same requirement in two document formats compares as equal. Good numbers are sets
on the line of numbers; predicates are compared by implication, which never claims more than holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction

from lakegate.contract.contract_model import Severity
from lakegate.contract.logical_types import number_of
from lakegate.plan.check import Check, Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.predicates import All, Length, MultipleOf, Not, OneOf, Predicate, Size, Within

End = tuple[Decimal, int]
"""An end of a segment: its number, and 1 or -1 if it is open."""
Segment = tuple[End, End]
Moment = Decimal | datetime | str
_HUNDRED, _ZERO = Decimal(100), Decimal(0)
_NO_ROW = Interval(_ZERO, _ZERO)
_INFINITY = Decimal("Infinity")
_DAY_ALONE = len("2026-01-01")


class Order(Enum):
    """The relation of what a new requirement accepts to what an old one does."""

    SAME = "same"
    STRICTER = "stricter"
    LOOSER = "looser"
    OTHER = "other"
    """Neither includes the other, or it cannot be decided."""


def order_of(stricter: bool, looser: bool) -> Order:  # noqa: FBT001 - two answers of the same question
    """The order by two implications: the new requirement implies the old one, and the old one the new."""
    if stricter:
        return Order.SAME if looser else Order.STRICTER
    return Order.LOOSER if looser else Order.OTHER


def both(first: Order, second: Order) -> Order:
    """The order of two requirements that hold together."""
    if Order.SAME in {first, second}:
        return second if first is Order.SAME else first
    return first if first is second else Order.OTHER


def rejecting(check: Check) -> Tier | None:
    """The threshold below which the check rejects; None if it only warns."""
    return None if check.worst is Severity.WARN else check.tolerate or check.accept


def rejection(old: Check, new: Check) -> Order:
    """The order of what two checks of the same measure reject."""
    before, after = rejecting(old), rejecting(new)
    if before is None or after is None:
        return order_of(stricter=before is None, looser=after is None)
    return _tiers(old, before, new, after)


def warning(old: Check, new: Check) -> Order:
    """The order of what two checks of the same measure warn about."""
    return _tiers(old, old.accept, new, new.accept)


def is_same_measure(old: Check, new: Check) -> bool:
    """Whether two checks measure the same, so that their thresholds can be compared."""
    return old.skip is None and new.skip is None and measure(old) == measure(new)


def measure(check: Check) -> tuple[object, ...]:
    """The measure of a check, without its thresholds and conditions."""
    fields = frozenset(check.fields) if check.metric is Metric.DUPLICATE_ROWS else check.fields
    unit = Unit.PERCENT if check.unit in {Unit.SHARE, Unit.ROWS} else check.unit
    parts = (check.of_elements, check.query, check.row_filter, check.nulls_alike, check.quantile, check.header)
    return (fields, check.metric, unit, *parts)


def _tiers(old: Check, before: Tier, new: Check, after: Tier) -> Order:
    (unit, was), (now_unit, now) = _in_percent(old, before), _in_percent(new, after)
    if unit is not now_unit:
        return Order.OTHER
    whole = unit is Unit.ROWS or old.metric is Metric.ROW_COUNT
    least = _ZERO if old.metric.of_rows or whole else -_INFINITY
    numbers = of_intervals(was, now, whole=whole, least=least)
    if before.predicate == after.predicate:
        return numbers
    if before.predicate is None or after.predicate is None:  # two checks of one rule, of which only one counts rows
        return Order.OTHER
    predicates = of_predicates(before.predicate, after.predicate)
    # whether fewer is always at least as good
    fewer_is_better = (
        all(not side.outside and (side.low is None or side.low <= 0) for side in (was, now))
        and old.metric is Metric.FAILING_ROWS
    )
    return both(numbers, predicates if fewer_is_better or predicates is Order.SAME else Order.OTHER)


def _in_percent(check: Check, tier: Tier) -> tuple[Unit, Interval]:
    """The good numbers as failing rows: a share of good rows becomes a percentage of failing ones, no percent no row."""
    unit, interval = check.unit, tier.interval
    if unit is Unit.SHARE and check.metric is Metric.FAILING_ROWS:
        low, high = interval.low, interval.high
        unit = Unit.PERCENT
        interval = replace(
            interval,
            low=None if high is None else (1 - high) * _HUNDRED,
            high=None if low is None else (1 - low) * _HUNDRED,
            low_open=interval.high_open,
            high_open=interval.low_open,
        )
    if unit in {Unit.PERCENT, Unit.ROWS} and _segments(interval, least=_ZERO) == _segments(_NO_ROW, least=_ZERO):
        return Unit.ROWS, _NO_ROW
    return unit, interval


def of_intervals(old: Interval, new: Interval, *, whole: bool = False, least: Decimal = -_INFINITY) -> Order:
    """The order of two sets of good numbers; `whole` if only whole numbers occur, none below `least`."""
    before, after = _segments(old, whole=whole, least=least), _segments(new, whole=whole, least=least)
    return order_of(stricter=_are_inside(after, before), looser=_are_inside(before, after))


def _segments(interval: Interval, *, whole: bool = False, least: Decimal = -_INFINITY) -> tuple[Segment, ...]:
    low = (-_INFINITY, 0) if interval.low is None else (interval.low, int(interval.low_open))
    high = (_INFINITY, 0) if interval.high is None else (interval.high, -int(interval.high_open))
    ends: tuple[Segment, ...] = ((low, high),)
    if interval.outside:
        ends = (((-_INFINITY, 0), (low[0], low[1] - 1)), ((high[0], high[1] + 1), (_INFINITY, 0)))
    clipped = _not_empty((max(start, (least, 0)), end) for start, end in ends)
    return (
        _merge_segments(tuple(_not_empty((_round_up(start), _round_down(end)) for start, end in clipped)))
        if whole
        else tuple(clipped)
    )


def _merge_segments(segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """Segments of whole numbers, joined if no number is between them."""
    if len(segments) > 1 and segments[0][1][0] + 1 == segments[1][0][0]:
        return ((segments[0][0], segments[1][1]),)
    return segments


def _not_empty(segments: Iterable[Segment]) -> Iterator[Segment]:
    return ((start, end) for start, end in segments if start <= end)


def _round_up(end: End) -> End:
    """The first whole number of a segment."""
    number, is_open = end
    return (Decimal(math.ceil(number)) + (1 if is_open and number == number.to_integral_value() else 0), 0)


def _round_down(end: End) -> End:
    """The last whole number of a segment."""
    number, is_open = end
    if not number.is_finite():
        return end
    return (Decimal(math.floor(number)) - (1 if is_open and number == number.to_integral_value() else 0), 0)


def _are_inside(inner: tuple[Segment, ...], outer: tuple[Segment, ...]) -> bool:
    return all(any(low <= start and end <= high for low, high in outer) for start, end in inner)


def of_predicates(old: Predicate, new: Predicate) -> Order:
    """The order of two conditions of good rows."""
    return order_of(stricter=implies(new, old), looser=implies(old, new))


def implies(first: Predicate, second: Predicate) -> bool:
    """Whether every row that meets the first condition is known to meet the second one."""
    conditions = tuple(_conditions(first))
    return all(any(_implies_alone(condition, wanted) for condition in conditions) for wanted in _conditions(second))


def _conditions(predicate: Predicate) -> Iterator[Predicate]:
    if isinstance(predicate, All):
        for entry in predicate.inner:
            yield from _conditions(entry)
    else:
        yield predicate


def _implies_alone(first: Predicate, second: Predicate) -> bool:
    match first, second:
        case OneOf(), OneOf() if first.field == second.field:
            return set(first.values) <= set(second.values)
        case Within(), Within() if first.field == second.field:
            return _is_bounded(first.low, second.low, first.low_open, second.low_open, sign=1) and _is_bounded(
                first.high, second.high, first.high_open, second.high_open, sign=-1
            )
        case Length() | Size(), Length() | Size() if first.field == second.field:
            return type(first) is type(second) and _is_counted_within(first, second)
        case MultipleOf(), MultipleOf() if first.field == second.field:
            return Fraction(first.factor) % Fraction(second.factor) == 0
        case Not(inner), Not(other):
            return implies(other, inner)
        case _:
            return first == second


def _is_counted_within(inner: Length | Size, outer: Length | Size) -> bool:
    low, high = (outer.low or 0), math.inf if outer.high is None else outer.high
    return low <= (inner.low or 0) and (math.inf if inner.high is None else inner.high) <= high


def _is_bounded(inner: str | None, outer: str | None, inner_open: bool, outer_open: bool, *, sign: int) -> bool:  # noqa: FBT001 - two ends
    """Whether the inner end is not beyond the outer one."""
    if outer is None or inner is None:
        return outer is None
    first, second = moment(inner), moment(outer)
    if first == second:
        return inner_open or not outer_open
    return type(first) is type(second) and (first > second) is (sign > 0)  # type: ignore[operator] # of one type


def moment(text: str) -> Moment:
    """A bound in plans as a value with an order: a number, a moment in UTC, else text (dates and times of day)."""
    number = number_of(text)
    if number is not None:
        return number
    if len(text) <= _DAY_ALONE or text[_DAY_ALONE] not in "T ":
        return text
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)

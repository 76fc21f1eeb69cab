"""A second implementation of `onReject: rows` (docs/data.md): which rows of a case are rejected, and by which checks.

It goes by the statuses that the case file names, and shares no code with the engines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from lakegate.plan.check import Check, Interval, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan
from lakegate.plan.predicates import All, Present
from tests.reference.lexical import parse
from tests.reference.truths import Record, holds

Rejections = dict[int, tuple[str, ...]]
"""By the place of a rejected row, from 0: the ids of the checks that it breaks, in the order of the plan."""


def rejections(
    plan: Plan, statuses: Sequence[str], header: Sequence[str], rows: Sequence[Sequence[str | None]]
) -> Rejections:
    """The rows that break a failed check of single rows; `statuses`: of each check of the plan."""
    records = [dict(zip(header, row, strict=True)) for row in rows]
    broken = {
        check.id: breaking_rows(plan, check, records)
        for check, status in zip(plan.checks, statuses, strict=True)
        if status == "fail" and is_about_rows(check, len(rows))
    }
    found = {row: tuple(check for check, own in broken.items() if row in own) for row in range(len(rows))}
    return {row: checks for row, checks in found.items() if checks}


def breaking_rows(plan: Plan, check: Check, records: Sequence[Record]) -> set[int]:
    """The rows that break a check by its last bound: what is only warned about is no reason to reject."""
    if check.metric is Metric.FAILING_ROWS:
        last = check.accept if check.tolerate is None else check.tolerate
        assert last.predicate is not None
        return {row for row, each in enumerate(records) if not holds(plan, last.predicate, each)}
    fields = [plan.field(name) for name in check.fields]
    keys = [tuple(parse(at.type, each[at.name], at.scale) for at in fields) for each in records]
    counts = Counter(key for key in keys if None not in key)
    return {row for row, key in enumerate(keys) if counts[key] > 1}


def is_about_rows(check: Check, rows: int) -> bool:
    """Whether a check counts bad rows of which it allows so many at most, so that the file is good without them."""
    plain = (
        check.row_filter in {None, Present(check.fields[0]), All(tuple(map(Present, check.fields)))}
        if check.fields
        else False
    )
    if check.metric is not Metric.FAILING_ROWS and not (
        check.metric is Metric.DUPLICATE_ROWS and plain and not check.nulls_alike
    ):
        return False
    interval = (check.accept if check.tolerate is None else check.tolerate).interval
    good = [_is_within(interval, _number(check.unit, failing, max(rows, 1))) for failing in range(max(rows, 1) + 1)]
    return good[0] and good == sorted(good, reverse=True)


def _number(unit: Unit, failing: int, of: int) -> Fraction:
    share = Fraction(failing, of)
    return {Unit.PERCENT: share * 100, Unit.SHARE: 1 - share, Unit.PART: 1 - share}.get(unit, Fraction(failing))


def _is_within(interval: Interval, number: Fraction) -> bool:
    low, high = interval.low, interval.high
    above = low is None or (number > Fraction(low) if interval.low_open else number >= Fraction(low))
    below = high is None or (number < Fraction(high) if interval.high_open else number <= Fraction(high))
    return (above and below) is not interval.outside

"""A second implementation of the engine: plans measured on rows of text in plain Python, with exact arithmetic.

It knows nothing of Spark and shares no code with the job: where the two differ on a case, one of them is wrong.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from lakegate.contract.logical_types import LogicalType
from lakegate.plan.check import Check, QuantileMethod, QueryRelation, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan
from lakegate.plan.predicates import OneOf, Within
from lakegate.plan.result import Columns, Measured, Measurement, ObservedValues, Result
from tests.reference.lexical import DAY_SECONDS, days, parse
from tests.reference.queries import answer
from tests.reference.truths import Record, holds, truth

JUDGED_AT = "2026-01-02T03:04:05+00:00"
"""The judging time of every case, here and before the real job."""
_JUDGED = parse(LogicalType.TIMESTAMP, JUDGED_AT)


def measure(plan: Plan, header: Sequence[str], rows: Sequence[Sequence[str | None]]) -> Result:
    """The result of the job for records of text under a header."""
    records = [dict(zip(header, row, strict=True)) for row in rows]
    declared = [field.name for field in plan.fields]
    absent = tuple(name for name in declared if name not in header)
    measurable = [check for check in plan.checks if check.needs_rows and not check.reads & set(absent)]
    return Result(
        workload="reference",
        attempt=1,
        plan_digest=plan.digest,
        source_version="reference",
        rows=len(records),
        columns=Columns(
            tuple(header),
            absent,
            tuple(name for name in header if name not in declared),
            [name for name in declared if name in header] != [name for name in header if name in declared],
        ),
        measurements=tuple(_measurement(plan, check, records) for check in measurable),
    )


def _measurement(plan: Plan, check: Check, records: list[Record]) -> Measurement:
    tiers = [check.accept, *([check.tolerate] if check.tolerate else [])]
    measured = (_METRICS[check.metric](plan, check, tier, records) for tier in tiers)
    return Measurement(check.id, *measured, observed=_observed(plan, check, records))


def _observed(plan: Plan, check: Check, records: list[Record]) -> ObservedValues | None:
    """The extremes of numbers with bounds, or which of at most 62 allowed values occur; nothing of classified fields."""
    it = check.accept.predicate
    if check.kind not in {"min", "max", "allowedValues"} or not isinstance(it, OneOf | Within):
        return None
    field = plan.field(it.field)
    read = (plan.field(name) for name in check.reads)
    found = [parse(field.type, each[field.name], field.scale) for each in _given(plan, check, records)]
    there = [each for each in found if each is not None]
    if not there or any(each.classification is not None and not each.public for each in read):
        return None
    if isinstance(it, Within):
        is_number = field.type in {LogicalType.INTEGER, LogicalType.NUMBER, LogicalType.DECIMAL}
        return ObservedValues(float(min(there)), float(max(there))) if is_number else None
    listed = [parse(field.type, each, field.scale) for each in it.values]
    first = {listed.index(each) for each in there if each in listed}
    return (
        ObservedValues(values=tuple(each for at, each in enumerate(it.values) if at in first))
        if len(listed) <= 62
        else None
    )


# --- metrics


def _row_count(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    return Measured(of=len(_given(plan, check, records)))


def _failing_rows(plan: Plan, check: Check, tier: Tier, records: list[Record]) -> Measured:
    assert tier.predicate is not None
    given = _given(plan, check, records)
    return Measured(len(given), failing=sum(not holds(plan, tier.predicate, each) for each in records))


def _duplicate_rows(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    return _of_keys(plan, check, records, lambda counts: sum(count for count in counts if count > 1))


def _duplicate_keys(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    return _of_keys(plan, check, records, lambda counts: sum(count > 1 for count in counts))


def _of_keys(plan: Plan, check: Check, records: list[Record], failing: Callable[[list[int]], int]) -> Measured:
    keys = _keys(plan, check, records)
    of = len(keys) if check.row_filter is not None or not keys else len(records)
    return Measured(of, failing=failing(list(Counter(keys).values())))


def _distinct(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    keys = _keys(plan, check, records)
    return Measured(len(keys), failing=len(keys) - len(set(keys)))


def _most_common(plan: Plan, check: Check, tier: Tier, records: list[Record]) -> Measured:
    keys = _keys(plan, check, records)
    meant = {
        key: tier.predicate is None or holds(plan, tier.predicate, each)
        for each in records
        for key in _keys(plan, check, [each])
    }
    counts = Counter(keys)
    most = [key for key, count in counts.items() if count == max(counts.values())]
    return Measured(len(keys), failing=len(keys) - sum(meant[key] for key in most))


def _given(plan: Plan, check: Check, records: list[Record]) -> list[Record]:
    return [each for each in records if check.row_filter is None or truth(plan, check.row_filter, each) is True]


def _keys(plan: Plan, check: Check, records: list[Record]) -> list[tuple[Any, ...]]:
    fields = [plan.field(name) for name in check.fields]
    keys = [tuple(parse(at.type, each[at.name], at.scale) for at in fields) for each in _given(plan, check, records)]
    return keys if check.nulls_alike else [key for key in keys if None not in key]


def _numbers(plan: Plan, check: Check, records: list[Record]) -> list[Fraction]:
    return [Fraction(key[0]) for key in _keys(plan, check, records)]


def _mean(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    return _average(_numbers(plan, check, records))


def _mean_length(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    texts = [each[check.fields[0]] for each in _given(plan, check, records)]
    return _average([Fraction(len(text)) for text in texts if text is not None])


def _average(numbers: list[Fraction]) -> Measured:
    return Measured(len(numbers), number=float(sum(numbers) / len(numbers)) if numbers else None)


def _sum(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    numbers = _numbers(plan, check, records)
    return Measured(len(numbers), number=float(sum(numbers)) if numbers else None)


def _deviation(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    numbers = _numbers(plan, check, records)
    if len(numbers) < 2:
        return Measured(len(numbers))
    mean = sum(numbers) / len(numbers)
    squares = sum((each - mean) ** 2 for each in numbers)
    return Measured(len(numbers), number=math.sqrt(squares / (len(numbers) - 1)))


def _answer(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    found = answer(plan, check, records)
    return Measured(
        of=1, exact=None if found is None else Decimal(format(found, ".12g") if isinstance(found, float) else found)
    )


def _quantile(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    """Between the two values around the place, in proportion to its distance from them."""
    numbers = sorted(_numbers(plan, check, records))
    if not numbers:
        return Measured(0)
    assert check.quantile is not None
    place = Fraction(check.quantile.share) * (len(numbers) - 1)
    if check.quantile.place is QuantileMethod.NEAREST:
        place = Fraction(round(place))
    if check.quantile.place is QuantileMethod.REACHED:
        at_least = Fraction(check.quantile.share) * len(numbers)
        place = Fraction(next(at for at in range(len(numbers)) if at + 1 >= at_least))
    low = math.floor(place)
    high = min(low + 1, len(numbers) - 1)
    return Measured(len(numbers), number=float(numbers[low] + (numbers[high] - numbers[low]) * (place - low)))


def _youngest(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    return _seconds(plan, check, records, lambda moments: _JUDGED - max(each[0] for each in moments))


def _oldest(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    return _seconds(plan, check, records, lambda moments: _JUDGED - min(each[0] for each in moments))


def _delay(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    return _seconds(plan, check, records, lambda moments: max(second - first for first, second in moments))


def _seconds(plan: Plan, check: Check, records: list[Record], found: Callable[[list[Any]], int]) -> Measured:
    moments = [tuple(map(_microseconds, key)) for key in _keys(plan, check, records)]
    return Measured(len(moments), number=found(moments) / 10**6 if moments else None)


def _microseconds(value: Any) -> int:
    """A moment as it is; a day as its midnight in UTC."""
    return value if isinstance(value, int) else days(value) * DAY_SECONDS * 10**6


def _unmatched_rows(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    """Of a dataset that refers to itself: what was accepted before is given to no case. A percentage is one of all rows."""
    assert check.query is not None
    own, target = (_keys(plan, replace(check, fields=_names(each)), records) for each in check.query.relations)
    known = {tuple(map(_number, key)) for key in target}
    of = len(records) if check.unit is Unit.PERCENT else len(own)
    return Measured(of, failing=sum(tuple(map(_number, key)) not in known for key in own))


def _names(relation: QueryRelation) -> tuple[str, ...]:
    return tuple(column.field for column in relation.columns)


def _number(value: object) -> object:
    return Fraction(value) if isinstance(value, int | Decimal) else value


_METRICS: dict[Metric, Callable[[Plan, Check, Tier, list[Record]], Measured]] = {
    Metric.ROW_COUNT: _row_count,
    Metric.FAILING_ROWS: _failing_rows,
    Metric.DUPLICATE_ROWS: _duplicate_rows,
    Metric.DUPLICATE_KEYS: _duplicate_keys,
    Metric.DISTINCT_COUNT: _distinct,
    Metric.DISTINCT_SHARE: _distinct,
    Metric.MOST_COMMON: _most_common,
    Metric.MEAN: _mean,
    Metric.SUM: _sum,
    Metric.DEVIATION: _deviation,
    Metric.ANSWER: _answer,
    Metric.QUANTILE: _quantile,
    Metric.MEAN_LENGTH: _mean_length,
    Metric.YOUNGEST: _youngest,
    Metric.OLDEST: _oldest,
    Metric.DELAY: _delay,
    Metric.UNMATCHED_ROWS: _unmatched_rows,
}

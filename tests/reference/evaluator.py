"""A second implementation of the engine: plans measured on rows of text in plain Python, with exact arithmetic.

It knows nothing of Spark and shares no code with the job: where the two differ on a case, one of them is wrong.
"""

from __future__ import annotations

import math
import operator
import re
from calendar import monthrange
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from contracts.check import Check, Metric, Place, Tier
from contracts.predicate import (
    All,
    Compare,
    Length,
    Matches,
    MultipleOf,
    Not,
    OneOf,
    Predicate,
    Present,
    Relation,
    Typed,
    Within,
)
from contracts.result import Columns, Measured, Measurement, Result
from contracts.types import LogicalType
from tests.reference.asked import answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from contracts.plan import Plan
    from contracts.query import Relation as Asked

Record = dict[str, str | None]
_NUMBER = re.compile(r"(?=[^eE]{1,200}(?:[eE]|\Z))[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,2})?")
_DECIMAL = re.compile(r"[-+]?([0-9]{1,20}(\.[0-9]{0,18})?|\.[0-9]{1,18})")
_CLOCK = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?", re.ASCII)
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ]([0-9:.]+)(Z|([-+])(\d\d):(\d\d))?", re.ASCII)
_DAY_SECONDS = 86400
JUDGED_AT = "2026-01-02T03:04:05+00:00"
"""The judging time of every case, here and before the real job."""


def measure(plan: Plan, header: Sequence[str], rows: Sequence[Sequence[str | None]]) -> Result:
    """What the job would answer for records of text under a header."""
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


def holds(plan: Plan, predicate: Predicate, record: Record) -> bool:
    """Whether a row meets a predicate; what says nothing about the row does not break it."""
    return _truth(plan, predicate, record) is not False


def _measurement(plan: Plan, check: Check, records: list[Record]) -> Measurement:
    tiers = [check.accept, *([check.tolerate] if check.tolerate else [])]
    return Measurement(check.id, *(_METRICS[check.metric](plan, check, tier, records) for tier in tiers))


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
    of = len(keys) if check.given is not None or not keys else len(records)
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
    return [each for each in records if check.given is None or _truth(plan, check.given, each) is True]


def _keys(plan: Plan, check: Check, records: list[Record]) -> list[tuple[Any, ...]]:
    types = [(name, plan.field(name).type) for name in check.fields]
    keys = [tuple(parse(logical, each[name]) for name, logical in types) for each in _given(plan, check, records)]
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
    if check.quantile.place is Place.NEAREST:
        place = Fraction(round(place))
    if check.quantile.place is Place.REACHED:
        at_least = Fraction(check.quantile.share) * len(numbers)
        place = Fraction(next(at for at in range(len(numbers)) if at + 1 >= at_least))
    low = math.floor(place)
    high = min(low + 1, len(numbers) - 1)
    return Measured(len(numbers), number=float(numbers[low] + (numbers[high] - numbers[low]) * (place - low)))


def _youngest(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    return _seconds(plan, check, records, lambda moments: _timestamp(JUDGED_AT) - max(each[0] for each in moments))


def _oldest(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    return _seconds(plan, check, records, lambda moments: _timestamp(JUDGED_AT) - min(each[0] for each in moments))


def _delay(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    return _seconds(plan, check, records, lambda moments: max(second - first for first, second in moments))


def _seconds(plan: Plan, check: Check, records: list[Record], found: Callable[[list[Any]], int]) -> Measured:
    moments = [tuple(map(_microseconds, key)) for key in _keys(plan, check, records)]
    return Measured(len(moments), number=found(moments) / 10**6 if moments else None)


def _microseconds(value: Any) -> int:
    """A moment as it is; a day as its midnight in UTC."""
    return value if isinstance(value, int) else _days(value) * _DAY_SECONDS * 10**6


def _unmatched_rows(plan: Plan, check: Check, _tier: Tier, records: list[Record]) -> Measured:
    """Of a dataset that refers to itself: what was accepted before is given to no case."""
    assert check.query is not None
    own, target = (_keys(plan, replace(check, fields=_names(each)), records) for each in check.query.relations)
    known = {tuple(map(_number, key)) for key in target}
    return Measured(len(own), failing=sum(tuple(map(_number, key)) not in known for key in own))


def _names(relation: Asked) -> tuple[str, ...]:
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


# --- predicates: True, False, or None where the row gives the predicate nothing to judge


def _truth(plan: Plan, predicate: Predicate, record: Record) -> bool | None:
    match predicate:
        case Not(inner):
            truth = _truth(plan, inner, record)
            return None if truth is None else not truth
        case All(inner):
            truths = [_truth(plan, each, record) for each in inner]
            return False if False in truths else None if None in truths else True
        case Present(name):
            return record[name] is not None
        case Compare(name, relation, other):
            first, second = (parse(plan.field(each).type, record[each]) for each in (name, other))
            return None if first is None or second is None else _RELATIONS[relation](*_alike(first, second))
    text, logical = record[predicate.field], plan.field(predicate.field).type
    return None if text is None else _leaf(predicate, logical, text)


def _alike(first: Any, second: Any) -> tuple[Any, Any]:
    """Two values to compare: as floats where one of them is a float."""
    return (float(first), float(second)) if float in {type(first), type(second)} else (first, second)


_RELATIONS: dict[Relation, Callable[[Any, Any], bool]] = {
    Relation.EQUAL: operator.eq,
    Relation.GREATER: operator.gt,
    Relation.AT_LEAST: operator.ge,
}


def _leaf(predicate: Predicate, logical: LogicalType, text: str) -> bool | None:
    value = parse(logical, text)
    match predicate:
        case Length(_, low, high):
            return (low is None or len(text) >= low) and (high is None or len(text) <= high)
        case Matches(_, pattern):
            return re.search(pattern.replace(r"\z", r"\Z"), text, re.ASCII) is not None
        case Typed():
            return value is not None
    return None if value is None else _value(predicate, logical, value)


def _value(predicate: Predicate, logical: LogicalType, value: Any) -> bool | None:
    match predicate:
        case OneOf(_, values):
            return value in [_constant(logical, each) for each in values]
        case Within(_, low, high, low_open, high_open):
            return _above(logical, value, low, is_open=low_open) and _below(logical, value, high, is_open=high_open)
        case MultipleOf(_, factor):
            return _is_multiple(value, Fraction(factor))
    raise AssertionError(predicate)


def _is_multiple(value: float | Decimal, factor: Fraction) -> bool | None:
    """Floats are read as written, to 18 digits after the point; past 20 digits before it there is nothing to judge."""
    if isinstance(value, float) and abs(value) >= 10**20:
        return None
    number = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    return (number if number % Fraction(1, 10**18) == 0 else _rounded(number)) % factor == 0


def _rounded(number: Fraction) -> Fraction:
    """To 18 digits after the point, halves away from zero."""
    scaled = abs(number) * 10**18
    return Fraction(math.floor(scaled + Fraction(1, 2)), 10**18) * (1 if number > 0 else -1)


def _above(logical: LogicalType, value: Any, bound: str | None, *, is_open: bool) -> bool:
    low = None if bound is None else _constant(logical, bound)
    return low is None or value > low or (value == low and not is_open)


def _below(logical: LogicalType, value: Any, bound: str | None, *, is_open: bool) -> bool:
    high = None if bound is None else _constant(logical, bound)
    return high is None or value < high or (value == high and not is_open)


def _constant(logical: LogicalType, text: str) -> Any:
    """A value of the contract: whole numbers may be bounded by fractions, all else is of the field's type."""
    return Decimal(text) if logical is LogicalType.INTEGER else parse(logical, text)


# --- types


def parse(logical: LogicalType, text: str | None) -> Any:
    """The value that a text writes, comparable with others of its type; None where it writes none."""
    return None if text is None else _PARSERS[logical](text)


def _integer(text: str) -> int | None:
    number = int(text) if re.fullmatch(r"[-+]?[0-9]+", text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _float(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _decimal(text: str) -> Decimal | None:
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


def _boolean(text: str) -> bool | None:
    return (
        {"true": True, "false": False}.get(text.lower()) if text in {text.lower(), text.upper(), text.title()} else None
    )


def _date(text: str) -> tuple[int, int, int] | None:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return None
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:])
    is_day = 1 <= month <= 12 and 1 <= day <= monthrange(year or 2000, month)[1]
    return (year, month, day) if is_day else None


def _time(text: str) -> Fraction | None:
    """Seconds since midnight."""
    found = _CLOCK.fullmatch(text)
    if not found:
        return None
    hour, minute, second = (int(found[each] or 0) for each in (1, 2, 3))
    if hour > 23 or minute > 59 or second > 59:
        return None
    return hour * 3600 + minute * 60 + second + Fraction(f"0.{found[4] or 0}")


def _timestamp(text: str) -> int | None:
    """Microseconds since 1970, the precision of the engine; finer digits are cut off."""
    found = _MOMENT.fullmatch(text)
    day, clock = (_date(found[1]), _time(found[2])) if found else (None, None)
    if found is None or day is None or clock is None:
        return None
    hours, minutes = int(found[5] or 0), int(found[6] or 0)
    offset = (hours * 60 + minutes) * (-60 if found[4] == "-" else 60)
    has_seconds = found[2].count(":") == 2
    if minutes > 59 or abs(offset) > 18 * 3600 or (found[3] and not has_seconds):
        return None
    return (_days(day) * _DAY_SECONDS - offset) * 10**6 + math.floor(clock * 10**6)


def _days(day: tuple[int, int, int]) -> int:
    """Days since 1970; the year 0 is 400 years before the year 400."""
    year, month, number = day
    shift = 400 if year == 0 else 0
    moment = datetime(year + shift, month, number, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return moment // timedelta(days=1) - (146097 if shift else 0)


_PARSERS: dict[LogicalType, Callable[[str], Any]] = {
    LogicalType.STRING: lambda text: text,
    LogicalType.INTEGER: _integer,
    LogicalType.NUMBER: _float,
    LogicalType.DECIMAL: _decimal,
    LogicalType.BOOLEAN: _boolean,
    LogicalType.DATE: _date,
    LogicalType.TIME: _time,
    LogicalType.TIMESTAMP: _timestamp,
}

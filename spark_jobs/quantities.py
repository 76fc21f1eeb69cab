"""What aggregates are taken of: a column of numbers for each set of checks that takes the same ones, null where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.check import Metric
from contracts.types import GRAMMARS, Cast
from spark_jobs.frame import base_of, length_name
from spark_jobs.typed import value_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import Column

    from contracts.check import Check
    from contracts.plan import Plan, PlanField
    from spark_jobs.frame import Narrow

MICROSECONDS = 10**6
_START = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_TOLD = (datetime.min.replace(tzinfo=UTC) - _START) // timedelta(microseconds=1)
"""The first moment that Python can tell: the year 0 has none."""
_AGES = {Metric.YOUNGEST, Metric.OLDEST}
_EXACT = {Metric.MEAN, Metric.SUM}
"""Sums of whole numbers are kept exact: 64 bits would overflow, floats would depend on the order of the rows."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The columns to add to the frame, and the one of each check by its id."""

    columns: dict[str, Column]
    names: dict[str, str]


def moment(judged_at: str) -> int:
    """The judging time in microseconds since 1970."""
    at = datetime.fromisoformat(judged_at)
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _START) // timedelta(microseconds=1)


def numbers_of(plan: Plan, narrowed: Narrow, checks: Iterable[Check], judged: int) -> Numbers:
    """The columns of numbers that the checks take."""
    names: dict[object, str] = {}
    columns: dict[str, Column] = {}
    of_checks = {}
    for check in checks:
        if check.metric not in _QUANTITIES:
            continue
        base = base_of(check)
        assert base is not None
        key = (_QUANTITIES[check.metric], check.metric in _EXACT, check.fields, base)
        name = names.setdefault(key, f"n{len(names)}")
        columns[name] = F.when(narrowed.bases[base], _QUANTITIES[check.metric](check, plan, judged))
        of_checks[check.id] = name
    return Numbers(columns, of_checks)


def event_time(plan: Plan, narrowed: Narrow, checks: Iterable[Check]) -> tuple[str, str] | None:
    """The earliest and the latest moment of the field by which the first of the checks tells the age of rows.

    None where no check does, where no row has one, or where the field is classified and not public: they are values of the data.
    """
    aged = next((check for check in checks if check.metric in _AGES), None)
    base = base_of(aged) if aged else None
    if aged is None or base is None or not _may_show(plan.field(aged.fields[0])):
        return None
    micros = _micros(plan, aged.fields[0])
    row = narrowed.judged.where(narrowed.bases[base]).agg(F.min(micros).alias("first"), F.max(micros).alias("last"))
    first, last = row.collect()[0]
    return None if first is None or first < _FIRST_TOLD else (_told(first), _told(last))


def _may_show(field: PlanField) -> bool:
    return field.classification is None or field.public


def _told(micros: int) -> str:
    return f"{(_START + timedelta(microseconds=micros)).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def _value(check: Check, plan: Plan, _: int) -> Column:
    field = plan.field(check.fields[0])
    is_whole = GRAMMARS[field.type].cast is Cast.LONG and check.metric in _EXACT
    return F.col(value_name(field.alias)).cast("decimal(19,0)" if is_whole else "double")


def _length(check: Check, plan: Plan, _: int) -> Column:
    return F.col(length_name(plan.field(check.fields[0]).alias))


def _age(check: Check, plan: Plan, judged: int) -> Column:
    return F.lit(judged) - _micros(plan, check.fields[0])


def _delay(check: Check, plan: Plan, _: int) -> Column:
    return _micros(plan, check.fields[1]) - _micros(plan, check.fields[0])


def _micros(plan: Plan, name: str) -> Column:
    return F.unix_micros(F.col(value_name(plan.field(name).alias)).cast("timestamp"))


_QUANTITIES: dict[Metric, Callable[[Check, Plan, int], Column]] = {
    Metric.MEAN: _value,
    Metric.SUM: _value,
    Metric.DEVIATION: _value,
    Metric.QUANTILE: _value,
    Metric.MEAN_LENGTH: _length,
    Metric.YOUNGEST: _age,
    Metric.OLDEST: _age,
    Metric.DELAY: _delay,
}

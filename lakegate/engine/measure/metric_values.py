"""Measurement of each check from partial results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from lakegate.engine.evaluate.predicate_sql import KEY_METRICS, NUMBER_METRICS, Program, observed_in
from lakegate.engine.measure.duckdb_tables import groups, table_name
from lakegate.engine.measure.partial_results import LevelCounts, Moments
from lakegate.plan.check import Check, Tier, keys_of
from lakegate.plan.metrics import Metric
from lakegate.plan.result import Measured, Measurement, ObservedValues

if TYPE_CHECKING:
    import duckdb


# ---- Aggregates that are merged over shares ----


START = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate of the numbers of a share."""

    merge: str
    """The combination of those of shares: by their `sum`, `minimum` or `maximum`."""
    of: Callable[[Moments, Moments, int], float | int | None]
    """Its value, given the numbers of the share, those of all shares, and the judging time (microseconds since 1970)."""
    is_float: bool = False
    """Whether it is a float also of whole numbers."""


def _squares(own: Moments, everything: Moments, _: int) -> float:
    distance = own.mean - everything.mean
    return own.squares + own.count * distance * distance


AGGREGATES: dict[str, Aggregate] = {
    "total": Aggregate("sum", lambda own, _, __: own.total),
    "squares": Aggregate("sum", _squares, is_float=True),
    "least": Aggregate("minimum", lambda own, _, __: own.least),
    "greatest": Aggregate("maximum", lambda own, _, __: own.greatest),
    "youngest": Aggregate("minimum", lambda own, _, judged: judged - int(own.greatest or 0)),
    "oldest": Aggregate("maximum", lambda own, _, judged: judged - int(own.least or 0)),
}
"""`squares` are those of the distances from the mean of all numbers; `youngest` and `oldest` the least and the greatest age."""


@cache
def micros(moment: str) -> int:
    """A moment in microseconds since 1970."""
    at = datetime.fromisoformat(moment)
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - START) // timedelta(microseconds=1)


# ---- The measurement of each check ----
# `of` and `failing` are counts of records (elements, keys); where nothing is left to take a number of, both are 0.


_FIRST_SHOWN = (datetime.min.replace(tzinfo=UTC) - START) // timedelta(microseconds=1)
"""The first moment that Python knows: it has no year 0."""
_LAST_SHOWN = (datetime.max.replace(tzinfo=UTC) - START) // timedelta(microseconds=1)
"""The last one: with an offset, an evening of the year 9999 lies in the year 10000."""


@dataclass(frozen=True, slots=True)
class LevelMetrics:
    """The checks of a level, and what its records add up to: what both engines know of a metric."""

    program: Program
    counts: LevelCounts
    judged_at: str

    def population(self, check: Check) -> int:
        """The number of records that the check is measured over."""
        return self.counts.over(self.program.population(check))

    def of_keys(self, check: Check, count: int) -> Measured:
        """The measurement of a metric of keys, given its count."""
        metric, of = KEY_METRICS[check.metric], self.population(check)
        rows = self.counts.rows if metric.of_all_rows and check.row_filter is None else of
        return Measured(rows, failing=of - count if metric.is_remainder else count)

    def of_numbers(self, check: Check, aggregate: float) -> Measured:
        """The measurement of a metric of numbers, given its aggregate."""
        of = self.population(check)
        return Measured(of, number=NUMBER_METRICS[check.metric].value(aggregate, of))

    def of_predicate(self, check: Check, failing: int) -> Measured:
        """The measurement of a predicate, given the number of failing records."""
        return Measured(self.population(check), failing=failing)

    def observed(self, check: Check) -> ObservedValues | None:
        """What a check observes beside its number; None for other checks, without a value, and for numbers that are infinite."""
        column = observed_in(check, self.program.plan)
        moments = self.counts.numbers.get(self.program.numbers[column]) if column is not None else None
        if moments is None or column is None or not moments.count:
            return None
        if column.values:
            return ObservedValues(
                values=tuple(each for at, each in enumerate(column.values) if moments.members >> at & 1)
            )
        assert moments.least is not None
        assert moments.greatest is not None
        is_finite = math.isfinite(moments.least) and math.isfinite(moments.greatest)
        return ObservedValues(float(moments.least), float(moments.greatest)) if is_finite else None

    def errors(self) -> Iterator[Measurement]:
        """The measurements of checks that cannot be evaluated."""
        return (Measurement(check, error=reason) for check, reason in self.program.errors.items())


@dataclass(frozen=True, slots=True)
class NativeMetrics(LevelMetrics):
    """The metrics of a level's checks, computed in this process."""

    connection: duckdb.DuckDBPyConnection

    def measurements(self) -> Iterator[Measurement]:
        """The measurement of each check, errors included."""
        yield from self.errors()
        for check in self.program.checks:
            accept = self._measured(check, check.accept)
            tolerate = self._measured(check, check.tolerate) if check.tolerate else None
            yield Measurement(check.id, accept, tolerate, observed=self.observed(check))

    def _measured(self, check: Check, tier: Tier) -> Measured:
        of = self.population(check)
        if of == 0:
            return Measured(of=0, failing=0)
        if check.metric in KEY_METRICS:
            return self.of_keys(check, self._key_count(check, tier))
        if check.metric in NUMBER_METRICS:
            return self.of_numbers(check, self._aggregate(check, of))
        if tier.predicate is None:
            return Measured(of)
        return self.of_predicate(check, self.counts.bits.get(self.program.predicates[tier.predicate], 0))

    def _key_count(self, check: Check, tier: Tier) -> int:
        keys = keys_of(check, tier)
        assert keys is not None
        (row,) = self.connection.execute(
            f"WITH g AS ({groups(self.program, keys)}) SELECT {_KEY_COUNTS[KEY_METRICS[check.metric].count]} FROM g"  # noqa: S608 - generated names
        ).fetchall()
        return int(row[0])

    def _aggregate(self, check: Check, of: int) -> float:
        aggregate, column = NUMBER_METRICS[check.metric].aggregate, self.program.number(check)
        if aggregate is not None:
            moments = self.counts.numbers[column]
            found = AGGREGATES[aggregate].of(moments, moments, micros(self.judged_at))
            assert found is not None
            return found
        assert check.quantile is not None
        query = f"SELECT quantile_cont({column}, ?) FROM {table_name(self.program)}"  # noqa: S608 - likewise
        number: float
        ((number,),) = self.connection.execute(query, [float(check.quantile.of(of))]).fetchall()
        return number


_KEY_COUNTS = {
    "keys": "count(*)",
    "repeated": "count(*) FILTER (n > 1)",
    "shared": "coalesce(sum(n) FILTER (n > 1), 0)",
    "most_common": "count(*) FILTER (meets AND n = (SELECT max(n) FROM g))",
}
"""The counts of `lakegate.engine.evaluate.predicate_sql.KeyMetric` over groups of rows with the same key."""


def event_time(program: Program, counts: LevelCounts) -> tuple[str, str] | None:
    """The earliest and the latest moment of the field by which the first check measures the age of rows (RFC 3339).

    None if no check does, if no row has one, or if the field is classified and not public, because these are values of data.
    None also if one of them is outside of the years 1 to 9999 in UTC.
    """
    check = next((check for check in program.checks if check.metric in {Metric.YOUNGEST, Metric.OLDEST}), None)
    if check is None:
        return None
    field, moments = program.plan.field(check.fields[0]), counts.numbers.get(program.number(check), Moments())
    least, greatest = moments.least, moments.greatest
    if (field.classification is not None and not field.public) or least is None or greatest is None:
        return None
    is_shown = least >= _FIRST_SHOWN and greatest <= _LAST_SHOWN
    return (_shown(least), _shown(greatest)) if is_shown else None


def _shown(micros: float) -> str:
    shown = START + timedelta(microseconds=int(micros))
    return f"{shown.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"

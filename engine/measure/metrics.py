"""The metric of each check, from what all shares add up to: one small function for each metric.

`of` and `failing` are counts of records (elements, keys); where nothing is left to take a number of, both are 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from lakegate.contracts.plan.check import Metric
from lakegate.contracts.plan.population import keys_of
from lakegate.contracts.plan.result import Measured, Measurement
from lakegate.engine.measure.partial import Moments
from lakegate.engine.measure.tables import groups, table_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import duckdb

    from lakegate.contracts.plan.check import Check, Tier
    from lakegate.contracts.plan.population import Keys
    from lakegate.engine.evaluate.program import Program
    from lakegate.engine.measure.partial import LevelCounts

MICROSECONDS = 10**6
_START = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_SHOWN = (datetime.min.replace(tzinfo=UTC) - _START) // timedelta(microseconds=1)
"""The first moment that Python knows: it has no year 0."""
_LAST_SHOWN = (datetime.max.replace(tzinfo=UTC) - _START) // timedelta(microseconds=1)
"""The last one: with an offset, an evening of the year 9999 lies in the year 10000."""


@dataclass(frozen=True, slots=True)
class Groups:
    """How many keys there are, and how many rows have them."""

    keys: int
    repeated: int
    """Keys that occur more than once."""
    shared: int
    """Rows with such a key."""
    most_common: int
    """Keys that occur as often as any, and whose rows meet the predicate."""


@dataclass(slots=True)
class LevelMetrics:
    """The metrics of a level's checks."""

    program: Program
    counts: LevelCounts
    connection: duckdb.DuckDBPyConnection
    judged_at: str

    def measurements(self) -> Iterator[Measurement]:
        """The measurement of each check, errors included."""
        for refused, reason in self.program.errors.items():
            yield Measurement(refused, error=reason)
        for check in self.program.checks:
            accept = self._measured(check, check.accept)
            yield Measurement(check.id, accept, self._measured(check, check.tolerate) if check.tolerate else None)

    def population(self, check: Check) -> int:
        """Records that the check's number is taken over."""
        return self.counts.over(self.program.population(check))

    def _measured(self, check: Check, tier: Tier) -> Measured:
        if self.population(check) == 0:
            return Measured(of=0, failing=0)
        return _METRICS[check.metric](self, check, tier)

    def failing(self, check: Check, tier: Tier) -> Measured:
        """Records that break the tier's predicate."""
        assert tier.predicate is not None
        failing = self.counts.bits.get(self.program.predicates[tier.predicate], 0)
        return Measured(self.population(check), failing=failing)

    def of_keys(self, check: Check, tier: Tier) -> Measured:
        """Numbers of keys, and of the records that have them."""
        keys, of = keys_of(check, tier), self.population(check)
        assert keys is not None
        found = self._groups(keys)
        rows = self.counts.rows if check.row_filter is None else of
        match check.metric:
            case Metric.DUPLICATE_ROWS:
                return Measured(rows, failing=found.shared)
            case Metric.DUPLICATE_KEYS:
                return Measured(rows, failing=found.repeated)
            case Metric.MOST_COMMON:
                return Measured(of, failing=of - found.most_common)
            case _:
                return Measured(of, failing=of - found.keys)

    def _groups(self, keys: Keys) -> Groups:
        (row,) = self.connection.execute(
            f"WITH g AS ({groups(self.program, keys)}) SELECT count(*), count(*) FILTER (n > 1),"  # noqa: S608 - generated names
            " coalesce(sum(n) FILTER (n > 1), 0), count(*) FILTER (meets AND n = (SELECT max(n) FROM g)) FROM g"
        ).fetchall()
        return Groups(*map(int, row))

    def _moments(self, check: Check) -> Moments:
        return self.counts.numbers.get(self.program.number(check), Moments())

    def number(self, check: Check, _: Tier) -> Measured:
        """An aggregate of numbers."""
        return Measured(
            self.population(check), number=_NUMBERS[check.metric](self._moments(check), micros(self.judged_at))
        )

    def quantile(self, check: Check, _: Tier) -> Measured:
        """A place among the sorted numbers."""
        of, column = self.population(check), self.program.number(check)
        assert check.quantile is not None
        query = f"SELECT quantile_cont({column}, ?) FROM {table_name(self.program)}"  # noqa: S608 - likewise
        ((number,),) = self.connection.execute(query, [float(check.quantile.of(of))]).fetchall()
        return Measured(of, number=number)


_METRICS: dict[Metric, Callable[[LevelMetrics, Check, Tier], Measured]] = {
    Metric.ROW_COUNT: lambda level, check, _: Measured(of=level.population(check)),
    Metric.FAILING_ROWS: LevelMetrics.failing,
    **{each: LevelMetrics.of_keys for each in Metric if each.is_key_based},
    **{each: LevelMetrics.number for each in Metric if each.floating or each.is_duration},
    Metric.QUANTILE: LevelMetrics.quantile,
}
_NUMBERS: dict[Metric, Callable[[Moments, int], float | None]] = {
    Metric.MEAN: lambda moments, _: moments.mean,
    Metric.SUM: lambda moments, _: float(moments.total),
    Metric.DEVIATION: lambda moments, _: moments.deviation,
    Metric.MEAN_LENGTH: lambda moments, _: moments.mean,
    Metric.YOUNGEST: lambda moments, judged: (judged - int(moments.greatest or 0)) / MICROSECONDS,
    Metric.OLDEST: lambda moments, judged: (judged - int(moments.least or 0)) / MICROSECONDS,
    Metric.DELAY: lambda moments, _: int(moments.greatest or 0) / MICROSECONDS,
}


def event_time(program: Program, counts: LevelCounts) -> tuple[str, str] | None:
    """The earliest and the latest moment of the field by which the first check measures the age of rows (RFC 3339).

    None where no check does, where no row has one, or where the field is classified and not public: these are values of data.
    None too where one of them is outside of the years 1 to 9999 in UTC, which have no such text.
    """
    check = next((each for each in program.checks if each.metric in {Metric.YOUNGEST, Metric.OLDEST}), None)
    if check is None:
        return None
    field, moments = program.plan.field(check.fields[0]), counts.numbers.get(program.number(check), Moments())
    least, greatest = moments.least, moments.greatest
    if (field.classification is not None and not field.public) or least is None or greatest is None:
        return None
    is_shown = least >= _FIRST_SHOWN and greatest <= _LAST_SHOWN
    return (_shown(least), _shown(greatest)) if is_shown else None


@cache
def micros(moment: str) -> int:
    """A moment in microseconds since 1970."""
    at = datetime.fromisoformat(moment)
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _START) // timedelta(microseconds=1)


def _shown(micros: float) -> str:
    shown = _START + timedelta(microseconds=int(micros))
    return f"{shown.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"

"""Measuring: every check of a plan by Deequ, over what the tasks hand over.

1. What records add up to is a small frame, a row for each share: Deequ computes sums, minima and maxima of its columns. There is
   one PyDeequ Check for each check and tier, at level Error for the tier that decides about failing, at level Warning for the
   stricter one.
2. Keys are grouped once for each set of fields and rows, and Deequ measures the frequencies; quantiles over their numbers.
3. Where nothing is left to take a number of, Deequ (which has no metric of an empty frame) is not asked: the counts are zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakegate.contracts.judge.numbers import tier_holds
from lakegate.contracts.plan.check import Metric
from lakegate.contracts.plan.population import keys_of
from lakegate.contracts.plan.result import Measured, Measurement
from lakegate.engine.measure.metrics import MICROSECONDS
from lakegate.spark_jobs.deequ import Analyzer, Constraint, run
from lakegate.spark_jobs.keys import frequencies, most_common
from lakegate.spark_jobs.session import INTERPRETED, settings
from lakegate.spark_jobs.sums import JUDGED, sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from lakegate.contracts.plan.check import Check, Tier
    from lakegate.contracts.plan.population import Keys
    from lakegate.engine.evaluate.program import Program
    from lakegate.engine.measure.partial import LevelCounts, Partial
    from lakegate.spark_jobs.deequ import Finding
    from lakegate.spark_jobs.tasks import Pass

Scan = tuple[str, "Keys | None"]
"""Which frame answers: `shares`, `rows` of records, `keys` or the `most` common of them."""
SHARES: Scan = "shares", None
UNMEASURED = "Deequ could not measure this check"


@dataclass(frozen=True, slots=True)
class Reader:
    """How a number of ours is read off an analyzer of Deequ's."""

    analyzer: Analyzer
    column: str
    read: Callable[[float], Measured]


@dataclass(frozen=True, slots=True)
class TierRequest:
    """One tier of one check, on its way through Deequ."""

    name: str
    check: Check
    tier: Tier
    reader: Reader
    population: int
    """Records or values that the number is taken of."""
    is_warning: bool

    @property
    def scan(self) -> Scan:
        """Which frame answers."""
        if self.check.metric.is_key_based:
            return "most" if self.check.metric is Metric.MOST_COMMON else "keys", keys_of(self.check, self.tier)
        return ("rows", None) if self.check.metric is Metric.QUANTILE else SHARES

    @property
    def constraint(self) -> Constraint:
        """What Deequ is asked."""
        reader = self.reader
        return Constraint(
            self.name,
            reader.analyzer,
            reader.column,
            lambda metric: tier_holds(self.check, self.tier, reader.read(metric)),
            self.is_warning,
            float(self.check.quantile.of(self.population)) if self.check.quantile else 0,
        )

    def measured(self, finding: Finding | None) -> Measured | None:
        """What was found; None where Deequ had rows and gave no number."""
        if self.population == 0:
            return Measured(of=0, failing=0)
        if finding is None or finding.metric is None:
            return None
        return replace(self.reader.read(finding.metric), engine_passed=finding.passed)


@dataclass(frozen=True, slots=True)
class LevelChecks:
    """The checks of a level, with what was counted of it."""

    spark: SparkSession
    program: Program
    counts: LevelCounts
    partials: list[Partial]
    passed: Pass
    judged_at: str

    def measurements(self) -> Iterator[Measurement]:
        """The measurement of each check, errors included."""
        for refused, reason in self.program.errors.items():
            yield Measurement(refused, error=reason)
        requests = [request for check in self.program.checks for request in self._requests(check)]
        asked: dict[Scan, list[Constraint]] = {}
        for request in requests:
            if request.population:
                asked.setdefault(request.scan, []).append(request.constraint)
        found: dict[str, Finding] = {}
        for scan, constraints in asked.items():
            with settings(self.spark, INTERPRETED if scan == SHARES else {}):
                found |= run(self._frame(scan), constraints)
        answers = {request.name: request.measured(found.get(request.name)) for request in requests}
        for check in self.program.checks:
            accept, tolerate = answers[check.id], answers.get(_tolerance(check))
            if accept is None or (check.tolerate and tolerate is None):
                yield Measurement(check.id, error=UNMEASURED)
            else:
                yield Measurement(check.id, accept=accept, tolerate=tolerate)

    def population(self, check: Check) -> int:
        """Records that the check's number is taken over."""
        return self.counts.over(self.program.population(check))

    def _requests(self, check: Check) -> Iterator[TierRequest]:
        population = self.population(check)

        def request(name: str, tier: Tier, *, is_warning: bool) -> TierRequest:
            reader = _READERS[check.metric](self, check, tier)
            return TierRequest(name, check, tier, reader, population, is_warning)

        yield request(check.id, check.accept, is_warning=check.tolerate is not None)
        if check.tolerate:
            yield request(_tolerance(check), check.tolerate, is_warning=False)

    def _frame(self, scan: Scan) -> DataFrame:
        kind, keys = scan
        if scan == SHARES:
            return sums(self.spark, self.program, self.counts, self.partials, self.judged_at)
        if kind == "rows":
            return self.passed.rows(self.program)
        assert keys is not None
        found = frequencies(self.program, self.passed.rows(self.program), keys)
        return most_common(found) if kind == "most" else found


def _tolerance(check: Check) -> str:
    return f"{check.id} (tolerance)"


# --- readers: one small function for each metric


def _row_count(level: LevelChecks, check: Check, _: Tier) -> Reader:
    column = level.program.population(check) or JUDGED
    return Reader(Analyzer.SUM, column, lambda found: Measured(of=round(found)))


def _failing_rows(level: LevelChecks, check: Check, tier: Tier) -> Reader:
    assert tier.predicate is not None
    of, column = level.population(check), level.program.predicates[tier.predicate]
    return Reader(Analyzer.SUM, column, lambda found: Measured(of, failing=round(found)))


def _duplicates(column: str) -> Callable[[LevelChecks, Check, Tier], Reader]:
    def reader(level: LevelChecks, check: Check, _: Tier) -> Reader:
        of = level.counts.rows if check.row_filter is None else level.population(check)
        return Reader(Analyzer.SUM, column, lambda found: Measured(of, failing=round(found)))

    return reader


def _distinct(level: LevelChecks, check: Check, _: Tier) -> Reader:
    of = level.population(check)
    return Reader(Analyzer.SIZE, "", lambda distinct: Measured(of, failing=of - round(distinct)))


def _most_common(level: LevelChecks, check: Check, _: Tier) -> Reader:
    of = level.population(check)
    return Reader(Analyzer.SUM, "meant", lambda found: Measured(of, failing=of - round(found)))


def _number(
    analyzer: Analyzer, suffix: str, number: Callable[[float, int], float | None]
) -> Callable[[LevelChecks, Check, Tier], Reader]:
    """A number made of what Deequ finds and of how many numbers there are."""

    def reader(level: LevelChecks, check: Check, _: Tier) -> Reader:
        of, column = level.population(check), f"{level.program.number(check)}{suffix}"
        return Reader(analyzer, column, lambda found: Measured(of, number=number(found, of)))

    return reader


def _mean(total: float, count: int) -> float:
    return total / count


def _deviation(squares: float, count: int) -> float | None:
    return math.sqrt(squares / (count - 1)) if count > 1 else None


def _seconds(found: float, _: int) -> float:
    return found / MICROSECONDS


_READERS: dict[Metric, Callable[[LevelChecks, Check, Tier], Reader]] = {
    Metric.ROW_COUNT: _row_count,
    Metric.FAILING_ROWS: _failing_rows,
    Metric.DUPLICATE_ROWS: _duplicates("shared"),
    Metric.DUPLICATE_KEYS: _duplicates("repeated"),
    Metric.DISTINCT_COUNT: _distinct,
    Metric.DISTINCT_SHARE: _distinct,
    Metric.MOST_COMMON: _most_common,
    Metric.MEAN: _number(Analyzer.SUM, "_total", _mean),
    Metric.SUM: _number(Analyzer.SUM, "_total", lambda total, _: total),
    Metric.DEVIATION: _number(Analyzer.SUM, "_squares", _deviation),
    Metric.QUANTILE: _number(Analyzer.QUANTILE, "", lambda found, _: found),
    Metric.MEAN_LENGTH: _number(Analyzer.SUM, "_total", _mean),
    Metric.YOUNGEST: _number(Analyzer.MINIMUM, "_youngest", _seconds),
    Metric.OLDEST: _number(Analyzer.MAXIMUM, "_oldest", _seconds),
    Metric.DELAY: _number(Analyzer.MAXIMUM, "_greatest", _seconds),
}

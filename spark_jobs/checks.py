"""Measures every check of a plan by Deequ, over what the tasks return.

1. The partial results are a small frame with a row for each share: Deequ computes sums, minima and maxima of its columns.
   There is one PyDeequ Check for each check and tier, at level Error for the tier that decides about failing, at level Warning
   for the stricter one.
2. Keys are grouped once for each set of fields and rows, and Deequ measures the frequencies; quantiles over their numbers.
3. A check without records is not measured by Deequ, which has no metric of an empty frame: its counts are zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.plan.numbers import tier_holds
from lakegate.contracts.plan.population import keys_of
from lakegate.contracts.plan.result import Measured, Measurement
from lakegate.engine.evaluate.metrics import KEY_METRICS, NUMBER_METRICS
from lakegate.engine.measure.aggregates import AGGREGATES
from lakegate.engine.measure.metrics import LevelMetrics
from lakegate.spark_jobs.deequ import Analyzer, Constraint, run
from lakegate.spark_jobs.keys import MOST_COMMON, frequencies, most_common
from lakegate.spark_jobs.session import INTERPRETED, settings
from lakegate.spark_jobs.sums import JUDGED, aggregate_name, sums

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from lakegate.contracts.plan.check import Check, Tier
    from lakegate.contracts.plan.population import Keys
    from lakegate.engine.measure.partial import Partial
    from lakegate.spark_jobs.deequ import Finding
    from lakegate.spark_jobs.tasks import Pass

Scan = tuple[str, "Keys | None"]
"""The frame that is measured: `shares`, `rows` of records, `keys` or the `most_common` of them."""
SHARES: Scan = "shares", None
UNMEASURED = "Deequ could not measure this check"


@dataclass(frozen=True, slots=True)
class MetricReader:
    """How a measurement is read from an analyzer of Deequ."""

    scan: Scan
    analyzer: Analyzer
    column: str
    read: Callable[[float], Measured]


@dataclass(frozen=True, slots=True)
class TierRequest:
    """One tier of one check, on its way through Deequ."""

    name: str
    check: Check
    tier: Tier
    reader: MetricReader
    population: int
    """Records or values that the check is measured over."""
    is_warning: bool

    @property
    def constraint(self) -> Constraint:
        """The constraint that Deequ measures."""
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
        """The measurement; None where Deequ had rows and returned no number."""
        if self.population == 0:
            return Measured(of=0, failing=0)
        if finding is None or finding.metric is None:
            return None
        return replace(self.reader.read(finding.metric), engine_passed=finding.passed)


@dataclass(frozen=True, slots=True)
class DeequMetrics(LevelMetrics):
    """The metrics of a level's checks, computed by Deequ."""

    spark: SparkSession
    partials: list[Partial]
    passed: Pass

    def measurements(self) -> Iterator[Measurement]:
        """The measurement of each check, errors included."""
        yield from self.errors()
        requests = [request for check in self.program.checks for request in self._requests(check)]
        constraints: dict[Scan, list[Constraint]] = {}
        for request in requests:
            if request.population:
                constraints.setdefault(request.reader.scan, []).append(request.constraint)
        found: dict[str, Finding] = {}
        for scan, own in constraints.items():
            with settings(self.spark, INTERPRETED if scan == SHARES else {}):
                found |= run(self._frame(scan), own)
        answers = {request.name: request.measured(found.get(request.name)) for request in requests}
        for check in self.program.checks:
            accept, tolerate = answers[check.id], answers.get(_tolerance(check))
            if accept is None or (check.tolerate and tolerate is None):
                yield Measurement(check.id, error=UNMEASURED)
            else:
                yield Measurement(check.id, accept=accept, tolerate=tolerate)

    def _requests(self, check: Check) -> Iterator[TierRequest]:
        population, has_two = self.population(check), check.tolerate is not None
        yield TierRequest(check.id, check, check.accept, self._reader(check, check.accept), population, has_two)
        if check.tolerate:
            reader = self._reader(check, check.tolerate)
            yield TierRequest(_tolerance(check), check, check.tolerate, reader, population, is_warning=False)

    def _reader(self, check: Check, tier: Tier) -> MetricReader:
        if check.metric in KEY_METRICS:
            count = KEY_METRICS[check.metric].count
            scan = MOST_COMMON if count == MOST_COMMON else "keys", keys_of(check, tier)
            analyzer, column = (Analyzer.SIZE, "") if count == "keys" else (Analyzer.SUM, count)
            return MetricReader(scan, analyzer, column, lambda found: self.of_keys(check, round(found)))
        if check.metric in NUMBER_METRICS:
            aggregate, column = NUMBER_METRICS[check.metric].aggregate, self.program.number(check)
            read = partial(self.of_numbers, check)
            if aggregate is None:
                return MetricReader(("rows", None), Analyzer.QUANTILE, column, read)
            analyzer = Analyzer(AGGREGATES[aggregate].merge)
            return MetricReader(SHARES, analyzer, aggregate_name(column, aggregate), read)
        if tier.predicate is None:
            column = self.program.population(check) or JUDGED
            return MetricReader(SHARES, Analyzer.SUM, column, lambda found: Measured(of=round(found)))
        column = self.program.predicates[tier.predicate]
        return MetricReader(SHARES, Analyzer.SUM, column, lambda found: self.of_predicate(check, round(found)))

    def _frame(self, scan: Scan) -> DataFrame:
        kind, keys = scan
        if scan == SHARES:
            return sums(self.spark, self.program, self.counts, self.partials, self.judged_at)
        if kind == "rows":
            return self.passed.rows(self.program)
        assert keys is not None
        found = frequencies(self.program, self.passed.rows(self.program), keys)
        return most_common(found) if kind == MOST_COMMON else found


def _tolerance(check: Check) -> str:
    return f"{check.id} (tolerance)"

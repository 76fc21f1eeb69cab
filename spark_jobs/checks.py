"""Measuring: every check of a plan by Deequ.

1. Rows are judged in one shared scan of the narrow frame: one PyDeequ Check for each check and tier, at level Error for the tier
   that decides about failing, at level Warning for the stricter one above it.
2. Keys are grouped once for each set of fields, and Deequ measures the frequencies.
3. Where nothing is left to take a number of, Deequ (which has no metric of an empty frame) is not asked: the counts are zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.check import Metric
from contracts.outcome import tier_holds
from contracts.result import Measured, Measurement
from spark_jobs.deequ import Analyzer, Constraint, run
from spark_jobs.frame import OVER_VALUES
from spark_jobs.typed import value_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from contracts.check import Check, Tier
    from contracts.plan import Plan
    from spark_jobs.deequ import Finding
    from spark_jobs.frame import Census, Narrow

UNMEASURED = "Deequ could not measure this check"
KEYED = {Metric.DUPLICATE_ROWS, Metric.DISTINCT_SHARE}


@dataclass(frozen=True, slots=True)
class Gauge:
    """How a number of ours is read off an analyzer of Deequ's."""

    analyzer: Analyzer
    column: str
    read: Callable[[float], Measured]


@dataclass(frozen=True, slots=True)
class Probe:
    """One tier of one check, on its way through Deequ."""

    name: str
    check: Check
    tier: Tier
    gauge: Gauge
    base: int
    """Rows or values that the number is taken of."""
    is_warning: bool

    @property
    def constraint(self) -> Constraint:
        """What Deequ is asked."""
        gauge = self.gauge
        return Constraint(
            self.name,
            gauge.analyzer,
            gauge.column,
            lambda metric: tier_holds(self.check, self.tier, gauge.read(metric)),
            self.is_warning,
        )

    def measured(self, finding: Finding | None) -> Measured | None:
        """What was found; None where Deequ had rows and gave no number."""
        if self.base == 0:
            return Measured(of=0, failing=0)
        if finding is None or finding.metric is None:
            return None
        return replace(self.gauge.read(finding.metric), engine_passed=finding.passed)


def measure(
    spark: SparkSession, plan: Plan, narrowed: Narrow, checks: tuple[Check, ...], census: Census
) -> tuple[Measurement, ...]:
    """The measurement of each check, in order."""
    errors = {check.id: reason for check in checks if (reason := narrowed.error_of(check))}
    probes = [probe for check in checks if check.id not in errors for probe in _probes(check, plan, narrowed, census)]
    frames: dict[tuple[str, ...], DataFrame] = {(): narrowed.judged}
    for probe in probes:
        if probe.check.metric in KEYED and probe.check.fields not in frames:
            frames[probe.check.fields] = frequencies(plan, narrowed.judged, probe.check.fields)
    found: dict[str, Finding] = {}
    for fields, frame in frames.items():
        asked = [probe.constraint for probe in probes if probe.base and _frame_of(probe.check) == fields]
        found |= run(spark, frame, asked)
    answers = {probe.name: probe.measured(found.get(probe.name)) for probe in probes}
    return tuple(_measurement(check, errors.get(check.id), answers) for check in checks)


def frequencies(plan: Plan, frame: DataFrame, fields: tuple[str, ...]) -> DataFrame:
    """How often (`n`) each whole key occurs, and `shared`: the same number where it is more than one, else zero."""
    names = [value_name(plan.field(name).alias) for name in fields]
    counted = frame.select(*names).na.drop().groupBy(*names).agg(F.count(F.lit(1)).alias("n"))
    return counted.withColumn("shared", F.when(F.col("n") > 1, F.col("n")).otherwise(0))


def _frame_of(check: Check) -> tuple[str, ...]:
    return check.fields if check.metric in KEYED else ()


def _probes(check: Check, plan: Plan, narrowed: Narrow, census: Census) -> list[Probe]:
    base = census.present[check.fields] if check.metric in OVER_VALUES else census.judged

    def probe(name: str, tier: Tier, *, is_warning: bool) -> Probe:
        gauge = _GAUGES[check.metric](_Site(check, tier, plan, narrowed, census.judged, base))
        return Probe(name, check, tier, gauge, base, is_warning)

    strict = probe(check.id, check.accept, is_warning=check.tolerate is not None)
    return [strict, probe(_tolerance(check), check.tolerate, is_warning=False)] if check.tolerate else [strict]


def _tolerance(check: Check) -> str:
    return f"{check.id} (tolerance)"


def _measurement(check: Check, error: str | None, answers: dict[str, Measured | None]) -> Measurement:
    if error:
        return Measurement(check.id, error=error)
    accept, tolerate = answers[check.id], answers.get(_tolerance(check))
    if accept is None or (check.tolerate and tolerate is None):
        return Measurement(check.id, error=UNMEASURED)
    return Measurement(check.id, accept=accept, tolerate=tolerate)


# --- gauges: one small function for each metric


@dataclass(frozen=True, slots=True)
class _Site:
    """What a gauge is built from."""

    check: Check
    tier: Tier
    plan: Plan
    narrowed: Narrow
    rows: int
    base: int

    @property
    def value(self) -> str:
        """The column of the first field's typed values."""
        return value_name(self.plan.field(self.check.fields[0]).alias)


def _row_count(_: _Site) -> Gauge:
    return Gauge(Analyzer.SIZE, "", lambda size: Measured(of=round(size)))


def _failing_rows(site: _Site) -> Gauge:
    assert site.tier.predicate is not None
    name, rows = site.narrowed.predicates[site.tier.predicate], site.rows
    return Gauge(Analyzer.COMPLIANCE, name, lambda share: Measured(rows, failing=round((1 - share) * rows)))


def _duplicate_rows(site: _Site) -> Gauge:
    return Gauge(Analyzer.SUM, "shared", lambda shared: Measured(site.rows, failing=round(shared)))


def _distinct_share(site: _Site) -> Gauge:
    return Gauge(Analyzer.SIZE, "", lambda distinct: Measured(site.base, failing=site.base - round(distinct)))


def _mean(site: _Site) -> Gauge:
    return Gauge(Analyzer.MEAN, site.value, lambda mean: Measured(site.base, number=mean))


def _deviation(site: _Site) -> Gauge:
    """Deequ's is the population's; a single value has no sample deviation."""
    count = site.base
    factor = math.sqrt(count / (count - 1)) if count > 1 else None
    return Gauge(Analyzer.DEVIATION, site.value, lambda found: Measured(count, number=factor and found * factor))


_GAUGES: dict[Metric, Callable[[_Site], Gauge]] = {
    Metric.ROW_COUNT: _row_count,
    Metric.FAILING_ROWS: _failing_rows,
    Metric.DUPLICATE_ROWS: _duplicate_rows,
    Metric.DISTINCT_SHARE: _distinct_share,
    Metric.MEAN: _mean,
    Metric.DEVIATION: _deviation,
}

"""Measuring: every check of a plan by Deequ.

1. Rows are judged in one shared scan of the narrow frame: one PyDeequ Check for each check and tier, at level Error for the tier
   that decides about failing, at level Warning for the stricter one above it.
2. Keys are grouped once for each set of fields and rows, and Deequ measures the frequencies.
3. Where nothing is left to take a number of, Deequ (which has no metric of an empty frame) is not asked: the counts are zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from contracts.check import Metric
from contracts.numbers import tier_holds
from contracts.result import Measured, Measurement
from spark_jobs.deequ import Analyzer, Constraint, run
from spark_jobs.frame import base_of
from spark_jobs.keys import frequencies, keys_of, most_common
from spark_jobs.quantities import MICROSECONDS, moment, numbers_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from contracts.check import Check, Tier
    from contracts.plan import Plan
    from spark_jobs.deequ import Finding
    from spark_jobs.frame import Census, Narrow
    from spark_jobs.keys import Keys

Scan = tuple["Keys | None", bool]
UNMEASURED = "Deequ could not measure this check"


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
    def scan(self) -> Scan:
        """Which frame answers: that of all rows, or of the keys it compares (or the most common of them)."""
        return keys_of(self.check, self.tier), self.check.metric is Metric.MOST_COMMON

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
            float(self.check.quantile.of(self.base)) if self.check.quantile else 0,
        )

    def measured(self, finding: Finding | None) -> Measured | None:
        """What was found; None where Deequ had rows and gave no number."""
        if self.base == 0:
            return Measured(of=0, failing=0)
        if finding is None or finding.metric is None:
            return None
        return replace(self.gauge.read(finding.metric), engine_passed=finding.passed)


def measure(
    plan: Plan, narrowed: Narrow, checks: tuple[Check, ...], census: Census, judged_at: str
) -> tuple[Measurement, ...]:
    """The measurement of each check, in order."""
    errors = {check.id: reason for check in checks if (reason := narrowed.error_of(check))}
    measurable = [check for check in checks if check.id not in errors]
    numbers = numbers_of(plan, narrowed, measurable, moment(judged_at))
    shared = narrowed.judged.withColumns(numbers.columns)
    probes = [probe for check in measurable for probe in _probes(check, narrowed, census, numbers.names)]
    asked: dict[Scan, list[Constraint]] = {}
    for probe in probes:
        if probe.base:
            asked.setdefault(probe.scan, []).append(probe.constraint)
    found: dict[str, Finding] = {}
    for (keys, of_most), constraints in asked.items():
        frame = shared if keys is None else frequencies(plan, narrowed, keys)
        found |= run(most_common(frame) if of_most else frame, constraints)
    answers = {probe.name: probe.measured(found.get(probe.name)) for probe in probes}
    return tuple(_measurement(check, errors.get(check.id), answers) for check in checks)


def _probes(check: Check, narrowed: Narrow, census: Census, numbers: dict[str, str]) -> list[Probe]:
    taken_of = base_of(check)
    base = census.judged if taken_of is None else census.present[taken_of]

    def probe(name: str, tier: Tier, *, is_warning: bool) -> Probe:
        gauge = _GAUGES[check.metric](_Site(check, tier, narrowed, census.judged, base, numbers.get(check.id, "")))
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
    narrowed: Narrow
    rows: int
    base: int
    number: str
    """The column of the numbers that an aggregate is taken of."""


def _row_count(site: _Site) -> Gauge:
    base = base_of(site.check)
    if base is None or base.otherwise is None:
        return Gauge(Analyzer.SIZE, "", lambda size: Measured(of=round(size)))
    name = site.narrowed.predicates[base.otherwise]
    return Gauge(Analyzer.COMPLIANCE, name, lambda others: Measured(of=round((1 - others) * site.rows)))


def _failing_rows(site: _Site) -> Gauge:
    assert site.tier.predicate is not None
    name = site.narrowed.predicates[site.tier.predicate]
    return Gauge(Analyzer.COMPLIANCE, name, lambda share: Measured(site.base, failing=round((1 - share) * site.rows)))


def _duplicates(column: str) -> Callable[[_Site], Gauge]:
    def gauge(site: _Site) -> Gauge:
        of = site.rows if site.check.given is None else site.base
        return Gauge(Analyzer.SUM, column, lambda found: Measured(of, failing=round(found)))

    return gauge


def _distinct(site: _Site) -> Gauge:
    return Gauge(Analyzer.SIZE, "", lambda distinct: Measured(site.base, failing=site.base - round(distinct)))


def _most_common(site: _Site) -> Gauge:
    return Gauge(Analyzer.SUM, "meant", lambda found: Measured(site.base, failing=site.base - round(found)))


def _number(analyzer: Analyzer, unit: int = 1) -> Callable[[_Site], Gauge]:
    """The analyzer's own number, in units of which one holds so many of the column's."""
    return lambda site: Gauge(analyzer, site.number, lambda found: Measured(site.base, number=found / unit))


def _deviation(site: _Site) -> Gauge:
    """Deequ's is the population's; a single value has no sample deviation."""
    count = site.base
    factor = math.sqrt(count / (count - 1)) if count > 1 else None
    return Gauge(Analyzer.DEVIATION, site.number, lambda found: Measured(count, number=factor and found * factor))


_GAUGES: dict[Metric, Callable[[_Site], Gauge]] = {
    Metric.ROW_COUNT: _row_count,
    Metric.FAILING_ROWS: _failing_rows,
    Metric.DUPLICATE_ROWS: _duplicates("shared"),
    Metric.DUPLICATE_KEYS: _duplicates("repeated"),
    Metric.DISTINCT_COUNT: _distinct,
    Metric.DISTINCT_SHARE: _distinct,
    Metric.MOST_COMMON: _most_common,
    Metric.MEAN: _number(Analyzer.MEAN),
    Metric.SUM: _number(Analyzer.SUM),
    Metric.DEVIATION: _deviation,
    Metric.QUANTILE: _number(Analyzer.QUANTILE),
    Metric.MEAN_LENGTH: _number(Analyzer.MEAN),
    Metric.YOUNGEST: _number(Analyzer.MINIMUM, MICROSECONDS),
    Metric.OLDEST: _number(Analyzer.MAXIMUM, MICROSECONDS),
    Metric.DELAY: _number(Analyzer.MAXIMUM, MICROSECONDS),
}

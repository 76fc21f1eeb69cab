"""The numbers of a delivery that are compared with earlier ones: what the checks of its contract have measured anyway."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from fractions import Fraction
from typing import Final, NamedTuple

from lakegate.base.text import lasting
from lakegate.contract.contract_model import Severity
from lakegate.contract.delivery_policy import Anomalies, Mode, OnReject
from lakegate.features.anomalies.robust_band import Band, Scale
from lakegate.gate.delivery.delivery_row import Anomaly
from lakegate.plan.check import Check, Tier
from lakegate.plan.check_numbers import number_of, tier_holds
from lakegate.plan.metrics import Metric, MetricSource, Over
from lakegate.plan.plan import Plan
from lakegate.plan.predicates import Present
from lakegate.plan.result import Measured, Result
from lakegate.verdict.measured_values import percent, reads_classified

MOST_NUMBERS: Final = 50
"""Of one delivery."""
LONGEST_SUBJECT: Final = 200
"""Characters of the id of a check, or of the name of a field."""
LARGEST: Final = 1e300
"""Of larger numbers no spread can be computed."""
MANY: Final = 10**9
"""Rows: a check that holds although one of them fails has a tolerance."""


class Measure(StrEnum):
    """The kind of a number."""

    ROWS = "rows"
    REJECTED = "rejected-rows"
    """Their share."""
    GAP = "gap"
    """Seconds from the landing of the accepted delivery before."""
    NULLS = "nulls"
    """The share of rows without a value of a field."""
    FAILING = "failing-rows"
    """The share of rows, or values, that a check counts as bad."""
    DISTINCT = "distinct-values"
    AGE = "age"
    """Seconds: of the youngest row, or the longest delay."""
    VALUE = "value"
    """A mean, sum, deviation, quantile or length, or the result of a query."""


SCALES: Final = {
    **dict.fromkeys((Measure.ROWS, Measure.DISTINCT), Scale.COUNT),
    **dict.fromkeys((Measure.REJECTED, Measure.NULLS, Measure.FAILING), Scale.SHARE),
    **dict.fromkeys((Measure.GAP, Measure.AGE), Scale.DURATION),
    Measure.VALUE: Scale.VALUE,
}
ONLY_RISES: Final = frozenset({Scale.SHARE, Scale.DURATION})
"""Of these less is better: only more than usual is worth a warning."""
_OF_METRICS: Final = {
    Metric.DISTINCT_COUNT: Measure.DISTINCT,
    **dict.fromkeys((Metric.YOUNGEST, Metric.DELAY), Measure.AGE),
    **dict.fromkeys(
        (Metric.MEAN, Metric.SUM, Metric.DEVIATION, Metric.QUANTILE, Metric.MEAN_LENGTH, Metric.ANSWER), Measure.VALUE
    ),
}


class MeasuredNumber(NamedTuple):
    """What a number is of."""

    measure: Measure
    subject: str = ""
    """The id of a check; of nulls the field; empty for the whole delivery."""

    @property
    def key(self) -> str:
        """Its name where numbers are stored."""
        return f"{self.measure.value}/{self.subject}"

    @property
    def scale(self) -> Scale:
        """The scale on which it is compared."""
        return SCALES[self.measure]

    def compared(self, number: float, band: Band, side: Anomalies) -> Anomaly | None:
        """The warning of a number outside of a band; None where that side is not worth one."""
        low = None if self.scale in ONLY_RISES else band.low
        high = band.high if low is None or side is Anomalies.BOTH else None
        if (high is None or number <= high) and (low is None or number >= low):
            return None
        ends = [self._shown(bound) for bound in (low, high) if bound is not None]
        usual = " to ".join(ends) if len(ends) > 1 else f"at {'most' if low is None else 'least'} {ends[0]}"
        last = f"the last {band.deliveries} {band.season or 'deliveries'}"
        median = self._shown(band.median)
        text = f"{self._named}: {self._shown(number)}, usual is {usual} (median of {last}: {median})"
        return Anomaly(
            self.measure.value,
            self.subject,
            number,
            None if low is None else rounded(low),
            None if high is None else rounded(high),
            rounded(band.median),
            band.deliveries,
            band.season,
            text,
        )

    @property
    def _named(self) -> str:
        words = self.measure.value.replace("-", " ")
        match self.measure:
            case Measure.ROWS | Measure.REJECTED:
                return words
            case Measure.GAP:
                return "time since the accepted delivery before"
            case Measure.NULLS:
                return f"nulls in {self.subject}"
            case Measure.FAILING | Measure.DISTINCT:
                return f"{words} by {self.subject}"
            case Measure.AGE | Measure.VALUE:
                return self.subject

    def _shown(self, number: float) -> str:
        if self.scale is Scale.SHARE:
            return percent(Fraction(number).limit_denominator(10**6))
        if self.scale is Scale.DURATION:
            return lasting(Fraction(round(number)))
        return f"{number:,.0f}" if self.scale is Scale.COUNT else f"{number:.6g}"


ROW_COUNT: Final = MeasuredNumber(Measure.ROWS)
GAP: Final = MeasuredNumber(Measure.GAP)


def numbers_of(plan: Plan, result: Result) -> dict[MeasuredNumber, float]:
    """The numbers of a measured delivery, at most `MOST_NUMBERS`; what it lacks is not among them."""
    found = {ROW_COUNT: float(result.rows)}
    if result.rows:
        found[MeasuredNumber(Measure.REJECTED)] = result.rejected_rows / result.rows
    measured, lacking = result.measured, result.lacking
    for check in plan.checks:
        own = measured.get(check.id)
        if own is None or own.accept is None or not own.accept.of or check.skip or check.reads & lacking:
            continue
        for of, number in _of_check(plan, check, own.accept, result.rows):
            if len(found) < MOST_NUMBERS and len(of.subject) <= LONGEST_SUBJECT:
                found.setdefault(of, rounded(number))
    return found


def rounded(number: float) -> float:
    """The number to nine digits: so many are stored."""
    return float(f"{number:.9g}")


def _of_check(plan: Plan, check: Check, found: Measured, rows: int) -> Iterator[tuple[MeasuredNumber, float]]:
    if _counts_values(plan, check):
        yield MeasuredNumber(Measure.NULLS, check.fields[0]), max(1 - found.of / max(rows, 1), 0.0)
    if check.metric.of_rows:
        if (failing := found.failing) is not None and _may_fail(plan, check):
            is_null = check.accept.predicate == Present(check.fields[0]) if len(check.fields) == 1 else False
            is_of_rows = is_null and check.row_filter is None and not check.of_elements
            of = (
                MeasuredNumber(Measure.NULLS, check.fields[0])
                if is_of_rows
                else MeasuredNumber(Measure.FAILING, check.id)
            )
            yield of, failing / found.of
    elif (measure := _OF_METRICS.get(check.metric)) is not None and not reads_classified(plan, check):
        number = number_of(check, found)
        if number is not None and abs(number) < LARGEST:
            yield MeasuredNumber(measure, check.id), float(number)


def _counts_values(plan: Plan, check: Check) -> bool:
    """Whether a check is measured over the rows that have a value of its one field, so that the others have none."""
    spec = check.metric.spec
    if spec.over is Over.ROWS or spec.source is not MetricSource.RECORDS or len(check.fields) != 1:
        return False
    return check.row_filter is None and not check.nulls_alike and not plan.field(check.fields[0]).level


def _may_fail(plan: Plan, check: Check) -> bool:
    """Whether a delivery with rows that fail may be accepted: else the share is 0 in all that are."""
    policy = plan.policy
    if check.worst is Severity.WARN or policy.mode is Mode.OBSERVE or policy.on_reject is OnReject.ROWS:
        return True
    tier: Tier = check.tolerate or check.accept
    return tier_holds(check, tier, Measured(MANY, failing=1))

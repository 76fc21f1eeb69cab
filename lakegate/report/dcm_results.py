"""Results of checks in DCM's representation, with technology and severity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from lakegate.plan.check import Check
from lakegate.plan.external_rule import ENGINE
from lakegate.plan.plan import Plan
from lakegate.plan.predicates import Within
from lakegate.plan.result import Measured, Measurement, Result
from lakegate.report.delivery_report import Report
from lakegate.verdict.check_status import CheckOutcome
from lakegate.verdict.measured_values import reads_classified
from lakegate.verdict.verdict import Judgement

NAMES: Final = {"deequ": "Deequ", "spark": "Spark", "duckdb": "DuckDB", "lakegate": "Lakegate"}
"""By the names of engines in results."""


class MeasuringTechnology(NamedTuple):
    """The technology that measured a check."""

    name: str
    version: str | None
    """None where the result does not have it."""


def technologies(plan: Plan, judgement: Judgement, result: Result) -> dict[str, MeasuringTechnology]:
    """By check, what measured it; without the checks that were not measured."""
    measured = {outcome.id for outcome in judgement.outcomes if outcome.numbers is not None}
    measurements, external = result.measured, {rule.check: rule.technology for rule in plan.external}
    known: dict[str, MeasuringTechnology] = {}
    for check in plan.checks:
        if check.id in measured and check.id in external:
            name = external[check.id]
            known[check.id] = MeasuringTechnology(name, result.engines.get(f"{ENGINE}{name}"))
        elif check.id in measured:
            engine = _engine(check, measurements.get(check.id), is_job="spark" in result.engines)
            known[check.id] = MeasuringTechnology(NAMES[engine], result.engines.get(engine))
    return known


def _engine(check: Check, measurement: Measurement | None, *, is_job: bool) -> str:
    """Deequ has no metric of no records: their count, which is zero, is the native engine's, in a job too."""
    if check.metric.of_header:
        return "lakegate"
    if is_job and check.metric.is_query:
        return "spark"
    is_deequ = (
        measurement is not None and measurement.accept is not None and measurement.accept.engine_passed is not None
    )
    return "deequ" if is_deequ else "duckdb"


def results_of(report: Report) -> Iterator[dict[str, Any]]:
    """Each check with what was measured, and by what; id and column name one check."""
    outcomes = {outcome.id: outcome for outcome in report.judgement.outcomes}
    measured_by = technologies(report.plan, report.judgement, report.result)
    measured = report.result.measured
    for check in report.plan.checks:
        outcome = outcomes[check.id]
        technology = measured_by.get(check.id)
        measurement = measured.get(check.id)
        metric, unit = metric_of(report.plan, check, outcome, measurement.accept if measurement else None)
        yield {
            "id": check.id.removesuffix(f"/{'+'.join(check.fields)}"),
            "column": ", ".join(check.fields) or None,
            "metric": metric,
            "unit": unit,
            "failingRows": outcome.failing_rows,
            "technology": technology.name if technology else None,
            "version": technology.version if technology else None,
            "severity": severity_of(check, outcome),
            "success": outcome.status.value,
        }


def metric_of(
    plan: Plan, check: Check, outcome: CheckOutcome, measurement: Measured | None
) -> tuple[object, str | None]:
    """What was observed, with its unit: the extreme of a bound, the values of a list, the metric of a validator, else the number
    that was measured.

    Values that are not allowed are those of the first failing rows, if they are shown: a masked one looks like a value, and is
    left out.
    """
    seen, bounds = outcome.observed, check.accept.predicate
    if check.metric.is_external and outcome.numbers is not None and measurement is not None:
        if seen is not None and seen.values:
            return [_plain(float(value)) for value in seen.values], "values"
        is_kept = measurement.number is not None and not reads_classified(plan, check)
        return (_plain(measurement.number or 0), "value") if is_kept else (outcome.numbers.value, outcome.numbers.unit)
    if seen is None or check.metric.is_external:
        return (outcome.numbers.value, outcome.numbers.unit) if outcome.numbers else (None, None)
    if not isinstance(bounds, Within):
        is_text = not plan.field(check.fields[0]).type.numeric
        own: list[object] = list(seen.values) if is_text else [_plain(float(value)) for value in seen.values]
        is_shown = plan.field(check.fields[0]).public
        others = dict.fromkeys(sample.shapes[0] for sample in outcome.samples if is_shown and len(sample.shapes) == 1)
        return [*own, *others], "values"
    ends = [end for end, bound in ((seen.least, bounds.low), (seen.greatest, bounds.high)) if bound is not None]
    numbers = [_plain(end) for end in ends if end is not None]
    return (numbers[0] if len(numbers) == 1 else numbers), "value"


def _plain(number: float) -> float:
    """A whole number without a point."""
    return int(number) if number.is_integer() else number


def severity_of(check: Check, outcome: CheckOutcome) -> dict[str, object]:
    """By severity of the rule, whether the measurement keeps to it; null for a severity that the rule does not have.

    A rule without a tolerance has one severity; with one, the tolerance is what fails and the requirement what warns.
    """
    from lakegate.contract.contract_model import Severity  # noqa: PLC0415 - likewise
    from lakegate.verdict.check_status import Status  # noqa: PLC0415 - as above

    kept: dict[str, bool | None] = {
        "fail": outcome.status in {Status.PASS, Status.WARN},
        "warn": outcome.status is Status.PASS,
    }
    has = {
        "fail": check.worst is Severity.FAIL,
        "warn": check.tolerate is not None or check.worst is Severity.WARN or outcome.status is Status.WARN,
    }
    answered = outcome.observed.severities if outcome.observed else ()
    if answered:  # those of a validator
        has = {name: name in answered for name in has}
    exception = None
    if outcome.status in {Status.ERROR, Status.SKIP}:
        is_error = outcome.status is Status.ERROR
        kept = dict.fromkeys(kept, False if is_error else None)
        exception = {"raisedException": is_error, "exceptionMessage": outcome.message}
    return {name: {"success": kept[name], "exceptionInfoModel": exception} if has[name] else None for name in has}

"""pass, warn, fail, error, skip of one check, with its message."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from lakegate.base.text import closest, matches_pieces
from lakegate.contract.contract_model import Severity
from lakegate.contract.delivery_policy import FieldTreatment
from lakegate.contract.field_paths import column_name
from lakegate.plan.check import Check, HeaderRequirement
from lakegate.plan.check_numbers import demands, number_of, tier_holds
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan
from lakegate.plan.result import Columns, Measured, Measurement, ObservedValues, Result, Sample
from lakegate.verdict.measured_values import (
    ReportedNumbers,
    brief_text,
    in_numbers,
    measured_text,
    reads_classified,
    shows_values,
)

# ---- Checks of the header ----


def of_header(check: Check, columns: Columns) -> Measured:
    """The measurement of a check of the header."""
    column_names = tuple(map(column_name, columns.found))
    if check.metric is Metric.COLUMN_COUNT:
        return Measured(len(column_names))
    assert check.header is not None
    return Measured(len(column_names), failing=_breaking(check.header, column_names))


def _breaking(wanted: HeaderRequirement, found: tuple[str, ...]) -> int:
    known, required = set(found), set(wanted.required)
    absent = sum(name not in known for name in wanted.required)
    beside = sum(name not in required for name in found) if wanted.closed else 0
    patterns = [each.split("*") for each in wanted.forbidden]
    forbidden = sum(any(matches_pieces(name, pattern) for pattern in patterns) for name in found)
    places = zip(wanted.required, found, strict=False) if wanted.ordered else ()
    displaced = sum(name != there and name in known for name, there in places)
    return absent + beside + forbidden + displaced


# ---- The outcome of a check ----
# The job reports numbers only. The one status in a result is Deequ's own, which must agree with the computed one.


class Status(Enum):
    """The status of a check."""

    PASS = "pass"  # noqa: S105 - a status, not a password
    WARN = "warn"
    FAIL = "fail"
    ERROR = "error"
    """The check could not be measured, so that there is no verdict."""
    SKIP = "skip"
    """Nothing to measure; never blocks a delivery, always reported."""


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """One row of the report."""

    id: str
    rule: str
    kind: str
    """Kind of the rule, e.g. `type`; `file` for properties of the file."""
    fields: tuple[str, ...]
    status: Status
    wanted: str
    measured: str
    failing_rows: int | None
    message: str
    """One sentence: the measurement and the requirement, or the reason why nothing was measured."""
    samples: tuple[Sample, ...] = ()
    good: tuple[str, ...] = ()
    """The most common shapes of passing values."""
    numbers: ReportedNumbers | None = None
    """The measurement for machines; None if there is none."""
    observed: ObservedValues | None = None
    """What the data has, where the check observes it."""


Outcomes = tuple[CheckOutcome, ...]
BROKEN = frozenset({Status.FAIL, Status.WARN})
"""The statuses of a rule outside of its thresholds."""
OF_TYPES = ("type", "nested")
"""Kinds of rules that constrain the type of a field, if it is present."""
_WORST = {Severity.FAIL: Status.FAIL, Severity.WARN: Status.WARN}
HIDDEN = "not shown"
"""Instead of a number that shows a value of a classified field."""


def check_outcome(plan: Plan, check: Check, result: Result, measurement: Measurement | None) -> CheckOutcome:
    """The outcome of a check, given the delivery's result and the check's measurement.

    Of a number that shows a value of a classified field, only whether the bound holds is reported.
    """
    if check.metric.of_header and check.skip is None and result.columns:
        measurement = Measurement(check.id, of_header(check, result.columns))
    if measurement and measurement.accept and check.metric.is_external and reads_classified(plan, check):
        measurement = replace(measurement, accept=replace(measurement.accept, number=None))
    status, message = _status_of(plan, check, result, measurement)
    accept = measurement.accept if measurement and status is not Status.ERROR else None
    brief, numbers = (brief_text(check, accept), in_numbers(check, accept)) if accept else ("", None)
    if numbers is not None and shows_values(plan, check):
        brief, numbers = HIDDEN, replace(numbers, value=None)
    return CheckOutcome(
        id=check.id,
        rule=check.rule,
        kind=check.kind,
        fields=check.fields,
        status=status,
        wanted=check.wanted,
        measured=brief,
        failing_rows=measurement.accept.failing
        if measurement and measurement.accept and check.metric.of_rows
        else None,
        message=message,
        samples=measurement.samples if measurement else (),
        good=measurement.good if measurement else (),
        numbers=numbers,
        observed=measurement.observed if measurement and status is not Status.ERROR else None,
    )


def _status_of(plan: Plan, check: Check, result: Result, measurement: Measurement | None) -> tuple[Status, str]:
    absent = sorted(check.reads & result.lacking)
    if check.skip is not None:
        return Status.SKIP, check.skip
    if result.unreadable is not None:
        return Status.SKIP, "not measured: the delivery could not be read"
    if absent:
        return _absent_status(plan, check, absent), _absent_message(absent[0], result)
    if measurement is not None and measurement.skip is not None:
        return Status.SKIP, measurement.skip
    if measurement is None or measurement.accept is None:
        who = "the validator" if check.metric.is_external else "the job"
        return Status.ERROR, (measurement.error if measurement else None) or f"{who} gave no answer to this check"
    status, message = _tiers_status(plan, check, measurement.accept, measurement.tolerate)
    return status, message + _foreign(check, result)


def _foreign(check: Check, result: Result) -> str:
    """The type in the file that differs from the declared one."""
    if check.kind not in OF_TYPES or result.columns is None:
        return ""
    stored = result.columns.stored_as
    found = next((stored[name] for name in check.fields if name in stored), "")
    return f"; the file has it as {found}" if found else ""


def _absent_status(plan: Plan, check: Check, absent: list[str]) -> Status:
    """A check that demands an absent field does not hold; for any other one there is nothing to measure."""
    if demands(replace(check, worst=Severity.FAIL), absent):
        return _WORST[check.worst]
    return Status.PASS if plan.policy.missing_fields is FieldTreatment.ALLOW else Status.WARN


def _absent_message(name: str, result: Result) -> str:
    near = closest(name, result.columns.extra if result.columns else (), cutoff=0.6)
    return f"the file has no column {name}" + (f"; it has {near}: did you mean that?" if near else "")


def _tiers_status(plan: Plan, check: Check, accept: Measured, tolerate: Measured | None) -> tuple[Status, str]:
    tiers = [(check.accept, accept, Status.PASS)]
    if check.tolerate is not None:
        if tolerate is None:
            return Status.ERROR, "the job gave no answer to the tolerance of this check"
        tiers.append((check.tolerate, tolerate, Status.WARN))
    held = [(found, tier_holds(check, tier, found), status) for tier, found, status in tiers]
    if any(found.engine_passed not in {None, holds} for found, holds, _ in held):
        return Status.ERROR, "Deequ's own status of this check differs from ours: the measurement cannot be trusted"
    status = next((status for _, holds, status in held if holds), _WORST[check.worst])
    return status, _message(plan, check, accept)


def _message(plan: Plan, check: Check, accept: Measured) -> str:
    subject = ", ".join(check.fields) or "the dataset"
    if number_of(check, accept) is not None and shows_values(plan, check):
        holds = "holds" if tier_holds(check, check.accept, accept) else "does not hold"
        return (
            f"{subject}: wanted {check.wanted}; this {holds}, and the number is not shown: it may be a classified value"
        )
    return f"{subject}: wanted {check.wanted}; measured {measured_text(check, accept)}"

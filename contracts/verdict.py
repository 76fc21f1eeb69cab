"""The verdict: one pure function of a plan and a result.

1. Each check gets exactly one status from its measurement: pass, warn, fail, error or skip (`_status_of`).
2. What the file itself is (readable, whole records, its columns, not empty) gives outcomes of its own, ids `file/…`.
3. Any error → undecided; nothing measured → undecided; any fail → rejected, unless the policy observes or refuses rows only;
   any warn → accepted with warnings; else accepted.

The job reports numbers only: no status crosses from engine to verdict but Deequ's own, which must agree with ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING

from contracts.check import EPSILON, Metric, Unit
from contracts.model import Additional, Mode, OnReject, Severity
from contracts.result import Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contracts.check import Check, Tier
    from contracts.plan import Plan
    from contracts.result import Columns, Measured, Measurement, Result


class Status(Enum):
    """What became of one check."""

    PASS = "pass"  # noqa: S105 - a status, not a password
    WARN = "warn"
    FAIL = "fail"
    ERROR = "error"
    """No verdict: the check could not be measured."""
    SKIP = "skip"
    """Nothing to measure; never blocks, always named."""


class Verdict(Enum):
    """What becomes of a delivery."""

    ACCEPTED = "accepted"
    ACCEPTED_WITH_WARNINGS = "accepted_with_warnings"
    REJECTED = "rejected"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One row of the report."""

    id: str
    rule: str
    fields: tuple[str, ...]
    status: Status
    wanted: str
    measured: str
    failing_rows: int | None
    message: str
    """One sentence: what was found against what was wanted, or why nothing was."""
    samples: tuple[Sample, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict with everything that explains it."""

    verdict: Verdict
    outcomes: tuple[Outcome, ...]
    rows: int
    rejected_rows: int

    @property
    def reasons(self) -> tuple[Outcome, ...]:
        """What explains the verdict, the worst first: errors, fails, then warnings."""
        order = (Status.ERROR, Status.FAIL, Status.WARN)
        return tuple(each for status in order for each in self.outcomes if each.status is status)


RECORDS = "file/records"
"""The outcome that malformed records give; each is a row that can be refused alone."""

_WORST = {Severity.FAIL: Status.FAIL, Severity.WARN: Status.WARN}
_ADDITIONAL = {Additional.ALLOW: Status.PASS, Additional.WARN: Status.WARN, Additional.FORBID: Status.FAIL}
_MALFORMED = {
    "fields": "have another number of values than the header",
    "quotes": "have quotes that do not close or stand inside a value (a value with line breaks needs csv.multiLine: true)",
    "encoding": "are not valid in the declared encoding (csv.encoding)",
    "nul": "hold NUL characters",
    "too_long": "are longer than 1 MiB",
}


def judge(plan: Plan, result: Result) -> Judgement:
    """The verdict on a delivery; pure, and total for every plan and every result that answers it."""
    of_file = tuple(_file_outcomes(plan, result))
    of_checks = _check_outcomes(plan, result)
    return Judgement(
        verdict=_verdict(plan, result, of_file, of_checks),
        outcomes=of_file + of_checks,
        rows=result.rows,
        rejected_rows=result.rejected_rows,
    )


def row_rules(plan: Plan, result: Result) -> tuple[Check, ...]:
    """The failed checks that single rows can answer for: with `onReject: rows`, the rows that break one are refused."""
    outcomes = zip(plan.checks, _check_outcomes(plan, result), strict=True)
    return tuple(check for check, outcome in outcomes if outcome.status is Status.FAIL and _blames_rows(check))


def _verdict(plan: Plan, result: Result, of_file: tuple[Outcome, ...], of_checks: tuple[Outcome, ...]) -> Verdict:
    statuses = {each.status for each in of_file + of_checks}
    if Status.ERROR in statuses:
        return Verdict.UNDECIDED
    if _unmeasured(plan, result):
        return Verdict.REJECTED
    if all(each.status is Status.SKIP for each in of_checks):
        return Verdict.UNDECIDED
    failed = {each.id for each in of_file + of_checks if each.status is Status.FAIL}
    if failed and not _let_through(plan, result, failed):
        return Verdict.REJECTED
    return Verdict.ACCEPTED_WITH_WARNINGS if statuses & {Status.FAIL, Status.WARN} else Verdict.ACCEPTED


def _unmeasured(plan: Plan, result: Result) -> bool:
    """Nothing was there to judge: refused in every mode, for success without data would be vacuous."""
    return result.unreadable is not None or (result.rows == 0 and not plan.policy.allow_empty)


def _let_through(plan: Plan, result: Result, failed: set[str]) -> bool:
    if plan.policy.mode is Mode.OBSERVE:
        return True
    return plan.policy.on_reject is OnReject.ROWS and _only_rows_are_bad(plan, result, failed)


def _only_rows_are_bad(plan: Plan, result: Result, failed: set[str]) -> bool:
    by_rows = {check.id for check in row_rules(plan, result)} | {RECORDS}
    share = Fraction(result.rejected_rows, result.rows) if result.rows else Fraction(0)
    return failed <= by_rows and share < 1 and share <= Fraction(plan.policy.max_rejected_share)


def _check_outcomes(plan: Plan, result: Result) -> tuple[Outcome, ...]:
    answers = {each.check: each for each in result.measurements}
    return tuple(_check_outcome(check, result, answers.get(check.id)) for check in plan.checks)


def _blames_rows(check: Check) -> bool:
    counts_rows = check.metric in {Metric.FAILING_ROWS, Metric.DUPLICATE_ROWS}
    deciding = (check.tolerate or check.accept).interval
    bounded_above = deciding.low is None if check.unit is not Unit.SHARE else deciding.high is None
    return counts_rows and bounded_above and not deciding.outside


# --- one check


def _check_outcome(check: Check, result: Result, answer: Measurement | None) -> Outcome:
    status, message = _status_of(check, result, answer)
    accept = answer.accept if answer else None
    return Outcome(
        id=check.id,
        rule=check.rule,
        fields=check.fields,
        status=status,
        wanted=check.wanted,
        measured=_words(check, accept) if accept and status is not Status.ERROR else "",
        failing_rows=accept.failing if accept else None,
        message=message,
        samples=answer.samples if answer else (),
    )


def _status_of(check: Check, result: Result, answer: Measurement | None) -> tuple[Status, str]:
    absent = sorted(set(check.fields) & set(result.columns.absent)) if result.columns else []
    if check.skip is not None:
        return Status.SKIP, check.skip
    if result.unreadable is not None:
        return Status.SKIP, "not measured: the delivery could not be read"
    if absent:
        return _absent_status(check), _absent_message(absent[0], result)
    if answer is None or answer.accept is None:
        return Status.ERROR, (answer.error if answer else None) or "the job gave no answer to this check"
    return _tiers_status(check, answer.accept, answer.tolerate)


def _absent_status(check: Check) -> Status:
    """A type says what a column is if it is there; every other rule says that it must be."""
    return Status.WARN if check.kind == "type" else _WORST[check.worst]


def _absent_message(name: str, result: Result) -> str:
    near = get_close_matches(name, result.columns.extra if result.columns else (), n=1, cutoff=0.6)
    return f"the file has no column {name}" + (f"; it has {near[0]}: did you mean that?" if near else "")


def _tiers_status(check: Check, accept: Measured, tolerate: Measured | None) -> tuple[Status, str]:
    measured = [(check.accept, accept, Status.PASS)]
    if check.tolerate is not None:
        if tolerate is None:
            return Status.ERROR, "the job gave no answer to the tolerance of this check"
        measured.append((check.tolerate, tolerate, Status.WARN))
    if any(_disagrees(check, tier, found) for tier, found, _ in measured):
        return Status.ERROR, "Deequ's own status of this check differs from ours: the measurement cannot be trusted"
    holding = (status for tier, found, status in measured if tier_holds(check, tier, found))
    status = next(holding, _WORST[check.worst])
    return status, _message(check, accept)


def _disagrees(check: Check, tier: Tier, found: Measured) -> bool:
    return found.engine_passed is not None and found.engine_passed is not tier_holds(check, tier, found)


def tier_holds(check: Check, tier: Tier, found: Measured) -> bool:
    """Whether what was found is good for a tier; never so where there was no value to take the number of."""
    number = number_of(check, found)
    return number is not None and tier.interval.holds(number, EPSILON if check.metric.floating else Fraction(0))


def number_of(check: Check, found: Measured) -> Fraction | None:
    """The number that meets the interval; None where there was no value to take it of."""
    if check.metric.floating:
        return Fraction(found.number) if found.number is not None and math.isfinite(found.number) else None
    if check.metric is Metric.ROW_COUNT:
        return Fraction(found.of)
    failing = Fraction(found.failing or 0)
    share = failing / found.of if found.of else Fraction(0)
    return {Unit.ROWS: failing, Unit.VALUE: failing, Unit.PERCENT: share * 100, Unit.SHARE: 1 - share}[check.unit]


# --- words


def _message(check: Check, accept: Measured) -> str:
    subject = ", ".join(check.fields) or "the dataset"
    return f"{subject}: wanted {check.wanted}; measured {_words(check, accept)}"


def _words(check: Check, found: Measured) -> str:
    number = number_of(check, found)
    if number is None:
        return "no values to take it of"
    if check.metric.floating:
        return f"{float(number):.6g}"
    if check.metric is Metric.ROW_COUNT:
        return f"{found.of:,} rows"
    if found.of == 0:
        return "0 values measured"
    if check.metric is Metric.DISTINCT_SHARE:
        return f"{percent(number)} distinct"
    return f"{found.failing or 0:,} of {found.of:,} rows fail ({percent(Fraction(found.failing or 0, found.of))})"


def percent(share: Fraction) -> str:
    """A share as text, never rounded into `0 %` or `100 %` when it is neither."""
    text = f"{float(share) * 100:.2f}".rstrip("0").rstrip(".")
    if text == "0" and share:
        return "< 0.01 %"
    return "> 99.99 %" if text == "100" and share < 1 else f"{text} %"


# --- the file itself


def _file_outcomes(plan: Plan, result: Result) -> Iterator[Outcome]:
    if result.unreadable is not None:
        yield _of_file("readable", Status.FAIL, "a readable file", result.unreadable.message)
        return
    if result.rows == 0:
        status = Status.PASS if plan.policy.allow_empty else Status.FAIL
        yield _of_file("rows", status, "at least one row", "the delivery holds no rows")
    if result.malformed:
        yield _records_outcome(result)
    if result.columns is not None:
        yield from _column_outcomes(plan, result.columns)


def _records_outcome(result: Result) -> Outcome:
    message = "; ".join(
        f"{each.rows:,} {'row' if each.rows == 1 else 'rows'} (first: row {each.first_row:,}) {_MALFORMED[each.reason]}"
        for each in result.malformed
    )
    rows = sum(each.rows for each in result.malformed)
    return _of_file(
        RECORDS.removeprefix("file/"), Status.FAIL, "records of the promised shape", message, failing_rows=rows
    )


def _column_outcomes(plan: Plan, columns: Columns) -> Iterator[Outcome]:
    if columns.reordered:
        message = "the columns stand in another order than declared; consumers may read by position"
        yield _of_file("column-order", Status.WARN, "columns in the declared order", message)
    if columns.extra:
        message = f"the file has columns the contract does not name: {', '.join(columns.extra)}"
        yield _of_file("additional-columns", _ADDITIONAL[plan.policy.additional_fields], "declared columns", message)


def _of_file(name: str, status: Status, wanted: str, message: str, failing_rows: int | None = None) -> Outcome:
    return Outcome(f"file/{name}", "file", (), status, wanted, "", failing_rows, message)

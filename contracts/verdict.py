"""The verdict: one pure function of a plan and a result.

1. Each check gets exactly one status from its measurement: pass, warn, fail, error or skip (`contracts.outcome`).
2. What the file itself is gives outcomes of its own (`contracts.shape`).
3. Any error → undecided; nothing measured → undecided; any fail → rejected, unless the policy observes or refuses rows only;
   any warn → accepted with warnings; else accepted.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING

from contracts.check import Metric, Unit
from contracts.counts import Counts
from contracts.model import Mode, OnReject
from contracts.outcome import Outcome, Status, check_outcome
from contracts.predicate import Present, together
from contracts.result import Result
from contracts.shape import RECORDS, column_outcomes, file_outcomes

if TYPE_CHECKING:
    from contracts.check import Check
    from contracts.plan import Plan
    from contracts.result import Columns


class Verdict(Enum):
    """What becomes of a delivery."""

    ACCEPTED = "accepted"
    ACCEPTED_WITH_WARNINGS = "accepted_with_warnings"
    REJECTED = "rejected"
    UNDECIDED = "undecided"


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


def judge(plan: Plan, result: Result) -> Judgement:
    """The verdict on a delivery; pure, and total for every plan and every result that answers it."""
    of_file = tuple(file_outcomes(plan, result))
    of_checks = _check_outcomes(plan, result)
    return Judgement(
        verdict=_verdict(plan, result, of_file, of_checks),
        outcomes=of_file + of_checks,
        rows=result.rows,
        rejected_rows=result.rejected_rows,
    )


def counts_of(plan: Plan, judgement: Judgement) -> Counts:
    """How many rows are published and rejected, and how many checks have which status."""
    refused = judgement.rejected_rows if plan.policy.on_reject is OnReject.ROWS else 0
    published, rejected = {
        Verdict.ACCEPTED: (judgement.rows - refused, refused),
        Verdict.ACCEPTED_WITH_WARNINGS: (judgement.rows - refused, refused),
        Verdict.REJECTED: (0, judgement.rows),
        Verdict.UNDECIDED: (0, 0),
    }[judgement.verdict]
    statuses = [each.status for each in judgement.outcomes]
    checks = {status.value: statuses.count(status) for status in Status}
    return Counts(judgement.rows, published, rejected, checks)


def foregone(plan: Plan, columns: Columns) -> tuple[Outcome, ...]:
    """What a header alone decides: the failed outcomes that reject the delivery whatever rows follow it.

    None where the rows decide: the policy observes, or refuses rows only.
    """
    if plan.policy.mode is Mode.OBSERVE or plan.policy.on_reject is OnReject.ROWS:
        return ()
    answer = Result("", 0, "", "", rows=0, columns=columns)
    absent = set(columns.absent)
    lacking = (check for check in plan.checks if check.reads & absent or check.metric.of_header)
    outcomes = (*column_outcomes(plan, columns), *(check_outcome(check, answer, None) for check in lacking))
    return tuple(each for each in outcomes if each.status is Status.FAIL)


def row_rules(plan: Plan, result: Result) -> tuple[Check, ...]:
    """The failed checks that single rows can answer for: with `onReject: rows`, the rows that break one are refused."""
    outcomes = zip(plan.checks, _check_outcomes(plan, result), strict=True)
    failed = (check for check, outcome in outcomes if outcome.status is Status.FAIL)
    absent = set(result.columns.absent) if result.columns else set()
    return tuple(check for check in failed if _blames_rows(check) and not absent & check.reads)


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
    return tuple(check_outcome(check, result, answers.get(check.id)) for check in plan.checks)


def _blames_rows(check: Check) -> bool:
    counts_rows = check.metric is Metric.FAILING_ROWS or (check.metric is Metric.DUPLICATE_ROWS and _is_plain(check))
    deciding = (check.tolerate or check.accept).interval
    fewer_is_better = deciding.low is None or deciding.low <= 0
    bounded = fewer_is_better if check.unit not in {Unit.SHARE, Unit.PART} else deciding.high is None
    return counts_rows and bounded and not deciding.outside


def _is_plain(check: Check) -> bool:
    """Whether keys are compared over all rows: single rows answer for no other."""
    return not check.nulls_alike and check.given in {None, together(*map(Present, check.fields))}

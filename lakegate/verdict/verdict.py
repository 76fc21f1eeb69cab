"""Accepted, warned, rejected or undecided, with counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Final

from lakegate.admission.header import quote_names
from lakegate.base.text import limit_hints, plural
from lakegate.contract.delivery_policy import Mode, OnReject
from lakegate.plan.check import Check, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan
from lakegate.plan.predicates import Present, together
from lakegate.plan.result import Columns, Result
from lakegate.verdict.check_status import BROKEN, CheckOutcome, Outcomes, Status, check_outcome
from lakegate.verdict.file_checks import RECORDS, file_outcome, file_outcomes
from lakegate.verdict.reasons import Cause, explain_outcomes, reasons

# ---- Counts ----
# All commands and events use this class.


_CHECKS = {"pass": "passed", "warn": "warned", "fail": "failed", "error": "in error", "skip": "not measured"}
MAX_RULES: Final = 20
"""Broken rules of one delivery: each is an item of the transaction that commits it, which holds 100."""
LONGEST_RULE: Final = 200
"""Characters."""


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule outside its thresholds."""

    rule: str
    """Its id; of a property of the file `file/<property>`. At most `LONGEST_RULE` characters."""
    status: str
    """`fail` or `warn`: of its worst check."""
    rows: int | None = None
    """The most failing rows of one of its checks; None where rows are not counted."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows and checks of one judged delivery."""

    rows: int
    """Records of the delivery, including malformed ones."""
    published_rows: int
    """Rows in the accepted data; 0 if the delivery is rejected or undecided."""
    rejected_rows: int
    """Rows in quarantine: single rows with `onReject: rows`, all rows of a rejected delivery."""
    checks: dict[str, int] = field(default_factory=dict)
    """Checks by status: `pass`, `warn`, `fail`, `error`, `skip`."""

    @property
    def rows_in_words(self) -> str:
        """`11,520 rows`; `10,570 of 11,520 rows published, 950 rejected` if the delivery is split."""
        rows = plural(self.rows, "row")
        if self.published_rows and self.rejected_rows:
            return f"{self.published_rows:,} of {rows} published, {self.rejected_rows:,} rejected"
        return rows

    @property
    def checks_in_words(self) -> str:
        """`24 passed, 1 not measured`."""
        return (
            ", ".join(f"{self.checks[key]} {word}" for key, word in _CHECKS.items() if self.checks.get(key)) or "none"
        )


# ---- The verdicts ----


class Verdict(StrEnum):
    """The verdict on a delivery."""

    ACCEPTED = "accepted"
    ACCEPTED_WITH_WARNINGS = "accepted_with_warnings"
    REJECTED = "rejected"
    UNDECIDED = "undecided"


ACCEPTING: Final = frozenset({Verdict.ACCEPTED, Verdict.ACCEPTED_WITH_WARNINGS})
"""The verdicts with which a delivery is published."""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on several deliveries together: rejected where one is, else undecided where one is; of at least one."""
    order = list(Verdict)
    order.remove(Verdict.UNDECIDED)
    order.insert(order.index(Verdict.REJECTED), Verdict.UNDECIDED)
    return max(verdicts, key=order.index)


# ---- The verdict: a pure function of plan and result ----
# 1. Each check gets exactly one status from its measurement: pass, warn, fail, error or skip (`lakegate.verdict.check_status`).
# 2. Properties of the file give outcomes of their own (`lakegate.verdict.file_checks`).
# 3. Any error → undecided; nothing measured → undecided; any fail → rejected, unless the policy observes or refuses rows only;
#    any warn → accepted with warnings; else accepted.


MAX_REASONS_OF_DELIVERY: Final = 50
WHOLE: Final = "file/whole"
LONGEST_REASON_OF_DELIVERY: Final = 500
"""Characters: reasons are stored in a row of DynamoDB, which holds 400 KB."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict with its outcomes and causes."""

    verdict: Verdict
    outcomes: Outcomes
    rows: int
    rejected_rows: int
    causes: tuple[Cause, ...] = ()
    """Faults of the file that each explain several outcomes."""
    repeated_rows: int = 0
    """Accepted rows that are not published, because the line has their keys."""
    whole: CheckOutcome | None = None
    """With `onReject: rows`: why the file is rejected as a whole; None where it is not."""

    @property
    def reasons(self) -> Outcomes:
        """The reasons of the verdict, worst first: errors, fails, then warnings; a cause replaces the outcomes it explains."""
        return (*((self.whole,) if self.whole else ()), *reasons(self.causes, self.outcomes))

    @property
    def others(self) -> list[CheckOutcome]:
        """The outcomes that are no reasons: a cause explains them, they passed, or were not measured."""
        reasons = {reason.id for reason in self.reasons}
        return [outcome for outcome in self.outcomes if outcome.id not in reasons]

    @property
    def by_harm(self) -> Outcomes:
        """The reasons by status, those of the whole file first, then by the share of rows (or elements) that fail."""
        worst = {outcome.status: at for at, outcome in reversed(tuple(enumerate(self.reasons)))}
        explains = {cause.as_outcome(): cause.explains for cause in self.causes}
        outcomes = {outcome.id: outcome for outcome in (*self.outcomes, *((self.whole,) if self.whole else ()))}

        def share(reason: CheckOutcome) -> Fraction:
            return max(self._share(outcomes[each]) for each in explains.get(reason, (reason.id,)))

        return tuple(sorted(self.reasons, key=lambda reason: (worst[reason.status], -share(reason))))

    def _share(self, outcome: CheckOutcome) -> Fraction:
        """The share of rows that fail; 1 where no rows are counted."""
        if outcome.failing_rows is None:
            return Fraction(1)
        of = outcome.numbers.of if outcome.numbers else self.rows
        return min(Fraction(1), Fraction(outcome.failing_rows, max(1, of)))

    @property
    def explained(self) -> frozenset[str]:
        """Ids of the outcomes that a cause explains."""
        return frozenset(explain for cause in self.causes for explain in cause.explains)


@limit_hints()
def judge(plan: Plan, result: Result) -> Judgement:
    """Compute the verdict on a delivery. Pure, and defined for every plan and every result of it."""
    of_file = tuple(file_outcomes(plan, result))
    of_checks = _check_outcomes(plan, result)
    causes, outcomes = explain_outcomes(plan, result, of_file + of_checks)
    verdict = _verdict(plan, result, of_file, of_checks)
    return Judgement(
        verdict=verdict,
        outcomes=outcomes,
        rows=result.rows,
        rejected_rows=result.rejected_rows,
        causes=causes,
        repeated_rows=result.merge.repeated if result.merge else 0,
        whole=_whole(plan, result, of_file + of_checks) if verdict is Verdict.REJECTED else None,
    )


def _whole(plan: Plan, result: Result, outcomes: Outcomes) -> CheckOutcome | None:
    """The reason why a file is rejected as a whole although single rows may be rejected alone."""
    if plan.policy.on_reject is not OnReject.ROWS or _unmeasured(plan, result):
        return None
    by_rows = {check.id for check in row_rules(plan, result)} | {RECORDS}
    others = [outcome.id for outcome in outcomes if outcome.status is Status.FAIL and outcome.id not in by_rows]
    bad, most = result.rejected_rows, plan.policy.max_rejected_share
    if others:
        because = f"{quote_names(others)} {'rejects' if len(others) == 1 else 'reject'} the file, and no single rows"
    elif bad == result.rows:
        because = "every row breaks a rule"
    else:
        share = f"{Decimal(100 * bad / result.rows):.2g}"
        because = f"{share} % of the rows break a rule, more than {percent(most)} % (`maxRejectedShare`)"
    message = f"the whole file is rejected, although `onReject` is `rows`, because {because}"
    return file_outcome(WHOLE, Status.FAIL, "", message)


def percent(share: Decimal) -> str:
    """A share as percent, without zeros at its end."""
    return f"{(share * 100).normalize():f}"


def counts_of(plan: Plan, judgement: Judgement) -> Counts:
    """The number of published and rejected rows, and of checks by status."""
    refused = judgement.rejected_rows if plan.policy.on_reject is OnReject.ROWS else 0
    published, rejected = {
        Verdict.ACCEPTED: (judgement.rows - refused - judgement.repeated_rows, refused),
        Verdict.ACCEPTED_WITH_WARNINGS: (judgement.rows - refused - judgement.repeated_rows, refused),
        Verdict.REJECTED: (0, judgement.rows),
        Verdict.UNDECIDED: (0, 0),
    }[judgement.verdict]
    statuses = [outcome.status for outcome in judgement.outcomes]
    checks = {status.value: statuses.count(status) for status in Status}
    return Counts(judgement.rows, published, rejected, checks)


def broken_rules(outcomes: Sequence[CheckOutcome]) -> tuple[BrokenRule, ...]:
    """The rules that outcomes break, failures first, then by failing rows; bounded in number and length."""
    rules: dict[str, BrokenRule] = {}
    for outcome in outcomes:
        if outcome.status in BROKEN:
            rule = (outcome.id if outcome.kind == "file" else outcome.rule)[:LONGEST_RULE]
            one = BrokenRule(rule, outcome.status.value, outcome.failing_rows)
            rules[rule] = min(rules.get(rule, one), one, key=_worst_first)
    return tuple(sorted(rules.values(), key=_worst_first)[:MAX_RULES])


def reason_texts(outcomes: Sequence[CheckOutcome]) -> tuple[str, ...]:
    """The reasons as texts `<check>: <message>`, bounded in number and length; masked as the messages are."""
    return tuple(
        f"{outcome.id}: {outcome.message}"[:LONGEST_REASON_OF_DELIVERY]
        for outcome in outcomes[:MAX_REASONS_OF_DELIVERY]
    )


def early_rejections(plan: Plan, columns: Columns) -> Outcomes:
    """Failed outcomes of a header alone that reject the delivery whatever rows follow it."""
    return certain_failures(plan, Result("", 0, "", "", rows=1, columns=columns))


@limit_hints()
def certain_failures(plan: Plan, seen: Result) -> Outcomes:
    """Failed outcomes of a part of a result that reject the delivery whatever the rest of the result is.

    `seen` has columns, the number of rows, and measurements that can only be worse. The policy decides what rejects: nothing that
    rules say with `mode: observe`, and with `onReject: rows` neither rules of single rows nor the header.
    """
    measured = seen.measured
    of_file = tuple(file_outcomes(plan, seen))
    if _unmeasured(plan, seen):
        return tuple(outcome for outcome in of_file if outcome.status is Status.FAIL)
    if plan.policy.mode is Mode.OBSERVE:
        return ()
    if plan.policy.on_reject is OnReject.ROWS:
        of_file, known = (), [check for check in plan.checks if check.id in measured and not blames_rows(check)]
    else:
        known = [
            check
            for check in plan.checks
            if check.reads & seen.lacking or check.metric.of_header or check.id in measured
        ]
    outcomes = (*of_file, *(check_outcome(plan, check, seen, measured.get(check.id)) for check in known))
    causes, outcomes = explain_outcomes(plan, seen, outcomes)
    return tuple(reason for reason in reasons(causes, outcomes) if reason.status is Status.FAIL)


def row_rules(plan: Plan, result: Result) -> tuple[Check, ...]:
    """The failed checks of single rows: with `onReject: rows`, the rows that break one are rejected."""
    outcomes = zip(plan.checks, _check_outcomes(plan, result), strict=True)
    failed = (check for check, outcome in outcomes if outcome.status is Status.FAIL)
    return tuple(check for check in failed if blames_rows(check) and not result.lacking & check.reads)


def _verdict(plan: Plan, result: Result, of_file: Outcomes, of_checks: Outcomes) -> Verdict:
    statuses = {outcome.status for outcome in of_file + of_checks}
    if Status.ERROR in statuses:
        return Verdict.UNDECIDED
    if _unmeasured(plan, result):
        return Verdict.REJECTED
    if all(check.status is Status.SKIP for check in of_checks):
        return Verdict.UNDECIDED
    failed = {outcome.id for outcome in of_file + of_checks if outcome.status is Status.FAIL}
    if failed and plan.policy.mode is not Mode.OBSERVE and not _only_rows_are_bad(plan, result, failed):
        return Verdict.REJECTED
    return Verdict.ACCEPTED_WITH_WARNINGS if statuses & BROKEN else Verdict.ACCEPTED


def _unmeasured(plan: Plan, result: Result) -> bool:
    """Whether nothing was measured: then the delivery is refused in every mode, because success would be vacuous."""
    return result.unreadable is not None or (result.rows == 0 and not plan.policy.allow_empty)


def _only_rows_are_bad(plan: Plan, result: Result, failed: set[str]) -> bool:
    if plan.policy.on_reject is not OnReject.ROWS:
        return False
    by_rows = {check.id for check in row_rules(plan, result)} | {RECORDS}
    share = Fraction(result.rejected_rows, result.rows) if result.rows else Fraction(0)
    return failed <= by_rows and share < 1 and share <= Fraction(plan.policy.max_rejected_share)


def _check_outcomes(plan: Plan, result: Result) -> Outcomes:
    measured = result.measured
    return tuple(check_outcome(plan, check, result, measured.get(check.id)) for check in plan.checks)


def _worst_first(rule: BrokenRule) -> tuple[str, int, str]:
    return rule.status, -(rule.rows or 0), rule.rule


def blames_rows(check: Check) -> bool:
    """Whether rows that break it are rejected alone with `onReject: rows`; a broken other check rejects the file."""
    counts_rows = check.metric is Metric.FAILING_ROWS or (check.metric is Metric.DUPLICATE_ROWS and _is_plain(check))
    return counts_rows and is_upper_bound(check, check.tolerate or check.accept)


def is_upper_bound(check: Check, tier: Tier) -> bool:
    """Whether a tier of a check of rows allows so many bad rows at most, and fewer always."""
    none_is_bad = Fraction(check.unit in {Unit.SHARE, Unit.PART})
    return tier.interval.holds(none_is_bad) and not tier.interval.outside


def _is_plain(check: Check) -> bool:
    """Whether keys are compared over all rows, so that the check does not concern single rows."""
    return not check.nulls_alike and check.row_filter in {None, together(*map(Present, check.fields))}

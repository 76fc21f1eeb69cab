"""What a verdict means: the rules of docs/architecture.md, section 5, one test for each line about deciding."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from lakegate.contract.contract_model import Severity
from lakegate.contract.delivery_policy import Mode, Policy
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.check import NONE, Check, Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.predicates import Present, Typed, Within
from lakegate.plan.result import Columns, MalformedRecords, Measured, Measurement, Result, Unreadable
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import Verdict, judge, row_rules

CLEAN = Measured(of=10, failing=0, engine_passed=True)
BAD = Measured(of=10, failing=3, engine_passed=False)
NUMBER = PlanField("n", "c0", LogicalType.NUMBER)


def check(**changes: object) -> Check:
    usual = Check(
        id="r/n",
        rule="r",
        kind="required",
        fields=("n",),
        metric=Metric.FAILING_ROWS,
        unit=Unit.ROWS,
        accept=Tier(NONE, Present("n")),
        wanted="present",
    )
    return replace(usual, **changes)  # type: ignore[arg-type]


def plan(*checks: Check, policy: Policy | None = None) -> Plan:
    return Plan("c", "1.0.0", "d", (NUMBER,), checks, policy or Policy())


def answer(*measurements: Measurement, rows: int = 10, **changes: object) -> Result:
    usual = Result("w", 1, "0" * 64, "v", rows, columns=Columns(("n",)), measurements=measurements)
    return replace(usual, **changes)  # type: ignore[arg-type]


def measured(accept: Measured, tolerate: Measured | None = None, check: str = "r/n") -> Measurement:
    return Measurement(check, accept, tolerate)


def statuses(plan: Plan, result: Result) -> dict[str, str]:
    return {each.id: each.status.value for each in judge(plan, result).outcomes}


def verdict(plan: Plan, result: Result) -> Verdict:
    return judge(plan, result).verdict


def test_a_delivery_that_keeps_every_rule_is_accepted() -> None:
    """All checks pass: accepted, and nothing needs a reason."""
    judgement = judge(plan(check()), answer(measured(CLEAN)))

    assert (judgement.verdict, judgement.reasons) == (Verdict.ACCEPTED, ())


def test_a_broken_rule_rejects() -> None:
    """One failing check rejects the delivery, and its reason counts the rows."""
    judgement = judge(plan(check()), answer(measured(BAD)))

    assert judgement.verdict == Verdict.REJECTED
    assert [each.message for each in judgement.reasons] == ["n: wanted present; measured 3 of 10 rows fail (30 %)"]


def test_a_rule_of_less_severity_warns_at_worst() -> None:
    """A broken rule whose worst is a warning lets the delivery through, with the warning named."""
    mild = plan(check(worst=Severity.WARN))

    assert verdict(mild, answer(measured(BAD))) == Verdict.ACCEPTED_WITH_WARNINGS
    assert statuses(mild, answer(measured(BAD))) == {"r/n": "warn"}


@pytest.mark.parametrize(
    ("low", "lower", "status"),
    [("yes", "yes", "pass"), ("no", "yes", "warn"), ("no", "no", "fail")],
)
def test_between_the_tolerances_is_a_warning(low: str, lower: str, status: str) -> None:
    """Inside the warn tolerance passes, outside it but inside the fail tolerance warns, outside both fails."""
    found = {"yes": CLEAN, "no": BAD}
    tolerant = check(
        accept=Tier(NONE, Within("n", low="0")), tolerate=Tier(NONE, Within("n", low="-1")), wanted="at least 0"
    )

    assert {"r/n": status} == statuses(plan(tolerant), answer(measured(found[low], found[lower])))


def test_an_error_leaves_the_delivery_undecided_whatever_else_failed() -> None:
    """A check that could not be measured is an error, and any error means that nothing is decided."""
    two = plan(check(), check(id="s/n", rule="s"))
    result = answer(measured(BAD), Measurement("s/n", error="the pattern is none"))

    assert verdict(two, result) == Verdict.UNDECIDED
    assert statuses(two, result) == {"r/n": "fail", "s/n": "error"}


@pytest.mark.parametrize("measurements", [(), (Measurement("r/n"),)])
def test_a_check_without_an_answer_is_an_error(measurements: tuple[Measurement, ...]) -> None:
    """Silence is not a success: a check that the job did not answer is an error."""
    assert statuses(plan(check()), answer(*measurements)) == {"r/n": "error"}


def test_a_tolerance_without_an_answer_is_an_error() -> None:
    """Both tiers must be measured before either decides."""
    tolerant = check(tolerate=Tier(NONE, Within("n", low="-1")))

    assert statuses(plan(tolerant), answer(measured(BAD))) == {"r/n": "error"}


def test_deequ_and_lakegate_must_agree() -> None:
    """Where Deequ's own status differs from ours, the measurement is not trusted: error."""
    lying = replace(BAD, engine_passed=True)

    assert statuses(plan(check()), answer(measured(lying))) == {"r/n": "error"}
    assert statuses(plan(check()), answer(measured(replace(BAD, engine_passed=None)))) == {"r/n": "fail"}


def test_a_skipped_check_never_blocks_and_is_named() -> None:
    """What cannot be measured is skipped with its reason beside checks that were measured."""
    named = check(id="t", rule="t", fields=(), skip="text rules are for people")
    judgement = judge(plan(check(), named), answer(measured(CLEAN)))

    assert judgement.verdict == Verdict.ACCEPTED
    assert (judgement.outcomes[1].status, judgement.outcomes[1].message) == (Status.SKIP, "text rules are for people")


@pytest.mark.parametrize("checks", [(), (check(skip="text"),)])
def test_a_delivery_of_which_nothing_was_measured_is_undecided(checks: tuple[Check, ...]) -> None:
    """No check measured at all can never be a success."""
    assert verdict(plan(*checks), answer()) == Verdict.UNDECIDED


def test_an_empty_delivery_is_rejected_unless_the_contract_allows_it() -> None:
    """No rows: rejected in every mode; with allowEmpty, accepted on its measured zeros."""
    empty = answer(measured(Measured(of=0, failing=0)), rows=0, columns=None)

    assert verdict(plan(check()), empty) == Verdict.REJECTED
    assert verdict(plan(check(), policy=Policy(mode=Mode.OBSERVE)), empty) == Verdict.REJECTED
    assert verdict(plan(check(), policy=Policy(allow_empty=True)), empty) == Verdict.ACCEPTED
    assert statuses(plan(check()), empty) == {"file/rows": "fail", "r/n": "pass"}


def test_an_unreadable_delivery_is_rejected_and_its_checks_are_skipped() -> None:
    """A file of another shape than promised is rejected for that, in every mode; no check pretends to have been measured."""
    result = answer(unreadable=Unreadable("gzip", "the file is gzip-compressed"), rows=0, columns=None)

    assert verdict(plan(check()), result) == Verdict.REJECTED
    assert verdict(plan(check(), policy=Policy(mode=Mode.OBSERVE)), result) == Verdict.REJECTED
    assert statuses(plan(check()), result) == {"file/readable": "fail", "r/n": "skip"}


def test_observing_warns_and_lets_through() -> None:
    """In observe mode a broken rule is reported and the delivery accepted with warnings; an error stays undecided."""
    observing = plan(check(), policy=Policy(mode=Mode.OBSERVE))

    assert verdict(observing, answer(measured(BAD))) == Verdict.ACCEPTED_WITH_WARNINGS
    assert verdict(observing, answer()) == Verdict.UNDECIDED


def test_malformed_records_reject() -> None:
    """Records that are none are counted by reason, with the first row of each, and reject the delivery."""
    result = answer(
        measured(CLEAN), malformed=(MalformedRecords("fields", 2, 7), MalformedRecords("quotes", 1, 9)), rejected_rows=3
    )
    outcome = judge(plan(check()), result).outcomes[0]

    assert verdict(plan(check()), result) == Verdict.REJECTED
    assert (outcome.id, outcome.failing_rows) == ("file/records", 3)
    assert outcome.message.startswith("2 rows (first: row 7) have another number of values than the header; 1 row ")


@pytest.mark.parametrize(
    ("unit", "interval", "failing", "status"),
    [
        (Unit.ROWS, Interval(high=Decimal(3)), 3, "pass"),
        (Unit.ROWS, Interval(high=Decimal(3), high_open=True), 3, "fail"),
        (Unit.VALUE, Interval(low=Decimal(1), low_open=True), 1, "fail"),
        (Unit.PERCENT, Interval(high=Decimal(30)), 3, "pass"),
        (Unit.PERCENT, Interval(high=Decimal("29.9")), 3, "fail"),
        (Unit.SHARE, Interval(low=Decimal("0.7")), 3, "pass"),
        (Unit.SHARE, Interval(low=Decimal("0.70000000000000000001")), 3, "fail"),
    ],
)
def test_counts_meet_bounds_exactly(unit: Unit, interval: Interval, failing: int, status: str) -> None:
    """Shares of counts are compared as exact fractions: a bound is met or missed, never rounded."""
    bounded = plan(check(unit=unit, accept=Tier(interval, Present("n"))))

    assert {"r/n": status} == statuses(bounded, answer(measured(Measured(of=10, failing=failing))))


@pytest.mark.parametrize(
    ("number", "status"),
    [(10.0, "pass"), (10.0 + 1e-9, "pass"), (10.0 + 1e-7, "fail"), (None, "fail"), (float("nan"), "fail")],
)
def test_floating_aggregates_have_an_epsilon_and_no_number_is_never_a_pass(number: float | None, status: str) -> None:
    """A mean is compared with a relative epsilon of 1e-9; where there is no number, the check does not pass."""
    ten = Interval(low=Decimal(10), high=Decimal(10))
    mean = check(metric=Metric.MEAN, unit=Unit.VALUE, accept=Tier(ten))

    assert {"r/n": status} == statuses(plan(mean), answer(measured(Measured(of=10, number=number))))


@pytest.mark.parametrize(
    ("changes", "of_the_whole"),
    [
        ({"row_filter": Present("n")}, False),
        ({"row_filter": Typed("n")}, True),
        ({"nulls_alike": True}, True),
        ({}, False),
    ],
)
def test_keys_of_some_rows_answer_for_the_whole(changes: dict[str, object], of_the_whole: object) -> None:
    """Rows that share a key are to blame only where keys are compared over all rows that have one."""
    keyed = plan(check(metric=Metric.DUPLICATE_ROWS, accept=Tier(NONE), **changes))

    assert of_the_whole is (row_rules(keyed, answer(measured(BAD))) == ())

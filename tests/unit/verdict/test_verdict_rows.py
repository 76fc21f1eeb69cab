"""Verdicts where bad rows are rejected apart from good ones."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from lakegate.contract.delivery_policy import OnReject, Policy
from lakegate.plan.check import Check, Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.predicates import Present
from lakegate.plan.result import MalformedRecords, Measured
from lakegate.verdict.verdict import Verdict, judge, row_rules
from tests.unit.verdict.test_verdict import BAD, CLEAN, answer, check, measured, plan, statuses, verdict


def test_refusing_rows_accepts_the_rest() -> None:
    """With onReject: rows, a delivery whose only fault is single rows is accepted with warnings, within the share allowed."""
    policy = Policy(on_reject=OnReject.ROWS, max_rejected_share=Decimal("0.3"))
    by_rows = plan(check(), policy=policy)
    bad = answer(measured(BAD), rejected_rows=3)

    assert verdict(by_rows, bad) == Verdict.ACCEPTED_WITH_WARNINGS
    assert verdict(by_rows, replace(bad, rejected_rows=4)) == Verdict.REJECTED
    assert by_rows.checks == row_rules(by_rows, bad)


@pytest.mark.parametrize(
    ("changes", "blamed"),
    [
        ({}, True),
        ({"accept": Tier(Interval(low=Decimal(0), high=Decimal(0)), Present("n"))}, True),
        ({"accept": Tier(Interval(low=Decimal(1), high=Decimal(2)), Present("n"))}, False),
        ({"accept": Tier(Interval(high=Decimal(2), outside=True), Present("n"))}, False),
        ({"unit": Unit.SHARE, "accept": Tier(Interval(low=Decimal("0.9")), Present("n"))}, True),
        ({"unit": Unit.SHARE, "accept": Tier(Interval(high=Decimal("0.9")), Present("n"))}, False),
        ({"metric": Metric.DUPLICATE_ROWS}, True),
        ({"metric": Metric.DUPLICATE_ROWS, "nulls_alike": True}, False),
        ({"metric": Metric.ROW_COUNT, "unit": Unit.VALUE}, False),
    ],
)
def test_a_row_is_blamed_where_fewer_such_rows_are_better(changes: dict[str, object], *, blamed: bool) -> None:
    """A rule refuses single rows only where each of them is one too many."""
    by_rows = plan(check(**changes), policy=Policy(on_reject=OnReject.ROWS))

    assert bool(row_rules(by_rows, answer(measured(BAD)))) is blamed


def test_refusing_rows_never_accepts_none() -> None:
    """A delivery all of whose rows are refused is rejected, whatever share is allowed."""
    by_rows = plan(check(), policy=Policy(on_reject=OnReject.ROWS))
    worst = answer(measured(Measured(of=10, failing=10, engine_passed=False)), rejected_rows=10)

    assert verdict(by_rows, worst) == Verdict.REJECTED


def test_malformed_records_are_rows_that_can_be_refused() -> None:
    """With onReject: rows, a malformed record is refused alone."""
    by_rows = plan(check(), policy=Policy(on_reject=OnReject.ROWS))
    result = answer(measured(CLEAN), malformed=(MalformedRecords("fields", 1, 2),), rejected_rows=1)

    assert verdict(by_rows, result) == Verdict.ACCEPTED_WITH_WARNINGS


@pytest.mark.parametrize(
    "of_the_whole",
    [
        check(metric=Metric.ROW_COUNT, unit=Unit.VALUE, fields=(), accept=Tier(Interval(low=Decimal(20)))),
        check(accept=Tier(Interval(low=Decimal(5)), Present("n"))),
        check(accept=Tier(Interval(low=Decimal(3), high=Decimal(3), outside=True), Present("n"))),
        check(unit=Unit.SHARE, accept=Tier(Interval(high=Decimal("0.5")), Present("n"))),
    ],
)
def test_rows_do_not_answer_for_rules_of_the_whole(of_the_whole: Check) -> None:
    """With onReject: rows, a rule that no single row breaks still rejects the delivery."""
    by_rows = plan(of_the_whole, policy=Policy(on_reject=OnReject.ROWS))
    result = answer(measured(Measured(of=10, failing=3)), rejected_rows=3)

    assert (statuses(by_rows, result), row_rules(by_rows, result)) == ({"r/n": "fail"}, ())
    assert verdict(by_rows, result) == Verdict.REJECTED


@pytest.mark.parametrize(
    ("share", "rejected", "others", "because"),
    [
        ("0.001", 1, (), "10 % of the rows break a rule, more than 0.1 % (`maxRejectedShare`)"),
        ("1", 10, (), "every row breaks a rule"),
        ("1", 1, ("s/n",), "s/n rejects the file, and no single rows"),
        ("1", 1, ("s/n", "t/n"), "s/n, t/n reject the file, and no single rows"),
    ],
)
def test_a_file_that_is_rejected_whole_says_why(
    share: str, rejected: int, others: tuple[str, ...], because: str
) -> None:
    """It is the first of the reasons, and no outcome of a check."""
    counted = Tier(Interval(low=Decimal(1)), Present("n"))
    checks = (check(), *(check(id=each, accept=counted) for each in others))
    policy = Policy(on_reject=OnReject.ROWS, max_rejected_share=Decimal(share))
    by_rows = replace(plan(check(), policy=policy), checks=checks)
    clean = (measured(Measured(10, 0), check=each) for each in others)
    judgement = judge(by_rows, answer(measured(BAD), *clean, rejected_rows=rejected))

    message = f"the whole file is rejected, although `onReject` is `rows`, because {because}"
    assert (judgement.reasons[0].id, judgement.reasons[0].message) == ("file/whole", message)
    assert judgement.by_harm[0] == judgement.reasons[0]
    assert "file/whole" not in {each.id for each in judgement.outcomes}
    assert judge(plan(check()), answer(measured(BAD))).whole is None

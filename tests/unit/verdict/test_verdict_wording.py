"""The texts and the order of outcomes and reasons."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from lakegate.contract.contract_model import Severity
from lakegate.plan.check import Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.predicates import Present
from lakegate.plan.result import Measured, Measurement, Unreadable
from lakegate.verdict.check_status import Status
from lakegate.verdict.measured_values import percent
from lakegate.verdict.verdict import BrokenRule, Verdict, broken_rules, judge
from tests.unit.verdict.test_verdict import BAD, CLEAN, answer, check, measured, plan

AT_LEAST_ONE = Interval(low=Decimal(1))


@pytest.mark.parametrize(
    ("changes", "found", "words"),
    [
        ({}, Measured(of=0, failing=0), "0 values measured"),
        ({}, Measured(of=10, failing=1), "10 % fail"),
        ({"unit": Unit.SHARE, "accept": Tier(Interval(low=Decimal(0)), Present("n"))}, Measured(10, 1), "90 % hold"),
        ({"metric": Metric.ROW_COUNT, "unit": Unit.VALUE}, Measured(of=1234), "1,234 rows"),
        ({"metric": Metric.MEAN, "unit": Unit.VALUE}, Measured(of=9, number=1.5), "1.5"),
        ({"metric": Metric.DEVIATION, "unit": Unit.VALUE}, Measured(of=0), "no values to take it of"),
        ({"metric": Metric.DISTINCT_SHARE, "unit": Unit.SHARE}, Measured(of=10, failing=5), "50 % distinct"),
        ({"metric": Metric.DUPLICATE_ROWS}, Measured(of=10, failing=2), "2 of 10 rows fail (20 %)"),
        ({"metric": Metric.DUPLICATE_ROWS}, Measured(of=10, failing=0), "0 of 10 rows fail (0 %)"),
        ({"metric": Metric.DUPLICATE_ROWS, "accept": Tier(AT_LEAST_ONE)}, Measured(of=10, failing=2), "2 of 10 rows"),
        (
            {"metric": Metric.DUPLICATE_ROWS, "unit": Unit.PERCENT, "accept": Tier(AT_LEAST_ONE)},
            Measured(of=10, failing=2),
            "2 of 10 rows fail (20 %)",
        ),
        (
            {"metric": Metric.DUPLICATE_ROWS, "accept": Tier(Interval(low=Decimal(0)))},
            Measured(of=10, failing=2),
            "2 of 10 rows fail (20 %)",
        ),
    ],
)
def test_what_was_measured_is_said_in_words(changes: dict[str, object], found: Measured, words: str) -> None:
    """A table shows the number that decided, in words a producer knows."""
    assert words == judge(plan(check(**changes)), answer(measured(found))).outcomes[0].measured


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (Fraction(0), "0 %"),
        (Fraction(1), "100 %"),
        (Fraction(1, 10**6), "< 0.01 %"),
        (1 - Fraction(1, 10**6), "> 99.99 %"),
        (Fraction(1, 8), "12.5 %"),
        (Fraction(1, 10), "10 %"),
    ],
)
def test_a_share_is_never_rounded_into_none_or_all(share: Fraction, text: str) -> None:
    """One row in a million is less than 0.01 %, not 0 %."""
    assert text == percent(share)


def test_reasons_come_worst_first() -> None:
    """Errors explain first, then failures, then warnings."""
    three = plan(check(id="w", worst=Severity.WARN), check(id="f"), check(id="e"))
    result = answer(measured(BAD, check="w"), measured(BAD, check="f"))

    assert [each.id for each in judge(three, result).reasons] == ["e", "f", "w"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 seconds"),
        (90, "90 seconds"),
        (120, "2 minutes"),
        (-7200, "-2 hours"),
        (129600, "36 hours"),
        (302400, "3.5 days"),
    ],
)
def test_a_time_is_shown_in_the_largest_unit_of_which_it_lasts_two(seconds: int, words: str) -> None:
    """A producer reads hours and days, not millions of seconds."""
    aged = plan(check(metric=Metric.YOUNGEST, unit=Unit.VALUE, accept=Tier(Interval(high=Decimal(10**9)))))
    outcome = judge(aged, answer(measured(Measured(of=10, number=float(seconds))))).outcomes[0]

    assert words == outcome.measured


def test_a_check_the_job_found_nothing_to_compare_with_is_named() -> None:
    """A skip of the job is a skip of the check, with its reason; it neither blocks nor counts as a pass."""
    nothing = Measurement("r/n", skip="nothing of shop/orders_v1 has been accepted yet")
    beside = judge(plan(check(), check(id="q/n")), answer(nothing, measured(CLEAN, check="q/n")))
    alone = judge(plan(check()), answer(nothing))

    assert (beside.verdict, alone.verdict) == (Verdict.ACCEPTED, Verdict.UNDECIDED)
    assert [(each.status, each.message) for each in alone.outcomes if each.id == "r/n"] == [
        (Status.SKIP, "nothing of shop/orders_v1 has been accepted yet")
    ]


def test_broken_rules_are_listed_once_the_worst_first() -> None:
    """A rule is as bad as its worst check; failures precede warnings, and rules with more failing rows the others."""
    found = plan(
        check(id="a/n", rule="a", worst=Severity.WARN),
        check(id="b/n", rule="b"),
        check(id="b/m", rule="b", worst=Severity.WARN),
        check(id="c/n", rule="c"),
        check(id="d/n", rule="d"),
    )
    worse = Measured(of=10, failing=7, engine_passed=False)
    numbers = {"a/n": BAD, "b/n": BAD, "b/m": worse, "c/n": worse, "d/n": CLEAN}
    judgement = judge(found, answer(*(measured(each, check=name) for name, each in numbers.items())))

    assert broken_rules(judgement.outcomes) == (
        BrokenRule("c", "fail", 7),
        BrokenRule("b", "fail", 3),
        BrokenRule("a", "warn", 3),
    )


def test_the_list_of_broken_rules_is_bounded() -> None:
    """Each is written with the commit, so their number and their length are bounded; a finding of the file has its id."""
    many = plan(*(check(id=f"{n:03}/n", rule=f"{n:03}" + "x" * 1_000) for n in range(60)))
    listed = broken_rules(judge(many, answer(*(measured(BAD, check=each.id) for each in many.checks))).outcomes)
    unreadable = judge(plan(check()), answer(unreadable=Unreadable("not-csv", "it is no CSV")))

    assert [each.rule for each in listed] == [f"{n:03}" + "x" * 197 for n in range(20)]
    assert [each.rule for each in broken_rules(unreadable.outcomes)] == ["file/readable"]

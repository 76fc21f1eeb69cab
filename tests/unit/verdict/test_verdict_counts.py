"""How many rows and checks there are, in the words that every command and event uses."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from lakegate.contract.delivery_policy import Mode, OnReject, Policy
from lakegate.plan.check import Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.result import Measured, Measurement
from lakegate.verdict.measured_values import ReportedNumbers
from lakegate.verdict.verdict import Counts, counts_of, judge
from tests.unit.verdict.test_verdict import BAD, CLEAN, answer, check, measured, plan

BY_ROWS = Policy(on_reject=OnReject.ROWS)
HUGE = Decimal("1" + "0" * 400 + ".5")
"""A number with a fraction that no double holds."""
NONE_MEASURED = {"pass": 0, "warn": 0, "fail": 0, "error": 0, "skip": 0}


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (Counts(11_520, 11_520, 0), "11,520 rows"),
        (Counts(11_520, 10_570, 950), "10,570 of 11,520 rows published, 950 rejected"),
        (Counts(11_520, 0, 11_520), "11,520 rows"),
        (Counts(1, 1, 0), "1 row"),
        (Counts(0, 0, 0), "0 rows"),
    ],
)
def test_rows_are_counted_apart_where_only_some_are_published(counts: Counts, words: str) -> None:
    """Published and rejected rows are both named where a delivery is split; else the rows share the verdict."""
    assert counts.rows_in_words == words


@pytest.mark.parametrize(
    ("checks", "words"),
    [
        ({"pass": 24, "warn": 0, "fail": 0, "error": 0, "skip": 1}, "24 passed, 1 not measured"),
        (
            {"pass": 1, "warn": 2, "fail": 3, "error": 4, "skip": 5},
            "1 passed, 2 warned, 3 failed, 4 in error, 5 not measured",
        ),
        (NONE_MEASURED, "none"),
    ],
)
def test_checks_that_were_not_measured_are_counted(checks: dict[str, int], words: str) -> None:
    """A skipped check never disappears from a count of checks."""
    assert Counts(0, 0, 0, checks).checks_in_words == words


@pytest.mark.parametrize(
    ("policy", "bad", "expected"),
    [
        (BY_ROWS, True, Counts(10, 7, 3, NONE_MEASURED | {"fail": 1, "skip": 1})),
        (BY_ROWS, False, Counts(10, 10, 0, NONE_MEASURED | {"pass": 1, "skip": 1})),
        (Policy(), True, Counts(10, 0, 10, NONE_MEASURED | {"fail": 1, "skip": 1})),
        (Policy(mode=Mode.OBSERVE), True, Counts(10, 10, 0, NONE_MEASURED | {"fail": 1, "skip": 1})),
    ],
)
def test_what_is_published_follows_from_verdict_and_policy(policy: Policy, *, bad: bool, expected: Counts) -> None:
    """Row by row only bad rows are rejected, else all or none; what an observing contract lets through is published."""
    compiled = plan(check(), check(id="s/n", skip="not measured by this version"), policy=policy)
    result = answer(measured(BAD if bad else CLEAN), rejected_rows=3 if bad else 0)

    assert counts_of(compiled, judge(compiled, result)) == expected


def test_an_undecided_delivery_neither_publishes_nor_rejects() -> None:
    """Without a verdict no row is counted as accepted or rejected."""
    compiled = plan(check())
    result = replace(answer(Measurement("r/n", error="the job gave no answer")), rejected_rows=3)

    assert counts_of(compiled, judge(compiled, result)) == Counts(10, 0, 0, NONE_MEASURED | {"error": 1})


@pytest.mark.parametrize(
    ("changes", "found", "expected"),
    [
        ({}, Measured(10, 3), ReportedNumbers(3, "rows", 3, 10)),
        ({"of_elements": True}, Measured(10, 3), ReportedNumbers(3, "elements", 3, 10)),
        ({"unit": Unit.PERCENT}, Measured(8, 1), ReportedNumbers(12.5, "percent", 1, 8)),
        ({"unit": Unit.SHARE}, Measured(8, 1), ReportedNumbers(0.875, "share", 1, 8)),
        ({"metric": Metric.ROW_COUNT, "unit": Unit.VALUE}, Measured(8), ReportedNumbers(8, "rows", None, 8)),
        (
            {"metric": Metric.YOUNGEST, "unit": Unit.VALUE},
            Measured(8, number=90.5),
            ReportedNumbers(90.5, "seconds", None, 8),
        ),
        (
            {"metric": Metric.MEAN, "unit": Unit.VALUE},
            Measured(8, number=None),
            ReportedNumbers(None, "value", None, 8),
        ),
        ({"metric": Metric.ANSWER}, Measured(1, exact=Decimal("2.5")), ReportedNumbers(2.5, "value", None, 1)),
        ({"metric": Metric.ANSWER}, Measured(1, exact=Decimal("1E+400")), ReportedNumbers(10**400, "value", None, 1)),
        ({"metric": Metric.ANSWER}, Measured(1, exact=HUGE), ReportedNumbers(None, "value", None, 1)),
    ],
)
def test_what_was_measured_is_a_number_for_machines(
    changes: dict[str, Any], found: Measured, expected: ReportedNumbers
) -> None:
    """A measurement is a value with its unit, the rows that break the rule and the rows it was taken over."""
    compiled = plan(check(**changes))
    (outcome,) = judge(compiled, answer(Measurement("r/n", found))).outcomes

    assert outcome.numbers == expected

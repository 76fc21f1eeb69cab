"""The span of event times in a result: that of the field by which the age of rows is measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakegate.contract.contract_model import Rule
from lakegate.contract.delivery_policy import OnReject, Policy
from lakegate.verdict.check_status import Status
from tests.deliveries.delivery import Judged, plan_of, rule, with_classification

FRESH = plan_of({"at": "timestamp"}, rule("serviceLevel", "at", property="freshness", value="30 days"))
DELIVERED = b"at\n2026-01-01T00:00:00Z\n2025-12-31T23:00:00-05:00\n\nnever\n"


def expectation(call: str, *fields: str, **arguments: object) -> Rule:
    return rule("custom", *fields, engine="gx", call=call, args=arguments)


def test_the_span_of_event_times_is_told(judge_files: Callable[..., Judged]) -> None:
    """The result has the earliest and the latest moment of the delivery in UTC; nulls and other texts are ignored."""
    found = judge_files(FRESH, DELIVERED).result.event_time

    assert found == ("2026-01-01T00:00:00.000000Z", "2026-01-01T04:00:00.000000Z")


@pytest.mark.parametrize(
    ("classification", "rows"),
    [
        ("confidential", DELIVERED),
        (None, b"at\nnever\n"),
        (None, b"at\n0000-01-01T00:00:00Z\n"),
        (None, b"at\n9999-12-31T23:59:59-01:00\n"),
    ],
)
def test_moments_that_may_not_or_cannot_be_told_are_not(
    judge_files: Callable[..., Judged], classification: str | None, rows: bytes
) -> None:
    """A classified field's values stay in the data, and where there is no moment none is invented."""
    plan = with_classification(FRESH, **({"at": classification} if classification else {}))

    assert judge_files(plan, rows).result.event_time is None


def test_without_a_service_level_no_moment_is_told(judge_files: Callable[..., Judged]) -> None:
    """Only a service level names the field of event times."""
    assert judge_files(plan_of({"at": "timestamp"}), DELIVERED).result.event_time is None


def test_rows_outside_of_a_condition_are_not_rejected(judge_files: Callable[..., Judged]) -> None:
    """A rule of some rows rejects rows of these alone, and the first and the last are sampled."""
    bounded = expectation("expect_column_values_to_be_between", "n", max_value=5, row_condition='k == "x"')
    plan = plan_of({"k": "string", "n": "integer"}, bounded, policy=Policy(on_reject=OnReject.ROWS))
    judged = judge_files(plan, b"k,n\nx,1\nx,9\ny,9\n,9\nx,\n")

    assert (judged.result.rejected_rows, judged.reasons.count("\n")) == (1, 0)
    assert [sample.row for each in judged.result.measurements for sample in each.samples] == [3]


def test_keys_with_nulls_are_sampled(judge_files: Callable[..., Judged]) -> None:
    """Two rows that share a key of which a part is null are shown; no single row answers for them."""
    alike = expectation("expect_compound_columns_to_be_unique", column_list=["k", "n"])
    plan = plan_of({"k": "string", "n": "integer"}, alike, policy=Policy(on_reject=OnReject.ROWS))
    judged = judge_files(plan, b"k,n\nx,\ny,1\nx,\n,\n,\n")

    assert judged.statuses()["custom/k+n"] is Status.FAIL
    assert [sample.row for each in judged.result.measurements for sample in each.samples] == [2, 4]
    assert judged.result.rejected_rows == 0

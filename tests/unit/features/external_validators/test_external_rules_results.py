"""Answers of validators: read strictly, and merged with the result of an attempt."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.contract.contract_model import Severity
from lakegate.contract.logical_types import LogicalType
from lakegate.features.external_validators.external_rules import (
    RAISED,
    UNKNOWN,
    ExternalAnswer,
    ValidationFailed,
    merge_answers,
    read_answer,
)
from lakegate.plan.check import NONE, Check, Tier, Unit
from lakegate.plan.external_rule import ExternalRule
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.result import Measured, Measurement, ObservedValues, Result, Unreadable
from lakegate.report.dcm_results import MeasuringTechnology, technologies
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import judge

NAME = "f" * 64
ORDER = Check("order", "order", "custom", (), Metric.EXTERNAL, Unit.VALUE, Tier(NONE), Tier(NONE), wanted="in order")
PAIR = replace(ORDER, id="pair", rule="pair", fields=("a", "b"))
ROWS = Check("rows", "rows", "size", (), Metric.ROW_COUNT, Unit.VALUE, Tier(NONE), wanted="none")
PLAN = Plan("shop", "1.0.0", "orders", (), (ORDER,), external=(ExternalRule("order", "GX", "gx", "{}"),))
RESULT = Result("w" * 64, 1, PLAN.digest, "v", 5, engines={"duckdb": "1.0.0"})
OK = {"success": True, "exception_info": {"raised_exception": False}}
NOT = {"success": False, "exception_info": {"raised_exception": False}}


def result(fail: Any = OK, warn: Any = None, name: str = "order", **more: Any) -> dict[str, Any]:
    return {"id": name, "column": None, "metric": 7, "severity": {"fail": fail, "warn": warn}, **more}


def answer(*results: Any, **changes: Any) -> bytes:
    return json.dumps({"workloadId": NAME, "status": "OK", "result": list(results), **changes}).encode()


def read(body: bytes, *checks: Check) -> ExternalAnswer | None:
    return read_answer(body, NAME, "GX", checks or (ORDER,))


FAILS = ObservedValues(severities=("fail",))
"""Of an answer about this severity alone."""


def statuses(*results: Any, worst: Severity = Severity.FAIL) -> list[Status]:
    """The status of the only check, by results of its validator."""
    plan = replace(PLAN, checks=(replace(ORDER, worst=worst),))
    found = read(answer(*results))
    assert found is not None
    return [
        each.status for each in judge(plan, merge_answers(plan, RESULT, {"GX": found})).outcomes if each.kind != "file"
    ]


@pytest.mark.parametrize(
    ("results", "worst", "status"),
    [
        (result(), Severity.FAIL, Status.PASS),
        (result(NOT), Severity.FAIL, Status.FAIL),
        (result(NOT), Severity.WARN, Status.WARN),
        (result(OK, OK), Severity.FAIL, Status.PASS),
        (result(OK, NOT), Severity.FAIL, Status.WARN),
        (result(None, NOT), Severity.FAIL, Status.WARN),
        (result(NOT, OK), Severity.FAIL, Status.FAIL),
        (result({"success": True}), Severity.FAIL, Status.PASS),
        (result({"success": True, "exception_info": None}), Severity.FAIL, Status.PASS),
        (result({"success": False, "exception_info": {"raised_exception": True}}), Severity.FAIL, Status.ERROR),
        (result(OK, {"success": True, "exception_info": {"raised_exception": True}}), Severity.FAIL, Status.ERROR),
    ],
)
def test_the_severities_of_a_result_give_the_status(results: Any, worst: Severity, status: Status) -> None:
    """`fail` that is not kept to fails, `warn` alone warns, and what could not be measured is an error."""
    assert statuses(results, worst=worst) == [status]


def test_an_answer_has_a_measurement_of_each_check_and_a_version() -> None:
    """In the order in which they were asked; a result for each column of a check is one measurement."""
    found = read(
        answer(
            result(name="pair", column="b", metric=5, version="1.2.3"),
            result(NOT, name="pair", column="a", technology="GX"),
            result(metric=2.5, version="1.2.3", technology="GX"),
        ),
        ORDER,
        PAIR,
    )

    assert found == ExternalAnswer(
        "1.2.3",
        (
            Measurement("order", Measured(1, 0, 2.5), tolerate=Measured(1, 0, 2.5), observed=FAILS),
            Measurement("pair", Measured(2, 1), tolerate=Measured(2, 1), observed=FAILS),
        ),
    )


@pytest.mark.parametrize(
    ("columns", "fields", "is_answer"),
    [
        ([None], ("a", "b"), True),
        (["a"], ("a", "b"), False),
        (["a", "c"], ("a", "b"), False),
        ([None, None], ("a", "b"), False),
        (["a", None], ("a", "b"), False),
        (["a", "a"], ("a", "b"), False),
        (["a", "b", "b"], ("a", "b"), False),
        (["b", "a"], ("a", "b"), True),
        (["a"], ("a",), True),
        (["b"], ("a",), False),
        ([None], ("a",), True),
        ([1], ("1",), False),
        (["None"], ("None",), True),
        ([None], (), True),
        (["a"], (), False),
        ([], (), False),
    ],
)
def test_results_are_one_for_the_rule_or_one_for_each_of_its_columns(
    columns: list[object], fields: tuple[str, ...], *, is_answer: bool
) -> None:
    """A result of one column says nothing about the others."""
    body, check = answer(*(result(column=each) for each in columns)), replace(ORDER, fields=fields)
    if not is_answer:
        with pytest.raises(InputError, match="no result of a rule, or several"):
            read(body, check)
        return
    kept = Measured(len(columns), 0, 7 if len(columns) == 1 else None)

    assert read(body, check) == ExternalAnswer(UNKNOWN, (Measurement("order", kept, tolerate=kept, observed=FAILS),))


@pytest.mark.parametrize(
    "metric", [None, True, "7", [1, 2], [1, "a"], [[1]], [True], [1] * 101, {"a": 1}, 10**400, float("1e308")]
)
def test_only_numbers_of_metrics_are_kept(metric: object) -> None:
    """Text of a service comes into no result."""
    found = read(answer(result(metric=metric)))

    kept, values = Measured(1, 0, 1e308 if metric == 1e308 else None), ("1", "2") if metric == [1, 2] else ()

    observed = replace(FAILS, values=values)
    assert found == ExternalAnswer(UNKNOWN, (Measurement("order", kept, tolerate=kept, observed=observed),))


def test_a_metric_beyond_doubles_is_no_number() -> None:
    """JSON may write one; documents of the gate cannot."""
    found = read(answer(result()).replace(b"7", b"1e999"))

    assert found == ExternalAnswer(
        UNKNOWN, (Measurement("order", Measured(1, 0), tolerate=Measured(1, 0), observed=FAILS),)
    )


def test_what_runs_and_what_failed() -> None:
    """`Running` is no answer yet, `NOK` is none at all."""
    assert read(answer(status="Running")) is None
    with pytest.raises(ValidationFailed):
        read(answer(status="NOK"))


WRONG = {
    "no JSON": b"<html>",
    "no UTF-8": b"\xff\xfe",
    "deep": b"[" * 100_000,
    "a number too long": b'{"workloadId": ' + b"9" * 5_000 + b"}",
    "NaN": answer(result()).replace(b"7", b"NaN"),
    "a list": b"[]",
    "another id": answer(result(), workloadId="e" * 64),
    "no id": json.dumps({"status": "OK", "result": [result()]}).encode(),
    "another status": answer(result(), status="DONE"),
    "a status that is a list": answer(result(), status=["OK"]),
    "no results": answer(result=None),
    "results that are texts": answer("order"),
    "no result of a rule": answer(),
    "two results of a rule": answer(result(), result()),
    "an unknown rule": answer(result(), result(name="other")),
    "a rule that is a list": answer({**result(), "id": ["order"]}),
    "another technology": answer(result(technology="Deequ")),
    "a technology that is a list": answer(result(technology=["GX"])),
    "two versions": answer(result(version="1"), result(name="pair", column="a", version="2")),
    "a version with a control character": answer(result(version="1\x1b[31m")),
    "a version that is a list": answer(result(version=["1"])),
    "no severity": answer(result(None, None)),
    "a severity that is a list": answer({**result(), "severity": []}),
    "an unknown severity": answer({**result(), "severity": {"fail": OK, "note": OK}}),
    "a success that is a text": answer(result({"success": "true"})),
    "no success": answer(result({})),
    "an exception that is a text": answer(result({"success": True, "exception_info": "none"})),
    "raised is a text": answer(result({"success": True, "exception_info": {"raised_exception": "no"}})),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_answer_is_refused(name: str) -> None:
    """Another form, another validation, other rules: none of them is an answer."""
    with pytest.raises(InputError) as refused:
        read(WRONG[name], ORDER, PAIR) if name == "two versions" else read(WRONG[name])

    assert not isinstance(refused.value, ValidationFailed)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(
    path=st.sampled_from(["workloadId", "status", "result", "id", "column", "severity", "fail", "success"]), value=JSON
)
def test_whatever_a_member_is_the_answer_counts_or_is_refused(path: str, value: object) -> None:
    """Exchanged by anything, a member leads to an answer with one result of the check, to none yet, or to InputError."""
    document = json.loads(answer(result()))
    inner = document["result"][0]
    places = {
        "severity": inner,
        "id": inner,
        "column": inner,
        "fail": inner["severity"],
        "success": inner["severity"]["fail"],
    }
    places.get(path, document)[path] = value
    try:
        found = read(json.dumps(document).encode())
    except InputError:
        return

    assert found is None or [each.check for each in found.measurements] == ["order"]
    if path == "success":
        assert value in {True, False}


def test_answers_are_merged_with_the_result() -> None:
    """What the run itself says about an external check does not count, and each technology has its version."""
    lying = replace(RESULT, measurements=(Measurement("order", Measured(1, 0)), Measurement("rows", Measured(5))))
    plan = replace(PLAN, checks=(ORDER, ROWS))
    found = read(answer(result(NOT, version="1.2.3")))
    assert found is not None
    whole = merge_answers(plan, lying, {"GX": found})
    without = merge_answers(plan, lying, {})

    assert whole == replace(
        lying,
        measurements=(Measurement("rows", Measured(5)), *found.measurements),
        engines={"duckdb": "1.0.0", "external:GX": "1.2.3"},
    )
    assert Result.from_bytes(whole.to_bytes()) == whole
    assert technologies(plan, judge(plan, whole), whole)["order"] == MeasuringTechnology("GX", "1.2.3")
    assert [each.message for each in judge(plan, without).outcomes if each.id == "order"] == [
        "the validator gave no answer to this check"
    ]


def test_the_answer_is_named_in_the_reason() -> None:
    """Who measured it, how many answers break it, and its metric, where that is a number."""
    found = read(answer(result(NOT)))
    raised = read(answer(result({"success": False, "exception_info": {"raised_exception": True}})))
    assert found is not None
    assert raised is not None
    reasons = [judge(PLAN, merge_answers(PLAN, RESULT, {"GX": each})).outcomes[-1].message for each in (found, raised)]

    assert reasons == [
        "the dataset: wanted in order; measured 1 of 1 answers of the validator says that it is broken (its metric: 7)",
        RAISED,
    ]


def test_the_metric_of_a_classified_field_is_not_named() -> None:
    """A validator's metric may be the value of one person."""
    found = read(answer(result(NOT)))
    assert found is not None
    classified = PlanField("a", "c0", LogicalType.STRING, classification="restricted")
    plan = replace(PLAN, fields=(classified,), checks=(replace(ORDER, fields=("a",)),))

    assert judge(plan, merge_answers(plan, RESULT, {"GX": found})).outcomes[-1].message == (
        "a: wanted in order; measured 1 of 1 answers of the validator says that it is broken"
    )


def test_what_cannot_be_read_is_not_asked() -> None:
    """A delivery that no engine could read is refused as it would be without validators."""
    unreadable = replace(RESULT, rows=0, unreadable=Unreadable("gzip", "It is no gzip file."))

    assert judge(PLAN, merge_answers(PLAN, unreadable, {})) == judge(PLAN, unreadable)

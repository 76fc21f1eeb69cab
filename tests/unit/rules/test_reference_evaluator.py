"""The reference evaluator itself: what it answers beside the numbers of the cases."""

from __future__ import annotations

import pytest
from hypothesis import given

from lakegate.contract.logical_types import LogicalType
from lakegate.plan.plan import Plan
from lakegate.plan.predicates import All, Not, OneOf, Predicate, Present, Typed
from lakegate.plan.result import Columns, Result
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import judge
from tests.reference.cases import contract_of, only_plan, rule_of
from tests.reference.evaluator import measure
from tests.reference.lexical import parse
from tests.reference.sampling import sampled
from tests.reference.strategies import results
from tests.reference.truths import holds


def plan_of_kind(kind: str = "type", **fields: str) -> Plan:
    contract = contract_of(fields, rule_of(kind, {}, tuple(fields)))
    return only_plan(contract)


def test_columns_are_bound_by_name() -> None:
    """A header in another order, with a column more and a column less, is reported and does not confuse values."""
    plan = plan_of_kind("required", a="string", b="string", c="string")
    result = measure(plan, ["b", "x", "a"], [["1", "2", None]])

    assert Columns(("b", "x", "a"), absent=("c",), extra=("x",), reordered=True) == result.columns
    assert [(each.check, each.accept.failing) for each in result.measurements if each.accept] == [
        ("r/a", 1),
        ("r/b", 0),
    ]


def test_a_rule_of_an_absent_column_fails() -> None:
    """A column that a rule names and the file lacks is never a pass."""
    plan = plan_of_kind("required", a="string", b="string")
    judgement = judge(plan, measure(plan, ["a"], [["x"]]))

    assert [each.status for each in judgement.outcomes] == [Status.PASS, Status.FAIL]


@pytest.mark.parametrize(
    ("predicate", "text", "expected"),
    [
        (Not(OneOf("a", ("1",))), None, True),
        (Not(OneOf("a", ("1",))), "x", True),
        (Not(OneOf("a", ("1",))), "1", False),
        (Not(Present("a")), None, True),
        (Not(Present("a")), "x", False),
        (Not(Typed("a")), None, True),
        (All((Present("a"), OneOf("a", ("1",)))), None, False),
        (All((OneOf("a", ("1",)), Typed("a"))), "x", False),
        (All((OneOf("a", ("1",)), OneOf("a", ("2",)))), "x", True),
    ],
)
def test_nulls_and_ill_typed_values_follow_the_policy(predicate: Predicate, text: str | None, expected: object) -> None:
    """What gives a predicate nothing to judge does not break it, under `not` and `all` as well."""
    assert expected is holds(plan_of_kind(a="integer"), predicate, {"a": text})


@pytest.mark.parametrize(
    ("logical", "smaller", "greater"),
    [
        ("date", "0000-02-29", "0000-03-01"),
        ("date", "0000-12-31", "0001-01-01"),
        ("timestamp", "0000-12-31T23:59:59", "0001-01-01T00:00:00"),
        ("timestamp", "2024-01-01T00:00:00.0000019Z", "2024-01-01T00:00:00.000002Z"),
        ("timestamp", "2024-01-01T00:00:00+18:00", "2024-01-01T00:00:00-18:00"),
        ("time", "11:59:59.999999999", "12:00"),
        ("number", "-1e99", "1e-99"),
        ("decimal", "-.000000000000000001", "0."),
    ],
)
def test_values_keep_the_order_of_their_type(logical: str, smaller: str, greater: str) -> None:
    """Moments, times and numbers are ordered as what they mean, at the extremes too."""
    assert parse(LogicalType(logical), smaller) < parse(LogicalType(logical), greater)


@sampled(50, 2000)
@given(results)
def test_every_result_has_a_verdict(result: Result) -> None:
    """The verdict is total: no answer of a job makes it raise."""
    plan = plan_of_kind("required", a="string")

    assert judge(plan, result).outcomes

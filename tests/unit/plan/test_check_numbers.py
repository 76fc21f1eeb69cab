"""Numbers of classified fields are replaced by numbers that the bounds alone decide."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from lakegate.contract.logical_types import LogicalType
from lakegate.plan.check import Check, Interval, Query, QueryColumn, QueryRelation, Tier, Unit
from lakegate.plan.check_numbers import tier_holds
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.result import Measured, Measurement
from lakegate.verdict.measured_values import conceal_number, shows_values
from tests.reference.sampling import sampled

NUMBERS = st.decimals(-1000, 1000, places=2)
INTERVALS = st.builds(Interval, st.none() | NUMBERS, st.none() | NUMBERS, st.booleans(), st.booleans(), st.booleans())


def check(metric: Metric, accept: Interval, tolerate: Interval | None = None) -> Check:
    tier = None if tolerate is None else Tier(tolerate)
    return Check("r", "r", "sql", ("n",), metric, Unit.VALUE, Tier(accept), tier)


def measurement(metric: Metric, number: Decimal, *, tolerate: bool) -> Measurement:
    found = Measured(1, exact=number) if metric is Metric.ANSWER else Measured(1, number=float(number))
    return Measurement("r", found, found if tolerate else None)


@sampled(300, 20_000)
@given(
    st.sampled_from([Metric.ANSWER, Metric.MEAN, Metric.YOUNGEST]), NUMBERS, NUMBERS, INTERVALS, st.none() | INTERVALS
)
def test_a_concealed_number_meets_the_same_bounds_and_tells_nothing_else(
    metric: Metric, one: Decimal, other: Decimal, accept: Interval, tolerate: Interval | None
) -> None:
    """The same tiers hold as before; two numbers for which the same tiers hold become one and the same."""
    rule = check(metric, accept, tolerate)
    before = [measurement(metric, each, tolerate=tolerate is not None) for each in (one, other)]
    after = [conceal_number(rule, each) for each in before]

    def holding(each: Measurement) -> list[bool]:
        tiers = ((rule.accept, each.accept), (rule.tolerate, each.tolerate))
        return [tier_holds(rule, tier, found) for tier, found in tiers if tier is not None and found is not None]

    assert [holding(each) for each in after] == [holding(each) for each in before]
    assert holding(before[0]) != holding(before[1]) or after[0] == after[1]


def test_what_is_no_number_stays() -> None:
    """No value, an infinity and an error say nothing about a person."""
    rule = check(Metric.MEAN, Interval())
    none = (Measured(0), Measured(1, number=float("inf")))
    kept = [*(Measurement("r", each) for each in none), Measurement("r", error="x")]

    assert [conceal_number(rule, each) for each in kept] == kept


def test_the_fields_that_a_check_reads_decide() -> None:
    """Fields without a classification, public ones and counts are shown; what reads another dataset is not."""
    plan = Plan("c", "1.0.0", "d", (PlanField("n", "c0", LogicalType.NUMBER),), (), None)  # type: ignore[arg-type]
    column = QueryColumn("n", LogicalType.NUMBER)

    def shown(classification: str | None, text: str, dataset: str = "d") -> bool:
        fields = (replace(plan.fields[0], classification=classification),)
        query = Query(text, text, (), (QueryRelation(dataset, (column,)),))
        rule = replace(check(Metric.ANSWER, Interval()), query=query, fields=())
        return not shows_values(replace(plan, fields=fields), rule)

    largest, counted = (
        "SELECT max(q1.c0) AS k0 FROM r0 AS q1",
        "SELECT count(q1.c0) AS k0 FROM r0 AS q1 WHERE (q1.c0 > 1L)",
    )
    assert [shown(each, largest) for each in (None, " Public ", "restricted")] == [True, True, False]
    assert [shown("restricted", counted), shown(None, largest, "other"), shown(None, counted, "other")] == [
        True,
        False,
        True,
    ]
    assert not shows_values(plan, replace(check(Metric.FAILING_ROWS, Interval()), query=None))
    assert not shows_values(plan, replace(check(Metric.MEAN, Interval()), query=None))

"""The numbers of a delivery that are compared: what its checks have measured, and nothing of what is classified."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.json_codec import decode, encode
from lakegate.contract.contract_model import Severity
from lakegate.contract.delivery_policy import Anomalies, Mode, OnReject, Policy
from lakegate.contract.logical_types import LogicalType
from lakegate.features.anomalies.delivery_numbers import (
    GAP,
    LARGEST,
    MOST_NUMBERS,
    Measure,
    MeasuredNumber,
    numbers_of,
)
from lakegate.features.anomalies.robust_band import FEWEST, Band, Past, Scale, unusual
from lakegate.gate.delivery.delivery_row import Anomaly
from lakegate.plan.check import NONE, Check, Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.predicates import Not, Predicate, Present
from lakegate.plan.result import Columns, Measured, Measurement, Result
from tests.reference.sampling import sampled

FIELDS = (
    PlanField("amount", "c0", LogicalType.NUMBER),
    PlanField("email", "c1", LogicalType.STRING, classification="personal"),
    PlanField("country", "c2", LogicalType.STRING, classification="public"),
)
ENFORCED = Policy()
SOME = Interval(high=Decimal(5))
ANY = Interval()


def check(metric: Metric, field: str, tier: Tier | None = None, **more: object) -> Check:
    name, tier = f"{metric.value}/{field}", tier or Tier(ANY)
    made = Check(name, metric.value, metric.value, (field,), metric, Unit.VALUE, tier)
    return replace(made, **more)  # type: ignore[arg-type]  # as given


def rows(field: str, interval: Interval, predicate: Predicate | None = None, **more: object) -> Check:
    return check(Metric.FAILING_ROWS, field, Tier(interval, predicate), unit=Unit.ROWS, **more)


def numbers(*checks: tuple[Check, Measured | None], policy: Policy = ENFORCED, **more: object) -> dict[str, float]:
    """The numbers of a delivery of 200 rows, without those that every one has."""
    plan = Plan("shop", "1.0.0", "orders", FIELDS, tuple(each for each, _ in checks), policy=policy)
    measured = tuple(Measurement(each.id, found) for each, found in checks)
    result = replace(Result("", 0, "", "", rows=200, measurements=measured), **more)  # type: ignore[arg-type]  # as given
    found = numbers_of(plan, result)
    return {of.key: number for of, number in found.items() if of.measure not in {Measure.ROWS, Measure.REJECTED}}


@pytest.mark.parametrize(
    ("metric", "found", "wanted"),
    [
        (Metric.MEAN, Measured(150, number=12.5), {"value/mean/amount": 12.5, "nulls/amount": 0.25}),
        (Metric.SUM, Measured(200, number=1e15 / 3), {"value/sum/amount": 333333333000000.0, "nulls/amount": 0.0}),
        (Metric.DISTINCT_COUNT, Measured(200, failing=190), {"distinct-values/distinct_count/amount": 10.0}),
        (Metric.YOUNGEST, Measured(200, number=90.0), {"age/youngest/amount": 90.0, "nulls/amount": 0.0}),
        (Metric.ANSWER, Measured(200, exact=Decimal("7.5")), {"value/answer/amount": 7.5}),
        (Metric.DUPLICATE_ROWS, Measured(200, failing=50), {"failing-rows/duplicate_rows/amount": 0.25}),
        (Metric.ANSWER, Measured(200, exact=Decimal(10) ** 399), {}),
        (Metric.ANSWER, Measured(200, exact=-(Decimal(10) ** 399)), {}),
        (Metric.MEAN, Measured(200, number=float("nan")), {"nulls/amount": 0.0}),
        (Metric.MEAN, Measured(200, number=1e301), {"nulls/amount": 0.0}),
        (Metric.MEAN, Measured(0, failing=0), {}),
        (Metric.OLDEST, Measured(200, number=90.0), {"nulls/amount": 0.0}),
        (Metric.ROW_COUNT, Measured(200), {}),
        (Metric.COLUMN_COUNT, Measured(3), {}),
        (Metric.MEAN, None, {}),
    ],
)  # fmt: skip
def test_a_check_gives_its_number_and_the_share_of_rows_without_a_value(
    metric: Metric, found: Measured | None, wanted: dict[str, float]
) -> None:
    """Nine digits of each; without a value there is none."""
    assert numbers((check(metric, "amount"), found)) == wanted


@pytest.mark.parametrize(
    ("one", "policy", "wanted"),
    [
        (rows("amount", NONE), Policy(), {}),
        (rows("amount", SOME), Policy(), {"failing-rows/failing_rows/amount": 0.02}),
        (rows("amount", NONE, worst=Severity.WARN), Policy(), {"failing-rows/failing_rows/amount": 0.02}),
        (rows("amount", NONE, tolerate=Tier(SOME)), Policy(), {"failing-rows/failing_rows/amount": 0.02}),
        (rows("amount", NONE), Policy(mode=Mode.OBSERVE), {"failing-rows/failing_rows/amount": 0.02}),
        (rows("amount", NONE), Policy(on_reject=OnReject.ROWS), {"failing-rows/failing_rows/amount": 0.02}),
        (rows("amount", SOME, Present("amount")), Policy(), {"nulls/amount": 0.02}),
        (rows("email", SOME, Present("email")), Policy(), {"nulls/email": 0.02}),
        (rows("amount", SOME, Present("country")), Policy(), {"failing-rows/failing_rows/amount": 0.02}),
        (
            rows("amount", SOME, Present("amount"), row_filter=Not(Present("country"))),
            Policy(),
            {"failing-rows/failing_rows/amount": 0.02},
        ),
        (
            rows("amount", SOME, Present("amount"), of_elements=True),
            Policy(),
            {"failing-rows/failing_rows/amount": 0.02},
        ),
    ],
)
def test_a_share_of_failing_rows_is_compared_where_a_delivery_with_some_may_be_accepted(
    one: Check, policy: Policy, wanted: dict[str, float]
) -> None:
    """Elsewhere it is 0 in all that are accepted; rows that fail because a value is absent are nulls of its field."""
    assert numbers((one, Measured(200, failing=4)), policy=policy) == wanted


def test_numbers_of_classified_values_are_not_kept() -> None:
    """Only the share of rows that have one: public fields are shown."""
    found = Measured(200, number=3.5)

    assert numbers((check(Metric.MEAN_LENGTH, "email"), found), (check(Metric.MEAN_LENGTH, "country"), found)) == {
        "nulls/email": 0.0,
        "value/mean_length/country": 3.5,
        "nulls/country": 0.0,
    }


def test_checks_that_were_not_measured_give_no_number() -> None:
    """Skipped ones, and those of a column that the file lacks."""
    found, lacking = Measured(200, number=3.5), Columns((), absent=("amount",))

    assert numbers((check(Metric.MEAN, "amount", skip="no reference"), found)) == {}
    assert numbers((check(Metric.MEAN, "amount"), found), columns=lacking) == {}


def test_a_delivery_has_so_many_numbers_at_most() -> None:
    """Those of the first checks; names that are too long are left out."""
    many = tuple((check(Metric.MEAN, "amount", id=f"mean {at}"), Measured(200, number=1.0)) for at in range(60))
    long = (check(Metric.MEAN, "amount", id="x" * 201), Measured(200, number=1.0))

    assert len(numbers(long, *many)) == MOST_NUMBERS - 2
    assert numbers(long) == {"nulls/amount": 0.0}


def test_an_empty_delivery_has_its_number_of_rows() -> None:
    """And no share."""
    plan = Plan("shop", "1.0.0", "orders", FIELDS, ())

    assert numbers_of(plan, Result("", 0, "", "", rows=0)) == {MeasuredNumber(Measure.ROWS): 0.0}
    assert numbers_of(plan, Result("", 0, "", "", rows=4, rejected_rows=1)) == {
        MeasuredNumber(Measure.ROWS): 4.0,
        MeasuredNumber(Measure.REJECTED): 0.25,
    }


LATE = "time since the accepted delivery before"
BOTH, DECREASE = Anomalies.BOTH, Anomalies.DECREASE


@pytest.mark.parametrize(
    ("of", "number", "band", "text"),
    [
        (MeasuredNumber(Measure.ROWS), 112.0, Band(1900, 2150, 2000, 20, "Mondays"),
         "rows: 112, usual is 1,900 to 2,150 (median of the last 20 Mondays: 2,000)"),
        (MeasuredNumber(Measure.REJECTED), 0.3, Band(0, 0.0166, 0.001, 30, ""),
         "rejected rows: 30 %, usual is at most 1.66 % (median of the last 30 deliveries: 0.1 %)"),
        (MeasuredNumber(Measure.NULLS, "email"), 0.3, Band(0, 0.0166, 0, 30, ""),
         "nulls in email: 30 %, usual is at most 1.66 % (median of the last 30 deliveries: 0 %)"),
        (MeasuredNumber(Measure.FAILING, "format/email"), 1.0, Band(0, 0.5, 0, 30, ""),
         "failing rows by format/email: 100 %, usual is at most 50 % (median of the last 30 deliveries: 0 %)"),
        (MeasuredNumber(Measure.DISTINCT, "shops/shop"), 3.0, Band(40, 60, 50, 30, ""),
         "distinct values by shops/shop: 3, usual is 40 to 60 (median of the last 30 deliveries: 50)"),
        (GAP, 129_600.0, Band(0, 90_000, 86_400, 14, ""),
         f"{LATE}: 36 hours, usual is at most 25 hours (median of the last 14 deliveries: 24 hours)"),
        (MeasuredNumber(Measure.AGE, "fresh/at"), 7_200.0, Band(0, 600, 300, 14, ""),
         "fresh/at: 2 hours, usual is at most 10 minutes (median of the last 14 deliveries: 5 minutes)"),
        (MeasuredNumber(Measure.VALUE, "mean/amount"), 1250.0, Band(11.5, 13.1, 12.5, 30, ""),
         "mean/amount: 1250, usual is 11.5 to 13.1 (median of the last 30 deliveries: 12.5)"),
    ],
)  # fmt: skip
def test_a_warning_says_the_number_and_what_is_usual(of: MeasuredNumber, number: float, band: Band, text: str) -> None:
    """In the units of the number, with the deliveries that it is compared with."""
    found = of.compared(number, band, BOTH)

    assert found is not None
    assert found.text == text


def test_a_warning_has_its_numbers() -> None:
    """A side that is not warned of has no end."""
    of, band = MeasuredNumber(Measure.VALUE, "mean/amount"), Band(11.5, 13.1, 12.5, 30, "")
    text = "mean/amount: 1.25, usual is at least 11.5 (median of the last 30 deliveries: 12.5)"

    assert of.compared(1.25, band, DECREASE) == Anomaly("value", "mean/amount", 1.25, 11.5, None, 12.5, 30, "", text)


@pytest.mark.parametrize(
    ("measure", "sides"),
    [
        (Measure.ROWS, {(BOTH, -1), (BOTH, 1), (DECREASE, -1)}),
        (Measure.DISTINCT, {(BOTH, -1), (BOTH, 1), (DECREASE, -1)}),
        (Measure.VALUE, {(BOTH, -1), (BOTH, 1), (DECREASE, -1)}),
        *(
            (each, {(BOTH, 1), (DECREASE, 1)})
            for each in (Measure.REJECTED, Measure.NULLS, Measure.FAILING, Measure.GAP, Measure.AGE)
        ),
    ],
)
def test_each_number_has_the_sides_that_are_warned_of(measure: Measure, sides: set[tuple[Anomalies, int]]) -> None:
    """Fewer bad rows and shorter delays are no anomaly; of a decrease, nothing else that has risen."""
    band = Band(0.4, 0.6, 0.5, 30, "")
    of = MeasuredNumber(measure, "x")

    assert {
        (setting, side)
        for setting in (BOTH, DECREASE)
        for side in (-1, 1)
        if of.compared(0.5 + side / 4, band, setting) is not None
    } == sides


NUMBERS = {
    Scale.COUNT: st.integers(0, 10**15).map(float),
    Scale.SHARE: st.floats(0, 1),
    Scale.DURATION: st.floats(-LARGEST, LARGEST, exclude_min=True, exclude_max=True),
    Scale.VALUE: st.floats(-LARGEST, LARGEST, exclude_min=True, exclude_max=True),
}


@sampled(300, 10_000)
@given(
    st.sampled_from(Measure).flatmap(
        lambda measure: st.tuples(
            st.just(measure),
            st.lists(NUMBERS[MeasuredNumber(measure).scale], min_size=FEWEST, max_size=40),
            NUMBERS[MeasuredNumber(measure).scale],
        )
    ),
    st.sampled_from([BOTH, DECREASE]),
)
def test_every_number_can_be_compared_and_stored(case: tuple[Measure, list[float], float], sides: Anomalies) -> None:
    """Whatever was measured before and now, nothing keeps the delivery from being committed; JSON gives the same back."""
    measure, numbers, number = case
    at = datetime(2026, 1, 5, tzinfo=UTC)
    of = MeasuredNumber(measure, "x")
    band = unusual(of.scale, at, [Past(at - timedelta(days=1 + age), each) for age, each in enumerate(numbers)], number)
    found = None if band is None else of.compared(number, band, sides)

    if found is not None:
        assert decode(Anomaly, json.loads(json.dumps(encode(found), allow_nan=False))) == found

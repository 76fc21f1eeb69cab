"""Checks of a plan: their numbers, the records that each is about, and the query of the rows that a query counts."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.contract.logical_types import LogicalType
from lakegate.plan.check import (
    EPSILON,
    ID,
    NONE,
    Check,
    Interval,
    Keys,
    Population,
    Quantile,
    QuantileMethod,
    Query,
    QueryColumn,
    QueryRelation,
    Tier,
    keys_of,
    population_of,
    predicates_of,
    tiers_of,
)
from lakegate.plan.metrics import Metric
from lakegate.plan.predicates import Not, Present
from tests.reference.sampling import sampled
from tests.reference.strategies import intervals
from tests.unit.verdict.test_verdict import check

ONE, FIVE = Decimal(1), Decimal(5)


@pytest.mark.parametrize(
    ("interval", "good", "bad"),
    [
        (Interval(ONE, FIVE), (1, 3, 5), (0, 6)),
        (Interval(ONE, FIVE, low_open=True, high_open=True), (2, 4), (1, 5)),
        (Interval(ONE, FIVE, outside=True), (0, 6), (1, 3, 5)),
        (Interval(low=ONE), (1, 10**30), (0, -1)),
        (Interval(high=ONE), (1, -(10**30)), (2,)),
        (Interval(), (0, -1, 1), ()),
        (Interval(ONE, ONE), (1,), (0, 2)),
        (Interval(ONE, ONE, outside=True), (0, 2), (1,)),
        (NONE, (0,), (1,)),
    ],
)
def test_an_interval_holds_its_good_numbers(interval: Interval, good: tuple[int, ...], bad: tuple[int, ...]) -> None:
    """Bounds belong to the interval unless they are open; outside turns it round."""
    assert [True] * len(good) == [interval.holds(Fraction(number)) for number in good]
    assert [False] * len(bad) == [interval.holds(Fraction(number)) for number in bad]


def test_bounds_are_exact() -> None:
    """A share that is a hair below its bound does not hold."""
    assert Interval(low=Decimal("0.95")).holds(Fraction(95, 100))
    assert not Interval(low=Decimal("0.95")).holds(Fraction(95, 100) - Fraction(1, 10**30))


@pytest.mark.parametrize("bound", [Decimal(2), Decimal(-2)])
def test_an_epsilon_widens_each_bound_by_that_share_of_itself(bound: Decimal) -> None:
    """Aggregates of floating point may miss a bound by their rounding, and by no more."""
    edge = Fraction(2) * (1 + EPSILON)
    beyond = edge + Fraction(1, 10**12)
    exact = Interval(bound, bound)
    sign = 1 if bound > 0 else -1

    assert exact.holds(sign * edge, EPSILON)
    assert not exact.holds(sign * beyond, EPSILON)
    assert not exact.holds(sign * edge)


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        (Interval(ONE, ONE), "exactly 1"),
        (Interval(ONE, ONE, outside=True), "not 1"),
        (Interval(ONE, FIVE), "at least 1 and at most 5"),
        (Interval(ONE, FIVE, outside=True), "less than 1 or more than 5"),
        (Interval(low=ONE, low_open=True), "more than 1"),
        (Interval(high=FIVE, high_open=True), "less than 5"),
        (Interval(high=Decimal("1E+3")), "at most 1000"),
        (Interval(), "anything"),
    ],
)
def test_an_interval_reads_as_words(interval: Interval, words: str) -> None:
    """People read `at least 1 and at most 5`, without exponents."""
    assert words == str(interval)


@sampled(50, 2000)
@given(intervals, st.fractions())
def test_outside_is_the_other_half(interval: Interval, number: Fraction) -> None:
    """Every number is either inside an interval or outside of it."""
    turned = Interval(interval.low, interval.high, interval.low_open, interval.high_open, not interval.outside)

    assert interval.holds(number) is not turned.holds(number)


def test_only_aggregates_of_floating_point_are_floating() -> None:
    """Counts and times decide exactly; what is summed up in floats alone gets an epsilon."""
    floating = {Metric.MEAN, Metric.SUM, Metric.DEVIATION, Metric.QUANTILE, Metric.MEAN_LENGTH}

    assert floating == {metric for metric in Metric if metric.floating}


def test_an_open_bound_is_not_met_by_what_counts_as_equal() -> None:
    """A mean that is its strict bound but for the rounding does not lie beyond it."""
    above = Interval(low=Decimal(2), low_open=True)

    assert not above.holds(Fraction(2) * (1 + EPSILON / 2), EPSILON)
    assert above.holds(Fraction(2) * (1 + 2 * EPSILON), EPSILON)


@pytest.mark.parametrize(
    ("share", "place", "count", "expected"),
    [
        ("0.5", QuantileMethod.BETWEEN, 4, Fraction(1, 2)),
        ("0.5", QuantileMethod.NEAREST, 4, Fraction(2, 3)),
        ("0.5", QuantileMethod.NEAREST, 2, Fraction(0)),
        ("0.5", QuantileMethod.REACHED, 4, Fraction(1, 3)),
        ("0", QuantileMethod.REACHED, 4, Fraction(0)),
        ("1", QuantileMethod.REACHED, 4, Fraction(1)),
        ("0.7", QuantileMethod.NEAREST, 1, Fraction(7, 10)),
    ],
)
def test_a_quantile_finds_its_place(share: str, place: QuantileMethod, count: int, expected: Fraction) -> None:
    """Where a value itself is asked for, the place is one at which a value stands."""
    assert expected == Quantile(Decimal(share), place).of(count)


def test_answers_and_references_are_asked_for() -> None:
    """Two metrics are measured by a query of their own, apart from the scan that all others share."""
    assert {Metric.ANSWER, Metric.UNMATCHED_ROWS} == {each for each in Metric if each.is_query}


def test_keys_are_compared_by_five_metrics() -> None:
    """They are measured over the frequencies of a key, and not over rows."""
    keyed = {each for each in Metric if each.is_key_based}

    assert {
        Metric.DUPLICATE_ROWS,
        Metric.DUPLICATE_KEYS,
        Metric.DISTINCT_COUNT,
        Metric.DISTINCT_SHARE,
        Metric.MOST_COMMON,
    } == keyed


FILTER = Present("kind")
DUPLICATES = check(metric=Metric.DUPLICATE_ROWS)
TWO_TIERS = check(accept=Tier(Interval(), Present("a")), tolerate=Tier(Interval(), Present("b")))


@pytest.mark.parametrize(
    ("of", "population"),
    [
        (check(), None),
        (check(row_filter=FILTER), Population((), FILTER)),
        (check(metric=Metric.MEAN_LENGTH), Population(condition=Present("n"))),
        (DUPLICATES, Population(("n",))),
        (check(metric=Metric.DUPLICATE_ROWS, row_filter=FILTER), Population(("n",), FILTER)),
        (check(metric=Metric.DUPLICATE_ROWS, nulls_alike=True), None),
    ],
)
def test_a_check_is_about_all_records_or_some(of: Check, population: Population | None) -> None:
    """Keys need values in all their fields; a filter excludes the records for which it is not true."""
    assert population_of(of) == population


def test_records_outside_a_filter_are_excluded() -> None:
    """The predicate of a filter fails for the records that are counted; without a filter there is none."""
    assert Population((), FILTER).excluded == Not(FILTER)
    assert Population(("n",)).excluded is None


def test_keys_are_those_of_a_check_that_compares_keys() -> None:
    """Other checks have none; a tier adds the predicate of the keys that it counts."""
    assert keys_of(check(row_filter=FILTER)) is None
    assert keys_of(DUPLICATES) == Keys(("n",), Population(("n",)))
    assert keys_of(DUPLICATES, Tier(Interval(), FILTER)) == Keys(("n",), Population(("n",)), FILTER)


def test_all_predicates_of_checks_are_evaluated() -> None:
    """Those of both tiers, and that of a filter."""
    assert tiers_of(TWO_TIERS) == (TWO_TIERS.accept, TWO_TIERS.tolerate)
    assert list(predicates_of((TWO_TIERS, check(row_filter=FILTER), DUPLICATES))) == [
        Present("a"),
        Present("b"),
        Present("n"),
        Not(FILTER),
        Present("n"),
    ]


NUMBER = QueryColumn("id", LogicalType.INTEGER)
OWN = QueryRelation("orders", (NUMBER, QueryColumn("n", LogicalType.STRING)), delivered=True)
OTHER = QueryRelation("people", (NUMBER,))
COUNTED = "SELECT count(1L) AS k0 FROM r0 AS q1 WHERE "
DUCKDB = "SELECT count(CAST(1 AS BIGINT)) AS k0 FROM r0 AS q1 WHERE (q1.c0 < CAST(0 AS BIGINT))"


@pytest.mark.parametrize("condition", ["(q1.c0 < 0L)", "((q1.c0 < 0L) AND (q1.c1 = :t0))", "(((q1.c0)))"])
@pytest.mark.parametrize("count", ["count(1L)", "count(1)"])
def test_a_plain_count_lists_its_rows(condition: str, count: str) -> None:
    """The same condition selects the ids of the rows, in a further column of the delivery; it reads no other relation."""
    query = Query(COUNTED.replace("count(1L)", count) + condition, DUCKDB, ("a",), (OWN, OTHER))
    rows = Query(
        COUNTED.replace("count(1L)", "q1.c2") + condition,
        DUCKDB.replace("count(CAST(1 AS BIGINT))", "q1.c2"),
        ("a",),
        (replace(OWN, columns=(*OWN.columns, ID)),),
    )

    assert query.of_rows == rows


@pytest.mark.parametrize(
    "text",
    [
        COUNTED + "(q1.c0 < 0L) GROUP BY q1.c1",
        COUNTED + "(q1.c0 < 0L) OR (q1.c1 = :t0)",
        COUNTED + "(q1.c0) UNION ALL SELECT 1 AS k0 FROM r0 AS q1 WHERE (q1.c1)",  # noqa: S608 - a text of the test
        COUNTED + "((q1.c0 < 0L)",
        COUNTED + "(q1.c0 < 0L))",
        COUNTED + "q1.c0 < 0L",
        "SELECT sum(q1.c0) AS k0 FROM r0 AS q1 WHERE (q1.c0 < 0L)",
        "SELECT count(1L) AS k0 FROM r1 AS q1 WHERE (q1.c0 < 0L)",
    ],
)
def test_another_query_lists_no_rows(text: str) -> None:
    """Groups, unions, several conditions and other aggregates count no rows of the delivery one by one."""
    assert Query(text, DUCKDB, ("a",), (OWN, OTHER)).of_rows is None


@pytest.mark.parametrize("own", [replace(OWN, delivered=False), replace(OWN, full_name="shop/orders_v1")])
def test_rows_of_accepted_data_are_not_listed(own: QueryRelation) -> None:
    """Only rows of the judged delivery are shown."""
    assert Query(COUNTED + "(q1.c0 < 0L)", DUCKDB, (), (own,)).of_rows is None

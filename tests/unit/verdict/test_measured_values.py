"""What becomes of a query's result, of any engine."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from lakegate.plan.check import Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.request import AcceptedPart, Reference
from lakegate.plan.result import Measured
from lakegate.verdict.measured_values import (
    ALL_QUERIES,
    TIME_LIMIT,
    datasets_compared,
    lists_rows,
    measure_answer,
    seconds_each,
    why_not_compared,
)
from tests.unit.verdict.test_verdict import check

NUMBER: Any = {"metric": Metric.ANSWER, "unit": Unit.VALUE}
UNMATCHED: Any = {"metric": Metric.UNMATCHED_ROWS}


@pytest.mark.parametrize(
    ("row", "exact"),
    [
        (None, None),
        ((None,), None),
        ((float("nan"),), None),
        ((float("inf"),), None),
        ((Decimal("NaN"),), None),
        (("7",), None),
        ((7,), Decimal(7)),
        ((True,), Decimal(1)),
        ((0.1 + 0.2,), Decimal("0.3")),
        ((1234567890123.4,), Decimal(1234567890120)),
        ((Decimal("1.2345678901234567890"),), Decimal("1.234567890123456789")),
        ((10**30,), Decimal(10**30)),
    ],
)
def test_a_number_is_exact_or_absent(row: Sequence[object] | None, exact: Decimal | None) -> None:
    """Null, no row, NaN, infinity and texts are no number; a float has twelve digits, every other number all of its own."""
    assert measure_answer(check(**NUMBER), row) == Measured(of=1, exact=exact)


def test_rows_without_a_partner_are_counted() -> None:
    """A comparison with accepted data answers with two counts: rows without a partner, and all rows."""
    assert measure_answer(check(**UNMATCHED), (2, 5)) == Measured(of=5, failing=2)


@pytest.mark.parametrize(("queries", "seconds"), [(0, 600), (1, 600), (3, 600), (4, 450), (36, 50)])
def test_each_query_has_an_equal_part_of_the_time(queries: int, seconds: int) -> None:
    """No query has more than its own limit, and all together no more than theirs."""
    assert (TIME_LIMIT, ALL_QUERIES) == (600, 1_800)
    assert seconds_each(queries) == seconds


def test_a_line_without_accepted_data_is_named() -> None:
    """What was not given, and what is still empty, are two messages; the first such line counts."""
    known = [Reference("people", 3, (AcceptedPart("file:///a", 1, "file:///p", "d"),)), Reference("shops", -1, ())]

    assert why_not_compared(known, ["people"]) is None
    assert why_not_compared(known, ["people", "cities"]) == "no accepted data of cities was given to compare with"
    assert why_not_compared(known, ["shops", "cities"]) == "nothing of shops has been accepted yet"


FEWER = Tier(Interval(high=Decimal(0)))
OF_ROWS: Any = SimpleNamespace(of_rows="SELECT 1")


@pytest.mark.parametrize(
    ("changes", "number", "limit", "listed"),
    [
        ({}, 2, 5, True),
        ({}, 2, 0, False),
        ({}, 0, 5, False),
        ({}, None, 5, False),
        ({"accept": Tier(Interval(low=Decimal(0), high=Decimal(0)))}, 2, 5, True),
        ({"accept": Tier(Interval(low=Decimal(1), high=Decimal(1)))}, 2, 5, False),
        ({"accept": Tier(Interval(low=Decimal(9)))}, 2, 5, False),
        ({"accept": Tier(Interval(low=Decimal(2), high=Decimal(3), outside=True))}, 2, 5, False),
        ({"query": SimpleNamespace(of_rows=None)}, 2, 5, False),
        ({"query": None}, 2, 5, False),
        (UNMATCHED, None, 5, True),
    ],
)
def test_rows_are_listed_where_each_of_them_is_one_too_many(
    changes: dict[str, Any], number: int | None, limit: int, *, listed: bool
) -> None:
    """A query's rows are examples of the fault only where fewer would be better, and the rule is broken."""
    asked = check(**(NUMBER | {"accept": FEWER, "query": OF_ROWS} | changes))
    if asked.metric is Metric.UNMATCHED_ROWS:
        found = Measured(of=5, failing=2)
    else:
        found = Measured(of=1, exact=None if number is None else Decimal(number))

    assert lists_rows(asked, found if number is not None or changes is UNMATCHED else None, limit) is listed


def test_the_lines_that_a_query_compares_with_are_known() -> None:
    """Relations of accepted data only, and not those that hold the delivery too."""
    relations = (
        SimpleNamespace(full_name=None, delivered=True),
        SimpleNamespace(full_name="shop/orders_v1", delivered=True),
        SimpleNamespace(full_name="crm/customers_v2", delivered=False),
    )
    query: Any = SimpleNamespace(relations=relations)

    assert datasets_compared(query) == ["crm/customers_v2"]

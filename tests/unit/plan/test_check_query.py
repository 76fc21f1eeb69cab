"""The query of the rows that a query counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakegate.contract.logical_types import LogicalType
from lakegate.plan.check import ID, Query, QueryColumn, QueryRelation

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


@pytest.mark.parametrize("own", [replace(OWN, delivered=False), replace(OWN, line="shop/orders_v1")])
def test_rows_of_accepted_data_are_not_listed(own: QueryRelation) -> None:
    """Only rows of the judged delivery are shown."""
    assert Query(COUNTED + "(q1.c0 < 0L)", DUCKDB, (), (own,)).of_rows is None

"""Queries that only count rows of the delivery: their rows can be listed."""

from __future__ import annotations

import pytest

from lakegate.lints.linter import read
from lakegate.plan.check import ID
from tests.reference.cases import only_plan

DOCUMENT = """
apiVersion: v3.1.0
kind: DataContract
id: x
version: 1.0.0
status: active
schema:
  - name: rows
    properties: [{{name: id, logicalType: integer}}, {{name: n, logicalType: string}}]
    quality: [{{type: sql, query: "{query}", mustBe: 0}}]
"""


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (
            "SELECT COUNT(*) FROM rows WHERE id < 0 AND n = ') x'",
            "SELECT q1.c2 AS k0 FROM r0 AS q1 WHERE ((q1.c0 < 0L) AND (q1.c1 = :t0))",
        ),
        (
            "SELECT COUNT(1) AS bad FROM rows r WHERE r.id IS NULL",
            "SELECT q1.c1 AS k0 FROM r0 AS q1 WHERE (q1.c0 IS NULL)",
        ),
        ("SELECT COUNT(*) FROM rows", None),
        ("SELECT COUNT(id) FROM rows WHERE id < 0", None),
        ("SELECT COUNT(*) FROM rows WHERE id < 0 GROUP BY n", None),
        ("SELECT COUNT(*) FROM rows a JOIN rows b ON a.id = b.id WHERE a.id < 0", None),
        ("WITH a AS (SELECT id FROM rows) SELECT COUNT(*) FROM a WHERE id < 0", None),
        ("SELECT COUNT(*) FROM rows WHERE NOT id < 0 UNION ALL SELECT COUNT(*) FROM rows WHERE (id < 0)", None),
    ],
)
def test_rows_of_a_plain_count_can_be_listed(query: str, rows: str | None) -> None:
    """A count of one table with one condition also selects the counted rows; no other query does."""
    contract = read(DOCUMENT.format(query=query).encode())
    (check,) = (each for each in only_plan(contract).checks if each.query)
    assert check.query is not None

    listed = check.query.of_rows

    assert (listed and listed.text) == rows
    assert listed is None or listed.relations[0].columns == (*check.query.relations[0].columns, ID)

"""Rows that a query counts are samples of its check, where fewer of them are better."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakegate.lints.linter import read
from tests.deliveries.delivery import Judged
from tests.reference.cases import only_plan

DOCUMENT = """
apiVersion: v3.1.0
kind: DataContract
id: x
version: 1.0.0
status: active
schema:
  - name: rows
    properties: [{{name: id, logicalType: integer}}, {{name: n, logicalType: integer}}]
    quality: [{{type: sql, query: "{query}", {operator}}}]
"""
BYTES = """
apiVersion: v3.1.0
kind: DataContract
id: x
version: 1.0.0
status: active
schema:
  - name: rows
    properties: [{name: code, logicalType: string, physicalType: bytes}]
    quality: [{type: sql, query: "SELECT count(*) FROM rows WHERE code = 'ab'", mustBe: 2}]
"""
DELIVERY = b"id,n\n1,5\n2,-1\n3,\n4,-2\n5,7\n"
NEGATIVE = "SELECT COUNT(*) FROM rows WHERE n < 0"


@pytest.mark.parametrize(
    ("query", "operator", "rows"),
    [
        (NEGATIVE, "mustBe: 0", [3, 5]),
        (NEGATIVE, "mustBeLessThan: 2", [3, 5]),
        (NEGATIVE, "mustBeLessThan: 3", []),
        (NEGATIVE, "mustBeGreaterThan: 4", []),
        (NEGATIVE, "mustNotBe: 2", []),
        ("SELECT COUNT(DISTINCT id) FROM rows WHERE n < 0", "mustBe: 0", []),
        ("SELECT SUM(n) FROM rows", "mustBe: 0", []),
    ],
)
def test_rows_that_break_a_count_are_sampled(
    judge_files: Callable[..., Judged], query: str, operator: str, rows: list[int]
) -> None:
    """A plain count that is too high shows its rows; any other answer stands alone."""
    contract = read(DOCUMENT.format(query=query, operator=operator).encode())
    plan = only_plan(contract)
    (queried,) = (each.id for each in plan.checks if each.query)

    (found,) = (each for each in judge_files(plan, DELIVERY).result.measurements if each.check == queried)

    assert found.error is None
    assert rows == [each.row for each in found.samples]


def test_a_query_reads_bytes_as_their_text(judge_files: Callable[..., Judged]) -> None:
    """A field of bytes is a text to a query: in CSV as it stands there."""
    contract = read(BYTES.encode())
    plan = only_plan(contract)

    found = judge_files(plan, b"code\nab\n\ncd\nab\n").result.measurements[-1]

    assert (found.error, found.accept and found.accept.exact) == (None, 2)

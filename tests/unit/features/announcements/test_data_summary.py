"""A summary refuses data that would be rejected, and never any other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lakegate.base.json_codec import canonical, decode
from lakegate.contract.delivery_policy import Mode, OnReject
from lakegate.contract.file_formats import Compression, Format, Storage
from lakegate.features.announcements.data_summary import SummaryRefusal, summary_refusals
from lakegate.features.announcements.wanted_delivery import DataSummary
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan
from lakegate.verdict.verdict import Verdict, judge
from tests.reference.cases import Case, good_cases, only_plan
from tests.reference.evaluator import measure
from tests.reference.lexical import parse

CONTRACT = b"""apiVersion: v3.1.0
kind: DataContract
id: shop
name: Shop
version: 1.0.0
status: active
schema:
- name: orders
  physicalName: orders.csv
  properties:
  - {name: id, logicalType: string, required: true, logicalTypeOptions: {minLength: 2}}
  - {name: amount, logicalType: integer, logicalTypeOptions: {minimum: 0, maximum: 10}}
  - name: price
    logicalType: number
    quality:
    - {id: prices, type: library, metric: invalidValues, arguments: {validValues: [1, 2]}, mustBeLessThan: 50, unit: percent}
    - {id: some, type: library, metric: nullValues, mustBeGreaterThan: 1}
  quality:
  - {id: enough, type: library, metric: rowCount, mustBeGreaterOrEqualTo: 3}
"""
PLAN = only_plan(read(CONTRACT))
COLUMNS: tuple[dict[str, Any], ...] = ({"name": "id"}, {"name": "amount"}, {"name": "price"})


def read_summary(document: dict[str, Any]) -> DataSummary:
    return decode(DataSummary, document, strict=True)


def refused(
    *columns: dict[str, Any], rows: int = 10, size: int | None = None, plan: Plan = PLAN, **of_file: Any
) -> list[tuple[str, str]]:
    """Code and place of each reason."""
    given = {each["name"]: each for each in columns}
    document = {"rows": rows, "columns": [given.get(each["name"], each) for each in COLUMNS], **of_file}
    return [(each.code, each.path) for each in summary_refusals(canonical(plan), size, read_summary(document))]


@pytest.mark.parametrize(
    ("examples", "expected"),
    [
        ([{"amount": 3, "id": "ab"}], []),
        ([{"amount": 11}], [("maximum", "/summary/columns/1")]),
        ([{"amount": "x"}], [("type", "/summary/columns/1")]),
        ([{"id": None}], [("required", "/summary/columns/0")]),
        ([{"other": 1}, {}], []),
    ],
)
def test_an_example_that_breaks_a_rule_refuses(examples: list[dict[str, Any]], expected: list[tuple[str, str]]) -> None:
    """It is a row of the data, as the smallest value is."""
    assert refused(examples=examples) == expected


@pytest.mark.parametrize(
    ("column", "rows", "expected"),
    [
        ({"name": "amount", "minimum": 0, "maximum": 10}, 10, []),
        ({"name": "amount", "minimum": -1}, 10, [("minimum", "/summary/columns/1")]),
        ({"name": "amount", "maximum": "11"}, 10, [("maximum", "/summary/columns/1")]),
        ({"name": "amount", "minimum": "x"}, 10, [("type", "/summary/columns/1")]),
        ({"name": "amount", "minimum": None}, 10, []),
        ({"name": "amount", "type": "string"}, 10, [("type", "/summary/columns/1")]),
        ({"name": "amount", "type": "string", "nulls": 10}, 10, []),
        ({"name": "price", "type": "integer"}, 10, []),
        ({"name": "price", "type": "date"}, 10, [("type", "/summary/columns/2")]),
        ({"name": "id", "type": "integer"}, 10, []),
        ({"name": "id", "nulls": 1}, 10, [("required", "/summary/columns/0")]),
        ({"name": "id", "minimum": "a"}, 10, [("minLength", "/summary/columns/0")]),
        ({"name": "id"}, 2, [("rowCount", "/summary/rows")]),
        ({"name": "id"}, 0, [("rows", "/summary/rows")]),
        ({"name": "price", "minimum": 1.5}, 10, []),
        ({"name": "price", "minimum": 1.5, "maximum": 3}, 4, [("invalidValues", "/summary/columns/2")]),
        ({"name": "price", "minimum": 3.0, "maximum": 3}, 3, []),
        ({"name": "price", "nulls": 1}, 10, []),
    ],
)
def test_a_column_is_refused_where_its_numbers_prove_a_violation(
    column: dict[str, Any], rows: int, expected: list[tuple[str, str]]
) -> None:
    """A value that breaks a rule is one row at least; a tolerance that this may keep to refuses nothing."""
    assert refused(column, rows=rows) == expected


def test_columns_are_judged_as_a_header_is() -> None:
    """A missing one, another spelling."""
    document = {"rows": 10, "columns": [{"name": "PRICE"}, {"name": "amount"}]}
    found = summary_refusals(canonical(PLAN), None, read_summary(document))

    assert found == (
        SummaryRefusal(
            "column-names",
            "cause/column-names",
            "/summary/columns",
            "the header has another case: 'PRICE' should be price",
        ),
        SummaryRefusal(
            "missing-columns", "cause/missing-columns", "/summary/columns", "the file has no column id: deliver it"
        ),
    )


GZIP = Storage(Format.JSONL, Compression.GZIP)


@pytest.mark.parametrize(
    ("storage", "stated", "expected"),
    [
        (Storage(), {"format": "csv", "compression": "none"}, []),
        (Storage(), {"format": "parquet"}, [("readable", "/summary/format")]),
        (Storage(), {"compression": "gzip"}, [("readable", "/summary/compression")]),
        (GZIP, {"format": "jsonl", "compression": "gzip"}, []),
        (GZIP, {"format": "json"}, [("readable", "/summary/format")]),
        (Storage(Format.ANY_JSON), {"format": "json"}, []),
        (Storage(Format.PARQUET), {"format": "parquet", "compression": "gzip"}, []),
        (Storage(Format.UNKNOWN), {}, [("readable", "/summary/format")]),
    ],
)
def test_a_format_is_the_one_that_the_contract_promises(
    storage: Storage, stated: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    """Binary formats are compressed within."""
    assert refused(plan=replace(PLAN, storage=storage), **stated) == expected


def test_a_size_is_judged_without_a_summary() -> None:
    """Too many bytes, and none."""
    plan = canonical(replace(PLAN, policy=replace(PLAN.policy, max_bytes=5)))

    assert [each.code for size in (5, 6, 0) for each in summary_refusals(plan, size, None)] == ["size", "rows"]


def test_the_policy_decides_what_refuses() -> None:
    """Rules refuse nothing with `mode: observe`, those of single rows nothing with `onReject: rows`; an empty file is refused."""
    observed = replace(PLAN, policy=replace(PLAN.policy, mode=Mode.OBSERVE))
    by_rows = replace(PLAN, policy=replace(PLAN.policy, on_reject=OnReject.ROWS))
    bad = {"name": "amount", "minimum": -1}

    assert refused(bad, rows=2, plan=observed) == []
    assert refused(bad, rows=2, plan=by_rows) == [("rowCount", "/summary/rows")]
    assert refused(rows=0, plan=observed) == [("rows", "/summary/rows")]


def summary_of(case: Case) -> dict[str, Any]:
    """The summary that a producer who knows the rows would send."""
    columns = []
    for place, name in enumerate(case.header):
        field = case.plan.field(name)
        texts = [row[place] for row in case.rows]
        values = sorted(
            (value, text) for text in texts if text is not None and (value := parse(field.type, text)) is not None
        )
        ends = {"minimum": values[0][1], "maximum": values[-1][1]} if values else {}
        columns.append({"name": name, "nulls": texts.count(None), **ends})
    return {"rows": len(case.rows), "columns": columns}


@pytest.mark.parametrize("allow_empty", [False, True])
def test_a_true_summary_refuses_only_what_is_rejected(*, allow_empty: bool) -> None:
    """Over the cases of every kind of rule: where a summary refuses, the reference evaluator's measurement is rejected."""
    refusals = 0
    for case in good_cases():
        plan = replace(case.plan, policy=replace(case.plan.policy, allow_empty=allow_empty))
        found = summary_refusals(canonical(plan), None, read_summary(summary_of(case)))
        if found:
            refusals += 1
            verdict = judge(plan, measure(plan, case.header, case.rows)).verdict
            assert verdict is Verdict.REJECTED, (case.id, found)

    assert refusals > 50

"""References through the job: compared with exactly the accepted objects that the request lists, each by its own plan."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakegate.contract.contract_model import Contract, Dataset, Field, Origin, Rule
from lakegate.contract.file_formats import Csv
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.plan import Plan
from lakegate.plan.request import AcceptedPart, Reference
from lakegate.plan.result import Sample
from lakegate.rules.compile_plan import compile_plan
from lakegate.verdict.check_status import CheckOutcome, Status
from lakegate.verdict.verdict import judge
from tests.deliveries.delivery import request_for
from tests.engine.test_upserted_references import EXPECTED_OF_VERSIONS, of_versions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.spark
ORDERS, LINES = "shop/orders_v1", "shop/lines_v1"


def dataset(name: str, fields: dict[str, str], *rules: Rule, csv: Csv | None = None) -> Dataset:
    columns = tuple(Field(field, LogicalType(logical), Origin("$")) for field, logical in fields.items())
    types = tuple(Rule(f"type-{field}", "type", Origin("$"), (field,)) for field in fields)
    return Dataset(name, columns, types + rules, Origin("$"), csv=csv or Csv())


ORDERS_NOW = dataset("orders", {"id": "integer", "shop": "string"}, csv=Csv(delimiter=";"))
ORDERS_BEFORE = dataset("orders", {"id": "integer"})
TO_ORDERS = Rule("fk", "foreignKey", Origin("$"), ("order_id",), {"to": "orders.id"})


def plan_of_dataset(each: Dataset) -> Plan:
    return compile_plan(Contract("shop", "1.2.0", "test", (ORDERS_NOW, each)), each)


def lines(*rules: Rule) -> Plan:
    return plan_of_dataset(
        dataset("lines", {"order_id": "integer", "shop": "string", "line": "string", "above": "string"}, *rules)
    )


def accepted(folder: Path, plan: Plan, *objects: bytes) -> tuple[AcceptedPart, ...]:
    """Objects in the accepted prefix, and the plan that accepted them."""
    where = folder / plan.digest
    where.mkdir()
    (where / "plan.json").write_text(json.dumps(plan.to_json()))
    for number, content in enumerate(objects):
        (where / f"part-{number}").write_bytes(content)
    uri = (where / "plan.json").as_uri()
    paths = [where / f"part-{number}" for number in range(len(objects))]
    return tuple(AcceptedPart(path.as_uri(), path.stat().st_size, uri, plan.digest) for path in paths)


def outcome(folder: Path, plan: Plan, delivery: bytes, *references: Reference) -> CheckOutcome:
    """The outcome of the last check of a plan."""
    from lakegate.spark.spark_job import validate  # noqa: PLC0415 - Spark's settings must be made first

    request = replace(request_for(plan, folder, delivery), references=references)
    return judge(plan, validate(request, plan)).outcomes[-1]


DELIVERY = b"order_id,shop,line,above\n1,a,L1,\n2,b,L2,L1\n,a,L3,L9\n7,b,L4,\nx,b,L5,\n"


def test_keys_are_looked_for_in_everything_that_was_accepted(spark: SparkSession, tmp_path: Path) -> None:
    """Accepted objects of two versions of a contract, each read by its own plan, are one other side; nulls refer to nothing."""
    assert spark.version
    before = accepted(tmp_path, plan_of_dataset(ORDERS_BEFORE), b"id\n1\n")
    now = accepted(tmp_path, plan_of_dataset(ORDERS_NOW), b"id;shop\n2;b\n", b"id;shop\n3;c\n1;a\n")
    found = outcome(tmp_path, lines(TO_ORDERS), DELIVERY, Reference(ORDERS, 4, before + now))

    assert (found.status, found.failing_rows) == (Status.FAIL, 1)
    assert found.message == "order_id: wanted found in orders.id; measured 1 of 3 keys is found nowhere (33.33 %)"


def test_rows_that_refer_to_nothing_are_sampled(spark: SparkSession, tmp_path: Path) -> None:
    """Each row whose key is found nowhere is named, in the order of the file, its key masked."""
    assert spark
    now = accepted(tmp_path, plan_of_dataset(ORDERS_NOW), b"id;shop\n2;b\n")

    found = outcome(tmp_path, lines(TO_ORDERS), DELIVERY, Reference(ORDERS, 1, now))

    assert found.failing_rows == 2
    assert found.samples == (Sample(2, ("9",), raw=(False,)), Sample(5, ("9",), raw=(False,)))


def test_rows_of_a_reference_to_itself_are_sampled(spark: SparkSession, tmp_path: Path) -> None:
    """The delivery is part of what is compared with; only what is in neither is named."""
    assert spark
    to_lines = Rule("fk", "foreignKey", Origin("$"), ("above",), {"to": "lines.line"})

    found = outcome(tmp_path, lines(to_lines), DELIVERY, Reference(LINES, 0, ()))

    assert (found.failing_rows, [each.row for each in found.samples]) == (1, [4])


def test_whole_keys_are_compared(spark: SparkSession, tmp_path: Path) -> None:
    """Of a reference of two fields both must be found in one row; data from before a field was there has none."""
    assert spark.version
    parts = accepted(tmp_path, plan_of_dataset(ORDERS_BEFORE), b"id\n7\n") + accepted(
        tmp_path, plan_of_dataset(ORDERS_NOW), b"id;shop\n1;a\n2;a\n7;a\n"
    )
    both = Rule("fk", "foreignKey", Origin("$"), ("order_id", "shop"), {"to": "orders.id,orders.shop"})
    found = outcome(tmp_path, lines(both), DELIVERY, Reference(ORDERS, 1, parts))

    assert (found.status, found.failing_rows) == (Status.FAIL, 2)


def test_where_nothing_was_accepted_the_check_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """A dataset of which nothing has been accepted, or nothing was given, is never a silent pass: the check is a skip."""
    assert spark.version
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    yet = outcome(tmp_path / "a", lines(TO_ORDERS), DELIVERY, Reference(ORDERS, -1, ()))
    given = outcome(tmp_path / "b", lines(TO_ORDERS), DELIVERY)

    assert (Status.SKIP, f"nothing of {ORDERS} has been accepted yet") == (yet.status, yet.message)
    assert (Status.SKIP, f"no accepted data of {ORDERS} was given to compare with") == (given.status, given.message)


def test_a_dataset_that_refers_to_itself_is_its_delivery_and_what_was_accepted(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The key of a parent may stand in the same file, or in one that was accepted before."""
    assert spark.version
    plan = lines(Rule("fk", "foreignKey", Origin("$"), ("above",), {"to": "lines.line"}))
    parts = accepted(tmp_path, plan, b"order_id,shop,line,above\n1,a,L9,\n")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    alone = outcome(tmp_path / "a", plan, DELIVERY, Reference(LINES, -1, ()))
    beside = outcome(tmp_path / "b", plan, DELIVERY, Reference(LINES, 0, parts))

    assert [(each.status, each.failing_rows) for each in (alone, beside)] == [(Status.FAIL, 1), (Status.PASS, 0)]


def test_a_query_reads_other_datasets_of_its_contract(spark: SparkSession, tmp_path: Path) -> None:
    """SQL that joins another dataset sees what was accepted of it."""
    assert spark.version
    sql = "SELECT count(*) FROM lines l WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.id = l.order_id)"
    plan = lines(Rule("q", "sql", Origin("$"), (), {"query": sql, "mustBe": 3}))
    parts = accepted(tmp_path, plan_of_dataset(ORDERS_NOW), b"id;shop\n2;b\n1;a\n")
    found = outcome(tmp_path, plan, DELIVERY, Reference(ORDERS, 0, parts))

    assert (found.status, found.measured) == (Status.PASS, "3")


def test_rows_that_upserts_corrected_are_not_read(spark: SparkSession, tmp_path: Path) -> None:
    """Of slices of upserts the current rows are compared, as the native engine does."""
    from lakegate.spark.spark_job import validate  # noqa: PLC0415 - Spark's settings must be made first

    assert spark.version
    assert of_versions(validate, tmp_path / "spark") == EXPECTED_OF_VERSIONS


def test_accepted_data_that_cannot_be_read_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    """An object that differs from the ledger, or another plan, gives no verdict."""
    assert spark.version
    (part,) = accepted(tmp_path, plan_of_dataset(ORDERS_NOW), b"id;shop\n2;b\n")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    found = [
        outcome(tmp_path / "a", lines(TO_ORDERS), DELIVERY, Reference(ORDERS, 0, (replace(part, size=3),))),
        outcome(
            tmp_path / "b", lines(TO_ORDERS), DELIVERY, Reference(ORDERS, 0, (replace(part, plan_digest="0" * 64),))
        ),
    ]

    assert [each.status for each in found] == [Status.ERROR] * 2


@pytest.mark.parametrize(
    ("query", "must_be", "rows"),
    [
        ("SELECT COUNT(*) FROM lines WHERE order_id > 1", {"mustBe": 0}, [3, 5]),
        ("SELECT COUNT(*) FROM lines WHERE line = 'L3' AND order_id IS NULL", {"mustBeLessThan": 1}, [4]),
        ("SELECT COUNT(*) FROM lines WHERE order_id > 1", {"mustBeGreaterThan": 5}, []),
        ("SELECT MAX(order_id) FROM lines WHERE order_id > 1", {"mustBe": 0}, []),
        ("SELECT COUNT(*) FROM lines WHERE order_id > 1", {"mustBe": 2}, []),
    ],
)
def test_rows_that_a_query_counts_are_sampled(
    query: str, must_be: dict[str, int], rows: list[int], spark: SparkSession, tmp_path: Path
) -> None:
    """Where a query counts bad rows, and there are some, they are named; of any other query there is only the number."""
    assert spark

    found = outcome(tmp_path, lines(Rule("q", "sql", Origin("$"), (), {"query": query, **must_be})), DELIVERY)

    assert [each.row for each in found.samples] == rows

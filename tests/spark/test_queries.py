"""SQL rules through the job: the answers are DuckDB's own, errors stay where they are, and time is limited."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from lakegate.contract.contract_model import Contract, Dataset, Field, Origin, Rule
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.plan import Plan
from lakegate.rules.compile_plan import compile_plan
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import Verdict
from tests.deliveries.delivery import JUDGED_AT, Judged, request_for
from tests.reference.queries import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.spark
QUERIES: list[str] = yaml.load(Path(__file__).with_name("queries.yaml").read_text(), yaml.CSafeLoader)
FIELDS = {
    "id": "string",
    "placed": "timestamp",
    "day": "date",
    "total": "integer",
    "weight": "number",
    "price": "decimal",
    "status": "string",
    "paid": "boolean",
}
ROWS = 200


def plan_of_queries(*queries: str | tuple[str, str], dialect: str = "duckdb", **fields: str) -> Plan:
    """A plan with these queries, as the rules `q0`, `q1`, …; each of this dialect, or with its own."""
    spoken = [each if isinstance(each, tuple) else (each, dialect) for each in queries]
    columns = tuple(Field(name, LogicalType(logical), Origin("$")) for name, logical in (fields or FIELDS).items())
    rules = tuple(
        Rule(
            f"q{number}",
            "sql",
            Origin("$"),
            (),
            {"query": query, "dialect": each, "mustNotBe": Decimal("0.123456789")},
        )
        for number, (query, each) in enumerate(spoken)
    )
    dataset = Dataset("orders", columns, rules, Origin("$"))
    return compile_plan(Contract("c", "1.0.0", "test", (dataset,)), dataset)


def rows() -> list[dict[str, str | None]]:
    """Rows with every kind of value, and nulls among them."""
    chance = random.Random(7)

    def one(number: int) -> dict[str, str | None]:
        day = f"2024-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d}"
        clock = f"{chance.randint(0, 23):02d}:{chance.randint(0, 59):02d}:{chance.randint(0, 59):02d}"
        values = {
            "id": f"o{number:03d}",
            "placed": f"{day}T{clock}.{chance.randint(0, 999999):06d}Z",
            "day": day,
            "total": str(chance.randint(1, 1000)),
            "weight": f"{chance.uniform(-50, 500):.3f}",
            "price": f"{chance.randint(0, 99999)}.{chance.randint(0, 99):02d}",
            "status": chance.choice(["new", "closed", "paid", "17", " new ", "it's"]),
            "paid": chance.choice(["true", "false"]),
        }
        return {name: None if name != "id" and chance.random() < 0.08 else value for name, value in values.items()}

    return [one(number) for number in range(ROWS)]


def as_csv(records: list[dict[str, str | None]]) -> bytes:
    lines = [",".join(FIELDS), *(",".join("" if each is None else each for each in row.values()) for row in records)]
    return ("\n".join(lines) + "\n").encode()


@pytest.fixture(scope="module")
def answers(judge_files: Callable[..., Judged]) -> dict[str, Any]:
    """The answer of the job to each query."""
    judged = judge_files(plan_of_queries(*QUERIES), as_csv(rows()))
    return {each.check: each for each in judged.result.measurements}


@pytest.mark.parametrize(("number", "query"), list(enumerate(QUERIES)), ids=[each[:60] for each in QUERIES])
def test_a_query_answers_what_duckdb_answers(number: int, query: str, answers: dict[str, Any]) -> None:
    """A query in DuckDB's dialect, translated into Spark's, returns the number that DuckDB returns for the same rows."""
    expected = run(plan_of_queries(query), rows(), query)
    found = answers[f"q{number}"]

    assert found.error is None
    assert (None if expected is None else pytest.approx(float(expected), rel=1e-11)) == (
        None if found.accept.exact is None else float(found.accept.exact)
    )


def test_one_query_that_fails_leaves_the_others_answered(judge_files: Callable[..., Judged]) -> None:
    """An overflow, a text that cannot be cast and several rows are errors of their own rules, without a value of the data."""
    queries = (
        "SELECT sum(total * 900000000000000000) FROM orders",
        "SELECT max(CAST(status AS INT)) FROM orders",
        "SELECT total FROM orders",
        "SELECT count(*) FROM orders",
    )
    judged = judge_files(plan_of_queries(*queries), as_csv([row | {"status": "canary-5309"} for row in rows()[:9]]))
    errors = [each.error for each in judged.result.measurements]

    assert [error is not None for error in errors] == [True, True, True, False]
    assert ["canary" in str(each) or "5309" in str(each) for each in judged.result.measurements] == [False] * 4
    assert (judged.verdict, judged.statuses()["q3"]) == (Verdict.UNDECIDED, Status.PASS)


def test_a_query_of_a_column_that_the_file_lacks_fails_for_it(judge_files: Callable[..., Judged]) -> None:
    """A query that names an absent column is not run: the check fails because the column is absent."""
    judged = judge_files(plan_of_queries("SELECT max(total) FROM orders"), b"id\na\n")

    assert (judged.verdict, judged.statuses()["q0"]) == (Verdict.REJECTED, Status.FAIL)
    assert "no column total" in judged.reasons


def test_values_that_are_not_of_their_type_are_null_to_a_query(judge_files: Callable[..., Judged]) -> None:
    """The type check answers for such a value; a query counts it as missing, and malformed records not at all."""
    judged = judge_files(
        plan_of_queries("SELECT count(*) * 10 + count(total) FROM orders", id="string", total="integer"),
        b"id,total\na,1\nb,x\nc\n",
    )

    assert Decimal(21) == judged.result.measurements[0].accept.exact  # type: ignore[union-attr]  # it is there


def test_a_query_has_its_time_and_the_others_have_theirs(spark: SparkSession, tmp_path: Path) -> None:
    """A query that takes too long is cancelled and is that rule's error; the next one is answered."""
    from lakegate.spark import spark_queries  # noqa: PLC0415 - Spark's settings must be made first
    from lakegate.spark.spark_queries import AcceptedRecords  # noqa: PLC0415 - likewise
    from lakegate.verdict import measured_values  # noqa: PLC0415 - Spark's settings must be made first

    slow = "SELECT count(*) FROM orders a JOIN orders b ON a.paid = b.paid WHERE a.total + b.total < 0"
    plan = plan_of_queries(slow, "SELECT count(*) FROM orders WHERE total < 3")
    typed = [f"CAST({each} AS {kind}) AS vc{at}" for at, (each, kind) in enumerate(TYPED)]
    delivered = spark.range(0, 80_000, 1, 4).selectExpr(*typed)
    tables = spark_queries.SparkTables(plan, JUDGED_AT, delivered, AcceptedRecords(spark, request_for(plan, tmp_path)))
    found = spark_queries.run_queries(
        spark, plan.checks, tables, limit=8
    )  # a slow machine answers the second one within it

    assert [each.measurement.error for each in found] == [measured_values.TOO_SLOW, None]


TYPED = (
    *(("id", "STRING"), ("NULL", "TIMESTAMP"), ("NULL", "DATE"), ("id", "BIGINT")),
    *(("id", "DOUBLE"), ("id", "DECIMAL(38,18)"), ("id", "STRING"), ("true", "BOOLEAN")),
)

"""P9 in the job: its own guard, with the linter's left out, lets nothing of other data or of the machine into an answer."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakegate.plan.check import Check, Interval, Query, QueryRelation, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.result import Measurement
from tests.deliveries.delivery import JUDGED_AT, plan_of, request_for
from tests.reference.sampling import FULL
from tests.security.queries import hostile
from tests.spark.test_queries import QUERIES, plan_of_queries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


pytestmark = pytest.mark.spark
CANARY = 5309
SPARKS = (
    "SELECT max(secret) FROM canary",
    "SELECT max(secret) FROM global_temp.canary",
    "SELECT max(c0) FROM r0 UNION SELECT secret FROM canary",
    "SELECT (SELECT max(secret) FROM canary) FROM r0",
    "SELECT max(c0) FROM r0 WHERE EXISTS (SELECT 1 FROM canary)",
    "SELECT count(1) FROM r0 WHERE c0 IN (SELECT secret FROM canary)",
    "WITH r0 AS (SELECT secret AS c0 FROM canary) SELECT max(c0) FROM r0",
    "SELECT count(1) FROM r0 JOIN canary ON c0 = secret",
    "SELECT max(int(value)) FROM text.`{file}`",
    "SELECT count(1) FROM csv.`{file}`",
    "SELECT count(1) FROM range(10)",
    "SELECT count(1) FROM VALUES (1), (2)",
    "SELECT explode(sequence(1, 3))",
    "SELECT max(length(repeat('x', 10))) FROM r0",
    "SELECT length(reflect('java.lang.System', 'getProperty', 'user.dir'))",
    "SELECT length(java_method('java.lang.System', 'getProperty', 'user.dir'))",
    "SELECT max(length(input_file_name())) FROM r0",
    "SELECT length(current_user())",
    "SELECT length(version())",
    "SELECT max(rand()) FROM r0",
    "SELECT unix_timestamp()",
    "SELECT aggregate(sequence(1, 9), 0, (a, x) -> a + x)",
    "SELECT max(c0 + spark_partition_id()) FROM r0",
    "SELECT count(1) FROM r0 LATERAL VIEW explode(array(1, 2)) t AS x",
    "SELECT max(from_json('1', 'int')) FROM r0",
    "SELECT TRANSFORM (c0) USING 'cat' AS (x) FROM r0",
    "SELECT /*+ REPARTITION(9999) */ max(c0) FROM r0",
    "SELECT max(c0) FROM r0 TABLESAMPLE (50 PERCENT)",
    "SELECT * FROM r0 PIVOT (max(c0) FOR c0 IN (1))",
    "SHOW TABLES",
    "DESCRIBE canary",
    "SET spark.sql.runSQLOnFiles=true",
    "DROP VIEW canary",
    "CREATE TEMPORARY VIEW stolen AS SELECT * FROM canary",
    "CREATE TABLE stolen USING parquet AS SELECT 1 AS x",
    "INSERT OVERWRITE DIRECTORY '{file}.out' USING csv SELECT 1",
    "CACHE TABLE canary",
    "ADD FILE '{file}'",
    "EXPLAIN SELECT 1",
    "TABLE canary",
    "FROM canary SELECT max(secret)",
    "SELECT 1; SELECT 2",
    "",
)
"""In the engine's own words: what a linter that was broken or deceived might hand on."""


@pytest.fixture(scope="module")
def canary(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A view, a global view and a file that contain a secret number."""
    frame = spark.sql(f"SELECT {CANARY} AS secret")
    frame.createOrReplaceTempView("canary")
    frame.createOrReplaceGlobalTempView("canary")
    file = tmp_path_factory.mktemp("canary") / "file.txt"
    file.write_text(f"{CANARY}\n")
    yield file
    assert [row[0] for row in spark.table("canary").collect()] == [CANARY]
    assert not file.with_suffix(".txt.out").exists()
    assert {"stolen"}.isdisjoint(each.name for each in spark.catalog.listTables())
    spark.catalog.dropTempView("canary")
    spark.catalog.dropGlobalTempView("canary")


@pytest.fixture(scope="module")
def answer(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Measurement]:
    """The answer of the job to a text that bypasses the linter."""
    from lakegate.spark import spark_queries  # noqa: PLC0415 - Spark's settings must be made first
    from lakegate.spark.spark_queries import AcceptedRecords  # noqa: PLC0415 - likewise

    plan = plan_of({"a": "integer"})
    delivered: DataFrame = spark.range(3).selectExpr("id AS vc0")
    request = request_for(plan, tmp_path_factory.mktemp("request"))
    tables = spark_queries.SparkTables(plan, JUDGED_AT, delivered, AcceptedRecords(spark, request))
    column = plan_of_queries("SELECT max(total) FROM orders").checks[0].query
    assert column is not None
    relation = QueryRelation("rows", tuple(replace(each, field="a") for each in column.relations[0].columns))

    def answer(text: str) -> Measurement:
        check = Check(
            "q", "q", "sql", (), Metric.ANSWER, Unit.VALUE, Tier(Interval()), query=Query(text, text, (), (relation,))
        )
        return spark_queries.run_queries(spark, (check,), tables, limit=60)[0].measurement

    return answer


def test_the_way_past_the_linter_is_open(answer: Callable[[str], Measurement]) -> None:
    """The texts of these tests are really run: a harmless one has an answer."""
    assert str(answer("SELECT max(c0) FROM r0").accept.exact) == "2"  # type: ignore[union-attr]  # it is answered


@pytest.mark.parametrize("text", SPARKS)
def test_the_engines_own_guard_refuses(text: str, canary: Path, answer: Callable[[str], Measurement]) -> None:
    """Other relations, functions that are not listed, commands: an error of the rule, and the canary stays where it is."""
    found = answer(text.format(file=canary))

    assert (found.accept, found.error is not None) == (None, True)
    assert str(CANARY) not in str(found)


def test_hostile_queries_are_refused_twice(canary: Path, answer: Callable[[str], Measurement]) -> None:
    """The linter's corpus, handed to the engine as it is written: nothing of it shows the canary or reads a file."""
    assert canary.exists()
    texts = sorted({re.sub(r"\borders\b", "r0", each.sql) for each in hostile() if len(each.sql) < 2_000})
    found = [answer(text) for text in (texts if FULL else random.Random(9).sample(texts, 60))]

    assert [
        each for each in found if each.accept is not None and each.accept.exact is not None and each.accept.exact > 3
    ] == []
    assert not any(str(CANARY) in str(each) for each in found)


def test_what_the_guard_lists_is_used(spark: SparkSession) -> None:
    """The guard lists nothing that no query of ours needs: every class in it is one that translated queries are made of."""
    from lakegate.spark import spark_guard  # noqa: PLC0415 - Spark's settings must be made first

    used: set[str] = set()
    seconds = ("SELECT sum(extract(second FROM placed)) FROM orders", "postgres")
    for check in plan_of_queries(*QUERIES, seconds, ("SELECT max(length(status)) FROM orders", "mysql")).checks:
        assert check.query is not None
        columns = [
            f"CAST(NULL AS {SPARK[each.type.value]}) AS c{at}"
            for at, each in enumerate(check.query.relations[0].columns)
        ]
        spark.range(1).selectExpr("1 AS row", *columns).createOrReplaceTempView("r0")
        bound = {"now": JUDGED_AT, **{f"t{at}": text for at, text in enumerate(check.query.texts)}}
        spark.conf.set("spark.sql.ansi.enabled", "true")
        try:
            frame = spark.sql(check.query.text, args=bound)
        finally:
            spark.conf.set("spark.sql.ansi.enabled", "false")
        assert spark_guard.is_query(spark, check.query.text)
        assert spark_guard.unsafe(frame, {"r0"}) is None
        analysed = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - what the guard looks at
        used |= {node.getClass().getSimpleName() for _, node in spark_guard.nodes_of(analysed, {"r0"})}
    spark.catalog.dropTempView("r0")

    assert set() == (spark_guard.EXPRESSIONS | spark_guard.NODES) - used


SPARK = {
    "string": "STRING",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "decimal": "DECIMAL(38,18)",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}

"""P9 natively: the guard and the lock, each tested without the other, keep other data and the machine out of every answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import duckdb
import pytest

from lakegate.contract.logical_types import LogicalType
from lakegate.engine.duckdb_guard import lock, unsafe
from lakegate.engine.duckdb_queries import QueryTables, run_queries
from lakegate.plan.check import Check, Interval, Query, QueryColumn, QueryRelation, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.result import Measurement
from lakegate.verdict.measured_values import REFUSED
from tests.security.queries import hostile
from tests.spark.test_guard import SPARKS
from tests.spark.test_queries import plan_of_queries

CANARY = 5309
DUCKDBS = (
    "SELECT max(secret) FROM main.canary",
    "SELECT max(secret) FROM memory.main.canary",
    "SELECT max(q1.c0) FROM memory.main.canary AS q1",
    "SELECT max(secret) FROM temp.main.r0",
    "WITH RECURSIVE q1(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM q1) SELECT max(n) FROM q1",
    "WITH q1 AS (DELETE FROM canary RETURNING secret) SELECT max(secret) FROM q1",
    "SELECT count(*) FROM read_csv('{file}')",
    "SELECT count(*) FROM read_text('{file}')",
    "SELECT content FROM read_blob('{file}')",
    "SELECT count(*) FROM '{file}'",
    "SELECT count(*) FROM glob('/etc/*')",
    "SELECT count(*) FROM secret_frame",
    "SELECT getenv('HOME')",
    "SELECT current_setting('memory_limit')",
    "SELECT current_user",
    "SELECT count(*) FROM duckdb_settings()",
    "SELECT count(*) FROM information_schema.tables",
    "SELECT count(*) FROM sqlite_master",
    "SELECT count(*) FROM query('SELECT secret FROM canary')",
    "SELECT max(secret) FROM query_table('canary')",
    "SELECT random() FROM r0",
    "SELECT uuid()",
    "SELECT nextval('x')",
    "SELECT unnest(range(1000000000))",
    "SELECT max(length(repeat('x', 1000000000))) FROM r0",
    "SELECT max(length(lpad('x', 1000000000, 'y'))) FROM r0",
    "SELECT regexp_matches('x', '(x+)+y') FROM r0",
    "SELECT list_reduce([1, 2], lambda x, y: x + y)",
    "SELECT [x FOR x IN range(10)]",
    "SELECT * FROM r0",
    "SELECT COLUMNS('.*') FROM r0",
    "SELECT max(c0) FROM r0 USING SAMPLE 10%",
    "SELECT max(c0) FROM r0 TABLESAMPLE 10%",
    "SELECT c0 FROM r0 QUALIFY row_number() OVER (ORDER BY c0) = 1",
    "SELECT c0::BLOB FROM r0",
    "SELECT CAST(c0 AS JSON) FROM r0",
    "SELECT c0 FROM r0 AS x(a)",
    "SELECT c0 FROM r0 POSITIONAL JOIN r0 AS b",
    "FROM canary",
    "FROM r0",
    "TABLE canary",
    "VALUES (1)",
    "SELECT 1; SELECT 2",
    "PIVOT r0 ON c0",
    "SUMMARIZE canary",
    "DESCRIBE canary",
    "SHOW TABLES",
    "CALL duckdb_settings()",
    "PRAGMA database_list",
    "EXPLAIN SELECT 1",
    "SET threads = 99",
    "RESET lock_configuration",
    "ATTACH '{file}.db' AS stolen",
    "DETACH memory",
    "INSTALL httpfs",
    "LOAD httpfs",
    "COPY canary TO '{file}.out'",
    "COPY (SELECT secret FROM canary) TO '{file}.out'",
    "EXPORT DATABASE '{file}.out'",
    "CREATE TABLE stolen AS SELECT * FROM canary",
    "CREATE TEMP MACRO stolen() AS (SELECT max(secret) FROM canary)",
    "CREATE SECRET stolen (TYPE s3)",
    "INSERT INTO canary VALUES (1)",
    "DROP TABLE canary",
    "PREPARE x AS SELECT secret FROM canary",
    "EXECUTE x",
    "VACUUM",
    "CHECKPOINT",
    "BEGIN TRANSACTION",
    "",
)
"""In DuckDB's own words: what a translator that was broken or deceived might put into a plan."""
REACHING = (
    *(
        "SELECT count(*) FROM '{file}'",
        "SELECT count(*) FROM read_text('{file}')",
        "SELECT count(*) FROM glob('/etc/*')",
    ),
    *("COPY (SELECT 1) TO '{file}.out'", "EXPORT DATABASE '{file}.out'", "ATTACH '{file}.db' AS stolen"),
    *("INSTALL httpfs", "LOAD httpfs", "SELECT count(*) FROM secret_frame", "SET enable_external_access = true"),
    *("SET lock_configuration = false", "RESET lock_configuration", "SET threads = 99", "SET memory_limit = '1TB'"),
    *("SELECT count(*) FROM 'https://example.org/x.csv'", "SELECT count(*) FROM read_csv('s3://bucket/x.csv')"),
    *("CREATE SECRET stolen (TYPE s3)", "SELECT count(*) FROM sniff_csv('{file}')", "LOAD '{file}'"),
)
RELATION = QueryRelation("orders", (QueryColumn("total", LogicalType.INTEGER),))
PLAN = plan_of_queries("SELECT max(total) FROM orders", total="integer")


def nothing_accepted(line: str, _columns: object) -> str:
    raise AssertionError(line)


@contextmanager
def guarded(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A table and a file that hold a number nobody may see: nothing has changed afterwards, and nothing is added."""
    (folder / "file.txt").write_text(f"{CANARY}\n")
    connection = duckdb.connect(":memory:")
    connection.execute("CREATE TABLE canary AS SELECT ?::INT AS secret, ?::INT AS c0", [CANARY, CANARY])
    connection.execute("CREATE TABLE judged AS SELECT x AS vc0 FROM range(3) t(x)")
    connection.execute("CREATE TEMP VIEW r0 AS SELECT x AS c0, 1 AS row FROM range(3) t(x)")
    yield connection
    assert connection.execute("SELECT secret FROM canary").fetchall() == [(CANARY,)]
    assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(2,)]
    assert [path.name for path in folder.iterdir()] == ["file.txt"]
    connection.close()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with guarded(tmp_path) as connection:
        yield connection


@pytest.fixture(scope="module")
def parsing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database that parses texts and runs none."""
    with guarded(tmp_path_factory.mktemp("parsing")) as connection:
        yield connection


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Measurement]:
    """What the native engine answers to each text, in one database, as it answers the queries of a plan."""
    folder = tmp_path_factory.mktemp("answered")
    texts, secret_frame = [*SPARKS, *DUCKDBS], [CANARY]
    with guarded(folder) as connection:
        found = answers(connection, [text.format(file=folder / "file.txt") for text in texts], str(secret_frame))
    return dict(zip(texts, found, strict=True))


def answers(connection: duckdb.DuckDBPyConnection, queries: list[str], *texts: str) -> list[Measurement]:
    """What the native engine answers to texts that went past the linter."""
    checks = tuple(
        Check(
            "q",
            "q",
            "sql",
            (),
            Metric.ANSWER,
            Unit.VALUE,
            Tier(Interval()),
            query=Query(each, each, texts, (RELATION,)),
        )
        for each in queries
    )
    tables = QueryTables(PLAN, "2026-07-01T00:00:00Z", "judged", nothing_accepted)
    return [each.measurement for each in run_queries(connection, checks, tables, 10)]


def answer(connection: duckdb.DuckDBPyConnection, text: str, *texts: str) -> Measurement:
    """What it answers to one."""
    return answers(connection, [text], *texts)[0]


def test_the_way_past_the_linter_is_open(database: duckdb.DuckDBPyConnection) -> None:
    """The texts of these tests are really run: a harmless one has an answer."""
    assert str(answer(database, "SELECT max(q1.c0) AS k0 FROM r0 AS q1").accept.exact) == "2"  # type: ignore[union-attr]  # it is answered
    assert unsafe(database, "SELECT max(q1.c0) AS k0 FROM r0 AS q1", {"r0"}) is None


@pytest.mark.parametrize("text", [*SPARKS, *DUCKDBS])
def test_the_engine_refuses(text: str, answered: dict[str, Measurement]) -> None:
    """Other relations, functions that are not listed, commands: an error of the rule, and the canary stays where it is."""
    found = answered[text]

    assert (found.accept, found.error) == (None, REFUSED)


@pytest.mark.parametrize("text", DUCKDBS)
def test_the_guard_refuses_by_itself(text: str, tmp_path: Path, parsing: duckdb.DuckDBPyConnection) -> None:
    """What a deceived translator might write is refused by what DuckDB itself parsed of it."""
    written = text.format(file=tmp_path / "file.txt")
    try:
        found = unsafe(parsing, written, {"r0"})
    except duckdb.Error:
        return  # DuckDB cannot even parse it
    assert found is not None


@pytest.mark.parametrize("text", REACHING)
def test_the_lock_holds_by_itself(text: str, tmp_path: Path, database: duckdb.DuckDBPyConnection) -> None:
    """A locked connection reads and writes no file, loads no extension, sees no variable and keeps its settings."""
    lock(database)
    secret_frame = [CANARY]
    with pytest.raises(duckdb.Error) as refusal:
        database.execute(text.format(file=tmp_path / "file.txt")).fetchall()

    assert str(CANARY) not in str(refusal.value)
    assert secret_frame


@cache
def corpus() -> list[str]:
    return sorted({re.sub(r"\borders\b", "r0", each.sql) for each in hostile()})


def test_hostile_queries_are_refused_by_each_wall(database: duckdb.DuckDBPyConnection) -> None:
    """The linter's corpus, as it is written: the guard lets nothing reach out."""
    found = answers(database, corpus(), "a", "b")
    past_guard = [text for text in corpus() if is_let_through(database, text)]

    assert len(corpus()) > 500
    assert not any(str(CANARY) in str(each) for each in found)
    assert all(each.accept is None or each.accept.exact is None or each.accept.exact <= 3 for each in found)
    lock(database)
    for text in past_guard:
        assert str(CANARY) not in str(rows_of(database, text))


def is_let_through(database: duckdb.DuckDBPyConnection, text: str) -> bool:
    try:
        return unsafe(database, text, {"r0"}) is None
    except duckdb.Error:
        return False


def rows_of(database: duckdb.DuckDBPyConnection, text: str) -> object:
    try:
        return database.execute(text).fetchmany(10)
    except duckdb.Error as error:
        return error


def test_a_bound_text_is_never_sql(database: duckdb.DuckDBPyConnection) -> None:
    """What the contract wrote in quotes reaches DuckDB as a value, whatever stands in it."""
    text = "'); SELECT secret FROM canary; --"
    found = answer(database, "SELECT count(1) AS k0 FROM r0 AS q1 WHERE (CAST(q1.c0 AS VARCHAR) <> $t0)", text)

    assert str(found.accept.exact) == "3"  # type: ignore[union-attr]  # it is answered


def test_relations_are_not_redefined(database: duckdb.DuckDBPyConnection) -> None:
    """A query of a WITH cannot replace the delivery."""
    assert unsafe(database, "WITH r0 AS (SELECT 1 AS c0) SELECT max(c0) FROM r0", {"r0"}) == "a relation is redefined"
    assert replace(RELATION, delivered=False) != RELATION

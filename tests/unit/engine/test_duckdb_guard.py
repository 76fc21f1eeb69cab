"""Every query that the translator writes in DuckDB's SQL is bound by DuckDB, and known to the guard."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.engine.duckdb_guard import FUNCTIONS, KINDS, NODES, unsafe
from lakegate.engine.evaluate.typed_values import sql_type
from lakegate.plan.check import Query
from lakegate.sql.typed_sql import RefusedError, UntranslatedError
from tests.reference.cases import good_cases
from tests.reference.queries import in_utc
from tests.reference.sampling import sampled
from tests.spark.test_queries import QUERIES
from tests.unit.sql.test_typed_sql import CASES, translated

NOW = "2026-07-01T00:00:00Z"
MORE = (
    ("SELECT max(extract(second FROM placed)) FROM orders", "postgres"),
    ("SELECT max(hour(try_cast(status AS TIMESTAMP))) + max(day(try_cast(status AS DATE))) FROM orders", None),
    ("SELECT max(try_cast(status AS DECIMAL(38, 18))) + max(try_cast(status AS DOUBLE)) FROM orders", None),
    ("SELECT count(*) FROM orders WHERE total <= 3 AND price < 2 AND price IS NOT NULL", None),
    ("SELECT max(total / 2) + max(length(status)) FROM orders", "mysql"),
    ("SELECT count(*) FROM orders WHERE total IN ((SELECT max(total) FROM orders), 3)", None),
    ("SELECT count(*) FROM orders WHERE total IN (SELECT total FROM orders UNION SELECT 3)", None),
    ("SELECT count(*) FROM orders WHERE ((SELECT max(total) FROM orders) + 1) > 3", None),
    ("WITH a AS (WITH b AS (SELECT total AS t FROM orders) SELECT max(t) AS m FROM b) SELECT m FROM a", None),
)


@cache
def written() -> tuple[Query, ...]:
    """The queries of all cases of the translator, of the job's corpus and of the kinds of rules."""
    queries = [translated(case["sql"], case.get("dialect"), *case.get("fields", ())) for case in CASES["translated"]]
    queries += [translated(sql, "duckdb") for sql in QUERIES]
    queries += [translated(sql, dialect or "duckdb") for sql, dialect in MORE]
    queries += [check.query for case in good_cases() for check in case.plan.checks if check.query]
    return tuple(queries)


def views(query: Query, database: duckdb.DuckDBPyConnection) -> set[str]:
    """Relations without rows."""
    for number, relation in enumerate(query.relations):
        columns = [f"CAST(NULL AS {sql_type(each)}) AS c{at}" for at, each in enumerate(relation.columns)]
        empty = f"SELECT {', '.join([*columns, '1 AS row'])} WHERE false"
        database.execute(f"CREATE OR REPLACE TEMP VIEW r{number} AS {empty}")
    return {f"r{number}" for number in range(len(query.relations))}


@pytest.mark.parametrize("query", written(), ids=lambda query: query.text[:80])
def test_what_the_translator_writes_is_asked(query: Query) -> None:
    """The guard lets it pass, and DuckDB binds it: on relations without rows it has an answer."""
    database = in_utc()
    named = views(query, database)
    values = {f"t{at}": text for at, text in enumerate(query.texts)} | {"now": NOW}

    assert unsafe(database, query.duckdb, named) is None
    database.execute(query.duckdb, {name: values[name] for name in values if f"${name}" in query.duckdb}).fetchall()


def kinds_of(database: duckdb.DuckDBPyConnection, text: str) -> set[str]:
    """The kinds of nodes, the functions and the types that DuckDB makes of a query."""
    (written,) = database.execute("SELECT json_serialize_sql($text)", {"text": text}).fetchone() or ("",)
    found: set[str] = set()

    def note(node: dict[str, object]) -> dict[str, object]:
        found.update(str(node[key]) for key in ("type", "function_name") if node.get(key))
        found.add(str(node.get("type_name")).lower())
        return node

    json.loads(written, object_hook=note)
    return found


def test_what_the_guard_lists_is_used() -> None:
    """The guard lists nothing that no query of ours needs: everything in its lists is what translated queries are made of."""
    with duckdb.connect(":memory:") as database:
        used = {name for query in written() for name in kinds_of(database, query.duckdb)}

    assert set() == (NODES | FUNCTIONS | KINDS) - used


PIECES = (
    *("total", "price", "weight", "1", "2.5", "1e3", "status", "'a'", "day", "placed", "paid", "NULL", "now()"),
    *(
        "DATE '2024-01-01'",
        "INTERVAL 1 DAY",
        "count(*)",
        "length(status)",
        "round(weight, 1)",
        "try_cast(status AS INT)",
    ),
)
SIGNS = ("+", "-", "*", "/", "//", "%", "=", "<", ">=", "<>", "||")


def expressions() -> st.SearchStrategy[str]:
    return st.recursive(
        st.sampled_from(PIECES),
        lambda inner: st.one_of(
            st.builds("({} {} {})".format, inner, st.sampled_from(SIGNS), inner),
            st.builds("CASE WHEN {} THEN {} ELSE {} END".format, inner, inner, inner),
            st.builds("coalesce({}, {})".format, inner, inner),
            st.builds(
                "CAST({} AS {})".format,
                inner,
                st.sampled_from(["INT", "DOUBLE", "DECIMAL(10, 2)", "DATE", "TIMESTAMP"]),
            ),
            st.builds("(-({}))".format, inner),
            st.builds("({} IS NULL)".format, inner),
            st.builds("({} IN ({}, {}))".format, inner, inner, inner),
            st.builds(
                "{}({})".format, st.sampled_from(["abs", "max", "sum", "avg", "year", "ceil", "median", "lower"]), inner
            ),
        ),
        max_leaves=6,
    )


@sampled(150, 50_000)
@given(expressions(), st.sampled_from(["duckdb", "postgres", "snowflake", "spark", "mysql"]))
def test_whatever_is_translated_is_bound(expression: str, dialect: str) -> None:
    """Any expression that the translator accepts is bound; its types fit together in DuckDB too."""
    try:
        query = translated(f"SELECT max(x) FROM (SELECT {expression} AS x FROM orders)", dialect)  # noqa: S608 - translated
    except (RefusedError, UntranslatedError):
        return
    with suppress(duckdb.InvalidInputException, duckdb.OutOfRangeException):  # a count of nothing divides by zero
        test_what_the_translator_writes_is_asked(query)

"""SQL rules natively: the answers are DuckDB's own and the job's, errors stay where they are, and time is limited."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.engine import duckdb_guard, duckdb_queries
from lakegate.engine.duckdb_queries import Accepted, QueryTables
from lakegate.engine.measure.duckdb_tables import database
from lakegate.plan.check import Check
from lakegate.plan.plan import Plan
from lakegate.plan.result import Measured, Measurement
from lakegate.verdict.measured_values import FAILED, REFUSED, SEVERAL_ROWS, TOO_LARGE, TOO_SLOW
from tests.reference.queries import run as run_reference
from tests.reference.queries import type_of
from tests.reference.sampling import sampled
from tests.spark.test_queries import QUERIES, ROWS, plan_of_queries, rows

NOW = "2026-07-01T00:00:00Z"


def answer_all(
    connection: duckdb.DuckDBPyConnection, checks: tuple[Check, ...], tables: QueryTables, limit: float | None = None
) -> tuple[Measurement, ...]:
    """The measurements of the answers."""
    return tuple(each.measurement for each in duckdb_queries.run_queries(connection, checks, tables, limit))


def nothing_accepted(line: str, _columns: object) -> str:
    raise AssertionError(line)


def judged(plan: Plan, records: list[dict[str, str | None]]) -> duckdb.DuckDBPyConnection:
    """A connection with the typed values of a delivery."""
    database = duckdb.connect(":memory:")
    columns = ", ".join(f'"v{field.alias}" {type_of(field)}' for field in plan.fields)
    database.execute(f"CREATE TABLE judged ({columns})")
    values = [_in_utc(row[field.name]) for row in records for field in plan.fields]
    if values:
        places = ", ".join([f"({', '.join('?' * len(plan.fields))})"] * len(records))
        database.execute(f"INSERT INTO judged VALUES {places}", values)  # noqa: S608 - of the test
    return database


def _in_utc(text: str | None) -> str | None:
    return text.removesuffix("Z") if text is not None else None


def answers(
    plan: Plan,
    records: list[dict[str, str | None]],
    accepted: Accepted = nothing_accepted,
    limit: float | None = None,
) -> dict[str, Measurement]:
    """The answers of the native engine to the queries of a plan."""
    found = answer_all(judged(plan, records), plan.checks, QueryTables(plan, NOW, "judged", accepted), limit)
    return {each.check: each for each in found}


@pytest.fixture(scope="module")
def answered() -> dict[str, Measurement]:
    """The answers to all queries at once."""
    return answers(plan_of_queries(*QUERIES), rows())


@pytest.mark.parametrize(("number", "query"), list(enumerate(QUERIES)), ids=[each[:60] for each in QUERIES])
def test_a_query_answers_what_duckdb_answers(number: int, query: str, answered: dict[str, Any]) -> None:
    """A query in DuckDB's dialect, translated into Spark's and back, returns the number that it returns itself."""
    expected = run_reference(plan_of_queries(query), rows(), query)
    found = answered[f"q{number}"]

    assert (found.error, found.skip) == (None, None)
    assert (None if expected is None else pytest.approx(float(expected), rel=1e-11)) == (
        None if found.accept.exact is None else float(found.accept.exact)
    )


def one(sql: str, dialect: str = "duckdb", **values: str | None) -> Measurement:
    """The answer of a query about one row."""
    row = dict.fromkeys(("id", "placed", "day", "total", "weight", "price", "status", "paid")) | values
    return answers(plan_of_queries(sql, dialect=dialect), [row])["q0"]


def exact(sql: str, dialect: str = "duckdb", **values: str | None) -> str | None:
    """The answer of a query about one row, to the last digit."""
    found = one(sql, dialect, **values)
    assert found.accept is not None, found
    return None if found.accept.exact is None else format(found.accept.exact, "f")


MAX = "9223372036854775807"
TWICE = "SELECT total FROM orders UNION ALL SELECT total FROM orders"
APART = "datediff('%s', placed, TIMESTAMP '1970-01-01')"
NUMBERED = (
    "SELECT row_number() OVER (ORDER BY v DESC NULLS LAST) AS n, v FROM "
    "(SELECT total AS v FROM orders UNION ALL SELECT nullif(total, total) AS v FROM orders)"
)


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("SELECT max(total + 1) FROM orders", {"total": MAX}),
        ("SELECT max(total * 2) FROM orders", {"total": MAX}),
        ("SELECT max(-(total)) FROM orders", {"total": "-9223372036854775808"}),
        ("SELECT max(abs(total)) FROM orders", {"total": "-9223372036854775808"}),
        ("SELECT max(total / 0) FROM orders", {"total": "1"}),
        ("SELECT max(weight / weight) FROM orders", {"weight": "0"}),
        ("SELECT max(total // 0) FROM orders", {"total": "1"}),
        ("SELECT max(total % 0) FROM orders", {"total": "1"}),
        ("SELECT max(weight % 0) FROM orders", {"weight": "1"}),
        ("SELECT max(CAST(weight AS BIGINT)) FROM orders", {"weight": "1e30"}),
        ("SELECT max(CAST(status AS INT)) FROM orders", {"status": "x"}),
        ("SELECT max(CAST(status AS INT)) FROM orders", {"status": "1.5"}),
        ("SELECT max(CAST(status AS INT)) FROM orders", {"status": "1_000"}),
        ("SELECT sum(price) FROM (SELECT price FROM orders UNION ALL SELECT price FROM orders)", {"price": "9" * 20}),
        ("SELECT max(day + total) - DATE '2024-01-01' FROM orders", {"day": "2024-01-01", "total": "9999999999"}),
    ],
)
def test_what_cannot_be_computed_is_an_error(sql: str, values: dict[str, str]) -> None:
    """Whole numbers beyond 64 bits, divisions by zero and texts that are no numbers are errors, never silent nulls."""
    assert one(sql, **values).error == FAILED


@pytest.mark.parametrize(
    ("dialect", "sql", "values", "expected"),
    [
        # whole numbers
        ("postgres", "SELECT max(total / 2) FROM orders", {"total": "7"}, "3"),
        ("postgres", "SELECT max(total / 2) FROM orders", {"total": "-7"}, "-3"),
        ("duckdb", "SELECT max(total / 2) FROM orders", {"total": "7"}, "3.5"),
        ("duckdb", "SELECT max(total // 2) FROM orders", {"total": "-7"}, "-3"),
        ("duckdb", "SELECT max(total % 3) FROM orders", {"total": "-7"}, "-1"),
        ("mysql", "SELECT max(total / 0) FROM orders", {"total": "7"}, None),
        ("duckdb", "SELECT sum(total) FROM (" + TWICE + ")", {"total": MAX}, "18446744073709551614"),  # noqa: S608 - of the test
        ("duckdb", "SELECT max(total) FROM orders", {"total": MAX}, MAX),
        # exact numbers
        ("duckdb", "SELECT max(price - 0.000000000000000001) FROM orders", {"price": "0.1"}, "0.099999999999999999"),
        ("duckdb", "SELECT max(price + price) FROM orders", {"price": "9" * 20}, None),
        ("duckdb", "SELECT max(price - (- price)) FROM orders", {"price": "-" + "9" * 20}, None),
        ("duckdb", "SELECT max(price + 1) FROM orders", {"price": "-" + "9" * 20}, "-99999999999999999998"),
        ("duckdb", "SELECT count(*) FROM orders WHERE price = 0.1", {"price": "0.1"}, "1"),
        ("duckdb", "SELECT count(*) FROM orders WHERE price = weight", {"price": "123.456", "weight": "123.456"}, "1"),
        ("duckdb", "SELECT max(CAST(weight AS DECIMAL(38, 18))) FROM orders", {"weight": "0.3"}, "0.3"),
        ("duckdb", "SELECT max(price * 3) FROM orders", {"price": "0.1"}, "0.3"),
        # rounding
        ("duckdb", "SELECT max(round(weight, 2)) FROM orders", {"weight": "2.675"}, "2.68"),
        ("duckdb", "SELECT max(round(weight)) FROM orders", {"weight": "-2.5"}, "-3"),
        ("duckdb", "SELECT max(round(weight, 2)) FROM orders", {"weight": "1e300"}, format(Decimal("1e300"), "f")),
        ("duckdb", "SELECT max(CAST(weight AS INT)) FROM orders", {"weight": "2.5"}, "2"),
        ("snowflake", "SELECT max(CAST(weight AS INT)) FROM orders", {"weight": "2.5"}, "3"),
        ("spark", "SELECT max(CAST(weight AS INT)) FROM orders", {"weight": "-2.9"}, "-2"),
        ("spark", "SELECT max(CAST(price AS INT)) FROM orders", {"price": "2.9"}, "2"),
        ("duckdb", "SELECT max(price::DECIMAL(10, 1)) FROM orders", {"price": "-2.25"}, "-2.3"),
        # numbers that are none
        ("duckdb", "SELECT max(sqrt(weight)) FROM orders", {"weight": "-1"}, None),
        ("duckdb", "SELECT max(pow(weight, 999)) FROM orders", {"weight": "1e9"}, None),
        ("duckdb", "SELECT stddev(weight) FROM orders", {"weight": "1"}, None),
        ("duckdb", "SELECT avg(weight) FROM orders", {}, None),
        ("duckdb", "SELECT max(total) FROM orders WHERE total < 0", {"total": "7"}, None),
        # texts
        ("duckdb", "SELECT max(try_cast(status AS DOUBLE)) FROM orders", {"status": " \t+1.5e1d "}, "15"),
        ("duckdb", "SELECT max(try_cast(status AS DOUBLE)) FROM orders", {"status": "1_0"}, None),
        ("duckdb", "SELECT max(try_cast(status AS BIGINT)) FROM orders", {"status": " +17 "}, "17"),
        ("duckdb", "SELECT max(try_cast(status AS BIGINT)) FROM orders", {"status": "0x10"}, None),
        ("duckdb", "SELECT max(try_cast(status AS DECIMAL(38, 18))) FROM orders", {"status": ".5"}, "0.5"),
        ("duckdb", "SELECT count(try_cast(status AS DATE)) FROM orders", {"status": "2024-02-30"}, "0"),
        ("duckdb", "SELECT max(year(try_cast(status AS DATE))) FROM orders", {"status": " 2024-2"}, "2024"),
        ("duckdb", "SELECT max(month(try_cast(status AS DATE))) FROM orders", {"status": "2024-3-1 x"}, "3"),
        ("duckdb", "SELECT count(try_cast(status AS DATE)) FROM orders", {"status": "2024/03/01"}, "0"),
        ("duckdb", "SELECT max(hour(try_cast(status AS TIMESTAMP))) FROM orders", {"status": "2024-03-01T05:00+02:00"}, "3"),
        ("duckdb", "SELECT max(length(status)) FROM orders", {"status": "e\u0301😀"}, "3"),
        ("duckdb", "SELECT max(length(upper(status))) FROM orders", {"status": "straße"}, "7"),
        ("duckdb", "SELECT max(length(trim(status))) FROM orders", {"status": " a\t "}, "2"),
        ("duckdb", "SELECT max(length(left(status, 2)) + length(right(status, 1))) FROM orders", {"status": "😀é"}, "3"),
        ("duckdb", "SELECT count(*) FROM orders WHERE status LIKE 'a_c%'", {"status": "a\ncd"}, "1"),
        ("duckdb", "SELECT count(*) FROM orders WHERE status < 'é' AND status > 'Z'", {"status": "z"}, "1"),
        ("duckdb", "SELECT max(length(concat(status, NULL))) FROM orders", {"status": "abc"}, "3"),
        ("duckdb", "SELECT max(length(status || NULL)) FROM orders", {"status": "abc"}, None),
        # truths
        ("duckdb", "SELECT count(*) = 1 FROM orders", {}, "1"),
        ("duckdb", "WITH a AS (SELECT total FROM orders) SELECT max(total) > 1 FROM a", {"total": "1"}, "0"),
        ("duckdb", "SELECT max(total) > 1 FROM orders", {}, None),
        # points in time
        ("duckdb", "SELECT max(day(day + INTERVAL 1 MONTH)) FROM orders", {"day": "2024-01-31"}, "29"),
        ("duckdb", "SELECT max(day(day - INTERVAL 1 YEAR)) FROM orders", {"day": "2024-02-29"}, "28"),
        ("postgres", "SELECT max(extract(second FROM placed)) FROM orders", {"placed": "2024-01-01T00:00:01.75"}, "1.75"),
        ("duckdb", "SELECT max(extract(second FROM placed)) FROM orders", {"placed": "2024-01-01T00:00:01.75"}, "1"),
        ("duckdb", "SELECT max(extract(dow FROM day)) FROM orders", {"day": "2024-01-07"}, "0"),
        ("duckdb", "SELECT max(extract(isodow FROM day)) FROM orders", {"day": "2024-01-07"}, "7"),
        ("duckdb", "SELECT max(" + APART % "hour" + ") FROM orders", {"placed": "1969-12-31T23:59:59"}, "1"),  # noqa: S608 - of the test
        ("snowflake", "SELECT max(" + APART % "quarter" + ") FROM orders", {"placed": "1969-12-31T00:00:00"}, "1"),  # noqa: S608 - of the test
        ("duckdb", "SELECT max(epoch(placed)) FROM orders", {"placed": "0001-01-01T00:00:00"}, "-62135596800"),
        ("duckdb", "SELECT count(*) FROM orders WHERE placed > now() - INTERVAL 1 DAY", {"placed": "2026-06-30T12:00:00"}, "1"),
        # nulls
        ("duckdb", "SELECT count(*) FROM orders WHERE total NOT IN (1, NULL)", {"total": "2"}, "0"),
        ("duckdb", "SELECT count(*) FROM orders WHERE total IS DISTINCT FROM 1", {}, "1"),
        ("duckdb", "SELECT max(least(total, 3)) FROM orders", {}, "3"),
        ("duckdb", "SELECT max(n) FROM (" + NUMBERED + ") WHERE v IS NULL", {"total": "1"}, "2"),  # noqa: S608 - of the test
    ],
)  # fmt: skip
def test_values_are_computed_as_the_job_does(
    dialect: str, sql: str, values: dict[str, str], expected: str | None
) -> None:
    """Whole division, exact sums, rounding, texts, months and nulls are as in docs/sql.md, in every dialect."""
    assert exact(sql, dialect, **values) == expected


def test_a_condition_is_not_computed_where_another_excludes_its_row() -> None:
    """A division stands behind a condition or a CASE that leaves zeros out: it is not an error for them."""
    records = [
        dict.fromkeys(("id", "placed", "day", "price", "status", "paid")) | {"total": str(at), "weight": str(at)}
        for at in range(50)
    ]
    found = answers(
        plan_of_queries(
            "SELECT count(*) FROM orders WHERE total <> 0 AND 100 / total > 10",
            "SELECT count(*) FROM orders WHERE weight <> 0 AND 100 / weight > 10",
            "SELECT sum(CASE WHEN total = 0 THEN 0 ELSE 100 // total END) FROM orders",
            "SELECT sum(CASE WHEN weight = 0 THEN 0 ELSE 100 / weight END) FROM orders WHERE weight < 5",
        ),
        records,
    )
    assert [each.accept and float(each.accept.exact or 0) for each in found.values()] == [
        9,
        9,
        sum(100 // at for at in range(1, 50)),
        208.333333333,
    ]


def test_one_query_that_fails_leaves_the_others_answered() -> None:
    """An overflow, a text that cannot be cast and several rows are errors of their own rules, without a value of the data."""
    queries = (
        "SELECT sum(total * 900000000000000000) FROM orders",
        "SELECT max(CAST(status AS INT)) FROM orders",
        "SELECT total FROM orders",
        "SELECT count(*) FROM orders",
    )
    found = answers(plan_of_queries(*queries), [row | {"status": "canary-5309"} for row in rows()[:9]])

    assert [each.error for each in found.values()] == [FAILED, FAILED, SEVERAL_ROWS, None]
    assert found["q3"].accept == Measured(of=1, exact=Decimal(9))
    assert not any("canary" in str(each) or "5309" in str(each) for each in found.values())


def test_a_query_has_its_time_and_the_others_have_theirs() -> None:
    """A query that takes too long is interrupted and is that rule's error; the next one is answered."""
    slow = "SELECT count(*) FROM orders a JOIN orders b ON a.paid = b.paid WHERE a.total + b.total < 0"
    plan = plan_of_queries(slow, "SELECT count(*) FROM orders WHERE total < 3")
    database = judged(plan, [])
    columns = {field.name: f'"v{field.alias}"' for field in plan.fields}
    filled = f"INSERT INTO judged ({columns['total']}, {columns['paid']}) SELECT x, true FROM range(100000) t(x)"  # noqa: S608 - of the test
    database.execute(filled)
    found = answer_all(database, plan.checks, QueryTables(plan, NOW, "judged", nothing_accepted), 0.25)

    assert [each.error for each in found] == [TOO_SLOW, None]
    assert found[1].accept == Measured(of=1, exact=Decimal(3))


def test_a_query_may_spill_as_much_as_the_data_allows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A query that builds rows without end, as by a key that is none, is that rule's error; the disk is not filled."""
    monkeypatch.setattr(duckdb_guard, "SPILL", 1 << 20)
    pairs = "SELECT a.id, b.status, a.total FROM orders a JOIN orders b ON a.paid = b.paid"
    large = f"SELECT count(*) FROM ({pairs} GROUP BY a.id, b.status, a.total) q"  # noqa: S608 - of the test
    plan = plan_of_queries(large, "SELECT count(*) FROM orders")
    connection = database(tmp_path, "30MB")
    columns = ", ".join(f'"v{field.alias}" {type_of(field)}' for field in plan.fields)
    connection.execute(f"CREATE TABLE judged ({columns})")
    named = ", ".join(f'"v{field.alias}"' for field in plan.fields if field.name in {"id", "total", "status", "paid"})
    connection.execute(f"INSERT INTO judged ({named}) SELECT 'i' || i, i, 's' || i, true FROM range(1500) t(i)")  # noqa: S608 - likewise
    found = answer_all(connection, plan.checks, QueryTables(plan, NOW, "judged", nothing_accepted))

    assert [each.error for each in found] == [TOO_LARGE, None]


def test_a_text_that_nobody_here_writes_is_refused() -> None:
    """A plan whose query is not generated by the translator is not run: the check is an error."""
    plan = plan_of_queries("SELECT count(*) FROM orders")
    (check,) = plan.checks
    assert check.query is not None
    changed = replace(check, query=replace(check.query, duckdb="SELECT count(1) AS k0 FROM duckdb_settings() AS q1"))
    (found,) = answer_all(judged(plan, []), (changed,), QueryTables(plan, NOW, "judged", nothing_accepted))

    assert found.error == REFUSED


def test_answers_do_not_depend_on_the_order_of_rows() -> None:
    """The same rows in another order give the same answers, to the last digit."""
    shuffled = rows()
    random.Random(3).shuffle(shuffled)
    one_way, other = answers(plan_of_queries(*QUERIES), rows()), answers(plan_of_queries(*QUERIES), shuffled)

    assert one_way == other
    assert len(shuffled) == ROWS


NUMBERS = ("total", "weight", "price", "3", "-2", "0.5", "length(status)", "(day - DATE '2024-05-01')", "month(placed)")
TRUTHS = (
    "paid",
    "total > weight",
    "price <= 300.25",
    "status LIKE '%e%'",
    "day > DATE '2024-06-01'",
    "total IN (1, 2, NULL)",
)


def numbers() -> st.SearchStrategy[str]:
    truths = st.sampled_from(TRUTHS)
    return st.recursive(
        st.sampled_from(NUMBERS),
        lambda inner: st.one_of(
            st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*"]), inner),
            st.builds("({} / 7)".format, inner),
            st.builds("CASE WHEN {} THEN {} ELSE {} END".format, truths, inner, inner),
            st.builds("CASE WHEN {} < {} THEN {} END".format, inner, inner, inner),
            st.builds("{}({}, {})".format, st.sampled_from(["coalesce", "least", "greatest", "nullif"]), inner, inner),
            st.builds("{}({})".format, st.sampled_from(["abs", "-"]), inner),
            # a decimal without fractions; beside other decimals in a COALESCE it would take theirs
            st.builds("CAST({}({}) AS DOUBLE)".format, st.sampled_from(["ceil", "floor"]), inner),
        ),
        max_leaves=5,
    )


AGGREGATES = ("sum", "avg", "min", "max", "count", "var_pop", "count(DISTINCT ", "stddev")


@sampled(5, 20_000)
@given(
    st.lists(st.tuples(st.sampled_from(AGGREGATES), numbers(), st.sampled_from(TRUTHS)), min_size=8, max_size=8),
    st.randoms(use_true_random=False),
)
def test_random_queries_answer_what_duckdb_answers(parts: list[tuple[str, str, str]], chance: random.Random) -> None:
    """Aggregates of random expressions over random rows, filtered and grouped, give DuckDB's own numbers.

    A query that DuckDB cannot compute is skipped: a product of two prices has 36 of its 38 digits after the point.
    """
    records = chance.sample(rows(), 12)
    queries = [
        f"SELECT {name if '(' in name else name + '('}{of}) FROM orders WHERE {where}"  # noqa: S608 - translated
        for name, of, where in parts
    ]
    plan = plan_of_queries(*queries)
    found = answers_of_asked(plan, records)
    for check, query in zip(plan.checks, queries, strict=True):
        if check.query is None:
            continue
        try:
            expected = run_reference(plan, records, query)
        except (duckdb.OutOfRangeException, duckdb.ConversionException):
            continue
        measured = found[check.id].accept
        assert measured is not None, (query, found[check.id])
        assert agree(measured.exact, expected), (query, measured.exact, expected)


def answers_of_asked(plan: Plan, records: list[dict[str, str | None]], now: str = NOW) -> dict[str, Measurement]:
    """The answers of the native engine to the queries that a plan has."""
    with_query = tuple(check for check in plan.checks if check.query)
    found = answer_all(judged(plan, records), with_query, QueryTables(plan, now, "judged", nothing_accepted))
    return {each.check: each for each in found}


def agree(measured: Decimal | None, expected: object) -> bool:
    if expected is None or measured is None:
        return expected is None and measured is None
    return float(measured) == pytest.approx(float(str(expected)), rel=1e-9, abs=1e-9)

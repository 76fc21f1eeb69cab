"""Dialects: what docs/sql.md lists is measured as the dialect means it; the rest is named with what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.deliveries.delivery import JUDGED_AT
from tests.spark.test_queries import plan_of_queries
from tests.unit.engine.test_duckdb_queries import answers, answers_of_asked
from tests.unit.sql.dialects import BY_DIALECT, DIALECTS, FOUR, expected, spelled

PAGE = (Path(__file__).parents[3] / "docs" / "sql.md").read_text()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_function_has_the_meaning_of_the_dialect(dialect: str) -> None:
    """Each function and operator of docs/sql.md, with its dialect's flags, is measured as written down, without exception."""
    plan = plan_of_queries(*(spelled(case, dialect) for case in BY_DIALECT), dialect=dialect)
    found = answers_of_asked(plan, FOUR, JUDGED_AT)
    wrong = {}
    for check, case in zip(plan.checks, BY_DIALECT, strict=True):
        wanted = expected(case, dialect)
        measured = check.skip or found[check.id].error
        if measured is None:
            value = found[check.id].accept.exact
            measured = str(value) if value is None else format(value, "f")
        if measured != wanted:
            wrong[spelled(case, dialect)] = (measured, wanted)

    assert wrong == {}


PADDED = [*FOUR, FOUR[0] | {"id": "e", "status": "Ab c  "}, FOUR[0] | {"id": "f", "status": "ab c"}]
OF_EITHER: list[tuple[str, int]] = [
    ("status COLLATE {c} LIKE 'A%'", 2),
    ("status LIKE 'A%' COLLATE {c}", 2),
    ("status COLLATE {c} NOT LIKE 'a%'", 4),
    ("status COLLATE {c} LIKE '%_@_%'", 1),
    ("status COLLATE {c} LIKE '%B%'", 0),
]
REMEDIES: dict[tuple[str, str], list[tuple[str, int]]] = {
    ("mysql", "utf8mb4_0900_bin"): [
        *OF_EITHER,
        ("status COLLATE {c} = 'Ab c'", 1),
        ("'ab c' = status COLLATE {c}", 1),
        ("status COLLATE {c} <> 'Ab c'", 4),
        ("status COLLATE {c} IN ('Ab c', 'x@y.de')", 2),
        ("status COLLATE {c} NOT IN ('Ab c', 'x@y.de')", 3),
        ("status COLLATE {c} > 'Z'", 2),
        ("status COLLATE {c} BETWEEN 'A' AND 'Z'", 2),
        ("status COLLATE {c} IN (SELECT status FROM orders WHERE paid)", 4),
        ("CASE status COLLATE {c} WHEN 'Ab c' THEN TRUE ELSE FALSE END", 1),
        ("lower(status) COLLATE {c} = 'ab c'", 2),
        ("status COLLATE {c} LIKE '%c'", 2),
    ],
    ("mysql", "utf8mb4_bin"): [("status COLLATE {c} = 'Ab c'", 2), ("status COLLATE {c} LIKE '%c'", 2)],
    ("sqlserver", "Latin1_General_BIN2"): [
        *OF_EITHER,
        ("status COLLATE {c} = 'Ab c'", 2),
        ("'ab c' = status COLLATE {c}", 1),
        ("status COLLATE {c} <> 'Ab c'", 3),
        ("status COLLATE {c} IN ('Ab c ', 'x@y.de')", 3),
        ("NULLIF(status COLLATE {c}, 'Ab c') IS NULL", 3),
        ("lower(status) COLLATE {c} = 'ab c'", 3),
    ],
}
LEFT_OUT = [
    (
        "mysql",
        "status COLLATE utf8mb4_bin = id COLLATE utf8mb4_0900_bin",
        "comparisons and LIKE of texts ignore case in mysql",
    ),
    ("mysql", "status IN (SELECT status FROM orders)", "comparisons and LIKE of texts ignore case in mysql"),
    ("mysql", "status COLLATE utf8mb4_bin < 'Z'", "order and IN of a query do not count spaces"),
    (
        "mysql",
        "status COLLATE utf8mb4_bin IN (SELECT status FROM orders)",
        "order and IN of a query do not count spaces",
    ),
    (
        "mysql",
        "status COLLATE utf8mb4_general_ci = 'Z'",
        "the collation `utf8mb4_general_ci` is not translated from mysql: `COLL",
    ),
    ("sqlserver", "status COLLATE Latin1_General_BIN2 < 'Z'", "order and IN of a query do not count spaces"),
    ("sqlserver", "status COLLATE Latin1_General_BIN2 LIKE '[A-C]%'", "its LIKE is not a plain pattern"),
    ("sqlserver", "status COLLATE Latin1_General_BIN2 LIKE '%c'", "whether LIKE counts spaces at the end"),
    (
        "sqlserver",
        "status COLLATE Latin1_General_CI_AS = 'Z'",
        "the collation `Latin1_General_CI_AS` is not translated from sqlserver",
    ),
    ("postgres", "status COLLATE \"C\" = 'Z'", "the collation `C` is not translated from postgres"),
]


@pytest.mark.parametrize(("dialect", "collation"), REMEDIES)
def test_texts_are_compared_by_a_collation_that_the_reason_names(dialect: str, collation: str) -> None:
    """Comparisons and LIKE with a collation by code points mean what they do in MySQL and SQL Server, spaces at the end too."""
    cases = REMEDIES[dialect, collation]
    queries = [f"SELECT count(*) FROM orders WHERE {sql.format(c=collation)}" for sql, _ in cases]  # noqa: S608 - translated
    plan = plan_of_queries(*queries, dialect=dialect)
    found = answers_of_asked(plan, PADDED)

    assert [
        (sql, each.skip or found[each.id].accept.exact) for (sql, _), each in zip(cases, plan.checks, strict=True)
    ] == cases


@pytest.mark.parametrize(("dialect", "condition", "reason"), LEFT_OUT)
def test_a_collation_with_another_meaning_is_named(dialect: str, condition: str, reason: str) -> None:
    """What a collation leaves open, or orders otherwise, is not measured."""
    query = f"SELECT count(*) FROM orders WHERE {condition}"  # noqa: S608 - translated
    (check,) = plan_of_queries(query, dialect=dialect).checks

    assert (check.skip or "").removeprefix("this SQL is not measured by this version: ").startswith(reason)


def test_each_function_that_is_listed_has_a_case() -> None:
    """Every word in the list of docs/sql.md is in the table of dialects."""
    listed = PAGE.split("## What is translated")[1].split("The dialect decides")[0]
    words = {word.upper() for each in re.findall(r"`([^`]+)`", listed) for word in re.findall(r"[A-Za-z_]{2,}", each)}
    words |= set(re.findall(r"\b[A-Z]{2,}\b", listed)) - {"UTC"}
    tried = {
        word.upper() for case in BY_DIALECT for each in DIALECTS for word in re.findall(r"\w+", spelled(case, each))
    }

    assert words - tried == set()


SERVERS = {"MySQL": "mysql", "SQL Server": "sqlserver", **{each.title(): each for each in DIALECTS}}


def left_out() -> list[tuple[str, str, str]]:
    """The rows of the table of docs/sql.md of what is not measured: the dialect, what is written, and what to write instead."""
    section = PAGE.split("## Not measured in one dialect")[1].split("In no dialect")[0]
    rows = [re.split(r" \| ", row.strip("| ")) for row in section.splitlines() if row.startswith("| ")]
    return [
        (SERVERS[name], re.findall(r"`([^`]+)`", written)[0], re.findall(r"`([^`]+)`", instead)[0])
        for names, written, instead in rows[2:]
        for name in names.split(", ")
    ]


@pytest.mark.parametrize(("dialect", "written", "instead"), left_out())
def test_what_a_dialect_has_and_is_not_measured_is_named_with_its_remedy(
    dialect: str, written: str, instead: str
) -> None:
    """Each row of the table is skipped with a reason that names dialect and remedy, and the remedy is measured."""
    asked = "SELECT count(*) FROM orders WHERE ({}) IS NOT NULL"
    (check,) = plan_of_queries(asked.format(written), dialect=dialect).checks
    new = set(re.findall(r"\w{3,}", instead)) - set(re.findall(r"\w+", written))

    assert dialect in (check.skip or "")
    assert [word for word in new if word in (check.skip or "")] != []
    if instead != "dialect: duckdb":
        found = answers_of_asked(plan_of_queries(asked.format(instead), dialect=dialect), FOUR)
        assert found["q0"].accept is not None


DAYS = [date(2023, 1, 1) + timedelta(days=each) for each in range(1500)]


def asked_of_days(dialect: str, *selected: str) -> list[int]:
    """The sum of each expression over many days, each with a weight of its own."""
    blank = dict.fromkeys(("placed", "weight", "price", "status", "paid"))
    records = [blank | {"id": str(at), "day": str(day), "total": str(at)} for at, day in enumerate(DAYS)]
    plan = plan_of_queries(*(f"SELECT sum(({each}) * total) FROM orders" for each in selected), dialect=dialect)  # noqa: S608 - translated
    return [int(each.accept.exact or 0) for each in answers(plan, records).values() if each.accept is not None]


def weighted(*references: Callable[[date], int]) -> list[int]:
    return [sum(at * reference(day) for at, day in enumerate(DAYS)) for reference in references]


def test_weeks_begin_on_the_day_that_the_dialect_says() -> None:
    """Weeks of a year are those of strftime, and differences in weeks the days that begin one, whatever day that is."""
    sunday, monday = (lambda day: int(day.strftime("%U"))), (lambda day: int(day.strftime("%W")))
    begun = [
        lambda day, first=first: sum(each <= day and each.isoweekday() == first for each in DAYS[1:])
        for first in (7, 1, 4)
    ]

    assert asked_of_days("mysql", "week(day)", "EXTRACT(WEEK FROM day)") == weighted(sunday) * 2
    assert asked_of_days("bigquery", "EXTRACT(WEEK FROM day)", "EXTRACT(WEEK(MONDAY) FROM day)") == weighted(
        sunday, monday
    )
    assert weighted(*begun) == asked_of_days(
        "bigquery", *(f"DATE_DIFF(day, DATE '2023-01-01', {unit})" for unit in ("WEEK", "ISOWEEK", "WEEK(THURSDAY)"))
    )
    assert asked_of_days("sqlserver", "DATEDIFF(week, '2023-01-01', day)") == weighted(begun[0])
    assert asked_of_days("duckdb", "datediff('week', DATE '2023-01-01', day)") == weighted(begun[1])


def complete(months: int, since: date, *, to_the_end: bool) -> Callable[[date], int]:
    """The complete units of some months between a date and each day: the last day of a month completes it, or its day does."""

    def between(first: date, last: date) -> int:
        found = (last.year - first.year) * 12 + last.month - first.month
        is_last = to_the_end and (last + timedelta(days=1)).day == 1
        return (found - (last.day < first.day and not is_last)) // months

    return lambda day: between(since, day) if since <= day else -between(day, since)


@pytest.mark.parametrize("since", [date(2023, 12, 31), date(2024, 2, 29), date(2025, 1, 30), date(2025, 6, 15)])
def test_complete_months_are_counted_as_the_dialect_counts_them(since: date) -> None:
    """Months, quarters and years between dates, forwards and backwards, over leap years and the ends of months."""
    units = {"month": 1, "quarter": 3, "year": 12}
    by_day = weighted(*(complete(each, since, to_the_end=False) for each in units.values()))
    by_end = weighted(*(complete(each, since, to_the_end=True) for each in units.values()))

    assert by_day != by_end or since.day == 15
    assert asked_of_days("trino", *(f"date_diff('{each}', DATE '{since}', day)" for each in units)) == by_end
    assert asked_of_days("mysql", *(f"timestampdiff({each}, DATE '{since}', day)" for each in units)) == by_day
    for dialect in ("databricks", "spark"):
        assert asked_of_days(dialect, *(f"datediff({each}, DATE '{since}', day)" for each in units)) == by_day


def test_datediff_of_spark_counts_days_or_complete_units() -> None:
    """DATEDIFF with a unit counts complete units between moments; without one, days between their dates."""
    since = "TIMESTAMP '2024-01-01 23:00:00'"
    given = (f"placed, {since}", f"day, {since}, placed")
    queries = [f"SELECT min(datediff({each})) FROM orders WHERE placed > {since}" for each in given]  # noqa: S608 - translated
    for dialect in ("databricks", "spark"):
        found = answers_of_asked(plan_of_queries(*queries, dialect=dialect), FOUR).values()
        assert [each.accept and each.accept.exact for each in found] == [6, 5]


def test_length_of_mysql_counts_bytes() -> None:
    """LENGTH counts the bytes of a text in UTF-8, CHAR_LENGTH its characters."""
    plan = plan_of_queries("SELECT max(length(status)) * 100 + max(char_length(status)) FROM orders", dialect="mysql")
    (found,) = answers_of_asked(plan, [FOUR[0] | {"status": "aé€😀"}]).values()

    assert found.accept is not None
    assert found.accept.exact == 1004

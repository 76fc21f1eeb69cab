"""Translation of contract SQL: the generated text, and the queries that are refused or skipped."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import ContractError
from lakegate.contract.contract_model import About, Contract, Dataset, Field, Origin, Rule, Server
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.check import Query
from lakegate.rules.rule_kinds import compile_rule
from lakegate.sql.sql_select import translate
from lakegate.sql.typed_sql import RefusedError, UntranslatedError
from tests.reference.sampling import sampled
from tests.security.queries import hostile

CASES = yaml.load(Path(__file__).with_name("cases.yaml").read_text(), yaml.CSafeLoader)
FILES = yaml.load((Path(__file__).parents[2] / "spark" / "queries.yaml").read_text(), yaml.CSafeLoader)
KEYWORDS = set(
    re.findall(
        r"\w+",
        """
    ABS AND AS ASC AVG BD BETWEEN BIGINT BY CASE CAST CEIL COALESCE CONCAT CONTAINS COUNT COUNT_IF CROSS CURRENT
    DATE DATEDIFF DATE_ADD DATE_SUB DATE_TRUNC DAY DAYOFWEEK DAYOFYEAR DECIMAL DENSE_RANK DESC DISTINCT DIV DOUBLE
    ELSE END ENDSWITH EXCEPT EXISTS FALSE FILTER FLOOR FOLLOWING FROM FULL GREATEST GROUP HAVING HOUR IN INT
    INTERSECT IS JOIN LAG LAST LEAD LEAST LEFT LENGTH LIKE LIMIT LOWER MAKE_YM_INTERVAL MAX MIN MINUTE MONTH NOT NOW
    NULL NULLS ON OR ORDER OVER PARTITION PERCENTILE PERCENTILE_DISC PMOD POWER PRECEDING QUARTER RAISE_ERROR RANK
    REPLACE RIGHT RINT ROUND ROW ROWS ROW_NUMBER SECOND SELECT SQRT STARTSWITH STDDEV_POP STDDEV_SAMP STRING
    SUBSTRING SUM THEN TIMESTAMP TIMESTAMP_MICROS TRIM TRUE TRY_CAST UNBOUNDED UNION UNIX_MICROS UPPER VAR_POP
    VAR_SAMP WEEKDAY WEEKOFYEAR WHEN WHERE WITH WITHIN YEAR
    """,
    )
)
"""Every keyword and function that a translation of FILES contains: generated names, and none of a contract."""
ORDERS = {
    "id": "string",
    "placed": "timestamp",
    "day": "date",
    "total": "integer",
    "weight": "number",
    "price": "decimal",
    "status": "string",
    "paid": "boolean",
    "Mixed Case": "integer",
}
PLACES = {"opens": "time", "address": "object", "name": "string"}
LINES = {"order_id": "string", "line": "string", "sku": "string"}
GENERATED = re.compile(
    r"\s+|[(),.*/%=<>+-]|<=>|q\d+|r\d+|c\d+|k\d+|:t\d+|:now|\d+L|[\d.]*\d(?:e[+-]?\d+)?D|\d*\.\d+BD|\d+BD|\d+|"
    r"DATE '\d{4}-\d\d-\d\d'|TIMESTAMP '\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}'|''|'[a-z]+'|"
    r"'a text of the data is not of the type the query casts it to'|DECIMAL\(38,(?:18|0)\)|[A-Za-z_]+"
)
"""The only tokens of generated SQL: generated names, numbers, date and timestamp literals, and keywords."""
WORDS = re.compile(r"[A-Za-z_]{2,}")
SETTINGS = {"schema": "public", "database": "shop_db"}


def dataset(name: str, fields: dict[str, str], *rules: Rule) -> Dataset:
    columns = tuple(
        Field(
            field,
            LogicalType.STRING if logical == "object" else LogicalType(logical),
            Origin("$"),
            declared=logical,
            physical=f"{field}_col" if name == "lines" else None,
        )
        for field, logical in fields.items()
    )
    return Dataset(name, columns, rules, Origin("$"), physical="tbl_lines" if name == "lines" else None)


def contract(*servers: str, version: str = "1.2.0") -> Contract:
    key = Rule("pk", "primaryKey", Origin("$"), ("id",))
    about = About(servers=tuple(Server(each, each, SETTINGS, Origin("$")) for each in servers))
    return Contract(
        "shop",
        version,
        "test",
        (dataset("orders", ORDERS, key), dataset("lines", LINES), dataset("places", PLACES)),
        about=about,
    )


def translated(sql: str, dialect: str | None = None, *fields: str, whole: Contract | None = None) -> Query:
    whole = whole or contract()
    arguments = {"query": sql} | ({"dialect": dialect} if dialect else {})
    return translate(whole, whole.datasets[0], Rule("r", "sql", Origin("$"), fields, arguments))[0]


def words_of(query: Query) -> set[str]:
    """The keywords of a query's text; text that is not a generated token is included as it is."""
    rest, words = query.text, set()
    while rest:
        match = GENERATED.match(rest)
        if match is None:
            return words | {rest[:20]}
        words |= set(WORDS.findall(re.sub(r"'[^']*'", "", match[0])))
        rest = rest[match.end() :]
    return words


@pytest.mark.parametrize("case", CASES["translated"], ids=lambda case: case["sql"][:80])
def test_a_query_is_translated(case: dict[str, str]) -> None:
    """The translation is the expected text, which contains only generated names."""
    assert case["is"] == translated(case["sql"], case.get("dialect"), *case.get("fields", ())).text


@pytest.mark.parametrize("case", CASES["untranslated"], ids=lambda case: case["sql"][:80])
def test_an_untranslated_query_is_skipped_with_its_reason(case: dict[str, str]) -> None:
    """The rule becomes a skipped check whose reason names the part that is not translated."""
    whole = contract(version=case.get("version", "1.2.0"))
    rule = Rule(
        "r", "sql", Origin("$"), (), {"query": case["sql"], "dialect": case.get("dialect", "duckdb"), "mustBe": 1}
    )
    (check,) = compile_rule(whole, whole.datasets[0], rule, ())

    assert f"this SQL is not measured by this version: {case['why']}" == check.skip


@pytest.mark.parametrize("case", CASES["refused"], ids=lambda case: case["sql"][:80])
def test_a_forbidden_query_is_refused_with_its_position(case: dict[str, str]) -> None:
    """The refusal has the expected lint code, and its message contains the position in the query if it is known."""
    with pytest.raises(RefusedError) as refusal:
        translated(case["sql"], case.get("dialect", "duckdb"))

    assert case["code"] == refusal.value.code
    assert case.get("at", "") in refusal.value.message


@pytest.mark.parametrize("sql", FILES)
def test_translations_contain_only_generated_tokens(sql: str) -> None:
    """No identifier and no text of a contract becomes part of the generated SQL."""
    assert {each.upper() for each in words_of(translated(sql))} - KEYWORDS == set()


@sampled(300, 50_000)
@given(st.text(alphabet=st.characters(exclude_categories=["C", "Zs", "Zl", "Zp"]), max_size=200))
def test_a_constant_text_becomes_a_bind_parameter(value: str) -> None:
    """A quoted text is bound unchanged as one parameter and is not part of the generated SQL (P10)."""
    quoted = value.replace("'", "''")
    found = translated("SELECT count(*) FROM orders WHERE status = '" + quoted + "'")  # noqa: S608 - the point of the test

    assert (value,) == found.texts
    assert found.text == "SELECT count(1) AS k0 FROM r0 AS q1 WHERE (q1.c0 = :t0)"


PIECES: list[list[str]] = [
    re.findall(r"\w+|\s+|[^\w\s]", sql) for sql in [*FILES, *(each.sql for each in hostile() if len(each.sql) < 300)]
]


@sampled(300, 100_000)
@given(st.lists(st.sampled_from(PIECES), min_size=2, max_size=3), st.data())
def test_random_queries_give_only_generated_tokens(pieces: list[list[str]], data: st.DataObject) -> None:
    """Random combinations of query fragments are refused, untranslated, or translated to generated tokens only."""
    sql = ""
    for each in pieces:
        ends = data.draw(st.tuples(st.integers(0, len(each)), st.integers(0, len(each))))
        sql += "".join(each[min(ends) : max(ends)])
    try:
        found = translated(sql)
    except (RefusedError, UntranslatedError):
        return

    assert {each for each in words_of(found) if not each.replace("_", "").isalpha()} == set()
    assert {each.dataset for each in found.relations} <= {"orders", "lines", "places"}


@pytest.mark.parametrize("servers", [("oracle",), ("custom", "Oracle", "s3")])
def test_a_query_of_oracle_is_untranslated(servers: tuple[str, ...]) -> None:
    """It would be read as another dialect in silence; a dialect of the rule counts."""
    sql = "SELECT max(total) FROM orders"
    with pytest.raises(UntranslatedError, match="the dialect of Oracle"):
        translated(sql, whole=contract(*servers))

    assert translated(sql, "duckdb", whole=contract(*servers)) == translated(sql, "duckdb")
    assert translated(sql, whole=contract("postgres", "oracle")) == translated(sql, "postgres")


def test_the_dialect_of_the_rule_precedes_that_of_the_servers() -> None:
    """Integer division differs between PostgreSQL and DuckDB, so the translation shows which dialect was used."""
    sql = "SELECT max(total / 2) FROM orders"
    integer_division = "(q1.c0 div 2L)"
    cases = [
        (None, ()),
        (None, ("postgres",)),
        ("duckdb", ("postgres",)),
        ("Postgres", ("s3",)),
        (None, ("custom", "s3")),
    ]
    found = [integer_division in translated(sql, dialect, whole=contract(*servers)).text for dialect, servers in cases]

    assert found == [False, True, False, True, False]


def test_physical_names_of_datasets_and_fields_are_resolved() -> None:
    """A query may use physical table and column names, and qualify them with the server's schema."""
    sql = "SELECT count(sku_col) FROM public.tbl_lines"
    relation = translated(sql, whole=contract("postgres")).relations[0]

    assert (
        relation.dataset,
        [column.field for column in relation.columns],
        relation.delivered,
        relation.full_name,
    ) == ("lines", ["sku"], False, "shop/lines_v1")


def test_a_refused_query_is_a_problem_with_path_and_line() -> None:
    """The compiler reports the path and line of the rule's query, with a lint code."""
    whole = contract()
    rule = Rule("r", "sql", Origin("$.quality[0]", 7), (), {"query": "DELETE FROM orders", "mustBe": 1})
    with pytest.raises(ContractError) as refusal:
        compile_rule(whole, whole.datasets[0], rule, ())

    assert [(each.code, each.path, each.line) for each in refusal.value.problems] == [
        ("query-not-a-select", "$.quality[0].query", 7)
    ]


def test_a_query_of_a_nested_field_is_untranslated() -> None:
    """A placeholder for a nested field has no column that a query could read."""
    with pytest.raises(UntranslatedError) as named:
        translated("SELECT count({column}) FROM {table}", None, "address.street")

    assert named.value.reason == "it stands at a part of a value"


def test_each_operator_of_a_query_is_a_check() -> None:
    """Two operators of one query are two checks."""
    whole = contract()
    arguments = {"query": "SELECT count(*) FROM orders", "mustBeGreaterThan": 1, "mustBeBetween": [0, 9]}
    checks = compile_rule(whole, whole.datasets[0], Rule("r", "sql", Origin("$"), (), arguments), ())

    assert [each.wanted for each in checks] == ["an answer of more than 1", "an answer of at least 0 and at most 9"]


@pytest.mark.parametrize(
    ("operator", "operand", "wanted"),
    [
        ("mustBe", True, "exactly 1"),
        ("mustBe", False, "exactly 0"),
        ("mustNotBe", True, "not 1"),
        ("mustBe", 1, "exactly 1"),
    ],
)
def test_an_answer_may_be_true_or_false(operator: str, operand: object, wanted: str) -> None:
    """ODCS: a query returns a numeric or a boolean value. True is 1 and false is 0."""
    whole = contract()
    arguments = {"query": "SELECT count(*) = 0 FROM orders", operator: operand}
    (check,) = compile_rule(whole, whole.datasets[0], Rule("r", "sql", Origin("$"), (), arguments), ())

    assert check.wanted == f"an answer of {wanted}"
    assert check.query is not None
    assert check.query.text == (
        "SELECT (CASE WHEN q2.k0 THEN 1L WHEN (NOT q2.k0) THEN 0L ELSE NULL END) AS k0 "
        "FROM (SELECT (count(1) = 0L) AS k0 FROM r0 AS q1) AS q2"
    )


def test_the_deepest_allowed_query_does_not_exceed_the_recursion_limit() -> None:
    """The depth limit of queries keeps the parser and the translator within Python's recursion limit."""
    deep = "(" * 15 + "total" + ")" * 15
    limit = sys.getrecursionlimit()

    assert limit == 1000
    assert "max(q1.c0)" in translated("SELECT max(" + deep + ") FROM orders").text  # noqa: S608 - of our own


FIRST, LAST = "SELECT status AS t FROM orders", "SELECT max(length(t)) FROM {}"


def chain(count: int, step: str, first: str = FIRST, last: str = LAST) -> str:
    """A query of a WITH in which each query reads the one before."""
    queries = [first, *(step.format(f"a{at}") for at in range(count))]
    return f"WITH {', '.join(f'a{at} AS ({each})' for at, each in enumerate(queries))} {last.format(f'a{count}')}"


TWICE = "SELECT t FROM {0} UNION ALL SELECT t FROM {0}"
EACH = "SELECT a.t FROM {0} a JOIN orders b ON a.t = b.{1}"
GROWING = {
    "values through a WITH": chain(7, "SELECT concat(t, t) AS t FROM {}"),
    "values through subqueries": "SELECT max(length(concat(t, t, t, t, t, t, t, t, t))) FROM "
    "(SELECT concat(t, t, t, t, t, t, t, t, t) AS t FROM (SELECT status AS t FROM orders) a) b",
    "values through a union": chain(7, "SELECT concat(t, t) AS t FROM {0} UNION SELECT t FROM {0}"),
    "values through one row": "SELECT max(length(concat(t, t, t, t, t, t, t, t, t))) FROM (SELECT concat"
    "((SELECT max(status) FROM orders), status, status, status, status, status, status, status) AS t FROM orders) a",
    "long constants": "SELECT max(length(concat(status, '{0}{0}', '{0}'))) FROM orders".format("z" * 2_048),  # noqa: S608 - of the test
    "rows of a union": chain(7, TWICE),
    "rows of a union of one row": chain(7, TWICE, "SELECT max(status) AS t FROM orders"),
    "rows of a join of unions": chain(4, TWICE, last="SELECT count(*) FROM {0} a JOIN {0} b ON a.t = b.t"),
    "rows of joins by a key": chain(64, EACH.replace("{1}", "id")),
    "columns": chain(12, "SELECT *, * FROM {}", "SELECT * FROM orders", "SELECT count(*) FROM {}"),
    "columns of a wide dataset": "SELECT count(*) FROM (SELECT a.*, b.* FROM wide a JOIN wide b ON a.c0 = b.c0) q",
}
BOUNDED = {
    "values": chain(6, "SELECT concat(t, t) AS t FROM {}"),
    "one column of two": chain(9, "SELECT t, concat(u, u) AS u FROM (SELECT t, t AS u FROM {}) q"),
    "rows": chain(6, TWICE),
    "counts put together": " UNION ALL ".join(["SELECT count(*) AS n FROM orders"] * 60),
}


@pytest.mark.parametrize("sql", GROWING.values(), ids=GROWING)
def test_a_query_whose_values_rows_or_columns_multiply_is_refused(sql: str) -> None:
    """However the growth is spread over queries of a WITH or a FROM, it is refused, in time that does not grow with it."""
    with pytest.raises(RefusedError) as refusal:
        translated(sql, whole=wide())

    assert refusal.value.code == "query-too-large"


@pytest.mark.parametrize("sql", BOUNDED.values(), ids=BOUNDED)
def test_a_query_that_grows_within_the_limits_is_translated(sql: str) -> None:
    """Growth is counted by column and by row: what grows little is measured."""
    assert translated(sql).text


def wide() -> Contract:
    """The contract, with a dataset of many columns."""
    found = contract()
    return replace(found, datasets=(*found.datasets, dataset("wide", {f"c{at}": "string" for at in range(5_000)})))


LARGE = {
    "too many words": f"SELECT {'+'.join(['1'] * 1_100)}",
    "too long a text": " UNION ALL ".join(
        ["SELECT max(CAST(CAST(CAST(status AS INT) AS TEXT) AS INT)) FROM orders"] * 60
    ),
}


@pytest.mark.parametrize("sql", LARGE.values(), ids=LARGE)
def test_an_oversized_query_is_refused(sql: str) -> None:
    """The number of tokens and the length of the generated text are limited."""
    with pytest.raises(RefusedError) as refusal:
        translated(sql)

    assert refusal.value.code == "query-too-large"


def test_an_exception_of_the_parser_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any exception of the parser refuses the query and does not stop the linter."""

    def broken(*_: object, **__: object) -> None:
        raise IndexError

    monkeypatch.setattr("sqlglot.parse", broken)
    with pytest.raises(RefusedError) as refusal:
        translated("SELECT count(*) FROM orders")

    assert refusal.value.code == "query-syntax"

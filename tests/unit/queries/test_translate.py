"""SQL of contracts, said anew: what becomes of it, in which words, and why the rest is refused or only named."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from contracts.errors import ContractError
from contracts.model import About, Contract, Dataset, Field, Origin, Rule, Server
from contracts.queries.refusal import RefusedError, UntranslatedError
from contracts.queries.translate import translate
from contracts.rules.table import compile_rule
from contracts.types import LogicalType
from tests.reference.sampling import sampled
from tests.security.queries import hostile

if TYPE_CHECKING:
    from contracts.query import Query

CASES = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text())
FILES = yaml.safe_load((Path(__file__).parents[2] / "spark" / "queries.yaml").read_text())
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
"""All that the text of a query may consist of: names, numbers, moments and words of ours."""
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
    """The words of a text; whatever is no part of our vocabulary stands in it as it is."""
    rest, words = query.text, set()
    while rest:
        match = GENERATED.match(rest)
        if match is None:
            return words | {rest[:20]}
        words |= set(WORDS.findall(re.sub(r"'[^']*'", "", match[0])))
        rest = rest[match.end() :]
    return words


@pytest.mark.parametrize("case", CASES["said"], ids=lambda case: case["sql"][:80])
def test_a_query_is_said_in_our_words(case: dict[str, str]) -> None:
    """The text is the one the case names, made of generated names alone."""
    assert case["is"] == translated(case["sql"], case.get("dialect"), *case.get("fields", ())).text


@pytest.mark.parametrize("case", CASES["untranslated"], ids=lambda case: case["sql"][:80])
def test_a_harmless_query_that_cannot_be_said_is_named_with_its_reason(case: dict[str, str]) -> None:
    """The rule becomes a check that is skipped; its reason says what is not translated."""
    whole = contract(version=case.get("version", "1.2.0"))
    rule = Rule(
        "r", "sql", Origin("$"), (), {"query": case["sql"], "dialect": case.get("dialect", "duckdb"), "mustBe": 1}
    )
    (check,) = compile_rule(whole, whole.datasets[0], rule, ())

    assert f"this SQL is not measured by this version: {case['why']}" == check.skip


@pytest.mark.parametrize("case", CASES["refused"], ids=lambda case: case["sql"][:80])
def test_a_query_nobody_can_use_is_refused_with_its_place(case: dict[str, str]) -> None:
    """The code is the case's, and the message says where in the query it is, where that is known."""
    with pytest.raises(RefusedError) as refusal:
        translated(case["sql"], case.get("dialect", "duckdb"))

    assert case["code"] == refusal.value.code
    assert case.get("at", "") in refusal.value.message


@pytest.mark.parametrize("sql", FILES)
def test_every_query_of_the_files_is_made_of_our_vocabulary(sql: str) -> None:
    """No identifier and no text of a contract becomes part of what the engine is given."""
    found = translated(sql)
    ours = {each.upper() for each in words_of(found)}

    assert ours <= {each.upper() for sql in FILES for each in words_of(translated(sql))}
    assert {"ORDERS", "STATUS", "TOTAL", "PLACED", "PRICE", "WEIGHT", "PAID"}.isdisjoint(ours)


@sampled(300, 50_000)
@given(st.text(alphabet=st.characters(exclude_categories=["C", "Zs", "Zl", "Zp"]), max_size=200))
def test_a_constant_text_is_bound_as_it_was_written(value: str) -> None:
    """Whatever stands in quotes is one bound constant, to the last character, and no part of the text (P10)."""
    quoted = value.replace("'", "''")
    found = translated("SELECT count(*) FROM orders WHERE status = '" + quoted + "'")  # noqa: S608 - the point of the test

    assert (value,) == found.texts
    assert found.text == "SELECT count(1) AS k0 FROM r0 AS q1 WHERE (q1.c0 = :t0)"


PIECES: list[list[str]] = [
    re.findall(r"\w+|\s+|[^\w\s]", sql) for sql in [*FILES, *(each.sql for each in hostile() if len(each.sql) < 300)]
]


@sampled(300, 100_000)
@given(st.lists(st.sampled_from(PIECES), min_size=2, max_size=3), st.data())
def test_whatever_is_accepted_is_of_our_vocabulary(pieces: list[list[str]], data: st.DataObject) -> None:
    """Queries cut up and put together at random: each is refused, or named, or said in words of ours; nothing else escapes."""
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


def test_the_dialect_is_the_rules_else_the_servers_else_that_of_files() -> None:
    """Whole by whole is whole in PostgreSQL, and not in DuckDB: so a query tells which dialect it was read in."""
    sql = "SELECT max(total / 2) FROM orders"
    whole = "(q1.c0 div 2L)"
    asked = [
        (None, ()),
        (None, ("postgres",)),
        ("duckdb", ("postgres",)),
        ("Postgres", ("s3",)),
        (None, ("custom", "s3")),
    ]
    found = [whole in translated(sql, said, whole=contract(*servers)).text for said, servers in asked]

    assert found == [False, True, False, True, False]


def test_datasets_and_fields_have_their_physical_names_too() -> None:
    """A query may call tables and columns as they are called where the data lies, and say where that is."""
    sql = "SELECT count(sku_col) FROM public.tbl_lines"
    relation = translated(sql, whole=contract("postgres")).relations[0]

    assert (
        relation.dataset,
        [column.field for column in relation.columns],
        relation.delivered,
        relation.line,
    ) == ("lines", ["sku"], False, "shop/lines_v1")


def test_a_query_that_is_refused_is_a_problem_at_its_place() -> None:
    """The compiler names the rule's query, with the code that the linter lists."""
    whole = contract()
    rule = Rule("r", "sql", Origin("$.quality[0]", 7), (), {"query": "DELETE FROM orders", "mustBe": 1})
    with pytest.raises(ContractError) as refusal:
        compile_rule(whole, whole.datasets[0], rule, ())

    assert [(each.code, each.path, each.line) for each in refusal.value.problems] == [
        ("query-not-a-select", "$.quality[0].query", 7)
    ]


def test_a_query_at_a_part_of_a_value_is_named() -> None:
    """A placeholder for a part of a value stands for nothing that a query could read."""
    with pytest.raises(UntranslatedError) as named:
        translated("SELECT count({column}) FROM {table}", None, "address.street")

    assert named.value.reason == "it stands at a part of a value"


def test_every_operator_of_a_query_is_a_check() -> None:
    """Two operators beside one query are two checks, as its document means them."""
    whole = contract()
    arguments = {"query": "SELECT count(*) FROM orders", "mustBeGreaterThan": 1, "mustBeBetween": [0, 9]}
    checks = compile_rule(whole, whole.datasets[0], Rule("r", "sql", Origin("$"), (), arguments), ())

    assert [each.wanted for each in checks] == ["an answer of more than 1", "an answer of at least 0 and at most 9"]


def test_a_query_as_deep_as_the_limit_is_read_within_the_stack_of_python() -> None:
    """The limits of a query keep the parser and the translator far from Python's own."""
    deep = "(" * 15 + "total" + ")" * 15
    limit = sys.getrecursionlimit()

    assert limit == 1000
    assert "max(q1.c0)" in translated("SELECT max(" + deep + ") FROM orders").text  # noqa: S608 - of our own


LARGE = {
    "too many words": f"SELECT {'+'.join(['1'] * 1_100)}",
    "too long a text": " UNION ALL ".join(
        ["SELECT max(CAST(CAST(CAST(status AS INT) AS TEXT) AS INT)) FROM orders"] * 60
    ),
}


@pytest.mark.parametrize("sql", LARGE.values(), ids=LARGE)
def test_a_query_past_its_limits_is_refused(sql: str) -> None:
    """Words, text and parts have limits: what would grow under them is refused, and quickly."""
    with pytest.raises(RefusedError) as refusal:
        translated(sql)

    assert refusal.value.code == "query-too-large"


def test_a_parser_that_breaks_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser is not ours: whatever it raises before a text, the contract is refused, and the linter lives on."""

    def broken(*_: object, **__: object) -> None:
        raise IndexError

    monkeypatch.setattr("sqlglot.parse", broken)
    with pytest.raises(RefusedError) as refusal:
        translated("SELECT count(*) FROM orders")

    assert refusal.value.code == "query-syntax"

"""At least five hundred hostile queries in ten classes: the seeds of queries.yaml, put into every shape of a query they fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from lakegate.contract.contract_model import Contract, Dataset, Field, Origin, Rule
from lakegate.contract.logical_types import LogicalType

FIELDS = {
    "id": "string",
    "total": "integer",
    "price": "decimal",
    "placed": "timestamp",
    "day": "date",
    "paid": "boolean",
}
AROUND_TABLES = (
    "SELECT count(*) FROM {t}",
    "select\n\tmax(1)\nfrom {t}\nwhere 1 = 1",
    "SELECT (SELECT count(*) FROM {t}) FROM orders",
    "WITH a AS (SELECT 1 AS n FROM {t}) SELECT count(*) FROM a",
    "SELECT count(*) FROM orders UNION ALL SELECT count(*) FROM {t}",
)
AROUND_EXPRESSIONS = (
    "SELECT {x} FROM orders",
    "SELECT count(*) FROM orders WHERE {x} IS NOT NULL",
    "SELECT max(n) FROM (SELECT {x} AS n FROM orders) q",
    "SELECT sum(CASE WHEN {x} = '1' THEN 1 ELSE 0 END) FROM orders",
    "SELECT count(*) FROM orders GROUP BY id HAVING max({x}) IS NULL",
)
LARGE = {
    "@D@": ", ".join(["id"] * 400),
    "@P@": " || ".join(["id"] * 400),
    "@DEEP@": "(" * 300 + "1" + ")" * 300,
    "@NOT@": "NOT " * 500 + "paid",
    "@LONG@": "count(*) + " + "1" * 20_000,
    "@MANY@": " + ".join(["count(*)"] * 2_000),
    "@CASE@": "CASE WHEN paid THEN " * 60 + "1" + " END" * 60,
    "@NEST@": "id IN (SELECT id FROM orders WHERE " * 40 + "true" + ")" * 40,
}


@dataclass(frozen=True, slots=True)
class Hostile:
    """One query that must not get through."""

    kind: str
    dialect: str
    sql: str


@cache
def hostile() -> tuple[Hostile, ...]:
    """Every hostile query, each text once in its dialect."""
    classes = yaml.load(Path(__file__).with_name("queries.yaml").read_text(), yaml.CSafeLoader)
    found = [
        each for kind, seeds in classes.items() for form, texts in seeds.items() for each in _of(kind, form, texts)
    ]
    return tuple(dict.fromkeys(found))


def _of(kind: str, form: str, texts: list[object]) -> list[Hostile]:
    shapes = {"tables": AROUND_TABLES, "expressions": AROUND_EXPRESSIONS}.get(form, ("{s}",))
    dialect = "duckdb" if form in {"tables", "expressions", "statements"} else form
    return [Hostile(kind, dialect, _grown(_put(shape, str(text)))) for text in texts for shape in shapes]


def _put(shape: str, text: str) -> str:
    for place in ("{t}", "{x}", "{s}"):
        shape = shape.replace(place, text)
    return shape


def _grown(text: str) -> str:
    for mark, large in LARGE.items():
        text = text.replace(mark, large)
    return text


def contract_of(*queries: Hostile) -> Contract:
    """A contract of one dataset, `orders`, that asks these queries."""
    columns = tuple(Field(name, LogicalType(logical), Origin("$")) for name, logical in FIELDS.items())
    rules = tuple(
        Rule(f"q{at}", "sql", Origin("$"), (), {"query": each.sql, "dialect": each.dialect, "mustBe": 1})
        for at, each in enumerate(queries)
    )
    return Contract("shop", "1.0.0", "test", (Dataset("orders", columns, rules, Origin("$")),))

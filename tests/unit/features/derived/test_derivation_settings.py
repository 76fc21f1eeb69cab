"""The setting `derive`: what is refused, with which words, and what a plan has of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakegate.base.errors import ContractError
from lakegate.lints.linter import examine, read
from lakegate.plan.check import referred_in
from lakegate.rules.compile_plan import compile_plan
from tests.unit.features.derived.derived_stage import QUERY, document

COLUMNS = {"name": "string", "amount": "integer", "price": "decimal(30,2)", "at": "timestamp"}


def contract(query: str = QUERY, settings: dict[str, Any] | None = None, **derive: Any) -> bytes:
    """The document, with other settings of the extension, or of `derive`."""
    found: dict[str, Any] = json.loads(document(query))
    extension = found["customProperties"][0]["value"]
    extension["derive"]["inputs"]["lines"]["columns"] = COLUMNS
    extension["derive"] |= derive
    extension |= settings or {}
    return json.dumps(found).encode()


def problems(body: bytes) -> list[tuple[str, str]]:
    return [(each.code, each.message) for each in examine(body).errors]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "SELECT name, sum(amount) AS totals FROM lines GROUP BY name",
            "The query returns `totals`, which is no field of the",
        ),
        ("SELECT name FROM lines", "The query does not return `total`: add it, or remove the field."),
        ("SELECT name, name, 1 AS total FROM lines", "Two columns of the query are called `name`: rename one with AS."),
        (
            "SELECT amount AS name, 1 AS total FROM lines",
            "`name` is declared as string, and the query returns a whole number",
        ),
        (
            "SELECT name, 0.5 AS total FROM lines",
            "`total` is declared as integer, and the query returns an exact number",
        ),
        (
            "SELECT name, price AS total FROM lines",
            "`total` is declared as integer, and the query returns a decimal of another",
        ),
        ("SELECT name, NULL AS total FROM lines", "`total` is declared as integer, and the query returns null"),
        ("SELECT name, 1 AS total FROM orders", "`orders` is not a dataset of this contract"),
        ("SELECT name, 1 AS total FROM names", "`names` is not a dataset of this contract"),
        ("SELECT 'a' AS name, 1 AS total FROM {table}", "a derived dataset has no delivery: name an input."),
        ("SELECT 'a' AS name, 1 AS total", "it reads no dataset"),
        ("SELECT name, CAST(year(now()) AS BIGINT) AS total FROM lines", "depends on the time at which it runs"),
        ("SELECT name, 1 AS total FROM lines WHERE at < CURRENT_DATE", "depends on the time at which it runs"),
        ("SELECT name, CAST(random() AS BIGINT) AS total FROM lines", "RAND reaches beyond the data"),
        ("SELECT 'a' AS name, 1 AS total FROM (SELECT 1 AS a) AS b", "it reads no dataset"),
        ("SELECT name, 1 AS total FROM lines LIMIT 5", "depend on the order"),
        ("DROP TABLE lines", "The query begins with `DROP`"),
        ("SELECT name, 1 AS total FROM read_csv('/etc/passwd')", "no files"),
        (
            "SELECT a.name, 1 AS total FROM lines a JOIN lines b ON a.name = b.name JOIN lines c ON c.name = a.name",
            "no declared key",
        ),
    ],
)
def test_a_query_that_gives_no_rows_of_the_dataset_is_refused(query: str, message: str) -> None:
    ((code, text),) = problems(contract(query))

    assert code == "derived-query"
    assert message in text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": {}}, "`derive` takes as `inputs` the datasets"),
        ({"inputs": {"lines": {"dataset": "lines", "columns": {"a": "string"}}}}, "`CONTRACT/DATASET_vN`"),
        (
            {"inputs": {"lines": {"dataset": "orders/lines_v1", "columns": {"a": "binary"}}}},
            "as type of a column one of",
        ),
        (
            {"inputs": {"lines": {"dataset": "orders/lines_v1", "columns": {"a": "string"}, "key": ["b"]}}},
            "and not `b`",
        ),
        ({"inputs": {"lines": {"dataset": "orders/lines_v1", "columns": {}}}}, "as `columns` the type"),
        ({"dialect": "klingon"}, "its dialect is not known"),
        ({"schedule": "hourly"}, "`rate(1 hour)`"),
        ({"schedule": "rate(0 hours)"}, "is no schedule"),
        ({"quary": "SELECT"}, "no key `quary`"),
        ({"dialect": "duckdb" + " " * 300}, "as `dialect`"),
        ({"query": " "}, "as `query`"),
        ({"inputs": {"lines": {"dataset": f"o/{'x' * 600}_v1", "columns": {"a": "string"}}}}, "`CONTRACT/DATASET_vN`"),
        ({"inputs": {"": {"dataset": "o/x_v1", "columns": {"a": "string"}}}}, "names of 1 to"),
        ({"inputs": {"lines": {"dataset": "o/x_v1", "columns": {"": "string"}}}}, "names of 1 to"),
        (
            {"inputs": {"lines": {"dataset": "o/x_v1", "columns": {f"c{at}": "string" for at in range(2001)}}}},
            "as `columns`",
        ),
    ],
)
def test_settings_that_say_nothing_are_refused(changes: dict[str, Any], message: str) -> None:
    found = problems(contract(**changes))

    assert found
    assert any(message in text for _, text in found), found


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"replaces": "nothing"}, "say `replaces: delivery`"),
        ({"publishAs": "parquet", "replaces": "delivery"}, "mergeStrategy: snapshot"),
        ({"pull": {"source": "s3://partner/a.csv", "schedule": "rate(1 hour)"}}, "remove `pull`"),
        ({"delivery": "success"}, "remove `delivery`"),
        ({"format": "csv"}, "remove `format`"),
    ],
)
def test_settings_of_deliveries_that_nobody_brings_are_refused(settings: dict[str, Any], message: str) -> None:
    found = problems(contract(settings=settings))

    assert any(code == "derived-settings" and message in text for code, text in found), found


@pytest.mark.parametrize(
    "settings",
    [{}, {"publishAs": "iceberg"}, {"publishAs": "parquet", "mergeStrategy": "snapshot", "replaces": "nothing"}],
)
def test_a_derived_dataset_has_a_plan_without_a_text_of_its_contract(settings: dict[str, Any]) -> None:
    """Constants are parameters, names are made; the rows have one order."""
    body = contract("SELECT name, sum(amount) AS total FROM lines WHERE name <> 'x''; DROP' GROUP BY name", settings)
    if settings.get("mergeStrategy"):
        body = body.replace(
            b'"name": "name", "logicalType": "string"', b'"name": "name", "logicalType": "string", "primaryKey": true'
        )
    found = read(body)
    plan = compile_plan(found, found.datasets[0])

    assert plan.derived is not None
    assert plan.derived.texts == ("x'; DROP",)
    assert plan.derived.duckdb.startswith("SELECT q0.k0 AS k0, CAST(q0.k1 AS BIGINT) AS k1 FROM (")
    assert plan.derived.duckdb.endswith(") AS q0 ORDER BY k0 ASC NULLS FIRST, k1 ASC NULLS FIRST")
    assert (list(referred_in(plan.derived)), plan.references) == (["orders/lines_v1"], ("orders/lines_v1",))
    assert all("name" not in text.lower() and "DROP" not in text for text in (plan.derived.text, plan.derived.duckdb))


def test_a_contract_whose_query_is_refused_has_no_plan() -> None:
    with pytest.raises(ContractError, match="it reads no dataset"):
        read(contract("SELECT 1"))


def test_an_input_that_the_query_does_not_read_is_refused() -> None:
    """Its changes would change no row, and everybody would believe that they do."""
    found: dict[str, Any] = json.loads(contract())
    inputs = found["customProperties"][0]["value"]["derive"]["inputs"]
    inputs["spare"] = {"dataset": "orders/others_v1", "columns": {"a": "string"}}

    assert problems(json.dumps(found).encode()) == [
        ("derived-query", "The query does not read `spare`: remove it from `inputs`.")
    ]

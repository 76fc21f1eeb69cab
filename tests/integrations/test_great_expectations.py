"""The expectation of `integrations/great_expectations`, in Great Expectations itself, by a suite that is made of a contract."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from infra.setup.environments import program
from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import ROOT
from lakegate.cli.main import app

CONTRACT = """apiVersion: v3.1.0
kind: DataContract
id: shop
name: Shop
version: 1.0.0
status: active
schema:
- name: orders
  properties:
  - {name: id, logicalType: integer, primaryKey: true, primaryKeyPosition: 1}
  - name: price
    logicalType: number
    physicalType: "decimal(10,2)"
    required: true
    logicalTypeOptions: {minimum: 0, multipleOf: 0.01}
  - name: state
    logicalType: string
    quality: [{type: library, metric: invalidValues, mustBe: 0, arguments: {validValues: [open, done]}}]
  - {name: at, logicalType: timestamp}
  - {name: tags, logicalType: array, items: {logicalType: string}}
"""
SCRIPT = """
import json, sqlite3, sys, warnings
warnings.simplefilter("ignore")
import great_expectations as gx, pandas as pd
import lakegate_great_expectations
suite = gx.ExpectationSuite(**json.load(open(sys.argv[1])))
context = gx.get_context(mode="ephemeral")
context.variables.progress_bars = {"globally": False}
source = context.data_sources.add_pandas("frames").add_dataframe_asset("orders").add_batch_definition_whole_dataframe("all")
good = pd.DataFrame({"id": [1, 2], "price": [1.5, 2.5], "state": ["open", None], "at": pd.to_datetime(["2026-01-02"] * 2),
    "tags": [["a"], []], "more": [1, 2]})
frames = {
    "good": good,
    "bad": good.drop(columns="at").assign(price=["a", "b"]).astype({"price": "string", "id": "bool"}),
    "values": good.assign(id=[1, 1], state=["open", "lost"], price=[None, 2.0]),
}
found = {name: [(one.expectation_config.type, one.success, one.result.get("details", {}).get("messages"))
    for one in source.get_batch({"dataframe": each}).validate(suite).results] for name, each in frames.items()}
path = sys.argv[2]
with sqlite3.connect(path) as database:
    database.execute("CREATE TABLE orders (id BIGINT, price DECIMAL(10, 2), state VARCHAR(9), at TIMESTAMP, tags JSON)")
    database.execute("CREATE TABLE others (id TEXT, price DATE, state VARCHAR(9), at TIMESTAMP)")
tables = context.data_sources.add_sqlite("database", connection_string=f"sqlite:///{path}")
for table in ("orders", "others"):
    batch = tables.add_table_asset(table, table_name=table).add_batch_definition_whole_table("all").get_batch()
    found[table] = [(one.expectation_config.type, one.success, one.result.get("details", {}).get("messages"))
        for one in batch.validate(gx.ExpectationSuite("schema", expectations=suite.expectations[:1])).results]
print(json.dumps(found))
"""
SCHEMA = "expect_table_schema_to_match_data_contract_schema"


def suite_of(folder: Path) -> Path:
    """The suite that `lakegate convert` writes of the contract."""
    document, made = folder / "shop.odcs.yaml", folder / "suite.json"
    document.write_text(CONTRACT)
    words = ["convert", str(document), "--to", "great-expectations", "--output", str(made)]
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 0, ended.output
    assert "price:multipleOf:1" in ended.stderr
    return made


def test_a_suite_is_made_of_a_contract(tmp_path: Path) -> None:
    """Its schema first, critical; then the rules that an expectation expresses. All other rules are listed."""
    found = json.loads(suite_of(tmp_path).read_text())

    assert (found["name"], found["meta"]) == ("shop.orders", {"contract": "shop@1.0.0"})
    assert found["expectations"][0] == {
        "type": SCHEMA,
        "severity": "critical",
        "kwargs": {
            "contract": "shop@1.0.0",
            "dataset": "orders",
            "columns": [
                {"name": "id", "type": "integer"},
                {"name": "price", "type": "number"},
                {"name": "state", "type": "string"},
                {"name": "at", "type": "timestamp"},
                {"name": "tags", "type": "array"},
            ],
        },
    }
    assert [(each["type"], each["kwargs"]["column"]) for each in found["expectations"][1:]] == [
        ("expect_column_values_to_not_be_null", "id"),
        ("expect_column_values_to_not_be_null", "price"),
        ("expect_column_values_to_be_between", "price"),
        ("expect_column_values_to_be_in_set", "state"),
        ("expect_column_values_to_be_unique", "id"),
    ]


@pytest.mark.full
def test_a_table_is_compared_with_the_contract(tmp_path: Path) -> None:
    """In pandas and in a database: columns that are absent or of another type are named, further columns are free."""
    try:
        python = program("great-expectations/python")
    except SetUpError as error:
        pytest.skip(str(error))
    environment = {
        "PYTHONPATH": str(ROOT / "integrations/great_expectations"),
        "HOME": str(tmp_path),
        "PATH": "/usr/bin",
    }
    ran = subprocess.run(  # noqa: S603 - from the lock file
        [python, "-c", SCRIPT, suite_of(tmp_path), tmp_path / "shop.db"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2_000:]
    found = {
        name: {kind: (success, messages) for kind, success, messages in each}
        for name, each in json.loads(ran.stdout).items()
    }

    assert {success for success, _ in found["good"].values()} == {True}, found["good"]
    assert found["bad"][SCHEMA] == (
        False,
        [
            "The column id has the type bool; the contract wants integer.",
            "The column price has the type string; the contract wants number.",
            "The column at is not there.",
        ],
    )
    assert {kind for kind, (success, _) in found["values"].items() if not success} == {
        "expect_column_values_to_not_be_null",
        "expect_column_values_to_be_in_set",
        "expect_column_values_to_be_unique",
    }
    assert found["orders"][SCHEMA] == (True, []), found["orders"]
    assert [each.partition(" has the type")[0] for each in found["others"][SCHEMA][1]] == [
        "The column id",
        "The column price",
        "The column tags is not there.",
    ]

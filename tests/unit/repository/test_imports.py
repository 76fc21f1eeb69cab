"""What a Lambda imports before its first event, and `check` at all, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from lakegate.base.extension_points import ROOT

HANDLERS = ("intake", "completion", "sweep", "notify", "api")
HEAVY = {
    "boto3",
    "jsonschema",
    "numpy",
    "pandas",
    "pyarrow",
    "pydantic",
    "pydeequ",
    "pyspark",
    "referencing",
    "s3transfer",
    "sqlglot",
    "yaml",
}
AUTHORING = (
    *("lakegate.contract.documents", "lakegate.patterns", "lakegate.sql", "lakegate.rules", "lakegate.lints"),
    *("lakegate.diff", "lakegate.inheritance.inherited_documents"),
)
LIST = """
import json, sys
import functions.{}_handler
from lakegate.aws.clients import _create_client
print(json.dumps([sorted(sys.modules), _create_client.cache_info().currsize]))
"""


@cache
def started(handler: str) -> tuple[set[str], int]:
    """The modules of a handler that was imported and not yet called, and how many clients it has made."""
    ended = subprocess.run(  # noqa: S603 - our own interpreter on our own text
        [sys.executable, "-c", LIST.format(handler)], check=True, capture_output=True, text=True
    )
    modules, clients = json.loads(ended.stdout)
    return set(modules), clients


@pytest.mark.parametrize("handler", HANDLERS)
def test_a_handler_starts_without_what_it_seldom_needs(handler: str) -> None:
    """No handler loads YAML, JSON Schema, data frames or boto3's own layer, nor makes a client before it is called."""
    modules, clients = started(handler)

    assert (set(), 0) == (HEAVY & {module.split(".")[0] for module in modules}, clients)


@pytest.mark.parametrize("handler", HANDLERS)
def test_a_handler_starts_without_what_compiles_contracts(handler: str) -> None:
    """Documents, patterns, SQL, rules and lints are loaded with the first contract that is published."""
    modules, _ = started(handler)

    assert [module for module in sorted(modules) if module.startswith(AUTHORING)] == []


COMMAND = """
import json, sys
from lakegate.cli.main import main
try: main()
except SystemExit: pass
sys.stderr.write(json.dumps(sorted(sys.modules)))
"""
GARBAGE = """
import gc, json, sys
from lakegate.cli.main import main
before = gc.get_stats()[0]["collections"]
try: main()
except SystemExit: pass
sys.stderr.write(json.dumps(gc.get_stats()[0]["collections"] - before))
"""
AWS = ("boto3", "botocore", "aws_lambda_powertools", "functions", "lakegate.gate", "lakegate.library.stack")
SPARK = ("pandas", "py4j", "pydeequ", "pyspark", "lakegate.spark")
ENGINE = ("duckdb", "numpy", "pyarrow", "lakegate.engine", "lakegate.job", "lakegate.local_check", "lakegate.verdict")
COMPARISONS = ("lakegate.diff", "lakegate.inheritance.inherited_parts", "lakegate.plan.result", "lakegate.plan.request")
FORMS = ("jinja2", "xml", "lakegate.report.junit", "lakegate.report.sarif", "lakegate.report.github_output")
ORDERS = str(ROOT / "contracts/examples/orders.odcs.yaml")
WITHOUT = {
    ("explain", "duplicate-field"): (
        *(each for each in AWS if each != "lakegate.gate"),  # whose words it explains
        *(*SPARK, *FORMS, "duckdb", "numpy", "pyarrow", "lakegate.engine", "lakegate.diff"),
        *("jsonschema", "rich", "sqlglot"),
    ),
    ("lint", ORDERS): (*AWS, *SPARK, *ENGINE, *COMPARISONS, *FORMS, "rich", "sqlglot"),
    ("plan", ORDERS): (*AWS, *SPARK, *ENGINE, *COMPARISONS, *FORMS, "rich", "sqlglot"),
    ("check", "--json", "--contract", ORDERS, "data.csv"): (
        *AWS,
        *SPARK,
        *FORMS,
        *("lakegate.diff", "lakegate.inheritance.inherited_parts", "sqlglot", "deltalake", "pyiceberg"),
    ),
}
"""Packages and modules that a command does without. Arrow must not look for pandas, which takes longer than a small file."""


@pytest.mark.parametrize("words", WITHOUT)
def test_a_command_imports_what_it_needs(words: tuple[str, ...], tmp_path: Path) -> None:
    """A command pays for its own modules only."""
    (tmp_path / "data.csv").write_text("order_id;status\nORD-00000001;shipped\n")
    ended = subprocess.run(  # noqa: S603 - our own interpreter on our own text
        [sys.executable, "-c", COMMAND, *words], check=True, capture_output=True, text=True, cwd=tmp_path
    )

    assert ended.stdout != ""
    modules = json.loads(ended.stderr)
    assert [
        each
        for each in modules
        if each.startswith(tuple(f"{one}." for one in WITHOUT[words])) or each in WITHOUT[words]
    ] == []


def test_imports_are_not_searched_for_garbage() -> None:
    """A short command makes no garbage that matters; to look for it takes `lint` 4 % of its time, and `check` 7 %."""
    ended = subprocess.run(  # noqa: S603 - our own interpreter on our own text
        [sys.executable, "-c", GARBAGE, "lint", ORDERS], check=True, capture_output=True, text=True
    )

    assert json.loads(ended.stderr) == 0

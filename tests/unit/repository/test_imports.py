"""What a Lambda imports before its first event, and `check` at all, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING

import pytest

from lakegate.extension_points import ROOT

if TYPE_CHECKING:
    from pathlib import Path

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
    *("lakegate.diff", "lakegate.inheritance"),
)
LIST = """
import json, sys
import functions.{}_handler
from lakegate.aws.clients import _client
print(json.dumps([sorted(sys.modules), _client.cache_info().currsize]))
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


CHECK = """
import json, sys
from lakegate.cli.main import main
try: main()
except SystemExit: pass
sys.stderr.write(json.dumps(sorted({each.partition(".")[0] for each in sys.modules})))
"""


def test_a_check_of_a_file_imports_nothing_of_aws_spark_or_pandas(tmp_path: Path) -> None:
    """A command pays for its own modules only, and Arrow does not look for pandas, which takes longer than a small file."""
    (tmp_path / "data.csv").write_text("order_id;status\nORD-00000001;shipped\n")
    words = [
        "check",
        "--json",
        "--contract",
        str(ROOT / "contracts/examples/orders.odcs.yaml"),
        str(tmp_path / "data.csv"),
    ]
    ended = subprocess.run(  # noqa: S603 - our own interpreter on our own text
        [sys.executable, "-c", CHECK, *words], check=True, capture_output=True, text=True, cwd=ROOT
    )
    modules = set(json.loads(ended.stderr))

    assert json.loads(ended.stdout)["verdict"] == "rejected"
    assert set() == modules & {"boto3", "botocore", "functions", "pandas", "py4j", "pydeequ", "pyspark"}

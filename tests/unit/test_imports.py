"""What a Lambda pays for before its first event: its import graph, measured in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HANDLERS = ("intake", "completion", "sweep", "notify")
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
LIST = """
import json, sys
import functions.{}
from functions.adapters.clients import _client
print(json.dumps([sorted(sys.modules), _client.cache_info().currsize]))
"""


def started(handler: str) -> tuple[set[str], int]:
    """The modules of a handler that was imported and not yet called, and how many clients it has made."""
    told = subprocess.run(  # noqa: S603 - our own interpreter on our own text
        [sys.executable, "-c", LIST.format(handler)], check=True, capture_output=True, text=True
    )
    modules, clients = json.loads(told.stdout)
    return set(modules), clients


@pytest.mark.parametrize("handler", HANDLERS)
def test_a_handler_starts_without_what_it_seldom_needs(handler: str) -> None:
    """No handler loads YAML, JSON Schema, data frames or boto3's own layer, nor makes a client before it is called."""
    modules, clients = started(handler)

    assert (set(), 0) == (HEAVY & {module.split(".")[0] for module in modules}, clients)


def test_intake_starts_without_the_verdict() -> None:
    """What only a result needs is loaded with the first result."""
    modules, _ = started("intake")

    assert set() == {"contracts.verdict", "contracts.plan", "contracts.schemas"} & modules

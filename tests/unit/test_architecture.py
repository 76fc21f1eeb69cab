"""The house keeps its arrows: who may import whom, proven by reading every source file."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOUSES = ("contracts", "engine", "functions", "spark_jobs", "cli", "infra")
ARROWS = {
    "contracts": {"contracts"},
    "functions": {"functions", "contracts"},
    "engine": {"engine", "contracts"},
    "spark_jobs": {"spark_jobs", "contracts", "engine"},
    "cli": set(HOUSES),
    "infra": set(HOUSES),
}
THIRD_PARTY = {
    "contracts": {"yaml", "jsonschema", "sqlglot"},
    "functions": {"aws_lambda_powertools", "boto3", "botocore"},
    "engine": {"duckdb", "numpy", "pyarrow"},
    "spark_jobs": {"boto3", "botocore", "duckdb", "numpy", "py4j", "pyarrow", "pydeequ", "pyspark"},
}
TYPES_ONLY = {
    "mypy_boto3_dynamodb",
    "mypy_boto3_emr_serverless",
    "mypy_boto3_events",
    "mypy_boto3_s3",
    "mypy_boto3_sqs",
}
BOTO3_OF_THE_JOB = {"spark_jobs/store.py"}
IMPURE_MODULES = {"os", "socket", "subprocess", "time", "random", "secrets", "urllib", "http", "tempfile"}
IMPURE_CALLS = {"now", "utcnow", "today", "getenv"}


def sources(house: str) -> list[Path]:
    return sorted((ROOT / house).rglob("*.py"))


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.removeprefix("lakegate.") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add((node.module or "").removeprefix("lakegate."))
    return names


@pytest.mark.parametrize("house", HOUSES)
def test_a_house_imports_only_the_houses_its_arrows_point_to(house: str) -> None:
    """No source file imports a house that the architecture gives it no arrow to."""
    wrong = {
        (str(path.relative_to(ROOT)), name)
        for path in sources(house)
        for name in imported(path)
        if name.split(".")[0] in HOUSES and name.split(".")[0] not in ARROWS[house]
    }

    assert set() == wrong


@pytest.mark.parametrize("house", sorted(THIRD_PARTY))
def test_a_house_uses_only_the_libraries_on_its_list(house: str) -> None:
    """Each library a house depends on stands in one short table, so that a new one is a decision."""
    used = {name.split(".")[0] for path in sources(house) for name in imported(path)}

    assert set() == used - set(sys.stdlib_module_names) - set(HOUSES) - THIRD_PARTY[house] - TYPES_ONLY


def test_the_meaning_of_a_contract_depends_on_no_clock_and_no_environment() -> None:
    """Nothing in contracts/ reads the clock, the environment, a file of its own choice or a random number."""
    wrong = set()
    for path in sources("contracts"):
        wrong |= {(path.name, name) for name in imported(path) if name.split(".")[0] in IMPURE_MODULES}
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in IMPURE_CALLS:
                wrong.add((path.name, node.attr))

    assert set() == wrong


def test_only_the_store_of_the_job_talks_to_aws() -> None:
    """The job reaches S3 through one module, so that the rest of it runs on any address."""
    users = {
        str(path.relative_to(ROOT))
        for path in sources("spark_jobs")
        if {"boto3", "botocore"} & {name.split(".")[0] for name in imported(path)}
    }

    assert users <= BOTO3_OF_THE_JOB

"""The settings of a job run, as the template and the functions make them, under the rules of EMR Serverless and Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from local_emr.api_shapes import read_parameters
from local_emr.spark_rules import (
    LEAST_OVERHEAD,
    ROLES,
    initial_executors,
    mebibytes,
    outside_heap,
    refuse_workers,
    start_refusal,
    vcpus,
    worker_memory,
)

from lakegate.aws.wiring import most_executors
from lakegate.features.deployment.parameter_values import ROOM_OF_SETTINGS, SETTINGS_WITHOUT_BOUND
from lakegate.features.deployment.preflight import LONGEST_NAME
from lakegate.gate.delivery.submit_run import DISK, EXECUTORS, executor_disk, executors
from lakegate.gate.dependencies import JobSettings
from lakegate.plan.request import Request, StagedPart
from lakegate.spark.spark_tasks import TASK_MEMORY
from tests.sam.built import Stack
from tests.sam.other_values import OTHER_VALUES

GIB = 1 << 30
BESIDE_DUCKDB = 512
"""MiB of a Python process beside DuckDB: the interpreter and its libraries (200), records of a share and their Arrow form."""
SIZES = {"1 KB": 1 << 10, "1.5 GiB": 3 * GIB // 2, "3 GiB": 3 * GIB, "50 GiB": 50 * GIB}


def parameters(built: Path, **values: str) -> str:
    stack = Stack.read(built, **values)
    text: str = stack.function("IntakeFunction")["Environment"]["Variables"]["LAKEGATE_JOB_PARAMETERS"]
    return text


def settings(built: Path, size: int, runs: int = 2) -> Mapping[str, str]:
    """Of a run for a delivery of a size, in a stack of 16 vCPU with so many runs at once."""
    request = Request(
        workload="w",
        attempt=1,
        plan_uri="s3://lake/plans/p.json",
        plan_digest="0" * 64,
        source_version="v",
        parts=(StagedPart("s3://lake/staging/w", size),),
        judged_at="2026-11-22T00:00:00+00:00",
        output_uri="s3://lake/runs/w/attempt=1",
    )
    job = JobSettings("app", "role", "s3://code/validate.py", executors=most_executors(16, runs))
    workers = executors(job, request)
    made = parameters(built).replace(EXECUTORS, str(workers)).replace(DISK, str(executor_disk(request, workers)))
    return read_parameters(made).cluster


@pytest.mark.parametrize("runs", [1, 2, 4])
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_a_run_starts_whatever_the_size_of_its_delivery(built: Path, size: int, runs: int) -> None:
    """With exactly the executors that it asks for, in workers that exist, in the application that the template makes."""
    found = settings(built, size, runs)
    (application,) = Stack.read(built).resources("AWS::EMRServerless::Application").values()
    capacity = {name.lower(): value for name, value in application["MaximumCapacity"].items()}

    refuse_workers(found)
    assert start_refusal(found, capacity) == ""
    assert initial_executors(found) == min(max(1, -(-size // GIB)), most_executors(16, runs))


def test_who_bounds_executors_sets_all_three_numbers(built: Path) -> None:
    """`maxExecutors` below 3 with a default of EMR's beside it fails each run, before any Python."""
    number = {name: value for name, value in settings(built, 1).items() if re.search("xecutors|instances", name)}

    assert number == {
        "spark.executor.instances": "1",
        "spark.dynamicAllocation.initialExecutors": "1",
        "spark.dynamicAllocation.maxExecutors": "1",
    }


@pytest.mark.parametrize("role", ROLES)
def test_python_has_the_memory_that_it_needs(built: Path, role: str) -> None:
    """Outside of the heap: a Python process for each core with DuckDB in it, and a tenth of the heap for the JVM itself.

    EMR Serverless kills the worker that exceeds its size (exit code 137), so both together have to fit.
    """
    found = settings(built, 1)
    assert mebibytes(found["spark.driver.maxResultSize"]) < mebibytes(found["spark.driver.memory"])
    jvm = max(LEAST_OVERHEAD, mebibytes(found[f"spark.{role}.memory"]) // 10)
    python = vcpus(found, role) * (mebibytes(TASK_MEMORY) + BESIDE_DUCKDB)

    assert outside_heap(found, role) >= jvm + python
    assert worker_memory(found, role) == 7, "what docs/deploy.md and the prices count with"


def test_settings_of_an_operator_are_added_to_those_of_the_release(built: Path) -> None:
    """They change sizes; jars and environment stay those of `JobCode`, so that a new release never runs in an old one."""
    own = "--conf spark.executor.memory=8g --conf spark.sql.files.maxPartitionBytes=64m"
    before, after = parameters(built, JobCode="r2"), parameters(built, JobCode="r2", ExtraJobParameters=own)
    found = read_parameters(after)

    assert after == before + own
    assert "/code/r2/environment.tar.gz" in found.cluster["spark.archives"]
    assert found.jars == read_parameters(before).jars
    assert (found.cluster["spark.executor.memory"], found.cluster["spark.driver.memory"]) == ("8g", "3g")
    assert EXECUTORS in after


def test_the_environment_of_a_function_has_room(built: Path) -> None:
    """All settings of the stack together, with every option: Lambda takes 4 KB (its guide, Lambda quotas)."""
    physical = {"AWS::StackName": "l" * LONGEST_NAME, "AWS::Region": "ap-southeast-2"}
    stack = Stack.read(built, **(OTHER_VALUES | dict.fromkeys(SETTINGS_WITHOUT_BOUND, "")), **physical)
    made = 12 + LONGEST_NAME  # CloudFormation adds a logical id and 12 characters
    for name in ("IntakeFunction", "ApiFunction", "AnchorFunction", "PullFunction", "JudgeFunction"):
        variables = stack.function(name)["Environment"]["Variables"]
        references = len(re.findall(r"Table|Bucket|Queue|Role|EventBus", str(variables)))
        size = sum(len(key) + len(str(value)) for key, value in variables.items()) + references * made

        assert size + ROOM_OF_SETTINGS < 4096, f"{name}: {size}"


@pytest.mark.parametrize(
    ("text", "is_allowed"),
    [
        ("", True),
        ("--conf spark.executor.memory=8g", True),
        ("--conf spark.executor.memory=8g --conf spark.a.b=c,d=e", True),
        ("--conf spark.archives=s3://b/old.tar.gz", False),
        ("--conf spark.jars=s3://b/old.jar", False),
        ("--conf spark.submit.pyFiles=s3://b/old.zip", False),
        ("--conf spark.a=b --conf spark.archives=s3://b/old.tar.gz", False),
        ("--jars s3://b/old.jar", False),
        ("--conf spark.a=b --py-files s3://b/old.zip", False),
        ("--conf spark.a='b c'", False),
        ("--conf spark.a=b ", False),
        ("validate.py", False),
    ],
)
def test_settings_of_an_operator_cannot_replace_what_a_release_consists_of(
    built: Path, text: str, *, is_allowed: bool
) -> None:
    """Neither archives nor jars nor packages, and no program."""
    pattern = Stack.read(built).template["Parameters"]["ExtraJobParameters"]["AllowedPattern"]

    assert (re.fullmatch(pattern, text) is not None) is is_allowed

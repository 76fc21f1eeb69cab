"""A run gets executors by the bytes that it reads, and no more than the application has for each of its runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lakegate.aws.wiring import DRIVER_VCPU, EXECUTOR_VCPU, most_executors
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.submit_run import BYTES_OF_AN_EXECUTOR, executor_disk, executors
from lakegate.gate.dependencies import JobSettings
from lakegate.plan.request import AcceptedPart, Reference, Request, StagedPart
from tests.simulation.environment import LANDING, Environment
from tests.unit.gate.scenarios import KEY, drive, landed

GIB = BYTES_OF_AN_EXECUTOR
sizes = st.integers(0, 100 * GIB)


def request(size: int, accepted: int = 0) -> Request:
    part = AcceptedPart("s3://lake/accepted/a", accepted, "s3://lake/plans/p", "0" * 64)
    return Request(
        workload="w",
        attempt=1,
        plan_uri="s3://lake/plans/p.json",
        plan_digest="0" * 64,
        source_version="v",
        parts=(StagedPart("s3://lake/staging/w", size),),
        judged_at="2026-11-22T00:00:00+00:00",
        output_uri="s3://lake/runs/w/attempt=1",
        references=(Reference("a/b_v1", 0, (part,)),),
    )


def job(most: int) -> JobSettings:
    return JobSettings("app", "role", "s3://code/validate.py", executors=most)


@pytest.mark.parametrize(
    ("size", "accepted", "most", "given"),
    [
        (0, 0, 3, 1),
        (GIB, 0, 3, 1),
        (GIB + 1, 0, 3, 2),
        (GIB, 1, 3, 2),
        (50 * GIB, 0, 3, 3),
        (50 * GIB, 0, 40, 40),
        (GIB, 3 * GIB, 40, 4),
    ],
)
def test_an_executor_for_each_gibibyte(size: int, accepted: int, most: int, given: int) -> None:
    """Delivered and accepted bytes count alike; there is one at least, and never more than allowed."""
    assert executors(job(most), request(size, accepted)) == given


@pytest.mark.parametrize(
    ("size", "accepted", "workers", "given"),
    [(0, 0, 1, 20), (GIB - 1, 0, 1, 20), (GIB, 0, 1, 24), (9 * GIB, 3 * GIB, 3, 36), (350 * GIB, 0, 3, 200)],
)
def test_an_executor_has_a_disk_for_what_it_reads(size: int, accepted: int, workers: int, given: int) -> None:
    """20 GB are in its price; four times its share of the bytes beside them, as far as a worker may have it."""
    assert executor_disk(request(size, accepted), workers) == given


@given(sizes, sizes, st.integers(1, 500))
def test_more_bytes_never_get_fewer_executors(one: int, other: int, most: int) -> None:
    """The number grows with the size, within its bounds."""
    small, large = sorted((one, other))

    assert 1 <= executors(job(most), request(small)) <= executors(job(most), request(large)) <= most


@given(st.integers(4, 4_000), st.integers(1, 1_000))
def test_runs_at_once_fit_the_application(vcpu: int, runs: int) -> None:
    """All runs together, each with all its executors, use no more vCPUs than the application may, if one of each fits."""
    assume(vcpu // runs >= DRIVER_VCPU + EXECUTOR_VCPU)

    assert runs * (DRIVER_VCPU + EXECUTOR_VCPU * most_executors(vcpu, runs)) <= vcpu


def test_a_small_share_still_has_an_executor() -> None:
    """Spark needs one; EMR Serverless then queues runs."""
    assert most_executors(4, 10) == 1


@pytest.mark.parametrize(
    ("parameters", "sent"),
    [
        ("--conf a={executors} --conf b={executors} --conf c={disk}g", "--conf a=1 --conf b=1 --conf c=20g"),
        ("--conf spark.dynamicAllocation.maxExecutors=7", "--conf spark.dynamicAllocation.maxExecutors=7"),
    ],
)
def test_the_stored_request_has_the_number(parameters: str, sent: str) -> None:
    """It takes the place of `{executors}`, and the disk that of `{disk}`; parameters of an operator's own need not have it."""
    env = Environment()
    places = env.dependencies.places
    job = replace(places.job, parameters=parameters, executors=5)
    env.dependencies = replace(env.dependencies, places=replace(places, job=job))
    upload = env.upload(KEY, b"good:1")
    drive(env.dependencies, intake(env.dependencies, LANDING, KEY))
    stored = json.loads(env.dependencies.workloads.get(upload.workload).request)

    assert stored["jobDriver"]["sparkSubmit"]["sparkSubmitParameters"] == sent


def test_a_run_has_tags_by_which_its_costs_are_allocated() -> None:
    """Contract and line."""
    env, row = landed()
    (run,) = (each for each in env.memory.jobs.runs.values() if each.id == row.run)

    assert run.request["tags"] == {"lakegate:contract": "orders", "lakegate:line": "orders/lines_v1"}
    page = (Path(__file__).parents[4] / "docs" / "deploy.md").read_text()
    assert [name for name in run.request["tags"] if f"TagKey={name},Status=Active" not in page] == []

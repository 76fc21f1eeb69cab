"""The judge function on the embedded AWS: a stack of its own, which is gone before that of the other tests starts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lakegate.contracts.lake.states import State
from lakegate.functions.adapters.clients import client
from lakegate.functions.workload import FailureCause
from tests.e2e.running import running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.functions.workload import Workload
    from tests.e2e.deployed import Deployed

ROWS = b"id,name\n1,abc\n2,x\n3,def\n"
"""The second record breaks the contract of `rows/`, which keeps bad records apart."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """The stack, with a judge function for deliveries below 800 bytes."""
    with running(tmp_path_factory.mktemp("judge"), SmallFileBytes="800") as deployed:
        yield deployed


def engines(stack: Deployed, row: Workload, attempt: int) -> set[str]:
    """The engines that an attempt names in its result."""
    return set(json.loads(stack.body(f"runs/{row.id}/attempt={attempt}/result.json"))["engines"])


def test_small_deliveries_are_judged_without_a_job_run(stack: Deployed) -> None:
    """Several at once: each is published by its first attempt, an invocation, once."""
    landed = [stack.upload(stack.fresh()) for _ in range(5)]
    rows = [stack.finished(each) for each in landed]

    assert [(row.state, row.attempt, row.run, row.failed) for row in rows] == [
        (State.PUBLISHED, 1, f"lambda/{row.id}/1", ()) for row in rows
    ]
    assert [(len(stack.destinations(row)), stack.blocks(row)) for row in rows] == [(1, 1)] * 5
    assert [stack.runs(each) for each in landed] == [[]] * 5
    assert engines(stack, rows[0], 1) == {"duckdb", "pyarrow"}


def test_rows_that_are_kept_apart_are_written_by_spark(stack: Deployed) -> None:
    """The function answers that it does not fit; Spark follows, and the attempt costs none of the round's."""
    row = stack.finished(stack.upload(ROWS, "rows/day.csv"), limit=120)

    assert (row.state, row.attempt, row.limit) == (State.PUBLISHED, 2, 4)
    assert [each.cause for each in row.failed] == [FailureCause.DOES_NOT_FIT]
    assert "spark" in engines(stack, row, 2)


def test_a_larger_delivery_is_sparks_from_the_start(stack: Deployed) -> None:
    """Its first attempt is a job run."""
    landed = stack.upload(stack.fresh(rows=25))
    row = stack.finished(landed, limit=120)

    assert (row.state, row.attempt, [each["id"] for each in stack.runs(landed)]) == (State.PUBLISHED, 1, [row.run])


def test_an_invocation_that_fails_is_followed_by_spark(stack: Deployed) -> None:
    """Lambda reports the failure to the queue of completion: the next attempt follows within seconds, without a sweep."""
    name = stack.resources["JudgeFunction"]
    settings = client("lambda").get_function_configuration(FunctionName=name)
    client("lambda").update_function_configuration(
        FunctionName=name, Handler="lakegate.spark_jobs.judge_function.absent"
    )
    try:
        row = stack.finished(stack.upload(stack.fresh()), limit=120)
    finally:
        client("lambda").update_function_configuration(FunctionName=name, Handler=settings["Handler"])

    assert (row.state, row.attempt, row.limit) == (State.PUBLISHED, 2, 3)
    assert [each.cause for each in row.failed] == [FailureCause.NO_ANSWER]

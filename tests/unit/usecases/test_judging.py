"""What a job answers, or fails to: whose result it is, and when an attempt is over."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from contracts.errors import InputError
from contracts.workflow import Outcome
from functions.ports import Address, JobRun, JobState
from functions.usecases import observe as observing
from functions.usecases.advance import advance
from functions.usecases.answer import Answer
from functions.usecases.completion import completion
from functions.usecases.observe import observe
from functions.usecases.steps import Effect, run
from functions.workload import State
from tests.simulation.world import LAKE, World
from tests.unit.usecases.worlds import (
    answered,
    drive,
    landed,
    refused_at,
)


def test_a_run_of_somebody_elses_is_no_business_of_ours() -> None:
    """Runs without a workload, and runs that are not there, are passed over."""
    world = World()
    drive(world.gate, completion(world.gate, world.stranger))
    drive(world.gate, completion(world.gate, "no-such-run"))

    assert world.memory.rows.rows == {}


def test_a_run_that_is_not_there_counts_as_lost() -> None:
    """An application that was made anew knows no old runs: the attempt is lost, not the workload."""
    world, row = landed()
    world.memory.jobs.runs.clear()

    assert Outcome.LOST is observing.observe(world.gate, row).on  # type: ignore[union-attr]  # something is found


@pytest.mark.parametrize("result", [b"not json", b"[]", b"{}", b'{"workload": 1}'])
def test_a_result_that_is_none_is_the_jobs_failure(result: bytes) -> None:
    """A broken answer costs an attempt and decides nothing about the data."""
    world, row = landed()
    world.memory.objects.put(Address(LAKE, f"runs/{row.id}/attempt=1/result.json"), result)

    assert Outcome.LOST is observe(world.gate, row).on  # type: ignore[union-attr]  # something is found


def test_a_judge_that_cannot_judge_decides_nothing() -> None:
    """What the verdict refuses to read counts as no result."""
    world, row = answered()

    def refuses(plan: bytes, result: bytes) -> object:
        raise InputError(f"{len(plan)} {len(result)}")

    gate = replace(world.gate, meaning=replace(world.gate.meaning, judge=refuses))  # type: ignore[arg-type]  # it raises

    assert Outcome.LOST is observe(gate, row).on  # type: ignore[union-attr]  # something is found


def test_an_answer_reads_event_times_and_objects() -> None:
    """The block's bounds and the split's objects come from the result."""
    document = {
        "workload": "w",
        "attempt": 1,
        "plan_digest": "p",
        "source_version": "v",
        "rows": 3,
        "rejected_rows": 1,
        "event_time": ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"],
        "shares": {"accepted": [{"uri": "s3://lake/k", "size": 1, "etag": "e"}], "rejected": []},
    }
    answer = Answer.read(json.dumps(document).encode())

    assert answer.event_time == ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
    assert [each.share for each in answer.objects] == ["accepted"]


@pytest.mark.parametrize(
    ("state", "waited", "outcome"),
    [
        (JobState.QUEUED, 0, None),
        (JobState.RUNNING, 60, None),
        (JobState.RUNNING, 10, Outcome.LOST),
    ],
)
def test_waiting_for_its_turn_is_no_hanging(
    state: JobState, waited: int, outcome: Outcome | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job's time runs from when it left the queue: in a burst nobody loses an attempt for standing in line."""
    world, row = landed()
    world.memory.clock.sleep(90 * 60)
    told = JobRun(row.id, state, timedelta(minutes=waited))
    monkeypatch.setattr(world.memory.jobs, "describe", lambda _: told)

    found = observe(world.gate, row)

    assert outcome is (found and found.on)


def test_a_result_that_comes_before_the_cancel_counts() -> None:
    """Hung by the clock, answered before it was cancelled: no attempt is lost, and the result decides."""
    world, row = landed()
    world.memory.clock.sleep(90 * 60)

    def answer() -> None:
        for _, job in world.new_jobs():
            run(job, world.gate.clock)

    left = refused_at(world, Effect.CANCEL_JOB, advance(world.gate, row), answer)
    drive(world.gate, advance(world.gate, row))

    assert left == row
    assert world.gate.workloads.get(row.id).state is State.PUBLISHED
    assert world.gate.workloads.get(row.id).attempt == 1

"""What a job answers, or fails to: whose result it is, and when an attempt is over."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.states import Outcome
from lakegate.functions.ports.jobs import JobRun, JobState
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases import observe as observing
from lakegate.functions.usecases.advance import advance
from lakegate.functions.usecases.answer import Answer
from lakegate.functions.usecases.completion import completion
from lakegate.functions.usecases.observe import observe
from lakegate.functions.usecases.steps import Effect, run
from lakegate.functions.workload import State
from tests.simulation.environment import LAKE, Environment
from tests.unit.usecases.scenarios import (
    answered,
    drive,
    landed,
    refused_at,
)


def test_a_run_of_somebody_elses_is_no_business_of_ours() -> None:
    """Runs without a workload, and runs that are not there, are passed over."""
    env = Environment()
    drive(env.dependencies, completion(env.dependencies, env.stranger))
    drive(env.dependencies, completion(env.dependencies, "no-such-run"))

    assert env.memory.rows.rows == {}


def test_a_run_that_is_not_there_counts_as_lost() -> None:
    """A new application has no old runs: the attempt is lost, not the workload."""
    env, row = landed()
    env.memory.jobs.runs.clear()

    assert Outcome.LOST is observing.observe(env.dependencies, row).on  # type: ignore[union-attr]  # something is found


@pytest.mark.parametrize("result", [b"not json", b"[]", b"{}", b'{"workload": 1}'])
def test_a_result_that_is_none_is_the_jobs_failure(result: bytes) -> None:
    """A broken answer costs an attempt and decides nothing about the data."""
    env, row = landed()
    env.memory.objects.put(Address(LAKE, f"runs/{row.id}/attempt=1/result.json"), result)

    assert Outcome.LOST is observe(env.dependencies, row).on  # type: ignore[union-attr]  # something is found


def test_a_judge_that_cannot_judge_decides_nothing() -> None:
    """What the verdict refuses to read counts as no result."""
    env, row = answered()

    def refuses(plan: bytes, result: bytes) -> object:
        raise InputError(f"{len(plan)} {len(result)}")

    dependencies = replace(env.dependencies, meaning=replace(env.dependencies.meaning, judge=refuses))  # type: ignore[arg-type]  # it raises

    assert Outcome.LOST is observe(dependencies, row).on  # type: ignore[union-attr]  # something is found


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
    env, row = landed()
    env.memory.clock.sleep(90 * 60)
    run_state = JobRun(row.id, state, timedelta(minutes=waited))
    monkeypatch.setattr(env.memory.jobs, "describe", lambda _: run_state)

    found = observe(env.dependencies, row)

    assert outcome is (found and found.on)


def test_a_result_that_comes_before_the_cancel_counts() -> None:
    """Hung by the clock, answered before it was cancelled: no attempt is lost, and the result decides."""
    env, row = landed()
    env.memory.clock.sleep(90 * 60)

    def answer() -> None:
        for _, job in env.new_jobs():
            run(job, env.dependencies.clock)

    left = refused_at(env, Effect.CANCEL_JOB, advance(env.dependencies, row), answer)
    drive(env.dependencies, advance(env.dependencies, row))

    assert left == row
    assert env.dependencies.workloads.get(row.id).state is State.PUBLISHED
    assert env.dependencies.workloads.get(row.id).attempt == 1

"""What a job answers, or fails to: whose result it is, and when an attempt is over."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lakegate.base.errors import InputError
from lakegate.gate.delivery.advance import advance, completion, observe
from lakegate.gate.delivery.decide_verdict import judged, result_of
from lakegate.gate.delivery.protocol import Outcome, State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Effect, run
from lakegate.gate.ports import Address, JobRun, JobState
from lakegate.plan.plan import Plan
from lakegate.plan.result import Result, Unreadable
from tests.simulation.environment import LAKE, Environment
from tests.unit.gate.scenarios import (
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

    assert env.memory.workloads == {}


def test_a_run_that_is_not_there_counts_as_lost() -> None:
    """A new application has no old runs: the attempt is lost, not the workload."""
    env, row = landed()
    env.memory.jobs.runs.clear()

    assert Outcome.LOST is observe(DeliveryTurn(env.dependencies, row)).on  # type: ignore[union-attr]  # something is found


@pytest.mark.parametrize("result", [b"not json", b"[]", b"{}", b'{"workload": 1}'])
def test_a_result_that_is_none_is_the_jobs_failure(result: bytes) -> None:
    """A broken answer costs an attempt and decides nothing about the data."""
    env, row = landed()
    env.memory.objects.put(Address(LAKE, f"runs/{row.id}/attempt=1/result.json"), result)

    assert Outcome.LOST is observe(DeliveryTurn(env.dependencies, row)).on  # type: ignore[union-attr]  # something is found


@pytest.mark.parametrize("body", [b"{", b"", b"\xff", b"[" * 100_000, b"{}"])
def test_stored_bytes_that_are_not_a_document_are_refused(body: bytes) -> None:
    """Bytes that are not JSON, or do not match the schema, raise an InputError of this project, for plan and result alike."""
    for kind in (Plan, Result):
        with pytest.raises(InputError):
            kind.from_bytes(body)


def test_reasons_are_cut_to_what_a_row_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many reasons a verdict has, the row of its workload stays far below the limit of DynamoDB."""
    env, row = answered(b"bad:1")
    monkeypatch.setattr("lakegate.verdict.verdict.MAX_REASONS_OF_DELIVERY", 1)
    monkeypatch.setattr("lakegate.verdict.verdict.LONGEST_REASON_OF_DELIVERY", 10)
    found = observe(DeliveryTurn(env.dependencies, row))
    assert found is not None
    assert found.decision is not None

    assert found.decision.reasons == ("file/whole",)


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

    found = observe(DeliveryTurn(env.dependencies, row))

    assert outcome is (found and found.on)


def test_a_result_that_comes_before_the_cancel_counts() -> None:
    """Hung by the clock, answered before it was cancelled: no attempt is lost, and the result decides."""
    env, row = landed()
    env.memory.clock.sleep(90 * 60)

    def answer() -> None:
        for _, job in env.new_jobs():
            run(job, env.dependencies.clock)

    left = refused_at(env, Effect.CANCEL_JOB, advance(DeliveryTurn(env.dependencies, row)), answer)
    drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))

    assert left == row
    assert env.dependencies.workloads.get(row.id).state is State.PUBLISHED
    assert env.dependencies.workloads.get(row.id).attempt == 1


def test_the_object_that_cannot_be_read_is_told_in_the_reason() -> None:
    """Of several objects its place; of one alone there is nothing to tell."""
    env, row = answered()
    plan, body = env.dependencies.plan(row), result_of(DeliveryTurn(env.dependencies, row))
    assert body is not None
    result = replace(
        Result.from_bytes(body), rows=0, measurements=(), unreadable=Unreadable("footer", "its end is missing", part=1)
    ).to_bytes()
    alone = judged(plan, result, row).decision
    several = judged(plan, result, row._replace(parts=row.source)).decision
    assert alone is not None
    assert several is not None

    assert alone.reasons == ("file/readable: its end is missing",)
    assert several.reasons == ("file/readable: object 2 of the delivery, by the order of keys: its end is missing",)

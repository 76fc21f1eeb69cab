"""Jobs that fail, hang or die: the result decides, another attempt repairs everything else."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from lakegate.aws.clients import client
from lakegate.gate.delivery.delivery_row import FailureCause
from lakegate.gate.delivery.protocol import State
from tests.e2e.deployed import Deployed, Landed, until
from tests.e2e.running import lakegate


def run_of(stack: Deployed, landed: Landed, state: str) -> str:
    """The id of the delivery's latest run, as soon as it is in a state."""

    def found() -> str | None:
        runs = stack.runs(landed)
        return runs[-1]["id"] if runs and runs[-1]["state"] == state else None

    identity: str = until(f"a run that is {state}", found)
    return identity


RECOVERED = (State.PUBLISHED, 2, 1, 1)


def test_a_killed_job_is_tried_again_within_seconds(stack: Deployed) -> None:
    """A run that an operator cancels has no result: the next attempt starts by itself, and the row has the cause."""
    stack.order(times=1, end="hang")
    landed = stack.upload(stack.larger())
    identity = run_of(stack, landed, "RUNNING")
    client("emr-serverless").cancel_job_run(applicationId=stack.stack.output("ApplicationId"), jobRunId=identity)

    row = stack.finished(landed)
    runs = stack.runs(landed)

    assert (row.state, row.attempt, len(stack.destinations(row)), stack.blocks(row)) == RECOVERED
    assert [(each.number, each.run, each.cause) for each in row.failed] == [(1, identity, FailureCause.RUN_CANCELLED)]
    assert [each["state"] for each in runs] == ["CANCELLED", "SUCCESS"]
    assert runs[1]["createdAt"] - runs[0]["updatedAt"] < timedelta(minutes=1)


@pytest.mark.full  # tests/simulation has the same fault, tests/integrations/local_emr a run that hangs
def test_a_hung_job_is_cancelled_when_its_time_is_up(stack: Deployed) -> None:
    """A run that is still RUNNING long after its limit is cancelled by the sweep, and tried again."""
    stack.order(times=1, end="hang")
    landed = stack.upload(stack.larger())
    run_of(stack, landed, "RUNNING")
    stack.reached(landed, State.VALIDATING)
    stack.sweep_later(24 * 60)
    stack.sweep_later(25 * 60)
    row = stack.finished(landed)

    assert (row.state, row.attempt, len(stack.destinations(row)), stack.blocks(row)) == RECOVERED
    assert [each["state"] for each in stack.runs(landed)] == ["CANCELLED", "SUCCESS"]


def test_a_person_ends_a_delivery_whose_job_hangs(stack: Deployed) -> None:
    """The run is cancelled, nothing is tried again, and the data is in quarantine for the reason that was given."""
    stack.order(times=1, end="hang")
    landed = stack.upload(stack.larger())
    run_of(stack, landed, "RUNNING")
    stack.reached(landed, State.VALIDATING)
    cancelled = lakegate("cancel", landed.workload, "--reason", "the wrong month", "--local", "--json")
    row = stack.finished(landed)
    answer = json.loads(cancelled.stdout)["answer"]
    assert row.decision is not None

    assert (cancelled.exit_code, row.state, row.attempt, stack.blocks(row)) == (0, State.QUARANTINED, 1, 1)
    assert row.decision.reasons == (f"cancelled: the wrong month (by {answer['actor']})",)
    assert [each.partition("/")[0] for each in stack.destinations(row)] == ["quarantine"]
    assert [each["state"] for each in stack.runs(landed)] == ["CANCELLED"]


def test_a_job_that_fails_after_its_result_has_answered(stack: Deployed) -> None:
    """The result decides, and not the state of the run: no second attempt."""
    stack.order(times=1, end="fail-after")
    landed = stack.upload(stack.larger())
    row = stack.finished(landed)

    assert (row.state, row.attempt) == (State.PUBLISHED, 1)
    assert [each["state"] for each in stack.runs(landed)] == ["FAILED"]


@pytest.mark.full  # tests/simulation has the same fault, and the test above the result of a failed job
def test_a_job_that_hangs_after_its_result_has_answered(stack: Deployed) -> None:
    """Nobody waits for a run whose result is there."""
    stack.order(times=1, end="hang-after")
    landed = stack.upload(stack.larger())
    stack.reached(landed, State.VALIDATING)
    prefix = f"runs/{landed.workload}/attempt=1/result.json"
    until("the result is written", lambda: stack.objects(prefix))
    stack.sweep_later(6)
    row = stack.finished(landed)
    client("emr-serverless").cancel_job_run(applicationId=stack.stack.output("ApplicationId"), jobRunId=row.run)

    assert (row.state, row.attempt) == (State.PUBLISHED, 1)


@pytest.mark.full  # tests/simulation throttles every call
def test_a_service_that_is_asked_too_much_costs_no_attempt(stack: Deployed) -> None:
    """A throttled StartJobRun is retried with the same token."""
    stack.refuse("StartJobRun", "ThrottlingException", times=2)
    row = stack.finished(stack.upload(stack.larger()))

    assert (row.state, row.attempt) == (State.PUBLISHED, 1)

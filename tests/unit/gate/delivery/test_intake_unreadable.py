"""An upload that the gate may not read: FAILED at once with its cause, one message, and a replay after the grant."""

from __future__ import annotations

import json

import pytest

from lakegate.base.errors import AccessDenied, Archived, PortError
from lakegate.gate.delivery.delivery_row import FailedAttempt, FailureCause
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.send_messages import notify
from lakegate.gate.sweep import sweep
from tests.simulation.environment import LANDING, Environment, Upload
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.gate.scenarios import KEY, drive

REFUSALS = [(AccessDenied, FailureCause.ACCESS_DENIED), (Archived, FailureCause.ARCHIVED)]


def refused_upload(refusal: type[PortError], body: bytes = b"good:1", key: str = KEY) -> tuple[Environment, Upload]:
    """An environment in which intake met an upload that S3 refuses to read."""
    env = Environment()
    upload = env.upload(key, body)
    env.lock(upload, refusal)
    drive(env.dependencies, intake(env.dependencies, LANDING, key))
    return env, upload


@pytest.mark.parametrize(("refusal", "cause"), REFUSALS)
@pytest.mark.parametrize("key", [KEY, "elsewhere/day.csv"])
def test_an_upload_that_cannot_be_read_fails_with_its_cause(
    refusal: type[PortError], cause: FailureCause, key: str
) -> None:
    """FAILED at the first look, routed or not: no job, one attempt with the cause, the data untouched in landing."""
    env, upload = refused_upload(refusal, key=key)
    row = env.dependencies.workloads.get(upload.workload)

    assert (row.state, row.attempt, row.due_at) == (State.FAILED, 1, None)
    assert row.failed == (FailedAttempt(1, "", cause, env.memory.clock.now()),)
    assert len(env.memory.jobs.runs) == 1  # somebody else's
    assert list(env.landing) == [key]


@pytest.mark.parametrize(("refusal", "cause"), REFUSALS)
def test_one_message_names_the_cause_and_no_sweep_repeats_it(refusal: type[PortError], cause: FailureCause) -> None:
    """What only a person can change is reported once, and is not tried again by any sweep."""
    env, upload = refused_upload(refusal)
    for _ in range(3):
        env.memory.clock.sleep(3600)
        drive(env.dependencies, sweep(env.dependencies))
        drive(env.dependencies, notify(env.dependencies))
    bodies = [json.loads(message.body) for message in env.memory.notifier.sent]

    assert [(body["workload"], body["state"], body["attempt"], body["cause"]) for body in bodies] == [
        (upload.workload, "FAILED", 1, cause.value)
    ]


@pytest.mark.parametrize("refusal", [AccessDenied, Archived])
def test_a_replay_after_the_grant_judges_it(refusal: type[PortError]) -> None:
    """Before the grant a replay fails again, as another attempt; after it the delivery goes its usual way."""
    env = Environment()
    stage = Stage(env, lambda _: Fault.NONE)
    upload = env.upload(KEY, b"good:1")
    env.lock(upload, refusal)
    settle(stage)
    stage.replay(upload.workload)
    settle(stage)
    again = env.dependencies.workloads.get(upload.workload)
    env.unlock()
    stage.replay(upload.workload)
    settle(stage)
    row = env.dependencies.workloads.get(upload.workload)

    assert (again.state, [each.number for each in again.failed]) == (State.FAILED, [1, 2])
    assert (row.state, row.attempt) == (State.PUBLISHED, 3)

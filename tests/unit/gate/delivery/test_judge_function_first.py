"""A small delivery is given to the judge function first, and to Spark where that cannot judge it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from lakegate.base.errors import NotFound
from lakegate.gate.delivery.advance import advance, invocation_ended
from lakegate.gate.delivery.delivery_row import FailedAttempt, FailureCause, Workload
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Timing
from lakegate.gate.effects import Effect, run
from lakegate.gate.sweep import sweep
from tests.fakes.jobs import Ending
from tests.simulation.environment import LANDING, Environment
from tests.unit.gate.scenarios import KEY, drive


def invoked(*endings: Ending, body: bytes = b"good:1", small: int = 1_000) -> tuple[Environment, Workload]:
    """An environment in which one upload was taken in and its first attempt has ended; no event was sent."""
    env = Environment(list(endings), judge=True)
    places = env.dependencies.places
    env.dependencies = replace(env.dependencies, places=replace(places, job=replace(places.job, small=small)))
    upload = env.upload(KEY, body)
    drive(env.dependencies, intake(env.dependencies, LANDING, KEY))
    for _, job in env.new_jobs():
        run(job, env.dependencies.clock)
    return env, env.dependencies.workloads.get(upload.workload)


def after_event(env: Environment, row: Workload, attempt: int = 1, *, failed: bool = False) -> Workload:
    """The row after a record of the invocation's end arrived."""
    drive(env.dependencies, invocation_ended(env.dependencies, row.id, attempt, failed=failed))
    return env.dependencies.workloads.get(row.id)


def is_job(row: Workload) -> bool:
    """Whether the stored request starts a job run."""
    return "clientToken" in json.loads(row.request)


def test_a_small_delivery_is_invoked_first() -> None:
    """The row stores the whole request of Invoke before it is sent, and the run is named after the attempt."""
    _, row = invoked()
    uri = f"s3://lake/runs/{row.id}/attempt=1/request.json"
    payload = {"attempt": 1, "request": uri, "workload": row.id}

    assert json.loads(row.request) == {
        "FunctionName": "judge",
        "InvocationType": "Event",
        "Payload": json.dumps(payload),
    }
    assert (row.state, row.run) == (State.VALIDATING, f"lambda/{row.id}/1")


@pytest.mark.parametrize(("small", "starts_job"), [(7, False), (6, True), (0, True)])
def test_the_size_decides(small: int, starts_job: bool) -> None:  # noqa: FBT001 - a case
    """A delivery of six bytes is small below seven, and 0 gives all deliveries to Spark."""
    assert is_job(invoked(small=small)[1]) is starts_job


def test_what_the_function_answers_is_decided_on() -> None:
    """On its record, or on the next sweep, as a result of the job would be."""
    env, row = invoked()

    assert after_event(env, row).state is State.PUBLISHED


def test_what_does_not_fit_is_given_to_spark_at_once_and_costs_no_attempt() -> None:
    """The next attempt starts a job run without a back-off, and as many attempts are left as before."""
    env, row = invoked(Ending.UNFIT)
    after = after_event(env, row)

    assert (after.state, after.attempt, after.limit, after.not_before) == (State.VALIDATING, 2, row.limit + 1, None)
    assert is_job(after)
    assert [each.cause for each in after.failed] == [FailureCause.DOES_NOT_FIT]


def test_a_failed_invocation_is_followed_by_spark_within_seconds() -> None:
    """It is an attempt like any other: it costs one, and the next one waits for the back-off."""
    env, row = invoked(Ending.FAILED)
    began = env.memory.clock.now()
    after = after_event(env, row, failed=True)

    assert (after.state, after.attempt, after.limit, is_job(after)) == (State.VALIDATING, 2, row.limit, True)
    assert after.failed == (FailedAttempt(1, row.run, FailureCause.NO_ANSWER, began),)
    assert env.memory.clock.now() - began == timedelta(seconds=5)


def test_without_an_event_the_deadline_ends_an_invocation() -> None:
    """A lost invocation is found by sweep when its deadline is past, and not before."""
    env, row = invoked(Ending.HUNG)
    states = []
    for _ in range(3):
        env.memory.clock.sleep(301)
        drive(env.dependencies, sweep(env.dependencies))
        states.append(env.dependencies.workloads.get(row.id).attempt)

    assert states == [1, 2, 2]


@pytest.mark.parametrize(("attempt", "failed"), [(1, False), (2, True)])
def test_a_hint_that_does_not_apply_changes_nothing(attempt: int, failed: bool) -> None:  # noqa: FBT001 - a case
    """Neither a record of success without a result, nor one about another attempt, ends an attempt in time."""
    env, row = invoked(Ending.HUNG)

    assert after_event(env, row, attempt, failed=failed) == row


def test_a_failed_invocation_ends_no_job_run() -> None:
    """A record that comes late, or twice, does not touch the attempt of Spark that followed."""
    env, row = invoked(Ending.FAILED)
    second = after_event(env, row, failed=True)

    assert after_event(env, second, 2, failed=True) == second


def test_a_record_about_nobody_is_nothing() -> None:
    """A workload that is not in the table is somebody else's."""
    env = Environment(judge=True)

    assert drive(env.dependencies, invocation_ended(env.dependencies, "0" * 64, 1, failed=True)) is None


def test_a_removed_function_is_replaced_by_spark() -> None:
    """A stored invocation of a function that a deployment has removed costs no attempt either."""
    env = Environment(judge=True)
    env.memory.jobs.functions.clear()
    upload = env.upload(KEY, b"good:1")
    drive(env.dependencies, intake(env.dependencies, LANDING, KEY))
    row = env.dependencies.workloads.get(upload.workload)

    assert (row.state, row.attempt, row.limit, is_job(row)) == (State.VALIDATING, 2, 4, True)
    assert [(each.cause, each.run) for each in row.failed] == [(FailureCause.NO_FUNCTION, "")]


def test_an_answer_of_a_function_that_was_removed_since_counts() -> None:
    """A worker invoked it and ended before it could store so; the function answered, and a deployment removed it."""
    env = Environment(judge=True)
    upload = env.upload(KEY, b"good:1")
    steps = intake(env.dependencies, LANDING, KEY)
    call = next(steps)
    while call.effect is not Effect.MARK_STARTED:
        call = steps.send(call.do())
    steps.close()
    for _, job in env.new_jobs():
        run(job, env.dependencies.clock)
    env.memory.jobs.functions.clear()
    drive(env.dependencies, advance(DeliveryTurn(env.dependencies, env.dependencies.workloads.get(upload.workload))))
    row = env.dependencies.workloads.get(upload.workload)

    assert (row.state, row.attempt, row.run, row.failed) == (State.PUBLISHED, 1, f"lambda/{row.id}/1", ())


def test_an_application_that_is_not_there_is_an_error() -> None:
    """A missing application costs no attempts: a person has to look at it."""
    env = Environment()

    def missing(_: object) -> str:
        raise NotFound

    env.memory.jobs.start = missing  # type: ignore[method-assign,assignment]  # of this environment only
    upload = env.upload(KEY, b"good:1")
    with pytest.raises(NotFound):
        drive(env.dependencies, intake(env.dependencies, LANDING, KEY))
    row = env.dependencies.workloads.get(upload.workload)
    with pytest.raises(NotFound):
        drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))

    assert (row.state, row.attempt) == (State.SUBMITTING, 1)


def test_a_job_cannot_say_that_a_delivery_does_not_fit() -> None:
    """From Spark it is not a result, so that no delivery goes on for ever."""
    env, row = invoked(Ending.UNFIT, small=0)
    drive(env.dependencies, sweep_later(env))
    after = env.dependencies.workloads.get(row.id)

    assert [each.cause for each in after.failed] == [FailureCause.WRONG_RESULT]
    assert after.limit == row.limit


def sweep_later(env: Environment) -> object:
    env.memory.clock.sleep(Timing().poll.total_seconds() + 1)
    return sweep(env.dependencies)

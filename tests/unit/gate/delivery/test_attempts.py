"""A failed attempt: recorded with its cause, and followed by the next one within seconds."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from lakegate.gate.delivery.advance import completion, observe, pause_of
from lakegate.gate.delivery.delivery_row import FailedAttempt, FailureCause, Workload
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import Outcome, State
from lakegate.gate.delivery.submit_run import back_off
from lakegate.gate.delivery.transition import DeliveryTurn, Observation
from lakegate.gate.effects import Effect, run
from lakegate.gate.ports import Address, JobRun, JobState
from lakegate.gate.sweep import sweep
from tests.fakes.jobs import Ending
from tests.simulation.environment import LAKE, LANDING, PREFIX, Environment
from tests.unit.gate.scenarios import KEY, drive, landed, refused_at


def submitted(*endings: Ending, body: bytes = b"good:1") -> tuple[Environment, Workload]:
    """An environment with these ends of job runs; the first run has ended, and no event was sent."""
    env = Environment(list(endings))
    upload = env.upload(KEY, body)
    drive(env.dependencies, intake(env.dependencies, LANDING, KEY))
    played(env)
    return env, env.dependencies.workloads.get(upload.workload)


def played(env: Environment) -> None:
    for _, job in env.new_jobs():
        run(job, env.dependencies.clock)


def after_event(env: Environment, row: Workload) -> Workload:
    """The row after the event of its run arrived."""
    drive(env.dependencies, completion(env.dependencies, row.run))
    return env.dependencies.workloads.get(row.id)


def test_a_failed_run_is_tried_again_within_seconds() -> None:
    """The worker that receives the failure starts the next attempt, without waiting for a sweep."""
    env, row = submitted(Ending.FAILED)
    began = env.memory.clock.now()
    after = after_event(env, row)

    assert (after.state, after.attempt) == (State.VALIDATING, 2)
    assert after.failed == (FailedAttempt(1, row.run, FailureCause.RUN_FAILED, began),)
    assert env.memory.clock.now() - began == timedelta(seconds=5)


def test_while_the_next_attempt_waits_the_row_holds_cause_and_time() -> None:
    """What `status` shows of a retry: the number of the attempt, why the last one failed, when the next one starts."""
    env, row = submitted(Ending.FAILED)
    now = env.memory.clock.now()
    steps = completion(env.dependencies, row.run)
    call = next(steps)
    while call.effect is not Effect.WAIT:
        call = steps.send(call.do())
    waiting = env.dependencies.workloads.get(row.id)

    assert (waiting.state, waiting.attempt, waiting.limit) == (State.SUBMITTING, 2, 3)
    assert [each.cause for each in waiting.failed] == [FailureCause.RUN_FAILED]
    assert waiting.not_before == now + timedelta(seconds=5)


@pytest.mark.parametrize(
    ("ending", "body", "cause"),
    [
        (Ending.FAILED, b"good:1", FailureCause.RUN_FAILED),
        (Ending.CANCELLED, b"good:1", FailureCause.RUN_CANCELLED),
        (Ending.TIMED_OUT, b"good:1", FailureCause.RUN_CANCELLED),
        (Ending.EMPTY, b"good:1", FailureCause.NO_RESULT),
        (Ending.CONFUSED, b"good:1", FailureCause.WRONG_RESULT),
        (Ending.ANSWERED, b"error:1", FailureCause.UNDECIDED),
    ],
)
def test_every_way_an_attempt_comes_to_nothing_has_its_cause(ending: Ending, body: bytes, cause: FailureCause) -> None:
    """The cause is found out with the failure and kept in the row."""
    env, row = submitted(ending, body=body)

    assert [cause] == [each.cause for each in after_event(env, row).failed]


def test_a_hung_run_and_a_run_that_emr_does_not_know_have_their_causes() -> None:
    """The sweep finds what no event reported, with its cause."""
    env, row = submitted(Ending.HUNG)
    env.memory.clock.sleep(90 * 60)
    drive(env.dependencies, sweep(env.dependencies))
    del env.memory.jobs.runs[env.dependencies.workloads.get(row.id).run]
    env.memory.clock.sleep(90 * 60)
    drive(env.dependencies, sweep(env.dependencies))

    assert [each.cause for each in env.dependencies.workloads.get(row.id).failed] == [
        FailureCause.RUN_HUNG,
        FailureCause.NO_RESULT,
    ]


def test_a_token_that_was_taken_is_a_cause() -> None:
    """An attempt that EMR refuses to start has no run, and is followed by the next one."""
    env = Environment()
    upload = env.upload(KEY, b"good:1")
    env.collide(upload.workload, 1)
    drive(env.dependencies, intake(env.dependencies, LANDING, KEY))
    row = env.dependencies.workloads.get(upload.workload)

    assert [(each.number, each.run, each.cause) for each in row.failed] == [(1, "", FailureCause.TOKEN_TAKEN)]


def test_back_off_doubles_up_to_its_limit() -> None:
    """5, 10 and 20 seconds, then half a minute each."""
    env, row = submitted(*[Ending.FAILED] * 9)
    env.memory.write(row._replace(limit=10))
    pauses = []
    for _ in range(6):
        row, began = env.dependencies.workloads.get(row.id), env.memory.clock.now()
        after_event(env, row)
        played(env)
        pauses.append((env.memory.clock.now() - began).total_seconds())

    assert pauses == [5, 10, 20, 30, 30, 30]


@pytest.mark.parametrize(("before", "waits"), [(0, False), (6, False), (7, True), (8, False), (15, True)])
def test_every_eighth_overtaken_attempt_is_left_to_sweep(before: int, *, waits: bool) -> None:
    """Lambda ends a chain of invocations that call each other some sixteen times; a schedule begins another one."""
    env, row = submitted()
    now, timing = env.memory.clock.now(), env.dependencies.timing
    failed = (FailedAttempt(1, "run", FailureCause.RUN_FAILED, now),)
    failed += tuple(FailedAttempt(2 + number, "run", FailureCause.OVERTAKEN, now) for number in range(before))

    assert back_off(timing, now, row._replace(failed=failed), FailureCause.OVERTAKEN) == (
        now + timing.poll if waits else None
    )


def test_giving_up_reports_the_cause_of_the_last_attempt() -> None:
    """The message `failed` has the cause; the row keeps the cause of every attempt."""
    env, row = submitted(*[Ending.FAILED] * 3)
    for _ in range(3):
        row = after_event(env, env.dependencies.workloads.get(row.id))
        played(env)
    [message] = env.memory.messages.values()

    assert row.state is State.FAILED
    assert [(each.number, each.cause) for each in row.failed] == [(n, FailureCause.RUN_FAILED) for n in (1, 2, 3)]
    assert json.loads(message.body)["cause"] == "run-failed"


def test_a_sweep_waits_once_for_all_that_it_prepares() -> None:
    """Twenty hung runs cost one sweep and one pause, not one each."""
    env = Environment([Ending.HUNG] * 20)
    for number in range(20):
        key = f"{PREFIX}{number}.csv"
        env.upload(key, f"good:{number}".encode())
        drive(env.dependencies, intake(env.dependencies, LANDING, key))
    played(env)
    env.memory.clock.sleep(90 * 60)
    began = env.memory.clock.now()
    drive(env.dependencies, sweep(env.dependencies))

    assert {(row.state, row.attempt) for row in env.memory.workloads.values()} == {(State.VALIDATING, 2)}
    assert env.memory.clock.now() - began == timedelta(seconds=5)


def test_another_worker_may_start_the_attempt_meanwhile() -> None:
    """Anyone who waits looks again when the pause is over: one attempt has one run."""
    env, row = submitted(Ending.FAILED)

    def meanwhile() -> None:
        env.memory.clock.sleep(60)
        drive(env.dependencies, sweep(env.dependencies))

    refused_at(env, Effect.WAIT, completion(env.dependencies, row.run), meanwhile)
    after = env.dependencies.workloads.get(row.id)

    assert (after.state, after.attempt) == (State.VALIDATING, 2)
    assert len(env.memory.jobs.runs) == 3  # one is somebody else's


def test_a_long_pause_of_an_older_release_is_left_to_the_sweep() -> None:
    """A row whose next attempt is minutes away keeps no worker waiting."""
    env, row = submitted(Ending.FAILED)
    later = env.memory.clock.now() + timedelta(minutes=5)
    waiting = row._replace(state=State.SUBMITTING, attempt=2, not_before=later)

    assert pause_of(DeliveryTurn(env.dependencies, waiting)) == 0.0
    assert pause_of(DeliveryTurn(env.dependencies, waiting._replace(not_before=None))) == 0.0
    assert (
        pause_of(
            DeliveryTurn(env.dependencies, waiting._replace(not_before=env.memory.clock.now() - timedelta(minutes=5)))
        )
        == 0.0
    )


def test_a_result_that_is_none_is_a_wrong_result() -> None:
    """Bytes at the place of the result that nobody can read cost the attempt, and say so."""
    env, row = submitted(Ending.EMPTY)
    env.memory.objects.put(Address(LAKE, f"runs/{row.id}/attempt=1/result.json"), b"nonsense")

    assert [each.cause for each in after_event(env, row).failed] == [FailureCause.WRONG_RESULT]


def test_a_burst_that_waits_too_long_is_not_given_up() -> None:
    """A run whose time in the queue is over costs no attempt, however often: three real attempts are left."""
    waiting, env_endings = [Ending.QUEUE_TIMED_OUT] * 5, [Ending.FAILED, Ending.FAILED]
    env, row = submitted(*waiting, *env_endings)
    for _ in range(7):
        row = after_event(env, row)
        played(env)
    row = after_event(env, row)

    assert (row.state, row.attempt) == (State.PUBLISHED, 8)
    assert [each.cause for each in row.failed] == [FailureCause.NOT_STARTED] * 5 + [FailureCause.RUN_FAILED] * 2


def test_waiting_has_a_bound() -> None:
    """A queue that never moves ends as FAILED after so many waits and three attempts more; nothing is tried for ever."""
    env, row = submitted(*[Ending.QUEUE_TIMED_OUT] * 30)
    tries = 0
    while row.state is not State.FAILED:
        tries += 1
        row = after_event(env, row)
        played(env)

    assert tries == env.dependencies.timing.waits + 3
    assert {each.cause for each in row.failed} == {FailureCause.NOT_STARTED}


@pytest.mark.parametrize(
    ("run", "cause"),
    [
        (JobRun("w", JobState.CANCELLED, started=False), FailureCause.NOT_STARTED),
        (JobRun("w", JobState.FAILED, timedelta(hours=6), started=False), FailureCause.NOT_STARTED),
        (JobRun("w", JobState.FAILED, timedelta(minutes=15), started=False), FailureCause.NOT_STARTED),
        (JobRun("w", JobState.FAILED, timedelta(seconds=5), started=False), FailureCause.RUN_FAILED),
        (JobRun("w", JobState.CANCELLED, timedelta(hours=6)), FailureCause.RUN_CANCELLED),
    ],
)
def test_only_a_run_that_never_ran_has_waited(
    monkeypatch: pytest.MonkeyPatch, run: JobRun, cause: FailureCause
) -> None:
    """EMR Serverless does not document how a run ends whose time in the queue is over; a refused run fails at once."""
    env, row = landed()
    monkeypatch.setattr(env.memory.jobs, "describe", lambda _: run)

    assert observe(DeliveryTurn(env.dependencies, row)) == Observation(Outcome.LOST, cause=cause)


def test_a_run_that_gets_no_capacity_in_time_has_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before RUNNING, EMR Serverless allocates capacity: past its deadline the run is cancelled, and counts as waiting."""
    env, row = landed()
    monkeypatch.setattr(env.memory.jobs, "describe", lambda _: JobRun(row.id, JobState.RUNNING, started=False))
    early = observe(DeliveryTurn(env.dependencies, row))
    env.memory.clock.sleep(75 * 60)

    assert early is None
    assert observe(DeliveryTurn(env.dependencies, row)) == Observation(Outcome.LOST, cause=FailureCause.NOT_STARTED)

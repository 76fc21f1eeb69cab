"""A failed attempt: recorded with its cause, and followed by the next one within seconds."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from contracts.workflow import State
from functions.memory.jobs import Ending
from functions.ports import Address
from functions.usecases.advance import pause_of
from functions.usecases.completion import completion
from functions.usecases.intake import intake
from functions.usecases.steps import Effect, run
from functions.usecases.sweep import sweep
from functions.workload import Cause, FailedAttempt
from tests.simulation.world import LAKE, LANDING, PREFIX, World
from tests.unit.usecases.worlds import KEY, drive, refused_at

if TYPE_CHECKING:
    from functions.workload import Workload


def submitted(*endings: Ending, body: bytes = b"good:1") -> tuple[World, Workload]:
    """A world whose job runs end so; the first one has ended, and nobody was told."""
    world = World(list(endings))
    upload = world.upload(KEY, body)
    drive(world.gate, intake(world.gate, LANDING, KEY))
    played(world)
    return world, world.gate.workloads.get(upload.workload)


def played(world: World) -> None:
    for _, job in world.new_jobs():
        run(job, world.gate.clock)


def told(world: World, row: Workload) -> Workload:
    """The row after the event of its run arrived."""
    drive(world.gate, completion(world.gate, row.run))
    return world.gate.workloads.get(row.id)


def test_a_failed_run_is_tried_again_within_seconds() -> None:
    """The worker that hears of the failure starts the next attempt: no sweep is waited for."""
    world, row = submitted(Ending.FAILED)
    began = world.memory.clock.now()
    after = told(world, row)

    assert (after.state, after.attempt) == (State.VALIDATING, 2)
    assert after.failed == (FailedAttempt(1, row.run, Cause.RUN_FAILED, began),)
    assert world.memory.clock.now() - began == timedelta(seconds=5)


def test_while_the_next_attempt_waits_the_row_says_why_and_until_when() -> None:
    """What `status` shows of a retry: the number of the attempt, why the last one failed, when the next one starts."""
    world, row = submitted(Ending.FAILED)
    now = world.memory.clock.now()
    steps = completion(world.gate, row.run)
    call = next(steps)
    while call.effect is not Effect.WAIT:
        call = steps.send(call.do())
    waiting = world.gate.workloads.get(row.id)

    assert (waiting.state, waiting.attempt, waiting.limit) == (State.SUBMITTING, 2, 3)
    assert [each.cause for each in waiting.failed] == [Cause.RUN_FAILED]
    assert waiting.not_before == now + timedelta(seconds=5)


@pytest.mark.parametrize(
    ("ending", "body", "cause"),
    [
        (Ending.FAILED, b"good:1", Cause.RUN_FAILED),
        (Ending.CANCELLED, b"good:1", Cause.RUN_CANCELLED),
        (Ending.TIMED_OUT, b"good:1", Cause.RUN_CANCELLED),
        (Ending.EMPTY, b"good:1", Cause.NO_RESULT),
        (Ending.CONFUSED, b"good:1", Cause.WRONG_RESULT),
        (Ending.ANSWERED, b"error:1", Cause.UNDECIDED),
    ],
)
def test_every_way_an_attempt_comes_to_nothing_has_its_cause(ending: Ending, body: bytes, cause: Cause) -> None:
    """The cause is found out with the failure and kept in the row."""
    world, row = submitted(ending, body=body)

    assert [cause] == [each.cause for each in told(world, row).failed]


def test_a_hung_run_and_a_run_that_emr_does_not_know_have_their_causes() -> None:
    """What no event tells of is found by the sweep, with its cause."""
    world, row = submitted(Ending.HUNG)
    world.memory.clock.sleep(90 * 60)
    drive(world.gate, sweep(world.gate))
    del world.memory.jobs.runs[world.gate.workloads.get(row.id).run]
    world.memory.clock.sleep(90 * 60)
    drive(world.gate, sweep(world.gate))

    assert [each.cause for each in world.gate.workloads.get(row.id).failed] == [Cause.RUN_HUNG, Cause.NO_RESULT]


def test_a_token_that_was_taken_is_a_cause() -> None:
    """An attempt that EMR refuses to start has no run, and is followed by the next one."""
    world = World()
    upload = world.upload(KEY, b"good:1")
    world.collide(upload.workload, 1)
    drive(world.gate, intake(world.gate, LANDING, KEY))
    row = world.gate.workloads.get(upload.workload)

    assert [(each.number, each.run, each.cause) for each in row.failed] == [(1, "", Cause.TOKEN_TAKEN)]


def test_back_off_doubles_up_to_its_limit() -> None:
    """5, 10 and 20 seconds, then half a minute each."""
    world, row = submitted(*[Ending.FAILED] * 9)
    world.memory.rows.write(replace(row, limit=10))
    pauses = []
    for _ in range(6):
        row, began = world.gate.workloads.get(row.id), world.memory.clock.now()
        told(world, row)
        played(world)
        pauses.append((world.memory.clock.now() - began).total_seconds())

    assert pauses == [5, 10, 20, 30, 30, 30]


def test_giving_up_tells_the_cause_of_the_last_attempt() -> None:
    """The message `failed` says why; the row keeps the cause of every attempt."""
    world, row = submitted(*[Ending.FAILED] * 3)
    for _ in range(3):
        row = told(world, world.gate.workloads.get(row.id))
        played(world)
    [message] = world.memory.rows.messages.values()

    assert row.state is State.FAILED
    assert [(each.number, each.cause) for each in row.failed] == [(n, Cause.RUN_FAILED) for n in (1, 2, 3)]
    assert json.loads(message.body)["cause"] == "run-failed"


def test_a_sweep_waits_once_for_all_that_it_prepares() -> None:
    """Twenty hung runs cost one sweep and one pause, not one each."""
    world = World([Ending.HUNG] * 20)
    for number in range(20):
        key = f"{PREFIX}{number}.csv"
        world.upload(key, f"good:{number}".encode())
        drive(world.gate, intake(world.gate, LANDING, key))
    played(world)
    world.memory.clock.sleep(90 * 60)
    began = world.memory.clock.now()
    drive(world.gate, sweep(world.gate))

    assert {(row.state, row.attempt) for row in world.memory.rows.rows.values()} == {(State.VALIDATING, 2)}
    assert world.memory.clock.now() - began == timedelta(seconds=5)


def test_another_worker_may_start_the_attempt_meanwhile() -> None:
    """Whoever waits looks again when the pause is over: one attempt has one run."""
    world, row = submitted(Ending.FAILED)

    def meanwhile() -> None:
        world.memory.clock.sleep(60)
        drive(world.gate, sweep(world.gate))

    refused_at(world, Effect.WAIT, completion(world.gate, row.run), meanwhile)
    after = world.gate.workloads.get(row.id)

    assert (after.state, after.attempt) == (State.VALIDATING, 2)
    assert len(world.memory.jobs.runs) == 3  # one is somebody else's


def test_a_long_pause_of_an_older_release_is_left_to_the_sweep() -> None:
    """A row whose next attempt is minutes away keeps no worker waiting."""
    world, row = submitted(Ending.FAILED)
    later = world.memory.clock.now() + timedelta(minutes=5)
    waiting = replace(row, state=State.SUBMITTING, attempt=2, not_before=later)

    assert pause_of(world.gate, waiting) == 0.0
    assert pause_of(world.gate, replace(waiting, not_before=None)) == 0.0
    assert pause_of(world.gate, replace(waiting, not_before=world.memory.clock.now() - timedelta(minutes=5))) == 0.0


def test_a_result_that_is_none_is_a_wrong_result() -> None:
    """Bytes at the place of the result that nobody can read cost the attempt, and say so."""
    world, row = submitted(Ending.EMPTY)
    world.memory.objects.put(Address(LAKE, f"runs/{row.id}/attempt=1/result.json"), b"nonsense")

    assert [each.cause for each in told(world, row).failed] == [Cause.WRONG_RESULT]

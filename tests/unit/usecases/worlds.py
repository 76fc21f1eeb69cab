"""Worlds at certain points of a delivery's way, for tests of what lies beyond the simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contracts.errors import LakegateError
from functions.ports import (
    Address,
)
from functions.usecases.advance import advance
from functions.usecases.intake import intake
from functions.usecases.steps import Alarm, Effect, run
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.world import LAKE, LANDING, PREFIX, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from functions.usecases.gate import Gate
    from functions.usecases.steps import Call, Steps
    from functions.workload import Workload

KEY = f"{PREFIX}day.csv"


def drive(gate: Gate, steps: Steps[object]) -> object:
    return run(steps, gate.clock)


def landed(body: bytes = b"good:1") -> tuple[World, Workload]:
    """A world in which one upload was taken in and its job is running."""
    world = World()
    upload = world.upload(KEY, body)
    drive(world.gate, intake(world.gate, LANDING, KEY))
    return world, world.gate.workloads.get(upload.workload)


def answered(body: bytes = b"good:1") -> tuple[World, Workload]:
    """The same with the job's result written, and nobody told."""
    world, row = landed(body)
    for _, job in world.new_jobs():
        run(job, world.gate.clock)
    return world, row


def decided(body: bytes = b"good:1") -> tuple[World, Workload]:
    """The same, decided, and stopped there."""
    world, row = answered(body)
    steps = advance(world.gate, row)
    call = next(steps)
    assert call.effect is Effect.DECIDE
    call.do()
    steps.close()
    return world, world.gate.workloads.get(row.id)


def swapped(world: World, key: str, body: bytes) -> None:
    """Exchange what lies at a key, as nobody should be able to."""
    world.memory.objects.delete(Address(LAKE, key))
    world.memory.objects.put(Address(LAKE, key), body)


def alarm_of(world: World, row: Workload) -> str:
    with pytest.raises(Alarm) as raised:
        drive(world.gate, advance(world.gate, row))
    return raised.value.code


def refused_at(world: World, effect: Effect, steps: Steps[object], meanwhile: Callable[[], object]) -> object:
    """Drive a worker to an effect, let the world go on, then let it perform and finish; returns what it returned."""
    call = next(steps)
    while call.effect is not effect:
        call = steps.send(call.do())
    meanwhile()
    return drive(world.gate, resumed(steps, call))


def resumed(steps: Steps[object], call: Call) -> Steps[object]:
    try:
        while True:
            try:
                answer = yield call
            except LakegateError as refused:
                call = steps.throw(refused)
            else:
                call = steps.send(answer)
    except StopIteration as end:
        return end.value


def quarantined() -> tuple[World, Workload]:
    world = World()
    upload = world.upload(KEY, b"mild:1")
    world.publish("1.1.0", "active")
    settle(Stage(world, lambda _: Fault.NONE))
    return world, world.gate.workloads.get(upload.workload)

"""Environments at certain steps of a delivery, for tests of what the simulation does not cover."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakegate.base.errors import LakegateError
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Alarm, Call, Effect, Steps, run
from lakegate.gate.ports import Address
from tests.simulation.environment import LAKE, LANDING, PREFIX, Environment
from tests.simulation.stage import Fault, Stage, settle

KEY = f"{PREFIX}day.csv"


def drive(dependencies: Dependencies, steps: Steps[object]) -> object:
    return run(steps, dependencies.clock)


def landed(body: bytes = b"good:1", key: str = KEY, env: Environment | None = None) -> tuple[Environment, Workload]:
    """An environment in which one upload was taken in and its job is running."""
    env = env or Environment()
    upload = env.upload(key, body)
    drive(env.dependencies, intake(env.dependencies, LANDING, key))
    return env, env.dependencies.workloads.get(upload.workload)


def answered(body: bytes = b"good:1", key: str = KEY, env: Environment | None = None) -> tuple[Environment, Workload]:
    """The same with the job's result written, and no event sent."""
    env, row = landed(body, key, env)
    for _, job in env.new_jobs():
        run(job, env.dependencies.clock)
    return env, row


def decided(body: bytes = b"good:1", key: str = KEY, env: Environment | None = None) -> tuple[Environment, Workload]:
    """The same, decided, and stopped there."""
    env, row = answered(body, key, env)
    steps = advance(DeliveryTurn(env.dependencies, row))
    call = next(steps)
    assert call.effect is Effect.DECIDE
    call.do()
    steps.close()
    return env, env.dependencies.workloads.get(row.id)


def swapped(env: Environment, key: str, body: bytes) -> None:
    """Exchange what lies at a key, as nobody should be able to."""
    env.memory.objects.delete(Address(LAKE, key))
    env.memory.objects.put(Address(LAKE, key), body)


def alarm_of(env: Environment, row: Workload) -> str:
    with pytest.raises(Alarm) as raised:
        drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))
    return raised.value.code


def refused_at(env: Environment, effect: Effect, steps: Steps[object], meanwhile: Callable[[], object]) -> object:
    """Drive a worker to an effect, call `meanwhile`, then let it perform and finish; returns what it returned."""
    call = next(steps)
    while call.effect is not effect:
        call = steps.send(call.do())
    meanwhile()
    return drive(env.dependencies, resumed(steps, call))


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


def quarantined() -> tuple[Environment, Workload]:
    env = Environment()
    upload = env.upload(KEY, b"mild:1")
    env.publish("1.1.0", "active")
    settle(Stage(env, lambda _: Fault.NONE))
    return env, env.dependencies.workloads.get(upload.workload)

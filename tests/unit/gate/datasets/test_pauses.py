"""What a pause and its end do in cases that random schedules meet rarely."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from lakegate.base.errors import ConditionFailed, InputError, Throttled
from lakegate.gate.datasets.pauses import pause, resume
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_row import replay_id
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Effect
from lakegate.gate.ports import Address
from lakegate.gate.sweep import sweep
from tests.decisions import replay
from tests.fakes import Memory
from tests.simulation.environment import LAKE, LANDING, PREFIX, Environment
from tests.simulation.pauses import LINE
from tests.unit.gate.scenarios import drive, quarantined, refused_at
from tests.unit.gate.scenarios import resumed as continued


def held(*names: str, lag: float = 0.0) -> Environment:
    """A paused line; the uploads of these names are held, each a minute later than the one before."""
    env = Environment(memory=Memory.of(LANDING, LAKE, lag=lag))
    drive(env.dependencies, pause(env.dependencies, LINE, ""))
    for name in names:
        env.upload(f"{PREFIX}{name}.csv", f"good:{name}".encode())
        env.memory.clock.sleep(60)
    for name in reversed(names):
        drive(env.dependencies, intake(env.dependencies, LANDING, f"{PREFIX}{name}.csv"))
    return env


def states(env: Environment) -> list[State]:
    """In the order of the uploads."""
    return [env.memory.workloads[each.workload].state for each in env.uploads]


def resumed(env: Environment) -> None:
    drive(env.dependencies, resume(env.dependencies, LINE))


def test_a_line_is_judged_in_order_of_arrival_a_batch_at_a_time() -> None:
    """Jobs are started in the order in which files landed, not in that of their names or of their intake."""
    env = held("d", "c", "b", "a", lag=30.0)
    resumed(env)
    env.memory.clock.sleep(60)
    drive(env.dependencies, sweep(env.dependencies, batch=2))
    runs = [run.request["name"] for run in list(env.memory.jobs.runs.values())[1:]]

    assert runs == [each.workload for each in env.uploads]
    assert env.memory.pauses == {}


def test_a_lagging_index_lets_no_held_delivery_overtake_another() -> None:
    """The later of two was due, because its worker had died; it is held, but the index has it as due when the pause ends."""
    env = held("a", lag=30.0)
    later = env.upload(f"{PREFIX}b.csv", b"good:b")
    steps = intake(env.dependencies, LANDING, f"{PREFIX}b.csv")
    call = next(steps)
    while call.effect is not Effect.PIN:
        call = steps.send(call.do())
    steps.close()
    env.memory.clock.sleep(3600)
    drive(env.dependencies, advance(DeliveryTurn(env.dependencies, env.memory.workloads[later.workload])))
    resumed(env)
    for _ in range(2):
        drive(env.dependencies, sweep(env.dependencies))
        env.memory.clock.sleep(60)

    runs = [run.request["name"] for run in list(env.memory.jobs.runs.values())[1:]]

    assert runs == [each.workload for each in env.uploads]


def test_nothing_overtakes_a_delivery_that_cannot_be_judged_now() -> None:
    """A refusal of AWS ends the turn of the line; the next sweep continues with the same delivery."""
    env = held("a", "b")
    resumed(env)
    heads = env.memory.objects.head
    refused = iter((True,))

    def head(where: Address) -> object:
        if where.bucket == LANDING and next(refused, False):
            raise Throttled("HeadObject")
        return heads(where)

    env.memory.objects.head = head  # type: ignore[method-assign,assignment]  # one refusal
    swept = drive(env.dependencies, sweep(env.dependencies))

    assert states(env) == [State.HELD, State.HELD]
    assert [type(each) for each in swept.failures] == [Throttled]  # type: ignore[attr-defined]  # what a sweep returns
    drive(env.dependencies, sweep(env.dependencies))
    assert states(env) == [State.VALIDATING, State.VALIDATING]


def test_a_sweep_without_time_leaves_what_is_held() -> None:
    """The next one continues."""
    env = held("a")
    resumed(env)
    short = iter([100.0, 10.0])
    hurried = replace(env.dependencies, remaining=lambda: next(short, 10.0))
    drive(hurried, sweep(hurried))
    first = states(env)
    drive(hurried, sweep(hurried))
    drive(env.dependencies, sweep(env.dependencies))

    assert first in ([State.HELD], [State.VALIDATING])
    assert states(env) == [State.VALIDATING]


def test_a_line_paused_again_keeps_what_it_still_holds() -> None:
    """A worker that found it resumed pins nothing any more."""
    env = held("a")
    resumed(env)
    row = env.memory.workloads[env.uploads[0].workload]
    again = partial(drive, env.dependencies, pause(env.dependencies, LINE, ""))
    refused_at(env, Effect.PIN, advance(DeliveryTurn(env.dependencies, row)), again)

    assert states(env) == [State.HELD]
    assert env.memory.pauses[LINE].held == 1
    drive(env.dependencies, sweep(env.dependencies))
    assert states(env) == [State.HELD]


def test_a_delivery_that_would_be_held_too_late_is_judged() -> None:
    """The pause ended between the look and the write."""
    env = Environment()
    drive(env.dependencies, pause(env.dependencies, LINE, ""))
    upload = env.upload(f"{PREFIX}a.csv", b"good:1")

    steps = intake(env.dependencies, LANDING, upload.version.key)
    call = steps.send(next(steps).do())
    assert call.effect is Effect.PIN
    with pytest.raises(ConditionFailed) as refused:
        call.do()
    hold = steps.throw(refused.value)
    resumed(env)
    env.dependencies.pauses.end(LINE)
    drive(env.dependencies, continued(steps, hold))

    assert (hold.effect, states(env)) == (Effect.HOLD, [State.VALIDATING])


def test_a_replay_of_a_paused_line_is_held() -> None:
    """It arrives when it is asked for, whenever its source was quarantined."""
    env, row = quarantined()
    drive(env.dependencies, pause(env.dependencies, LINE, ""))
    drive(env.dependencies, replay(env.dependencies, row.id))
    waiting = env.memory.workloads[replay_id(row.id)]

    assert (waiting.state, waiting.due_at, waiting.held) == (State.HELD, env.memory.clock.now(), LINE)
    resumed(env)
    env.memory.clock.sleep(60)
    drive(env.dependencies, sweep(env.dependencies))
    assert env.memory.workloads[replay_id(row.id)].state is State.VALIDATING


def test_a_held_delivery_whose_version_was_deleted_is_gone() -> None:
    """The line is resumed with the others."""
    env = held("a", "b")
    env.delete(env.uploads[0])
    resumed(env)
    drive(env.dependencies, sweep(env.dependencies))

    assert states(env) == [State.GONE, State.VALIDATING]
    assert env.memory.pauses == {}


def test_a_sweep_whose_time_is_short_lets_nothing_go() -> None:
    """What is held stays in order for the next one; a reason has a bounded length."""
    env = held("a")
    resumed(env)
    hurried = replace(env.dependencies, remaining=lambda: 10.0)
    drive(hurried, sweep(hurried))

    assert states(env) == [State.HELD]
    with pytest.raises(InputError, match="at most 500 characters"):
        drive(env.dependencies, pause(env.dependencies, LINE, "x" * 501))


def test_what_another_worker_let_go_is_left_to_it() -> None:
    """The index still lists a delivery that is held no more: the sweep does not move it without its lease."""
    env = held("a", "b", lag=30.0)
    resumed(env)
    env.memory.clock.sleep(60)
    env.dependencies.pauses.held(LINE, 10)  # the index has caught up, and lags again from here on
    first = env.memory.workloads[env.uploads[0].workload]
    steps = advance(DeliveryTurn(env.dependencies, first))
    next(steps).do()
    drive(env.dependencies, sweep(env.dependencies))

    assert states(env) == [State.PINNED, State.VALIDATING]
    assert env.memory.pauses == {}

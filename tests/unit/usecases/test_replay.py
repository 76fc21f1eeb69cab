"""An operator asks again: twice is once."""

from __future__ import annotations

import pytest

from contracts.errors import InputError
from functions.memory.jobs import Ending
from functions.ports import (
    Address,
    ConditionFailed,
)
from functions.usecases.replay import replay
from functions.usecases.steps import run
from functions.usecases.sweep import sweep
from functions.workload import State
from tests.simulation.promises import Promises
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.world import LAKE, World
from tests.unit.usecases.worlds import (
    KEY,
    drive,
    landed,
    quarantined,
)


def test_a_quarantined_delivery_is_judged_again_under_the_contract_of_now() -> None:
    """The replay is a new workload; its source leaves quarantine once it rests elsewhere; asking twice is asking once."""
    world, row = quarantined()
    world.publish("1.0.0", "active")
    again = [drive(world.gate, replay(world.gate, row.id)) for _ in range(2)]
    for _, job in world.new_jobs():
        run(job, world.gate.clock)
    world.memory.clock.sleep(600)
    drive(world.gate, sweep(world.gate))
    replayed = world.gate.workloads.get(str(again[0]))
    places = Promises(world).places

    assert again[0] == again[1]
    assert (row.state, replayed.state) == (State.QUARANTINED, State.PUBLISHED)
    assert places(row.id) == {}
    assert list(places(replayed.id).values()) == [b"mild:1"]


def test_what_was_replayed_is_replayed_by_its_replay() -> None:
    """The quarantined copy is gone: the replay is the one to ask for."""
    world, row = quarantined()
    assert row.pin is not None
    place = f"quarantine/{row.pin.chain}/ingest_date={row.pin.ingest_date}/workload={row.id}/part-00000.csv"
    world.memory.objects.delete(Address(LAKE, place))
    with pytest.raises(InputError):
        drive(world.gate, replay(world.gate, row.id))


def test_only_what_failed_or_was_refused_is_replayed() -> None:
    """A delivery on its way, and one that nobody knows, are not."""
    world, row = landed()
    for workload in (row.id, "nobody"):
        with pytest.raises(InputError):
            drive(world.gate, replay(world.gate, workload))


def test_two_operators_revive_one_workload_once() -> None:
    """The second is overtaken by the first, and hears the same id."""
    world = World([Ending.FAILED] * 3)
    upload = world.upload(KEY, b"good:1")
    settle(Stage(world, lambda _: Fault.NONE))
    first, second = (replay(world.gate, upload.workload) for _ in range(2))
    waiting = next(second)
    run(first, world.gate.clock)
    with pytest.raises(ConditionFailed) as refused:
        waiting.do()
    with pytest.raises(StopIteration) as end:
        second.throw(refused.value)

    assert upload.workload == end.value.value
    assert State.VALIDATING is world.gate.workloads.get(upload.workload).state


def test_two_operators_replay_one_workload_once() -> None:
    """The second finds the replay that the first created."""
    world, row = quarantined()
    first, second = (replay(world.gate, row.id) for _ in range(2))
    waiting = next(second)
    identity = run(first, world.gate.clock)
    with pytest.raises(ConditionFailed) as refused:
        waiting.do()
    with pytest.raises(StopIteration) as end:
        second.throw(refused.value)

    assert identity == end.value.value
    assert len(world.memory.jobs.runs) == 3  # somebody else's, the first judgement's, the replay's

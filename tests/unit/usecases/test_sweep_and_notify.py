"""The two schedules: one trouble delays no other."""

from __future__ import annotations

import pytest

from functions.ports import (
    Address,
    Throttled,
)
from functions.usecases.intake import intake
from functions.usecases.notify import notify
from functions.usecases.steps import Alarm, run
from functions.usecases.sweep import sweep
from functions.workload import Message, State
from tests.simulation.meaning import DIGESTS
from tests.simulation.world import LAKE, LANDING, PREFIX, World
from tests.unit.usecases.worlds import (
    KEY,
    drive,
)


def test_a_sweep_tells_its_troubles_and_goes_on() -> None:
    """One workload that raises keeps no other from being swept."""
    world = World()
    world.publish("1.1.0", "active")
    bad = world.upload(KEY, b"good:1")
    world.memory.objects.delete(Address(LAKE, f"plans/{DIGESTS['1.1.0']}.json"))
    with pytest.raises(Alarm):
        drive(world.gate, intake(world.gate, LANDING, KEY))
    world.publish("1.0.0", "active")
    good = world.upload(f"{PREFIX}other.csv", b"good:2")
    world.memory.clock.sleep(600)
    swept = run(sweep(world.gate), world.gate.clock)

    assert [trouble.code for trouble in swept.troubles if isinstance(trouble, Alarm)] == ["plan-missing"]
    assert State.PINNED is world.gate.workloads.get(bad.workload).state
    assert State.VALIDATING is world.gate.workloads.get(good.workload).state
    assert swept.looked_at >= 2


def test_staging_of_an_unknown_workload_is_left_alone() -> None:
    """What the sweep cannot attribute it does not delete."""
    world = World()
    world.memory.objects.put(Address(LAKE, "staging/unknown/part-00000"), b"x")
    drive(world.gate, sweep(world.gate))

    assert world.memory.objects.current(LAKE, "staging/") == {"staging/unknown/part-00000": b"x"}


def test_a_large_bucket_is_seen_whole_over_several_sweeps() -> None:
    """The cursor is kept: a batch smaller than the bucket misses nothing, and starts anew at the end."""
    world = World()
    for number in range(7):
        world.upload(f"elsewhere/{number}.csv", f"good:{number}".encode())
    for _ in range(4):
        drive(world.gate, sweep(world.gate, 2))

    assert len(world.memory.rows.rows) == 7


def test_a_message_that_cannot_be_sent_stays_and_delays_no_other() -> None:
    """At least once, each for itself."""
    world = World()
    for number in range(2):
        message = Message(f"m{number}", "w", "gone", "{}", world.gate.clock.now())
        world.memory.rows.post(message)
    world.memory.clock.sleep(60)
    world.memory.weather.refusals.extend([Throttled()] * 5)
    troubles = run(notify(world.gate), world.gate.clock)

    assert [Throttled] == [type(trouble) for trouble in troubles]
    assert [message.id for message in world.memory.notifier.sent] == ["m1"]
    assert list(world.memory.rows.messages) == ["m0"]

"""The two schedules: one trouble delays no other."""

from __future__ import annotations

import pytest

from lakegate.functions.ports.errors import Throttled
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases.intake import intake
from lakegate.functions.usecases.notify import notify
from lakegate.functions.usecases.steps import Alarm, run
from lakegate.functions.usecases.sweep import sweep
from lakegate.functions.workload import Message, State
from tests.simulation.contract import DIGESTS
from tests.simulation.environment import LAKE, LANDING, PREFIX, Environment
from tests.unit.usecases.scenarios import (
    KEY,
    drive,
)


def test_a_sweep_reports_its_errors_and_continues() -> None:
    """One workload that raises keeps no other from being swept."""
    env = Environment()
    env.publish("1.1.0", "active")
    bad = env.upload(KEY, b"good:1")
    env.memory.objects.delete(Address(LAKE, f"plans/{DIGESTS['1.1.0']}.json"))
    with pytest.raises(Alarm):
        drive(env.dependencies, intake(env.dependencies, LANDING, KEY))
    env.publish("1.0.0", "active")
    good = env.upload(f"{PREFIX}other.csv", b"good:2")
    env.memory.clock.sleep(600)
    swept = run(sweep(env.dependencies), env.dependencies.clock)

    assert [trouble.code for trouble in swept.troubles if isinstance(trouble, Alarm)] == ["plan-missing"]
    assert State.PINNED is env.dependencies.workloads.get(bad.workload).state
    assert State.VALIDATING is env.dependencies.workloads.get(good.workload).state
    assert swept.looked_at >= 2


def test_staging_of_an_unknown_workload_is_left_alone() -> None:
    """What the sweep cannot attribute it does not delete."""
    env = Environment()
    env.memory.objects.put(Address(LAKE, "staging/unknown/part-00000"), b"x")
    drive(env.dependencies, sweep(env.dependencies))

    assert env.memory.objects.current(LAKE, "staging/") == {"staging/unknown/part-00000": b"x"}


def test_a_large_bucket_is_seen_whole_over_several_sweeps() -> None:
    """The cursor is kept: a batch smaller than the bucket misses nothing, and starts again at the end."""
    env = Environment()
    for number in range(7):
        env.upload(f"elsewhere/{number}.csv", f"good:{number}".encode())
    for _ in range(4):
        drive(env.dependencies, sweep(env.dependencies, 2))

    assert len(env.memory.rows.rows) == 7


def test_a_message_that_cannot_be_sent_stays_and_delays_no_other() -> None:
    """At least once, each for itself."""
    env = Environment()
    for number in range(2):
        message = Message(f"m{number}", "w", "gone", "{}", env.dependencies.clock.now())
        env.memory.rows.post(message)
    env.memory.clock.sleep(60)
    env.memory.faults.refusals.extend([Throttled()] * 5)
    troubles = run(notify(env.dependencies), env.dependencies.clock)

    assert [Throttled] == [type(trouble) for trouble in troubles]
    assert [message.id for message in env.memory.notifier.sent] == ["m1"]
    assert list(env.memory.rows.messages) == ["m0"]

"""More deliveries at once than EMR Serverless takes: they wait, and nothing else happens to them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Timing
from tests.simulation.throughput import AT_ONCE, Account, Simulation

QUICK = Account(runs=1_000, vcpus=4_000, run_seconds=1, times=AT_ONCE)
ENDLESS = QUICK._replace(run_seconds=3_600)


def uploaded(simulation: Simulation, count: int) -> Simulation:
    """So many uploads, each taken in at once."""
    simulation.upload(count)
    simulation.run(simulation.time.now_)
    return simulation


def until_closed(simulation: Simulation, minutes: int) -> None:
    for _ in range(minutes):
        if not simulation.open():
            return
        simulation.run(simulation.time.now_ + 60)


def test_a_burst_gets_times_to_start_and_is_not_throttled() -> None:
    """The first twenty start at once; each further one has the next time, and is waiting for nothing else."""
    burst, timing = uploaded(Simulation(ENDLESS), 30), Timing()
    began = burst.time.now()
    rows = list(burst.env.memory.workloads.values())
    waiting = sorted((row for row in rows if row.state is State.SUBMITTING), key=lambda row: str(row.not_before))

    assert (len(rows), len(waiting), burst.jobs.throttled, burst.failures) == (30, 10, 0, [])
    assert [row.not_before for row in waiting] == [began + (1 + n) * timing.start_interval for n in range(10)]
    assert [row.due_at for row in waiting] == [row.not_before for row in waiting]


@pytest.mark.parametrize("queued", [2_000, 5])
def test_nothing_of_a_burst_fails_however_little_the_service_takes(queued: int) -> None:
    """No message is delivered again, no sweep reports a failure, no attempt is lost; also where the queue is full at once."""
    burst = uploaded(Simulation(QUICK._replace(runs=3, queued=queued)), 150)
    until_closed(burst, 120)
    rows = burst.env.memory.workloads.values()

    assert (burst.failures, set(burst.states()), burst.lost()) == ([], {State.PUBLISHED}, [])
    assert {row.attempt for row in rows} == {1}


def test_a_start_that_is_refused_is_tried_later() -> None:
    """No message fails."""
    burst = uploaded(Simulation(QUICK._replace(queued=0)), 1)
    burst.run(10)
    assert (set(burst.states()), burst.failures) == ({State.SUBMITTING}, [])
    (row,) = burst.env.memory.workloads.values()
    longest = Timing().longest_backoff
    assert row.due_at is not None
    assert longest - timedelta(seconds=10) <= row.due_at - burst.time.now() <= longest

    burst.jobs.account = QUICK
    until_closed(burst, 20)
    assert set(burst.states()) == {State.PUBLISHED}


def test_an_idle_service_takes_the_next_burst_at_once() -> None:
    """After a quiet minute all tokens are there again."""
    burst = uploaded(Simulation(ENDLESS), 20)
    burst.run(60)
    uploaded(burst, 20)

    assert set(burst.states()) == {State.VALIDATING}

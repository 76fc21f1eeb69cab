"""More deliveries at once than EMR Serverless takes: they wait, and nothing else happens to them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lakegate.gate.delivery.delivery_row import Workload, workload_row
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Timing
from lakegate.gate.table import Put
from tests.simulation.throughput import AT_ONCE, SWEEP_EVERY, Account, Simulation, Times

QUICK = Account(runs=1_000, vcpus=4_000, run_seconds=2, times=AT_ONCE)
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


def waiting_rows(simulation: Simulation) -> list[Workload]:
    """What has a time at which it may start."""
    return [row for row in simulation.env.memory.workloads.values() if row.state is State.SUBMITTING]


def test_a_burst_gets_times_to_start_and_is_not_throttled() -> None:
    """The first twenty start at once; each further one has the next time, and is waiting for nothing else."""
    burst, timing = uploaded(Simulation(ENDLESS), 30), Timing()
    began = burst.time.now()
    waiting = sorted(waiting_rows(burst), key=lambda row: str(row.not_before))

    assert (len(burst.uploaded), len(waiting), burst.jobs.throttled, burst.failures) == (30, 10, 0, [])
    assert [row.not_before for row in waiting] == [began + (1 + n) * timing.start_interval for n in range(10)]
    assert [row.due_at for row in waiting] == [row.not_before for row in waiting]


@pytest.mark.parametrize(("queued", "refused"), [(2_000, 0), (5, 77)])
def test_nothing_of_a_burst_fails_however_little_the_service_takes(queued: int, refused: int) -> None:
    """No message is delivered again, no sweep reports a failure, no attempt is lost; also where the queue is full at once.

    A refused start reserves another time, so that of 150 at most `refused` are refused: without it they return at once (135).
    """
    burst = uploaded(Simulation(QUICK._replace(runs=3, queued=queued)), 150)
    until_closed(burst, 120)
    rows = burst.env.memory.workloads.values()

    assert (burst.failures, set(burst.states()), burst.lost()) == ([], {State.PUBLISHED}, [])
    assert {row.attempt for row in rows} == {1}
    assert burst.jobs.throttled <= refused


@pytest.mark.parametrize(("count", "seconds"), [(150, 2), (150, 90), (600, 20)])
def test_a_burst_goes_on_as_fast_as_runs_may_be_started(count: int, seconds: float) -> None:
    """However long runs take: the last one starts at its time, and none is refused; one function after another sees to it."""
    burst = Simulation(QUICK._replace(run_seconds=seconds, times=Times()))
    burst.upload(count)
    burst.run((count - 20) * Timing().start_interval.total_seconds() + seconds + 10)

    assert (burst.states(), burst.jobs.throttled, burst.failures) == ({State.PUBLISHED: count}, 0, [])


def test_what_cannot_be_started_stops_none_that_wait_after_it() -> None:
    """No message fails by it; it is reported, and by each sweep again."""
    burst = uploaded(Simulation(QUICK), 40)
    first = min(waiting_rows(burst), key=lambda row: str(row.not_before))
    broken = first._replace(request="{")
    burst.env.memory.table.write(Put(workload_row(broken)))
    burst.run(60)

    assert burst.states() == {State.PUBLISHED: 39, State.SUBMITTING: 1}
    assert (burst.moved.dead, {str(each) for each in burst.failures}) == (0, {f"JSONDecodeError @ {first.id}"})


def test_what_ended_a_worker_is_left_to_the_sweep() -> None:
    """It would end the worker that starts others, too: a sweep takes it up last."""
    burst = uploaded(Simulation(QUICK), 40)
    first = min(waiting_rows(burst), key=lambda row: str(row.not_before))
    burst.env.memory.table.write(Put(workload_row(first._replace(tries=1))))
    burst.run(60)
    before = burst.states()
    burst.run(SWEEP_EVERY + 10)

    assert before == {State.PUBLISHED: 39, State.SUBMITTING: 1}
    assert (burst.states(), burst.failures) == ({State.PUBLISHED: 40}, [])


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

"""More deliveries at once than EMR Serverless takes: they wait, and nothing else happens to them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Timing
from tests.simulation.bursts import Account, Burst

QUICK = Account(runs_at_once=1_000, seconds_of_a_run=1)


def states(burst: Burst) -> set[State]:
    return {row.state for row in burst.env.memory.workloads.values()}


def until_closed(burst: Burst, minutes: int) -> None:
    for _ in range(minutes * 60):
        if not burst.open():
            return
        burst.second()


def test_a_burst_gets_times_to_start_and_is_not_throttled() -> None:
    """The first twenty start at once; each further one has the next time, and is waiting for nothing else."""
    burst, timing = Burst(QUICK), Timing()
    began = burst.env.memory.clock.now()
    burst.upload(30)
    rows = list(burst.env.memory.workloads.values())
    waiting = [row for row in rows if row.state is State.SUBMITTING]

    assert (len(rows), len(waiting), burst.jobs.throttled, burst.failures) == (30, 10, 0, [])
    assert [row.not_before for row in waiting] == [began + (1 + n) * timing.start_interval for n in range(10)]
    assert [row.due_at for row in waiting] == [row.not_before for row in waiting]


@pytest.mark.parametrize("queued", [2_000, 5])
def test_nothing_of_a_burst_fails_however_little_the_service_takes(queued: int) -> None:
    """No message is delivered again, no sweep reports a failure, no attempt is lost; also where the queue is full at once."""
    burst = Burst(QUICK._replace(runs_at_once=3, queued=queued))
    burst.upload(150)
    until_closed(burst, 120)
    rows = burst.env.memory.workloads.values()

    assert (burst.failures, states(burst)) == ([], {State.PUBLISHED})
    assert {row.attempt for row in rows} == {1}


def test_a_batch_whose_start_is_refused_is_started_later() -> None:
    """Its members wait with it, and no message fails."""
    burst = Burst(QUICK._replace(queued=0))
    burst.upload(1)
    assert (states(burst), burst.failures) == ({State.SUBMITTING}, [])
    (row,) = burst.env.memory.workloads.values()
    assert row.due_at == burst.env.memory.clock.now() + Timing().longest_backoff

    burst.jobs.account = QUICK
    until_closed(burst, 20)
    assert states(burst) == {State.PUBLISHED}


def test_an_idle_service_takes_the_next_burst_at_once() -> None:
    """After a quiet minute all tokens are there again."""
    burst = Burst(QUICK)
    burst.upload(20)
    burst.env.memory.clock.sleep(timedelta(minutes=1).total_seconds())
    burst.upload(20)

    assert states(burst) == {State.VALIDATING}

"""Who makes the starts of a burst: at their times, not faster than EMR Serverless takes them, and nobody else meanwhile."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta

from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.paced_starts import start_waiting
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Timing
from lakegate.gate.effects import run
from lakegate.gate.table import RowKey, TableName, workloads_key
from tests.fakes import Memory
from tests.simulation.environment import PREFIX, Environment
from tests.simulation.throughput import AT_ONCE, FUNCTION_LIMIT, Account, Simulation, Times, Worker

INTERVAL = Timing().start_interval
SECOND = timedelta(seconds=1)


def waiting(count: int, *, lag: float = 0.0) -> tuple[Environment, list[Workload]]:
    """So many deliveries that were taken in and wait for their start, in the order of their times."""
    env = Environment(memory=Memory.of("landing", "lake", lag=lag))
    env.dependencies = replace(env.dependencies, timing=replace(Timing(), start_burst=0))
    for number in range(count):
        upload = env.upload(f"{PREFIX}{number}.csv", f"good:{number}".encode())
        run(intake(env.dependencies, "landing", upload.version.key), env.memory.clock)
    rows = [row for row in env.memory.workloads.values() if row.state is State.SUBMITTING]
    assert len(rows) == count
    return env, sorted(rows, key=lambda row: str(row.not_before))


def states(env: Environment, rows: list[Workload]) -> list[State]:
    return [env.memory.workloads[row.id].state for row in rows]


def starting(env: Environment, seconds: float = 240.0) -> float:
    """Make starts in a function that has so much time; how long that took."""
    began = env.memory.clock.now()
    until = began + timedelta(seconds=seconds)

    def remaining() -> float:
        return (until - env.memory.clock.now()).total_seconds()

    limited = replace(env.dependencies, remaining=remaining)
    assert run(start_waiting(limited), env.memory.clock).failures == []
    return (env.memory.clock.now() - began).total_seconds()


def test_starts_that_are_late_are_not_refused() -> None:
    """After a minute in which nobody made them: twenty at once, then one after the other."""
    account = Account(runs=1_000, vcpus=4_000, run_seconds=600, times=AT_ONCE)
    burst = Simulation(account)
    dependencies = burst.env.dependencies
    for number in range(90):
        key = f"{PREFIX}{number:06}.csv"
        burst.uploaded[burst.env.upload(key, f"good:{number}".encode()).workload] = 0.0
        burst._start(Worker(intake(dependencies, "landing", key), FUNCTION_LIMIT, lambda _: None))  # noqa: SLF001
    burst.run(60)
    burst._start(Worker(start_waiting(dependencies), 60 + FUNCTION_LIMIT, lambda _: None))  # noqa: SLF001
    burst.run(61)
    at_once = burst.states()[State.VALIDATING]
    burst.run(60 + 70 * INTERVAL.total_seconds())

    assert (at_once, burst.states(), burst.jobs.throttled) == (40, {State.VALIDATING: 90}, 0)


def test_what_the_index_lists_too_early_delays_nobody() -> None:
    """It lags: a start that was put off meanwhile is not waited for."""
    env, (first, *others) = waiting(5, lag=60.0)
    env.memory.clock.sleep(61)
    env.dependencies.workloads.lease(first, env.memory.clock.now() + 30 * SECOND)
    env.dependencies.agenda.reserve_start(env.memory.clock.now(), INTERVAL, 0)
    took = starting(env)

    assert states(env, [first, *others]) == [State.SUBMITTING, *[State.VALIDATING] * 4]
    assert took < 10


def test_what_waits_for_something_else_is_read_once() -> None:
    """Also a delivery that ended a worker, which is left to the sweep."""
    env, rows = waiting(20)
    odd = rows[0]
    env.dependencies.workloads.lease(odd, env.memory.clock.now(), 1)
    reads: Counter[RowKey] = Counter()
    read = env.memory.table.get

    def counted(key: RowKey) -> object:
        reads[key] += 1
        return read(key)

    env.memory.table.get = counted  # type: ignore[assignment,method-assign] # counts
    starting(env)

    assert states(env, rows) == [State.SUBMITTING, *[State.VALIDATING] * 19]
    assert reads[workloads_key("workload", odd.id)] <= 2


def test_nothing_is_begun_in_the_last_minute_of_a_function() -> None:
    """What it has begun must come to an end; another function goes on."""
    env, rows = waiting(20)
    took = starting(env, 66.0)
    made = states(env, rows).count(State.VALIDATING)
    rest = starting(env)

    assert (made, took < 8, states(env, rows)) == (4, True, [State.VALIDATING] * 20)
    assert rest < 30


def test_an_index_that_lags_is_waited_for() -> None:
    """The function that took the last one in is the last that comes by."""
    env, rows = waiting(1, lag=4.0)
    starting(env)

    assert states(env, rows) == [State.VALIDATING]


def test_who_has_made_all_starts_lets_others_make_the_next() -> None:
    """And who finds another one at it leaves them to that one at once."""
    env, rows = waiting(3)
    agenda, clock = env.dependencies.agenda, env.memory.clock
    agenda.lead_starts(clock.now(), clock.now() + SECOND)
    beside = starting(env)
    clock.sleep(2)
    starting(env)

    assert (beside, states(env, rows)) == (0.0, [State.VALIDATING] * 3)
    assert not agenda.is_led(clock.now())


def test_nobody_leads_where_no_start_waits() -> None:
    """A single upload costs one read more."""
    env = Environment(memory=Memory.of("landing", "lake"))
    upload = env.upload(f"{PREFIX}1.csv", b"good:1")
    run(intake(env.dependencies, "landing", upload.version.key), env.memory.clock)
    before = len(env.memory.table.changes[TableName.WORKLOADS, "cursor"])

    assert starting(env) == 0.0
    assert len(env.memory.table.changes[TableName.WORKLOADS, "cursor"]) == before


def test_each_start_is_sent_once() -> None:
    """Also of what the judge function could not hold: the function that waits for it leaves it to who makes the starts."""
    account = Account(runs=1_000, vcpus=4_000, judge=True, splits=True, times=Times())
    burst = Simulation(account)
    burst.upload(60, lambda number: f"split:{number}".encode())
    burst.run(120)

    assert (burst.jobs.calls, burst.jobs.throttled, burst.failures) == (60, 0, [])

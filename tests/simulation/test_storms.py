from __future__ import annotations

from collections import Counter
from itertools import islice, permutations

from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import Effect
from lakegate.gate.sweep import sweep
from tests.fakes.jobs import Ending
from tests.reference.sampling import FULL
from tests.simulation.choices import Choices
from tests.simulation.contract import kind
from tests.simulation.environment import LANDING, PREFIX, TIMING, Environment
from tests.simulation.stage import Fault, Stage, settle


def calm(_effect: Effect) -> Fault:
    return Fault.NONE


def states(env: Environment) -> Counter[State]:
    return Counter(row.state for row in env.memory.workloads.values())


def test_a_storm_of_duplicates_publishes_once() -> None:
    """P3: one event a thousand times, 32 workers at once: one job, one destination, one block, also 91 days on."""
    env = Environment()
    upload = env.upload(f"{PREFIX}day.csv", b"good:1")
    env.inbox = env.inbox * 1_000
    stage, choices = Stage(env, calm), Choices(1)
    while env.inbox or stage.workers:
        if env.inbox and len(stage.workers) < 32:
            stage.deliver(0)
        else:
            stage.step(stage.workers[choices.pick(len(stage.workers))])
    settle(stage)
    for seconds in (600, 7 * 3_600, 91 * 86_400):
        env.memory.clock.sleep(seconds)
        stage.start("intake", intake(env.dependencies, LANDING, upload.version.key))
        settle(stage)

    assert len(env.memory.jobs.runs) == 2  # one is somebody else's
    assert len(stage.promises.places(upload.workload)) == 1
    assert sum(len(chain) for chain in env.memory.chains.values()) == 1


def test_sweep_finds_every_object_whose_events_were_all_lost() -> None:
    """P1: no event of any of 1,000 objects ever arrives, and all are finished."""
    env = Environment()
    for number in range(1_000):
        env.upload(f"{PREFIX}{number}.csv", f"good:{number}".encode())
    env.inbox.clear()
    stage = Stage(env, calm)
    stage.promises.hold = lambda: None  # type: ignore[method-assign]  # a thousand objects at each of 20,000 steps
    for _ in range(60):
        env.memory.clock.sleep(600)
        stage.start("sweep", sweep(env.dependencies, 250))
        while stage.workers:
            stage.step(stage.workers[0])
        env.inbox.clear()

    assert states(env) == {State.PUBLISHED: 1_000}
    assert env.memory.objects.current(LANDING) == {}


def test_a_poison_delays_nobody() -> None:
    """P7: the jobs of one object in 1,000 always die; 999 are published by their own events, the one is FAILED."""
    env = Environment()
    stage = Stage(env, calm)
    stage.promises.hold = lambda: None  # type: ignore[method-assign]  # a thousand objects at each of 20,000 steps
    for number in range(1_000):
        env.upload(f"{PREFIX}{number}.csv", f"{'error' if number == 500 else 'good'}:{number}".encode())
    while env.inbox or stage.workers:
        if stage.workers:
            stage.step(stage.workers[0])
        else:
            env.memory.clock.sleep(
                TIMING.start_interval.total_seconds()
            )  # more would wait for their start, and for a sweep
            stage.deliver(0)
    before_any_sweep = states(env)
    for _ in range(12):
        stage.sweep(90)
        stage.notify()
        while env.inbox or stage.workers:
            if stage.workers:
                stage.step(stage.workers[0])
            else:
                stage.deliver(0)
    poison = next(row for row in env.memory.workloads.values() if row.state is State.FAILED)

    assert before_any_sweep[State.PUBLISHED] == 999
    assert states(env) == {State.PUBLISHED: 999, State.FAILED: 1}
    assert poison.attempt == 3
    assert [m.kind for m in env.memory.notifier.sent if m.workload == poison.id] == ["failed"]


def test_the_order_of_events_does_not_matter() -> None:
    """P5: six events in 720 orders (every fifth per commit), each doubled or lost: deliveries have the same destinations."""
    bodies = (b"good:1", b"bad:1", b"good:2", b"%PDF:1", b"split:12", b"mild:1")
    ends = set()
    for ordinal, order in islice(enumerate(permutations(range(6))), 0, None, 1 if FULL else 5):
        env = Environment()
        for number, body in enumerate(bodies):
            env.upload(f"{PREFIX}{number}.csv", body)
        events = [env.inbox[place] for place in order]
        lost, doubled = ordinal % 6, (ordinal // 6) % 6
        env.inbox = [event for place, event in enumerate(events) if place != lost] + [events[doubled]]
        settle(Stage(env, calm))
        rows = env.memory.workloads.values()
        ends.add(tuple(sorted((row.source.key, row.state, row.decision.verdict) for row in rows if row.decision)))

    assert len(ends) == 1
    assert len(next(iter(ends))) == 6


def test_a_split_keeps_every_row() -> None:
    """The accepted and the rejected share of a split are together what landed, and are stored under one workload."""
    env = Environment([Ending.ANSWERED])
    upload = env.upload(f"{PREFIX}day.csv", b"split:12")
    stage = Stage(env, calm)
    settle(stage)
    places = stage.promises.places(upload.workload)

    assert {"accepted", "quarantine"} == {key.partition("/")[0] for key in places}
    assert upload.body == b"".join(places.values())
    assert kind(upload.body) == "split"

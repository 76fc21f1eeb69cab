"""Exactly once does not hang on the row: whatever earlier row a delivery gets back, it is not committed again."""

from __future__ import annotations

import pytest

from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_row import TERMINAL, Workload, workload_of
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.publish_data import _commit, _compare
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Effect, run
from lakegate.gate.ledger.blocks import Block
from lakegate.gate.sweep import sweep
from tests.decisions import approve
from tests.simulation.environment import LINE, PREFIX, Environment
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.workflows import ASKING, waiting
from tests.unit.gate.scenarios import decided, drive

BODIES = {"accepted": b"good:1", "rejected": b"bad:1", "split": b"split:12", "refused": b"%PDF:1"}


def lived(body: bytes, key: str = f"{PREFIX}day.csv") -> tuple[Environment, list[Workload]]:
    """An environment in which a delivery has ended, and every row that it had before."""
    env = Environment()
    env.upload(key, body)
    settle(Stage(env, lambda _: Fault.NONE))
    rows = [workload_of(each.row) for each in env.memory.changes("workload") if each.row]
    return env, [each for each in rows if each.state not in TERMINAL]


def set_back(env: Environment, row: Workload) -> None:
    """The row alone is that of an earlier time."""
    env.memory.write(row)


def swept(env: Environment, times: int = 3) -> None:
    for _ in range(times):
        env.memory.clock.sleep(3_600)
        for _run, job in env.new_jobs():
            run(job, env.dependencies.clock)
        found = run(sweep(env.dependencies), env.dependencies.clock)
        assert found.failures == []


def blocks(env: Environment) -> list[tuple[str, int]]:
    """Every block of a delivery, in all chains."""
    return [
        (each.workload, each.height)
        for chain in env.memory.chains.values()
        for each in chain
        if isinstance(each, Block)
    ]


@pytest.mark.parametrize("body", BODIES)
def test_a_row_that_is_set_back_is_committed_once(body: str) -> None:
    """From every row that the delivery ever had: it ends as its block says, without a job run, a copy or a block more."""
    rows = lived(BODIES[body])[1]
    assert {each.state for each in rows} >= {State.RECEIVED, State.PINNED, State.DECIDED}
    for number in range(len(rows)):
        env, rows = lived(BODIES[body])
        ended, before = env.dependencies.workloads.get(rows[0].id), blocks(env)
        lake, runs = (
            {key: len(stored) for key, stored in env.lake.items() if "workload=" in key},
            len(env.memory.jobs.runs),
        )
        set_back(env, rows[number])
        swept(env)
        row = env.dependencies.workloads.get(ended.id)

        assert (row.state, row.decision and row.decision.verdict) == (
            ended.state,
            ended.decision and ended.decision.verdict,
        )
        assert row.pin is not None
        assert ended.pin is not None
        assert (row.pin.dataset, row.pin.version, row.pin.plan) == (
            ended.pin.dataset,
            ended.pin.version,
            ended.pin.plan,
        )
        assert row.pin.ingest_date == ended.pin.ingest_date
        assert (blocks(env), len(env.memory.jobs.runs)) == (before, runs)
        assert {key: len(stored) for key, stored in env.lake.items() if "workload=" in key} == lake


@pytest.mark.parametrize("how", ["before", "after"])
def test_a_worker_that_dies_meanwhile_leaves_it_to_the_next(how: str) -> None:
    """Before or after the one write; the message may come once more, under its id."""
    env, rows = lived(b"good:1")
    set_back(env, rows[-1])
    steps = advance(DeliveryTurn(env.dependencies, rows[-1]))
    call = next(steps)
    assert call.effect is Effect.SETTLE
    if how == "after":
        call.do()
    steps.close()
    swept(env)

    assert (blocks(env), env.dependencies.workloads.get(rows[-1].id).state) == ([(rows[-1].id, 0)], State.PUBLISHED)


def test_a_commit_that_meets_its_own_block_ends_the_row() -> None:
    """Also a worker that looked before anybody had committed: the condition of the transaction is the ledger's own."""
    env, row = decided()
    drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))
    (block,) = env.memory.chains[LINE]
    assert isinstance(block, Block)
    set_back(env, row)
    turn = DeliveryTurn(env.dependencies, row)
    compared = env.dependencies.run(_compare(turn, State.PUBLISHED, None))
    drive(env.dependencies, _commit(turn, State.PUBLISHED, None, block.objects, compared))

    assert blocks(env) == [(row.id, 0)]
    assert env.dependencies.workloads.get(row.id).state is State.PUBLISHED


def test_a_delivery_of_a_stack_without_a_route_is_committed_once() -> None:
    """What no route covers has a chain of its day, and no contract."""
    env, rows = lived(b"good:1", "elsewhere/x.csv")
    set_back(env, rows[0])
    swept(env)
    row = env.dependencies.workloads.get(rows[0].id)

    assert (row.state, row.pin and (row.pin.contract, row.pin.plan), len(blocks(env))) == (
        State.QUARANTINED,
        ("", ""),
        1,
    )


def test_what_waits_for_a_person_is_not_asked_again() -> None:
    """A row of before the answer keeps what was judged."""
    with waiting(ASKING):
        env, rows = lived(b"split:12")
        asked = next(each for each in rows if each.state is State.AWAITING)
        drive(env.dependencies, approve(env.dependencies, asked.id))
        swept(env)
        count = len(blocks(env))
        set_back(env, asked)
        env.memory.clock.sleep(8 * 24 * 3_600)
        swept(env)

    assert (count, len(blocks(env))) == (1, 1)
    assert env.dependencies.workloads.get(asked.id).state is State.PUBLISHED

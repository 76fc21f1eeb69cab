"""What a delivery waits for: for each kind the whole record."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lakegate.gate.datasets.pauses import pause, resume
from lakegate.gate.delivery.advance import completion
from lakegate.gate.delivery.delivery_row import FailedAttempt, FailureCause, Waiting, WaitsFor, Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.sweep import sweep
from lakegate.gate.waiting import waiting_of
from tests.simulation.environment import LINE, PREFIX, Environment
from tests.unit.gate.scenarios import answered, drive, landed

SOON = timedelta(minutes=1)


def wait_of(env: Environment, row: Workload) -> Waiting | None:
    return waiting_of(DeliveryTurn(env.dependencies, row))


def test_a_delivery_waits_for_its_run() -> None:
    """From the start of the run to its deadline; the worker has noted it for its log."""
    env, row = landed()
    assert row.deadline is not None
    wanted = Waiting(WaitsFor.RUN, row.run, row.deadline.isoformat())

    assert (row.state, wait_of(env, row), env.dependencies.waits) == (State.VALIDATING, wanted, {row.id: wanted})


def test_a_delivery_waits_for_a_paused_dataset() -> None:
    """Until somebody resumes it, which nobody knows."""
    env = Environment()
    drive(env.dependencies, pause(env.dependencies, LINE, "maintenance"))
    _, row = landed(env=env)
    wanted = Waiting(WaitsFor.DATASET, LINE, None)

    assert (row.state, wait_of(env, row), env.dependencies.waits) == (State.HELD, wanted, {row.id: wanted})


def test_every_worker_notes_what_its_deliveries_wait_for() -> None:
    """The end of a run that is seen too early, a sweep that finds a delivery due, and one that finds a dataset resumed."""
    env, row = landed()
    assert row.due_at is not None
    env.dependencies.waits.clear()
    drive(env.dependencies, completion(env.dependencies, row.run))
    seen = [dict(env.dependencies.waits)]
    env.dependencies.waits.clear()
    env.memory.clock.sleep((row.due_at - env.memory.clock.now()).total_seconds())
    drive(env.dependencies, sweep(env.dependencies))
    seen.append(dict(env.dependencies.waits))
    drive(env.dependencies, pause(env.dependencies, LINE, "maintenance"))
    _, held = landed(b"good:2", f"{PREFIX}next.csv", env)
    drive(env.dependencies, resume(env.dependencies, LINE))
    env.memory.clock.sleep(60)
    drive(env.dependencies, sweep(env.dependencies))
    released = env.dependencies.workloads.get(held.id)

    wanted = {row.id: Waiting(WaitsFor.RUN, row.run, row.deadline and row.deadline.isoformat())}
    assert seen == [wanted, wanted]
    assert (held.state, released.state) == (State.HELD, State.VALIDATING)
    assert env.dependencies.waits[held.id] == Waiting(
        WaitsFor.RUN, released.run, released.deadline and released.deadline.isoformat()
    )


def test_an_end_is_noted_too() -> None:
    """A delivery that waits for nothing any more is none that its function logs."""
    env, row = answered()
    drive(env.dependencies, completion(env.dependencies, row.run))

    assert (env.dependencies.workloads.get(row.id).state, env.dependencies.waits) == (State.PUBLISHED, {row.id: None})


@pytest.mark.parametrize(
    ("state", "changes", "wanted"),
    [
        (State.RECEIVED, {"completed_by": "manifest"}, (WaitsFor.PARTS, None, False)),
        (State.RECEIVED, {}, (WaitsFor.WORKER, None, True)),
        (State.PINNED, {}, (WaitsFor.WORKER, None, True)),
        (State.STAGED, {}, (WaitsFor.WORKER, None, True)),
        (State.SUBMITTING, {"batch": "b1"}, (WaitsFor.BATCH, "b1", True)),
        (State.SUBMITTING, {}, (WaitsFor.START, None, True)),
        (State.SUBMITTING, {"not_before": None}, (WaitsFor.WORKER, None, True)),
        (State.AWAITING, {}, (WaitsFor.APPROVAL, None, True)),
        (State.SCHEDULED, {}, (WaitsFor.DATE, None, True)),
        (State.DECIDED, {}, (WaitsFor.WORKER, None, True)),
    ],
)
def test_what_a_row_waits_for(
    state: State, changes: dict[str, object], wanted: tuple[WaitsFor, str | None, bool]
) -> None:
    """Each state by itself."""
    env, running = landed()
    at = env.memory.clock.now() + SOON
    row = running._replace(state=state, not_before=at, deadline=at, due_at=at)._replace(**changes)  # type: ignore[arg-type]
    subject, whom, is_known = wanted

    assert wait_of(env, row) == Waiting(subject, whom, at.isoformat() if is_known else None)


def test_an_attempt_that_came_to_nothing_is_followed_by_a_back_off() -> None:
    """A time that was reserved for the first attempt of a round is none; and one that is over is waited for no more."""
    env, running = landed()
    now = env.memory.clock.now()
    row = running._replace(state=State.SUBMITTING, attempt=2, not_before=now + SOON, due_at=now + SOON)
    failed = row._replace(failed=(FailedAttempt(1, "run1", FailureCause.RUN_FAILED, now),))
    over = failed._replace(not_before=now)
    until = (now + SOON).isoformat()

    assert [wait_of(env, each) for each in (row, failed, over)] == [
        Waiting(WaitsFor.START, None, until),
        Waiting(WaitsFor.BACK_OFF, None, until),
        Waiting(WaitsFor.WORKER, None, until),
    ]


@pytest.mark.parametrize("state", [State.PUBLISHED, State.FAILED, State.GONE])
def test_a_finished_delivery_waits_for_nothing(state: State) -> None:
    """Whatever a person may do about it."""
    env, running = landed()

    assert wait_of(env, running._replace(state=state, due_at=None)) is None


@pytest.mark.parametrize("state", [State.PUBLISHED, State.QUARANTINED])
def test_nobody_waits_for_what_is_left_of_a_committed_delivery(state: State) -> None:
    """Its data is where it belongs: what landed is yet to be deleted."""
    env, running = landed()

    assert wait_of(env, running._replace(state=state, due_at=env.memory.clock.now() + SOON)) is None

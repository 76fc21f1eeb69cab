"""A person ends a delivery, whichever open state it has: what becomes of it, of its run, and of who is working on it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta

import pytest

from lakegate.base.errors import AccessDenied, InputError
from lakegate.base.timestamps import moment
from lakegate.gate.datasets.pauses import pause
from lakegate.gate.delivery.delivery_row import ApprovalAnswer, Decision, Workload, replay_id
from lakegate.gate.delivery.delivery_terms import BatchLimits
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import Call, Effect, Steps, run
from lakegate.gate.ledger.blocks import Record
from lakegate.gate.ports import JobState
from lakegate.gate.sweep import sweep
from lakegate.plan.planned_workflow import PlannedWorkflow
from tests.decisions import approve, cancel, decline, replay, waive
from tests.fakes.identity import ALICE, BOB, MemoryIdentity
from tests.simulation.environment import LANDING, LINE, Environment
from tests.simulation.parts import complete
from tests.simulation.promises import Promises
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.workflows import ASKING, DATED, following
from tests.unit.gate.delivery.test_multi_file_deliveries import QUIET, SUCCESS, environment, only
from tests.unit.gate.delivery.test_small_file_batches import arrived, finished, rows
from tests.unit.gate.scenarios import KEY, decided, drive, landed, quarantined, refused_at, resumed

REASON = "the export was of the wrong month"
WORDS = f"cancelled: {REASON} (by {ALICE})"
Stopped = tuple[Environment, Workload, Callable[[], object]]
"""An environment with a delivery, and what its worker does next."""


def cancelled(env: Environment, row: Workload, reason: str = REASON, actor: str = ALICE) -> Workload:
    by = replace(env.dependencies, identity=MemoryIdentity(actor))
    drive(by, cancel(by, row.id, reason))
    return env.dependencies.workloads.get(row.id)


def records(env: Environment, chain: str = LINE) -> list[tuple[str, str, object]]:
    blocks = env.dependencies.ledger.blocks(chain)
    return [(each.kind, each.actor, each.content) for each in blocks if isinstance(each, Record)]


def stopped_before(effect: Effect, steps: Steps[object], env: Environment, workload: str) -> Stopped:
    """A worker that has not yet done an effect."""
    call: Call = next(steps)
    while call.effect is not effect:
        call = steps.send(call.do())
    return env, env.dependencies.workloads.get(workload), lambda: drive(env.dependencies, resumed(steps, call))


def taken_in(effect: Effect, body: bytes = b"good:1") -> Stopped:
    env = Environment()
    upload = env.upload(KEY, body)
    return stopped_before(effect, intake(env.dependencies, LANDING, KEY), env, upload.workload)


def held() -> Stopped:
    env = Environment()
    drive(env.dependencies, pause(env.dependencies, LINE, "a reason"))
    return (*landed(env=env), lambda: None)


def judged() -> Stopped:
    env = Environment()
    upload = env.upload(KEY, b"good:1")
    settle(Stage(env, lambda _: Fault.NONE))
    return env, env.dependencies.workloads.get(upload.workload), lambda: None


def approved() -> Stopped:
    """ANSWERED: somebody has approved, and the delivery is not decided yet."""
    env, row, _ = judged()
    return stopped_before(Effect.DECIDE, approve(env.dependencies, row.id), env, row.id)


OPEN: dict[State, tuple[PlannedWorkflow | None, Callable[[], Stopped]]] = {
    State.RECEIVED: (None, lambda: taken_in(Effect.PIN)),
    State.HELD: (None, held),
    State.PINNED: (None, lambda: taken_in(Effect.STAGE)),
    State.STAGED: (None, lambda: taken_in(Effect.SUBMIT)),
    State.SUBMITTING: (None, lambda: taken_in(Effect.START_JOB)),
    State.VALIDATING: (None, lambda: (*landed(), lambda: None)),
    State.AWAITING: (ASKING, judged),
    State.ANSWERED: (ASKING, approved),
    State.SCHEDULED: (DATED, judged),
}


@pytest.mark.parametrize("state", OPEN)
def test_a_delivery_is_ended_in_every_open_state(state: State) -> None:
    """It is rejected by who cancelled it and why, recorded, with its bytes in quarantine; its worker goes no further."""
    workflow, begin = OPEN[state]
    with ExitStack() as stack:
        if workflow is not None:
            stack.enter_context(following(workflow))
        env, row, goes_on = begin()
        at = moment(env.memory.clock.now())
        after = cancelled(env, row)
        goes_on()
        again = cancelled(env, row, "another reason", BOB)
        for _, job in env.new_jobs():
            run(job, env.dependencies.clock)
        drive(env.dependencies, sweep(env.dependencies))
        promises = Promises(env)
        end = env.dependencies.workloads.get(row.id)

    assert row.state is state
    assert after.state is State.QUARANTINED
    assert again == after
    assert (end.decision, end.answer, end.pin, end.height) == (after.decision, after.answer, after.pin, after.height)
    assert after.answer == ApprovalAnswer(ALICE, approved=False, reason=REASON, at=at)
    assert after.decision is not None
    if row.candidate is None:
        assert after.decision == Decision("rejected", (WORDS,), staged=row.staged is not None)
    else:
        counts = row.candidate.counts
        none = counts and replace(counts, published_rows=0, rejected_rows=counts.rows)
        expected = replace(row.candidate, verdict="rejected", reasons=(WORDS,), counts=none)
        assert (after.decision, after.candidate) == (expected, None)
    assert ("cancellation", ALICE, {"workload": row.id, "reason": REASON}) in records(env)
    assert [kind for kind, *_ in records(env)].count("cancellation") == 1
    assert [key.partition("/")[0] for key in promises.places(row.id)] == ["quarantine"]
    assert list(promises.places(row.id).values()) == [b"good:1"]
    assert (env.memory.objects.current("landing", ""), env.memory.contents) == ({}, {})
    found = env.memory.pauses.get(LINE)
    assert (found.held if found else 0) == 0


def test_the_run_of_the_attempt_is_cancelled_before_the_delivery_is_decided() -> None:
    """The record comes first, then the run, then the decision."""
    env, row = landed()
    effects = []
    steps = cancel(env.dependencies, row.id, REASON)
    call = next(steps)
    while call.effect is not Effect.DECIDE:
        effects.append(call.effect)
        call = steps.send(call.do())

    assert effects == [Effect.RECORD, Effect.CANCEL_JOB]
    assert env.memory.jobs.runs[row.run].state is JobState.CANCELLED


def test_a_run_that_others_share_goes_on() -> None:
    """In a batch the others are judged; the cancelled member is in quarantine, whatever its result says."""
    env = Environment(batch=BatchLimits(2, 1_000, 60))
    workloads = arrived(env, b"good:1", b"good:2")
    first, second = rows(env, workloads)
    cancelled(env, second)
    finished(env)

    assert [each.state for each in (first, second)] == [State.SUBMITTING, State.VALIDATING]
    assert [each.state for each in rows(env, workloads)] == [State.PUBLISHED, State.QUARANTINED]
    assert env.memory.jobs.runs[second.run].state is JobState.SUCCESS


def test_a_run_that_is_just_starting_is_not_known_and_ends_by_itself() -> None:
    """Its worker cannot store it; what it was to read is deleted, and nobody reads what it says."""
    env, row, goes_on = taken_in(Effect.MARK_STARTED)
    after = cancelled(env, row)
    goes_on()
    (started,) = [each for each in env.memory.jobs.runs.values() if each.id != env.stranger]
    ((_, job),) = env.new_jobs()
    run(job, env.dependencies.clock)

    assert after.run == ""
    assert started.state is JobState.FAILED
    assert env.dependencies.workloads.get(row.id) == after


def test_who_moves_the_delivery_meanwhile_is_followed() -> None:
    """The worker had stored another state before the decision: it is cancelled there, with one record."""
    env, row, goes_on = taken_in(Effect.START_JOB)
    refused_at(env, Effect.DECIDE, cancel(env.dependencies, row.id, REASON), goes_on)
    after = env.dependencies.workloads.get(row.id)

    assert (row.state, after.state) == (State.SUBMITTING, State.QUARANTINED)
    assert env.memory.jobs.runs[after.run].state is JobState.CANCELLED
    assert records(env) == [("cancellation", ALICE, {"workload": row.id, "reason": REASON})]


def test_a_decision_that_comes_first_stands() -> None:
    """Then the person is told; the record says what was wanted."""
    env, row = landed()
    for _, job in env.new_jobs():
        run(job, env.dependencies.clock)
    steps = cancel(env.dependencies, row.id, REASON)
    with pytest.raises(InputError, match="it is PUBLISHED already"):
        refused_at(env, Effect.DECIDE, steps, lambda: drive(env.dependencies, sweep(_due(env, row).dependencies)))

    assert env.dependencies.workloads.get(row.id).state is State.PUBLISHED


def _due(env: Environment, row: Workload) -> Environment:
    env.memory.write(env.dependencies.workloads.get(row.id)._replace(due_at=env.memory.clock.now()))
    env.memory.clock.sleep(60)
    return env


def test_an_interrupted_cancellation_is_completed_by_the_next_command() -> None:
    """After the record, and after the run was cancelled, nothing else was written: the same command completes it."""
    for done in (1, 2):
        env, row = landed()
        steps = cancel(env.dependencies, row.id, REASON)
        call = next(steps)
        for _ in range(done - 1):
            call = steps.send(call.do())
        call.do()
        steps.close()
        after = cancelled(env, row)

        assert (env.dependencies.workloads.get(row.id).state, after.state) == (State.QUARANTINED,) * 2
        assert len(records(env)) == 1


def test_what_no_route_covers_is_recorded_where_it_goes() -> None:
    """On the chain of the day's unrouted deliveries."""
    env = Environment()
    upload = env.upload("elsewhere/c.csv", b"good:1")
    steps = intake(env.dependencies, LANDING, "elsewhere/c.csv")
    _, row, _ = stopped_before(Effect.PIN, steps, env, upload.workload)
    after = cancelled(env, row)
    assert after.pin is not None

    assert after.pin.dataset.startswith("_unrouted/")
    assert records(env, after.pin.dataset) == [("cancellation", ALICE, {"workload": row.id, "reason": REASON})]


def test_the_parts_of_a_delivery_go_together() -> None:
    """Each is its own, and in quarantine with the object that completed them; while some are missing there is nothing to move."""
    env = environment()
    complete(env, SUCCESS)
    steps = intake(env.dependencies, LANDING, env.uploads[-1].version.key)
    _, row, goes_on = stopped_before(Effect.PIN, steps, env, env.uploads[-1].workload)
    after = cancelled(env, row)
    goes_on()
    places = Promises(env).places(row.id)

    assert (row.parts, after.state, only(env).id) == (None, State.QUARANTINED, row.id)
    assert sorted(places.values()) == [b"", b"good:1", b"good:2"]
    assert env.memory.objects.current("landing", "") == {}


def test_what_cannot_be_moved_is_refused() -> None:
    """Parts that have not arrived, what its producer deleted, what cannot be read; nothing is recorded."""
    quiet = environment(QUIET, quiet_minutes=5)
    drive(quiet.dependencies, intake(quiet.dependencies, LANDING, quiet.uploads[-1].version.key))
    deleted, gone, _ = taken_in(Effect.PIN)
    deleted.delete(deleted.uploads[0])
    locked, secret, _ = taken_in(Effect.STAGE)
    locked.lock(locked.uploads[0], AccessDenied)
    for env, row, words in (
        (quiet, only(quiet), "its parts are not all there yet: there is no delivery to move"),
        (deleted, gone, "what landed was deleted: there is nothing to move"),
        (locked, secret, "it cannot be moved: its upload cannot be read"),
    ):
        with pytest.raises(InputError, match=words):
            cancelled(env, row)
        assert records(env) == []


def test_what_is_decided_is_not_cancelled() -> None:
    """Nor what failed, or what a person declined; of a cancelled delivery the answer stays."""
    env, row = decided()
    with pytest.raises(InputError, match=r"^it is (DECIDED|QUARANTINED) already$"):
        cancelled(env, row)
    with following(ASKING):
        other, waits, _ = judged()
        drive(other.dependencies, decline(other.dependencies, waits.id, REASON))
        with pytest.raises(InputError, match=r"^it is (DECIDED|QUARANTINED) already$"):
            cancelled(other, waits)
    with pytest.raises(InputError, match=r"^no such workload$"):
        drive(env.dependencies, cancel(env.dependencies, "0" * 64, REASON))


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines", "x" * 501])
def test_the_reason_is_one_line(reason: str) -> None:
    env, row = landed()
    with pytest.raises(InputError, match="the reason for cancelling is one line of at most 500 characters"):
        cancelled(env, row, reason)

    assert env.dependencies.workloads.get(row.id) == row


def test_a_cancelled_delivery_is_replayed_and_not_waived() -> None:
    """Nobody has read its data: no waiver accepts it, and a replay judges it."""
    env, row = landed()
    cancelled(env, row)
    with pytest.raises(InputError, match="rejected as `cancelled` cannot be waived"):
        drive(
            env.dependencies,
            waive(env.dependencies, row.id, REASON, moment(env.memory.clock.now() + timedelta(hours=1))),
        )
    drive(env.dependencies, replay(env.dependencies, row.id))
    finished(env)

    assert env.dependencies.workloads.get(replay_id(row.id)).state is State.PUBLISHED


def test_the_replay_of_a_rejected_delivery_is_cancelled_as_any_other() -> None:
    """Its source is the quarantined copy, which stays."""
    env, row = quarantined()
    identity = str(drive(env.dependencies, replay(env.dependencies, row.id)))
    after = cancelled(env, env.dependencies.workloads.get(identity))

    assert after.state is State.QUARANTINED
    assert list(Promises(env).places(after.id).values()) == [b"mild:1"]

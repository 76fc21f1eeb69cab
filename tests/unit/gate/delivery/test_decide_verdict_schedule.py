"""A judged delivery waits for the time that its workflow states: what becomes of it before, at it, and with an approval."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lakegate.base.errors import ConditionFailed, InputError
from lakegate.gate.delivery import decide_verdict
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.decide_verdict import BEFORE_IT_EXPIRES
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import State, date_after, longest_wait, workflow_of
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Effect
from lakegate.gate.ledger.blocks import Record
from lakegate.gate.sweep import sweep
from lakegate.plan.planned_workflow import PlannedTransition, PlannedWorkflow
from tests.decisions import approve, decline
from tests.fakes.identity import ALICE, BOB, MemoryIdentity
from tests.simulation.environment import LAKE, Environment
from tests.simulation.promises import Promises
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.workflows import DATED, following
from tests.unit.gate.delivery.test_decide_verdict import later
from tests.unit.gate.scenarios import KEY, drive

LATER = PlannedWorkflow(
    "later@1.0.0",
    3,
    (PlannedTransition("VALIDATING", "accepted", "SCHEDULED"), PlannedTransition("ANSWERED", "approved", "SCHEDULED")),
    delay_hours=48,
)


@pytest.fixture(autouse=True)
def _dated() -> Iterator[None]:
    with following(DATED):
        yield


def judged(body: bytes) -> tuple[Environment, Workload]:
    """An environment with a delivery that was judged."""
    env = Environment()
    upload = env.upload(KEY, body)
    settle(Stage(env, lambda _: Fault.NONE))
    return env, env.dependencies.workloads.get(upload.workload)


def at(env: Environment, row: Workload, when: datetime) -> Workload:
    """The delivery after a sweep at that time."""
    env.memory.clock.sleep((when - env.memory.clock.now()).total_seconds())
    drive(env.dependencies, sweep(env.dependencies))
    return env.dependencies.workloads.get(row.id)


def test_nothing_is_visible_before_the_time() -> None:
    """A sweep a second earlier changes nothing; the first one at the time publishes what was judged."""
    env, row = judged(b"good:1")
    assert row.deadline is not None
    seen = (
        Promises(env).places(row.id),
        dict(env.memory.contents),
        env.dependencies.ledger.blocks("orders/lines_v1"),
    )
    early = at(env, row, row.deadline - timedelta(seconds=1))
    after = at(env, row, row.deadline)

    assert (f"{row.deadline:%H:%M:%S}", row.due_at, row.decision) == ("06:00:00", row.deadline, None)
    assert seen == ({}, {}, ())
    assert (early, env.memory.notifier.sent) == (row, [])
    assert (after.state, after.decision, after.candidate) == (State.PUBLISHED, row.candidate, None)


def test_what_was_accepted_meanwhile_is_a_duplicate_at_the_time() -> None:
    """Nothing is claimed while a delivery waits: the first one that is decided has the content."""
    env, row = judged(b"good:1")
    another(env, b"good:1")
    later(env, 26 * 60)

    assert row.state is State.SCHEDULED
    assert sorted(each.state for each in env.memory.workloads.values()) == [State.PUBLISHED, State.QUARANTINED]


def test_an_approved_delivery_waits_for_the_time() -> None:
    """The answer stays in the row; nobody answers again, and what is rejected waits for nothing."""
    env, row = judged(b"split:12")
    by = replace(env.dependencies, identity=MemoryIdentity(ALICE))
    drive(by, approve(by, row.id))
    waits = env.dependencies.workloads.get(row.id)
    assert waits.deadline is not None
    with pytest.raises(
        InputError,
        match="it needs no approval: it is published at 2026-01-06T06:00:00",
    ):
        drive(env.dependencies, approve(env.dependencies, another(env, b"good:2")))
    after = at(env, row, waits.deadline)

    assert (row.state, waits.state, after.state) == (State.AWAITING, State.SCHEDULED, State.PUBLISHED)
    assert waits.answer is not None
    assert (after.answer, after.decision) == (waits.answer, row.candidate)
    assert judged(b"bad:1")[1].state is State.QUARANTINED


@pytest.mark.parametrize(("body", "approved"), [(b"good:1", False), (b"split:12", True)])
def test_what_waits_for_its_time_can_be_declined(body: bytes, approved: bool) -> None:  # noqa: FBT001 - as pytest gives it
    """Also after an approval: it is rejected at once and names who declined; a second decline changes nothing."""
    env, row = judged(body)
    by = replace(env.dependencies, identity=MemoryIdentity(ALICE))
    if approved:
        drive(env.dependencies, approve(env.dependencies, row.id))
    assert (waits := env.dependencies.workloads.get(row.id)).state is State.SCHEDULED
    for _ in range(2):
        drive(by, decline(by, row.id, "wrong month"))
    later(env, 26 * 60)
    after = env.dependencies.workloads.get(row.id)
    records = [each.kind for each in env.dependencies.ledger.blocks("orders/lines_v1") if isinstance(each, Record)]

    assert waits.candidate is not None
    assert after.decision is not None
    assert (after.state, env.memory.contents) == (State.QUARANTINED, {})
    assert after.decision.reasons == (f"declined: wrong month (by {ALICE})", *waits.candidate.reasons)
    assert records == [*(["approval"] if approved else []), "decline"]


def test_what_was_declined_too_late_is_withdrawn_later() -> None:
    """The same words of the same person, before and after somebody else approved, are two answers with a record each."""
    env, row = judged(b"split:12")
    bob = replace(env.dependencies, identity=MemoryIdentity(BOB))
    steps = decline(env.dependencies, row.id, "wrong month")
    call = steps.send(next(steps).do())
    drive(bob, approve(bob, row.id))
    with pytest.raises(ConditionFailed) as refused:
        call.do()
    with pytest.raises(InputError, match="it was approved before"):
        steps.throw(refused.value)
    drive(env.dependencies, decline(env.dependencies, row.id, "wrong month"))
    records = [each.kind for each in env.dependencies.ledger.blocks("orders/lines_v1") if isinstance(each, Record)]

    assert env.dependencies.workloads.get(row.id).state is State.QUARANTINED
    assert records == ["decline", "approval", "decline"]


def test_a_stale_worker_does_not_undo_a_decline() -> None:
    """Of an approved delivery: who read it before its date was stored must not store it again after it was withdrawn."""
    env, row = judged(b"split:12")
    stale = approve(env.dependencies, row.id)
    call = stale.send(next(stale).do())
    call = stale.send(call.do())
    assert call.effect is Effect.SCHEDULE
    approved = env.dependencies.workloads.get(row.id)
    assert drive(env.dependencies, advance(DeliveryTurn(env.dependencies, approved))).state is State.SCHEDULED
    steps = decline(env.dependencies, row.id, "wrong month")
    declined = steps.send(next(steps).do())
    declined.do()
    with suppress(ConditionFailed):
        call.do()
    later(env, 26 * 60)

    assert env.dependencies.workloads.get(row.id).state is State.QUARANTINED


def test_nobody_declines_at_the_time_or_later() -> None:
    """From its time on a delivery is published: the person gets an error, whether or not a sweep was there first."""
    env, row = judged(b"good:1")
    assert row.deadline is not None
    env.memory.clock.sleep((row.deadline - env.memory.clock.now()).total_seconds())
    with pytest.raises(InputError, match="the delivery is being published"):
        drive(env.dependencies, decline(env.dependencies, row.id, "too late"))
    at(env, row, row.deadline)
    with pytest.raises(InputError, match="it does not wait for approval: it is PUBLISHED"):
        drive(env.dependencies, decline(env.dependencies, row.id, "too late"))


def another(env: Environment, body: bytes) -> str:
    """One more delivery, which waits for its time."""
    upload = env.upload(f"{KEY}.other", body)
    later(env, 0)
    assert env.dependencies.workloads.get(upload.workload).state is State.SCHEDULED
    return upload.workload


@pytest.mark.parametrize(
    ("now", "publish_at", "delay", "date"),
    [
        ("2026-02-28 05:59:59", "06:00Z", 0, "2026-02-28 06:00:00"),
        ("2026-02-28 06:00:00", "06:00Z", 0, "2026-02-28 06:00:00"),
        ("2026-02-28 06:00:01", "06:00Z", 0, "2026-03-01 06:00:00"),
        ("2026-12-31 23:59:00", "00:00Z", 0, "2027-01-01 00:00:00"),
        ("2026-02-28 05:59:59", "", 48, "2026-03-02 05:59:59"),
    ],
)
def test_a_date_is_the_next_one(now: str, publish_at: str, delay: int, date: str) -> None:
    """The next occurrence of a time of the day, in UTC, or so many hours later."""
    state = workflow_of(replace(LATER, publish_at=publish_at, delay_hours=delay)).own("SCHEDULED")
    begin, end = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (now, date))

    assert date_after(state, begin) == end
    assert longest_wait(state) == (timedelta(days=1) if publish_at else timedelta(hours=delay))


def test_the_date_of_what_is_approved_follows_from_the_approval() -> None:
    """Who approved ended then, and the next sweep comes a day later: the time has come meanwhile."""
    env, row = judged(b"split:12")
    by = replace(env.dependencies, identity=MemoryIdentity(ALICE))
    steps = approve(by, row.id)
    call = next(steps)
    while call.effect is not Effect.SCHEDULE:
        call = steps.send(call.do())
    steps.close()
    later(env, 24 * 60)

    assert env.dependencies.workloads.get(row.id).state is State.PUBLISHED


def test_an_answer_leaves_time_for_the_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """The staged copy is kept until what is approved on the last day has been published."""
    monkeypatch.setattr(decide_verdict, "STAGED_FOR", timedelta(days=20))
    asking = (PlannedTransition("VALIDATING", "accepted", "AWAITING"), LATER.transitions[1])
    with following(replace(LATER, wait_days=30, delay_hours=168, transitions=asking)):
        env, row = judged(b"good:1")
    (copy,) = env.memory.objects.versions(LAKE, "staging/").versions

    assert row.deadline == copy.modified + timedelta(days=20) - BEFORE_IT_EXPIRES - timedelta(days=7)

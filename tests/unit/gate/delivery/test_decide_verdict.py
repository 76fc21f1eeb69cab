"""A judged delivery waits for a person: who answers, what comes of it, and what happens meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import timedelta

import pytest

from lakegate.base.errors import ConditionFailed, InputError
from lakegate.base.timestamps import moment
from lakegate.gate.datasets.pauses import pause
from lakegate.gate.delivery.decide_verdict import BEFORE_IT_EXPIRES, STAGED_FOR
from lakegate.gate.delivery.delivery_row import ApprovalAnswer, Decision, Workload, replay_id
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import Effect
from lakegate.gate.ledger.blocks import Record
from lakegate.gate.ports import Address
from lakegate.gate.sweep import sweep
from tests.decisions import approve, decline, replay, waive
from tests.fakes.identity import ALICE, BOB, MemoryIdentity
from tests.published_schemas import validate
from tests.simulation.environment import LAKE, LINE, PREFIX, Environment
from tests.simulation.promises import Promises
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.workflows import ASKING, following
from tests.unit.gate.scenarios import KEY, drive

REASON = "the totals are those of last month"
DAY = 24 * 60


@pytest.fixture(autouse=True)
def _asking() -> Iterator[None]:
    """The contract names a workflow that asks for everything that would be accepted, for seven days."""
    with following(ASKING):
        yield


def waiting(body: bytes = b"good:1", key: str = KEY, env: Environment | None = None) -> tuple[Environment, Workload]:
    """An environment with a delivery that waits for a person."""
    env = env or Environment()
    upload = env.upload(key, body)
    settle(Stage(env, lambda _: Fault.NONE))
    row = env.dependencies.workloads.get(upload.workload)
    assert row.state is State.AWAITING
    return env, row


def approved(env: Environment, row: Workload, actor: str = ALICE) -> Workload:
    by = replace(env.dependencies, identity=MemoryIdentity(actor))
    drive(by, approve(by, row.id))
    return env.dependencies.workloads.get(row.id)


def declined(env: Environment, row: Workload, reason: str = REASON, actor: str = ALICE) -> Workload:
    by = replace(env.dependencies, identity=MemoryIdentity(actor))
    drive(by, decline(by, row.id, reason))
    return env.dependencies.workloads.get(row.id)


def later(env: Environment, minutes: int) -> None:
    """So much time passes, then sweeps and the runs that they start."""
    env.memory.clock.sleep(minutes * 60)
    for _ in range(3):
        drive(env.dependencies, sweep(env.dependencies))
        for _, job in env.new_jobs():
            drive(env.dependencies, job)
        env.memory.clock.sleep(600)


def decision(row: Workload) -> Decision:
    assert row.decision is not None
    return row.decision


def records(env: Environment) -> list[tuple[str, str, object]]:
    blocks = env.dependencies.ledger.blocks(LINE)
    return [(each.kind, each.actor, each.content) for each in blocks if isinstance(each, Record)]


def test_what_waits_is_neither_claimed_nor_visible_and_asks() -> None:
    """The row has the verdict as a candidate; one message names it, by the schema of events."""
    env, row = waiting(b"split:12")
    (message,) = env.memory.notifier.sent
    body = json.loads(message.body)
    assert row.candidate is not None

    assert (row.decision, row.candidate.verdict, row.answer) == (None, "accepted_with_warnings", None)
    assert (row.due_at, row.deadline) == (row.deadline, row.deadline)
    assert Promises(env).places(row.id) == {}
    assert (env.memory.contents, env.memory.changes("producer")) == ({}, [])
    assert env.dependencies.ledger.blocks(LINE) == ()
    assert (message.kind, body["state"], body["verdict"], body["height"], body["report"]) == (
        "awaiting",
        "AWAITING",
        "accepted_with_warnings",
        None,
        None,
    )
    document = {"id": message.id, "workload": row.id, "kind": message.kind, "body": body}
    validate("event", document)


def test_an_approved_delivery_is_published_as_it_was_judged() -> None:
    """Verdict, reasons and counts are those of the judgement; the ledger has the person, the row the answer."""
    env, row = waiting()
    at = moment(env.memory.clock.now())
    after = approved(env, row)

    assert (after.state, after.decision, after.candidate) == (State.PUBLISHED, row.candidate, None)
    assert after.answer == ApprovalAnswer(ALICE, approved=True, reason="", at=at)
    assert list(Promises(env).places(row.id).values()) == [b"good:1"]
    assert records(env) == [("approval", ALICE, {"workload": row.id, "attempt": 1, "verdict": "accepted"})]
    assert list(env.memory.contents.values()) == [row.id]


def test_rows_of_a_split_that_waited_are_published_apart() -> None:
    """Good rows are accepted, and bad ones quarantined, as without the wait."""
    env, row = waiting(b"split:12")
    approved(env, row)

    assert list(Promises(env).places(row.id).values()) == [b"split:1", b"2"]


def test_a_declined_delivery_is_quarantined_with_who_and_why() -> None:
    """The person's words come first, then what the judgement says; no row counts as published."""
    env, row = waiting(b"split:12")
    assert row.candidate is not None
    assert row.candidate.counts is not None
    after = declined(env, row)

    assert (after.state, decision(after).verdict) == (State.QUARANTINED, "rejected")
    assert decision(after).reasons == (f"declined: {REASON} (by {ALICE})", *row.candidate.reasons)
    assert decision(after).broken == row.candidate.broken
    assert asdict(decision(after).counts) == {  # type: ignore[call-overload]  # it was measured
        **asdict(row.candidate.counts),
        "published_rows": 0,
        "rejected_rows": 8,
    }
    assert list(Promises(env).places(row.id).values()) == [b"split:12"]
    content = {"workload": row.id, "attempt": 1, "verdict": "accepted_with_warnings", "reason": REASON}
    assert records(env) == [("decline", ALICE, content)]
    assert env.memory.contents == {}


def test_silence_is_no_approval() -> None:
    """The day before the end nothing has happened; after it the delivery is rejected, and a replay asks again."""
    env, row = waiting()
    later(env, 6 * DAY)
    before = env.dependencies.workloads.get(row.id)
    later(env, 2 * DAY)
    after = env.dependencies.workloads.get(row.id)
    with pytest.raises(InputError, match="nobody answered in time"):
        approved(env, row)
    again = drive(env.dependencies, replay(env.dependencies, row.id))
    later(env, 10)

    assert before == row
    assert (after.state, decision(after).reasons) == (State.QUARANTINED, ("approval-expired",))
    assert (decision(after).verdict, after.answer) == ("rejected", None)
    assert records(env)[0][0] == "replay"
    assert env.dependencies.workloads.get(str(again)).state is State.AWAITING


def test_an_answer_after_the_end_is_refused_before_it_is_recorded() -> None:
    """Also if no sweep has noticed the end yet."""
    env, row = waiting()
    env.memory.clock.sleep(8 * DAY * 60)
    with pytest.raises(InputError, match="the time for an answer was over"):
        approved(env, row)

    assert (records(env), env.dependencies.workloads.get(row.id)) == ([], row)


def test_what_is_rejected_or_undecided_is_not_asked_about() -> None:
    """A person approves of what the contract accepts, and of nothing else."""
    env = Environment()
    uploads = [
        env.upload(f"{PREFIX}{number}.csv", body) for number, body in enumerate((b"bad:1", b"error:1", b"%PDF:1"))
    ]
    settle(Stage(env, lambda _: Fault.NONE))

    assert [env.dependencies.workloads.get(each.workload).state for each in uploads] == [
        State.QUARANTINED,
        State.FAILED,
        State.QUARANTINED,
    ]


def test_the_same_answer_twice_is_one_answer() -> None:
    """Whoever repeats it; the second command shows what came of the first."""
    env, row = waiting()
    first, again = approved(env, row), approved(env, row, BOB)
    other, row = waiting()
    rejected, once_more = declined(other, row), declined(other, row, "another reason", BOB)

    assert (again, once_more) == (first, rejected)
    assert (len(records(env)), len(records(other))) == (1, 1)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [(approved, declined, "it was approved before"), (declined, approved, "it was declined before")],
)
def test_the_first_answer_counts(first: object, second: object, words: str) -> None:
    """The other person is told who answered, and nothing changes."""
    env, row = waiting()
    before = first(env, row)  # type: ignore[operator]  # one of the functions above
    with pytest.raises(InputError, match=f"{words}, by {ALICE}"):
        second(env, row, actor=BOB)  # type: ignore[operator]  # likewise

    assert env.dependencies.workloads.get(row.id) == before


def test_of_two_answers_at_once_one_counts() -> None:
    """Both are recorded; the one that is stored first counts, and the other person is told."""
    env, row = waiting()
    by = replace(env.dependencies, identity=MemoryIdentity(BOB))
    steps = decline(by, row.id, REASON)
    call = steps.send(next(steps).do())
    assert call.effect is Effect.ANSWER
    after = approved(env, row)
    with pytest.raises(ConditionFailed) as refused:
        call.do()
    with pytest.raises(InputError, match="it was approved before"):
        steps.throw(refused.value)

    assert [each[:2] for each in records(env)] == [("decline", BOB), ("approval", ALICE)]
    assert env.dependencies.workloads.get(row.id) == after


def test_an_interrupted_answer_is_completed_by_the_next_command() -> None:
    """After the record nothing was written: the same command completes it, with one record."""
    env, row = waiting()
    steps = approve(env.dependencies, row.id)
    next(steps).do()
    steps.close()
    after = approved(env, row)

    assert (after.state, len(records(env))) == (State.PUBLISHED, 1)


def test_an_answer_that_was_stored_is_carried_out_by_the_sweep() -> None:
    """The person may go away: the row is due."""
    env, row = waiting()
    steps = approve(env.dependencies, row.id)
    call = steps.send(next(steps).do())
    call.do()
    steps.close()
    stored = env.dependencies.workloads.get(row.id)
    later(env, 90)

    assert stored.state is State.ANSWERED
    assert env.dependencies.workloads.get(row.id).state is State.PUBLISHED


@pytest.mark.parametrize("reason", ["", "a\nb", "\x1b[31m", "x" * 501])
def test_a_reason_is_one_line(reason: str) -> None:
    """Anything else is refused, and nothing is recorded."""
    env, row = waiting()
    with pytest.raises(InputError, match="one line of at most 500 characters"):
        declined(env, row, reason)

    assert records(env) == []


def test_what_does_not_wait_cannot_be_answered() -> None:
    """An unknown workload, and one that is rejected by its contract."""
    env = Environment()
    upload = env.upload(KEY, b"bad:1")
    settle(Stage(env, lambda _: Fault.NONE))
    with pytest.raises(InputError, match="no such workload"):
        drive(env.dependencies, approve(env.dependencies, "unknown"))
    with pytest.raises(InputError, match="it does not wait for approval: it is QUARANTINED"):
        drive(env.dependencies, approve(env.dependencies, upload.workload))


def test_content_that_was_accepted_meanwhile_is_not_published_twice() -> None:
    """Two deliveries of one content wait; of two approvals the second one is refused as a duplicate."""
    env = Environment()
    env.upload(f"{PREFIX}again.csv", b"good:1")
    env, row = waiting(env=env)
    (other,) = [each for each in env.memory.workloads.values() if each.id != row.id]
    first, second = approved(env, row), approved(env, other)

    assert first.state is State.PUBLISHED
    assert (second.state, decision(second).reasons) == (State.QUARANTINED, ("duplicate-content",))


def test_a_declined_delivery_is_waived_as_any_rejection() -> None:
    """Somebody else answers for it, by name and until a time."""
    env, row = waiting()
    declined(env, row)
    expires = moment(env.memory.clock.now() + timedelta(hours=1))
    drive(env.dependencies, waive(env.dependencies, row.id, "known", expires))
    waived = env.dependencies.workloads.get(replay_id(row.id))

    assert (waived.state, decision(waived).reasons[1]) == (State.PUBLISHED, f"declined: {REASON} (by {ALICE})")


def test_a_pause_and_the_end_of_a_line_leave_what_waits() -> None:
    """What was taken in before goes on, as everything that is under way: it was pinned, and judged by that."""
    env, row = waiting()
    drive(env.dependencies, pause(env.dependencies, LINE, "a reason"))
    env.publish("1.0.0", "retired")

    assert approved(env, row).state is State.PUBLISHED


def test_what_its_producer_deletes_meanwhile_is_published() -> None:
    """The staged copy is what was judged."""
    env, row = waiting()
    env.delete(env.uploads[0])

    assert approved(env, row).state is State.PUBLISHED
    assert list(Promises(env).places(row.id).values()) == [b"good:1"]


def test_nobody_is_asked_longer_than_the_staged_copy_is_kept() -> None:
    """A copy that an earlier round made is older: the time ends before S3 deletes it, though the workflow has more."""
    with following(replace(ASKING, wait_days=30)):
        env = Environment()
        upload = env.upload(KEY, b"good:1")
        stage = Stage(env, lambda effect: Fault.CRASH_BEFORE if effect is Effect.ASK and not late else Fault.NONE)
        late: list[bool] = []
        while stage.workers or env.inbox:
            if stage.workers:
                stage.step(stage.workers[0])
            else:
                stage.deliver(0)
        staged = env.dependencies.workloads.get(upload.workload).staged
        assert staged is not None
        written = env.dependencies.objects.head(Address(LAKE, staged.key)).modified
        stage.pass_time(20 * DAY)
        late.append(True)
        settle(stage)
        row = env.dependencies.workloads.get(upload.workload)

    assert row.state is State.AWAITING
    assert row.deadline == written + STAGED_FOR - BEFORE_IT_EXPIRES

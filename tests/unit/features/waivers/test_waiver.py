"""A person lets a rejected delivery through: recorded, once, and visible to everybody who reads it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import timedelta

import pytest

from lakegate.base.errors import AccessDenied, ConditionFailed, InputError
from lakegate.base.timestamps import moment
from lakegate.gate.datasets.pauses import pause, resume
from lakegate.gate.delivery.delivery_row import Waiver, Workload, replay_id
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import Effect
from lakegate.gate.ledger.blocks import Record, from_json, to_json
from lakegate.gate.person_decisions import MAX_WAIVER
from lakegate.gate.ports import Address
from lakegate.gate.sweep import sweep
from tests.decisions import replay, waive
from tests.fakes.identity import ALICE, BOB, MemoryIdentity
from tests.simulation.environment import LAKE, LINE, PREFIX, Environment
from tests.simulation.lifecycle import command
from tests.simulation.promises import Promises
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.gate.scenarios import KEY, drive, resumed

REASON = "the supplier corrects it on Monday"


def rejected(body: bytes = b"bad:1", key: str = KEY, env: Environment | None = None) -> tuple[Environment, Workload]:
    """An environment with a delivery in quarantine."""
    env, (row,) = all_rejected(body, (key,), env)
    return env, row


def all_rejected(
    body: bytes, keys: tuple[str, ...], env: Environment | None = None
) -> tuple[Environment, list[Workload]]:
    """An environment with a delivery in quarantine below each key."""
    env = env or Environment()
    uploads = [env.upload(each, body) for each in keys]
    settle(Stage(env, lambda _: Fault.NONE))
    return env, [env.dependencies.workloads.get(each.workload) for each in uploads]


def until(env: Environment, minutes: int = 60) -> str:
    return moment(env.memory.clock.now() + timedelta(minutes=minutes))


def waived(env: Environment, row: Workload, reason: str = REASON, minutes: int = 60) -> Workload:
    identity = drive(env.dependencies, waive(env.dependencies, row.id, reason, until(env, minutes)))
    return env.dependencies.workloads.get(str(identity))


def records(env: Environment) -> list[tuple[str, str, object]]:
    blocks = env.dependencies.ledger.blocks(LINE)
    return [(each.kind, each.actor, each.content) for each in blocks if isinstance(each, Record)]


def test_a_waived_delivery_is_accepted_with_the_reasons_of_its_rejection() -> None:
    """The bytes leave quarantine for the accepted folder; block, manifest and message name the waiver, and who gave it."""
    env, row = rejected()
    expires = until(env)
    after = waived(env, row)
    waiver = Waiver(ALICE, REASON, expires, row.id)
    block = env.dependencies.ledger.blocks(LINE)[-1]
    manifest = json.loads(env.lake[f"accepted/{LINE}/_manifest.json"][-1].body)
    messages = [json.loads(each.body) for each in env.memory.messages.values()]
    assert row.decision is not None
    assert after.decision is not None
    assert not isinstance(block, Record)

    assert (after.state, after.decision.verdict) == (State.PUBLISHED, "accepted_with_warnings")
    assert after.decision.reasons == (waiver.in_words, *row.decision.reasons)
    assert after.decision.broken == row.decision.broken
    assert (after.decision.counts and asdict(after.decision.counts)) == {
        **asdict(row.decision.counts),  # type: ignore[arg-type]  # it was measured
        "published_rows": 5,
        "rejected_rows": 0,
    }
    assert Promises(env).places(row.id) == {}
    assert list(Promises(env).places(after.id).values()) == [b"bad:1"]
    assert (block.workload, block.waiver, block.rows, from_json(to_json(block))) == (after.id, waiver, 5, block)
    assert [each["waiver"] for each in manifest["deliveries"]] == [asdict(waiver)]
    assert [each["waiver"] for each in messages] == [asdict(waiver)]
    assert records(env) == [
        ("waiver", ALICE, {"workload": row.id, "waived_by": after.id, "reason": REASON, "expires": expires})
    ]


def test_a_waiver_that_is_given_twice_lets_through_once() -> None:
    """The second command changes nothing, whatever its reason, and names the same workload."""
    env, row = rejected()
    first = waived(env, row)
    before = len(env.dependencies.ledger.blocks(LINE))
    second = waived(env, row, "another reason")

    assert second == first
    assert len(env.dependencies.ledger.blocks(LINE)) == before


def test_an_interrupted_waiver_is_completed_by_the_next_command() -> None:
    """After the record nothing else was written: the same command completes it, with one record."""
    env, row = rejected()
    steps = waive(env.dependencies, row.id, REASON, expires := until(env))
    call = next(steps)
    call.do()
    steps.close()
    drive(env.dependencies, waive(env.dependencies, row.id, REASON, expires))

    assert call.effect is Effect.RECORD
    assert env.dependencies.workloads.get(replay_id(row.id)).state is State.PUBLISHED
    assert len(records(env)) == 1


def test_what_is_replayed_is_not_waived() -> None:
    """The replay is judged; only what comes of it may be waived. The other way round, the replay is the waived delivery."""
    env, row = rejected(b"mild:1", env=_strict())
    drive(env.dependencies, replay(env.dependencies, row.id))
    with pytest.raises(InputError, match="replayed before"):
        waived(env, row)
    other, row = rejected()
    after = waived(other, row)

    assert drive(other.dependencies, replay(other.dependencies, row.id)) == after.id
    assert other.dependencies.workloads.get(after.id) == after


def _strict() -> Environment:
    env = Environment()
    env.publish("1.1.0", "active")
    return env


def test_a_replay_that_comes_first_wins() -> None:
    """Both were recorded; the one that is created first is the one, and the other person is told."""
    env, row = rejected()
    steps = waive(env.dependencies, row.id, REASON, until(env))
    call = steps.send(next(steps).do())
    drive(env.dependencies, replay(replace(env.dependencies, identity=MemoryIdentity(BOB)), row.id))
    with pytest.raises(ConditionFailed) as refused:
        call.do()

    assert call.effect is Effect.WAIVE
    with pytest.raises(InputError, match="replayed before"):
        steps.throw(refused.value)
    assert [each[:2] for each in records(env)] == [("waiver", ALICE), ("replay", BOB)]


@pytest.mark.parametrize(
    ("reason", "minutes", "message"),
    [
        ("", 60, "one line"),
        ("two\nlines", 60, "one line"),
        ("x" * 501, 60, "one line"),
        (REASON, 0, "after now"),
        (REASON, int(MAX_WAIVER.total_seconds() // 60) + 1, "within 366 days"),
    ],
)
def test_a_waiver_has_a_reason_and_an_end(reason: str, minutes: int, message: str) -> None:
    """Without them nothing is written."""
    env, row = rejected()
    with pytest.raises(InputError, match=message):
        waived(env, row, reason, minutes)

    assert records(env) == []


@pytest.mark.parametrize(
    ("key", "body", "message"),
    [(KEY, b"good:1", "only a quarantined"), ("elsewhere/c.csv", b"bad:1", "`unrouted`"), (KEY, b"%PDF:1", "readable")],
)
def test_some_deliveries_cannot_be_waived(key: str, body: bytes, message: str) -> None:
    """What was accepted, what no contract covers, and what nobody can read."""
    env, row = rejected(body, key)
    with pytest.raises(InputError, match=message):
        waived(env, row)


def test_a_waiver_does_not_open_a_retired_line() -> None:
    """The command is refused, before anything is recorded."""
    env, row = rejected()
    env.publish("1.0.0", "retired")
    with pytest.raises(InputError, match="contract-retired"):
        waived(env, row)

    assert records(env) == []


def test_a_delivery_that_the_door_refused_is_accepted_unmeasured() -> None:
    """Nobody counted its rows: the block has none."""
    env, row = rejected(b"")
    after = waived(env, row)
    block = env.dependencies.ledger.blocks(LINE)[-1]

    assert (after.state, after.decision and after.decision.counts) == (State.PUBLISHED, None)
    assert not isinstance(block, Record)
    assert (block.rows, block.rejected_rows) == (None, None)


def test_a_waiver_that_is_over_before_the_delivery_is_taken_in_is_not_used() -> None:
    """The line was paused for longer: the delivery is rejected again, with the old reasons. The replay of that is judged."""
    env, row = rejected()
    drive(env.dependencies, pause(env.dependencies, LINE, "a reason"))
    after = waived(env, row, minutes=60)
    held = after.state
    env.memory.clock.sleep(2 * 3600)
    drive(env.dependencies, resume(env.dependencies, LINE))
    drive(env.dependencies, sweep(env.dependencies))
    after = env.dependencies.workloads.get(after.id)
    assert row.decision is not None
    assert after.decision is not None

    assert (held, after.state) == (State.HELD, State.QUARANTINED)
    assert after.decision.reasons == ("waiver-expired", *row.decision.reasons)
    assert [each.waiver for each in env.dependencies.ledger.blocks(LINE) if not isinstance(each, Record)] == [
        None,
        None,
    ]
    with pytest.raises(InputError, match="waiver-expired"):
        waived(env, after)


def test_content_that_was_accepted_meanwhile_is_not_let_through() -> None:
    """Three deliveries with the same content are waived, two of them at once: all but one are duplicates, and stay so."""
    env, (first, second, third) = all_rejected(b"bad:1", (KEY, f"{PREFIX}again.csv", f"{PREFIX}third.csv"))
    steps = waive(env.dependencies, second.id, REASON, until(env))
    call = next(steps)
    while call.effect is not Effect.DECIDE:
        call = steps.send(call.do())
    waived(env, first)
    with pytest.raises(ConditionFailed) as refused:
        call.do()
    drive(env.dependencies, resumed(steps, steps.throw(refused.value)))
    last = waived(env, third)
    states = [env.dependencies.workloads.get(replay_id(each.id)) for each in (first, second, third)]

    assert [(each.state, each.decision and each.decision.reasons[0].partition(":")[0]) for each in states] == [
        (State.PUBLISHED, "waived"),
        (State.QUARANTINED, "duplicate-content"),
        (State.QUARANTINED, "duplicate-content"),
    ]
    with pytest.raises(InputError, match="duplicate-content"):
        waived(env, last)


def test_a_quarantined_copy_that_was_deleted_is_not_let_through() -> None:
    """Somebody deleted it between the record and the decision: the delivery is gone, and nothing is accepted."""
    env, row = rejected()
    steps = waive(env.dependencies, row.id, REASON, until(env))
    call = steps.send(next(steps).do())
    call.do()
    steps.close()
    for key in list(env.lake):
        if key.startswith("quarantine/"):
            env.memory.objects.delete(Address(LAKE, key, env.lake[key][-1].version))
    env.memory.clock.sleep(600)
    drive(env.dependencies, sweep(env.dependencies))

    assert env.dependencies.workloads.get(replay_id(row.id)).state is State.GONE


def test_a_waived_delivery_that_could_not_be_read_is_still_waived_when_it_is_replayed() -> None:
    """The key of the quarantined copy was not granted: FAILED. Once it is, the replay is let through, not judged."""
    env, row = rejected()
    (copy,) = [stored[-1].version for key, stored in env.lake.items() if key.startswith("quarantine/")]
    steps = waive(env.dependencies, row.id, REASON, until(env))
    created = steps.send(next(steps).do())
    created.do()
    steps.close()
    env.memory.objects.locked[copy] = AccessDenied
    env.memory.clock.sleep(600)
    drive(env.dependencies, sweep(env.dependencies))
    failed = env.dependencies.workloads.get(replay_id(row.id))
    env.unlock()
    drive(env.dependencies, replay(env.dependencies, failed.id))
    after = env.dependencies.workloads.get(failed.id)

    assert (failed.state, after.state) == (State.FAILED, State.PUBLISHED)
    assert (after.waiver, after.chosen) == (failed.waiver, failed.chosen)


def test_subscribers_to_rejections_hear_of_a_waiver() -> None:
    """Who asked for rejected deliveries also reads who let one through."""
    env, row = rejected()
    drive(env.dependencies, command(env, "subscribe"))
    waived(env, row)
    (message,) = env.memory.messages.values()

    assert [each["team"] for each in json.loads(message.body)["subscribers"]] == ["finance"]

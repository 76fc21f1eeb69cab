"""An operator asks again: twice is once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lakegate.base.errors import AccessDenied, ConditionFailed, InputError, TransactionConflict
from lakegate.base.timestamps import moment
from lakegate.contract.file_formats import Format, Storage
from lakegate.gate.delivery.delivery_row import ChosenVersion, FailedAttempt, FailureCause
from lakegate.gate.delivery.delivery_terms import BatchLimits
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.pin_contract import route_of
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Call, Effect, Steps, run
from lakegate.gate.ledger.blocks import Record
from lakegate.gate.ledger.commit import TRIES_OF_COMMIT
from lakegate.gate.ports import Address
from lakegate.gate.registry.registry_rows import Publication
from lakegate.gate.sweep import sweep
from lakegate.plan.plan import Plan
from tests.decisions import replay, waive
from tests.fakes.identity import ALICE, BOB, MemoryIdentity
from tests.fakes.jobs import Ending
from tests.simulation.contract import DIGESTS, PLANS
from tests.simulation.environment import ALONE, BATCHES, LAKE, LANDING, LINE, Environment
from tests.simulation.promises import Promises
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.gate.scenarios import (
    KEY,
    drive,
    landed,
    quarantined,
    refused_at,
)


def test_a_quarantined_delivery_is_judged_again_under_the_contract_of_now() -> None:
    """The replay is a new workload; its source leaves quarantine once it is published elsewhere; the command is idempotent."""
    env, row = quarantined()
    env.publish("1.0.0", "active")
    again = [drive(env.dependencies, replay(env.dependencies, row.id)) for _ in range(2)]
    for _, job in env.new_jobs():
        run(job, env.dependencies.clock)
    env.memory.clock.sleep(600)
    drive(env.dependencies, sweep(env.dependencies))
    replayed = env.dependencies.workloads.get(str(again[0]))
    places = Promises(env).places

    assert again[0] == again[1]
    assert (row.state, replayed.state) == (State.QUARANTINED, State.PUBLISHED)
    assert places(row.id) == {}
    assert list(places(replayed.id).values()) == [b"mild:1"]


def test_what_was_replayed_is_replayed_by_its_replay() -> None:
    """The quarantined copy is gone: the replay is the one to ask for."""
    env, row = quarantined()
    assert row.pin is not None
    place = f"quarantine/{row.pin.dataset}/ingest_date={row.pin.ingest_date}/workload={row.id}/part-00000.csv"
    env.memory.objects.delete(Address(LAKE, place))
    with pytest.raises(InputError):
        drive(env.dependencies, replay(env.dependencies, row.id))


def test_only_what_failed_or_was_refused_is_replayed() -> None:
    """A delivery on its way, and one that nobody knows, are not."""
    env, row = landed()
    for workload in (row.id, "nobody"):
        with pytest.raises(InputError):
            drive(env.dependencies, replay(env.dependencies, workload))


def recorded(steps: Steps[str]) -> Call:
    """Perform the record of a replay; the effect that follows."""
    return steps.send(next(steps).do())


def test_two_operators_revive_one_workload_once() -> None:
    """The second meets a concurrent update by the first, and returns the same id."""
    env = Environment([Ending.FAILED] * 3)
    upload = env.upload(KEY, b"good:1")
    settle(Stage(env, lambda _: Fault.NONE))
    first, second = (replay(env.dependencies, upload.workload) for _ in range(2))
    waiting = recorded(second)
    run(first, env.dependencies.clock)
    with pytest.raises(ConditionFailed) as refused:
        waiting.do()
    with pytest.raises(StopIteration) as end:
        second.throw(refused.value)

    assert upload.workload == end.value.value
    assert State.VALIDATING is env.dependencies.workloads.get(upload.workload).state


def test_two_operators_of_one_replay_leave_one_record() -> None:
    """The record names who replayed first, on the chain of the delivery; the other one adds nothing to it."""
    env, row = quarantined()
    assert row.pin is not None
    others = replace(env.dependencies, identity=MemoryIdentity(BOB))
    first, second = replay(env.dependencies, row.id), replay(others, row.id)
    waiting = next(second)
    identity = run(first, env.dependencies.clock)
    with pytest.raises(ConditionFailed) as refused:
        waiting.do()
    second.throw(refused.value)
    records = [each for each in env.dependencies.ledger.blocks(row.pin.dataset) if isinstance(each, Record)]
    content = {"workload": row.id, "state": "QUARANTINED", "attempt": 1, "replayed_by": identity}

    assert [(each.kind, each.actor, each.content) for each in records] == [("replay", ALICE, content)]


def test_the_replay_of_a_delivery_that_was_never_pinned_is_recorded_with_the_unrouted_ones() -> None:
    """An upload that cannot be read has no contract yet: its replay is on the chain of the day."""
    env = Environment()
    upload = env.upload(KEY, b"good:1")
    env.lock(upload, AccessDenied)
    settle(Stage(env, lambda _: Fault.NONE))
    run(replay(env.dependencies, upload.workload), env.dependencies.clock)
    day = env.dependencies.now.date()

    assert [each.kind for each in env.dependencies.ledger.blocks(f"_unrouted/{day}")] == ["replay"]


def test_two_operators_replay_one_workload_once() -> None:
    """The second finds the replay that the first created."""
    env, row = quarantined()
    first, second = (replay(env.dependencies, row.id) for _ in range(2))
    waiting = recorded(second)
    identity = run(first, env.dependencies.clock)
    with pytest.raises(ConditionFailed) as refused:
        waiting.do()
    with pytest.raises(StopIteration) as end:
        second.throw(refused.value)

    assert identity == end.value.value
    assert len(env.memory.jobs.runs) == 3  # somebody else's, the first judgement's, the replay's


def test_a_record_gives_up_on_a_chain_that_never_rests() -> None:
    """After twenty heads that others extended first, the command reports a conflict."""
    env, row = quarantined()
    steps = replay(env.dependencies, row.id)
    next(steps)
    for _ in range(TRIES_OF_COMMIT - 1):
        steps.throw(ConditionFailed("head"))
    with pytest.raises(TransactionConflict):
        steps.throw(ConditionFailed("head"))


def replayed(env: Environment, workload: str, version: str = "") -> str:
    identity = drive(env.dependencies, replay(env.dependencies, workload, version))
    for _, job in env.new_jobs():
        run(job, env.dependencies.clock)
    env.memory.clock.sleep(600)
    drive(env.dependencies, sweep(env.dependencies))
    return str(identity)


def test_a_person_chooses_the_version_that_judges_a_replay() -> None:
    """The delivery that the valid version rejects is accepted by the chosen one; record, row and block name it."""
    env, row = quarantined()
    again = env.dependencies.workloads.get(replayed(env, row.id, "orders@1.0.0"))
    blocks = env.dependencies.ledger.blocks(LINE)
    chosen = ChosenVersion(LINE, "1.0.0", DIGESTS["1.0.0"])
    (record,) = [each for each in blocks if isinstance(each, Record)]
    assert again.pin is not None

    assert (again.state, again.chosen, again.pin.version) == (State.PUBLISHED, chosen, "1.0.0")
    assert (record.kind, record.content) == (
        "replay-version",
        {
            "workload": row.id,
            "state": "QUARANTINED",
            "attempt": 1,
            "replayed_by": again.id,
            "line": LINE,
            "contract_version": "1.0.0",
            "plan": DIGESTS["1.0.0"],
        },
    )
    assert [each.contract_version for each in blocks if not isinstance(each, Record)] == ["1.1.0", "1.0.0"]


def test_a_failed_delivery_is_judged_by_the_version_chosen_last() -> None:
    """Each replay chooses anew: without a version, the valid one judges."""
    env = Environment([Ending.FAILED] * 6)
    upload = env.upload(KEY, b"mild:1")
    env.publish("1.1.0", "active")
    settle(Stage(env, lambda _: Fault.NONE))
    pinned = []
    for version in ("orders@1.0.0", ""):
        drive(env.dependencies, replay(env.dependencies, upload.workload, version))
        row = env.dependencies.workloads.get(upload.workload)
        pinned.append((row.pin.version if row.pin else "", row.chosen and row.chosen.version))
        env.memory.workloads[row.id] = row._replace(state=State.FAILED, due_at=None)

    assert pinned == [("1.0.0", "1.0.0"), ("1.1.0", None)]


def failed_and_deleted(age: timedelta, body: bytes = b"good:1") -> tuple[Environment, str]:
    """A FAILED delivery whose producer deleted it, with a staged copy of that age, as the midnights since have left it."""
    env = Environment([Ending.FAILED] * 3)
    upload = env.upload(KEY, body)
    settle(Stage(env, lambda _: Fault.NONE))
    env.delete(upload)
    for days in (min(age, timedelta(days=46)), age - timedelta(days=46)):
        if days > timedelta():
            env.memory.clock.sleep(days.total_seconds())
            env.expire()
    return env, upload.workload


@pytest.mark.parametrize(("days", "state"), [(0, State.VALIDATING), (46, State.VALIDATING), (48, State.GONE)])
def test_a_failed_delivery_is_judged_as_long_as_any_version_of_its_staged_copy_is_there(
    days: int, state: State
) -> None:
    """Its producer deleted it. A day after the rule has put a marker above the copy, its bytes are gone."""
    env, workload = failed_and_deleted(timedelta(days=days))
    drive(env.dependencies, replay(env.dependencies, workload))

    assert env.dependencies.workloads.get(workload).state is state


def test_a_staged_copy_is_found_that_was_made_under_another_format() -> None:
    """The producer deleted what landed, and the version that judges now has another suffix."""
    env, workload = failed_and_deleted(timedelta(), b"[]")
    env.publish("1.0.0", "active", replace(Plan.from_bytes(PLANS["1.0.0"]), storage=Storage(Format.JSON)))
    drive(env.dependencies, replay(env.dependencies, workload))
    row = env.dependencies.workloads.get(workload)

    assert row.staged is not None
    assert (row.state, row.staged.key) == (State.VALIDATING, f"staging/{workload}/part-00000.json")


@pytest.mark.parametrize("batch", [ALONE, BATCHES])
@pytest.mark.parametrize("other", [False, True])
def test_a_copy_that_no_row_names_is_all_that_is_left(batch: BatchLimits, *, other: bool) -> None:
    """A worker copied while another one ended the delivery as FAILED; the producer deleted what landed; it is judged.

    Also by a version that was published since, whose deliveries are staged in another folder.
    """
    env = Environment(batch=batch)
    upload = env.upload(KEY, b"[]")
    steps, answer = intake(env.dependencies, LANDING, KEY), None
    while (call := steps.send(answer)).effect is not Effect.MARK_STAGED:
        answer = call.do()
    steps.close()
    ((copied,),) = (each for key, each in env.lake.items() if key.startswith("staging/"))
    row = env.dependencies.workloads.get(upload.workload)
    failed = FailedAttempt(1, "", FailureCause.ARCHIVED, env.dependencies.now)
    env.memory.workloads[row.id] = row._replace(state=State.FAILED, attempt=1, failed=(failed,), due_at=None)
    env.delete(upload)
    if other:
        env.publish("1.0.0", "active", replace(Plan.from_bytes(PLANS["1.0.0"]), storage=Storage(Format.JSON)))
    drive(env.dependencies, replay(env.dependencies, row.id))
    after = env.dependencies.workloads.get(row.id)

    assert (row.state, row.staged) == (State.PINNED, None)
    assert (after.state in {State.VALIDATING, State.SUBMITTING}, after.source.key) == (True, KEY)
    assert after.staged is not None
    assert after.staged.etag == copied.described.etag


def test_what_is_refused_at_a_replay_and_deleted_before_it_is_copied_is_gone() -> None:
    """The staged copy of the round before has expired: nobody looks for bytes that only the producer could have kept."""
    env = Environment([Ending.FAILED] * 3)
    upload = env.upload(KEY, b"good:1")
    settle(Stage(env, lambda _: Fault.NONE))
    for days in (46, 2):
        env.memory.clock.sleep(timedelta(days=days).total_seconds())
        env.expire()
    env.publish("1.0.0", "retired")
    refused_at(env, Effect.COPY, replay(env.dependencies, upload.workload), lambda: env.delete(upload))

    assert env.dependencies.workloads.get(upload.workload).state is State.GONE


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("orders", "no published version"),
        ("orders@9.0.0", "no published version: write CONTRACT@VERSION; published: `1.0.0`, `1.1.0`, `1.2.0`"),
        ("other@1.0.0", "no published version"),
        ("bills@1.2.0", "belongs to `orders`, not to `bills`"),
        ("orders@1.2.0", "has no dataset `lines`: it has `bills`"),
    ],
)
def test_a_version_that_does_not_fit_the_delivery_is_refused(version: str, message: str) -> None:
    """Nothing is recorded, and nothing is started."""
    env, row = quarantined()
    bills = Publication("orders", "1.2.0", "active", "contracts/1.2.0", (), plans=(("bills", "b"),))
    env.memory.registry.publish(bills)
    env.memory.registry.publish(replace(bills, contract="bills"))
    with pytest.raises(InputError, match=message):
        drive(env.dependencies, replay(env.dependencies, row.id, version))

    assert [each for each in env.dependencies.ledger.blocks(LINE) if isinstance(each, Record)] == []


def test_an_unrouted_delivery_is_judged_by_the_only_dataset_of_the_version() -> None:
    """No route covers it: the version that a person names does."""
    env = Environment()
    upload = env.upload("elsewhere/c.csv", b"good:1")
    settle(Stage(env, lambda _: Fault.NONE))
    again = env.dependencies.workloads.get(replayed(env, upload.workload, "orders@1.0.0"))

    assert (again.state, again.pin and again.pin.dataset) == (State.PUBLISHED, LINE)


def test_a_version_that_the_registry_does_not_know_counts_as_retired() -> None:
    """Fail closed: no delivery is accepted by what nobody published."""
    env, row = quarantined()
    route = route_of(DeliveryTurn(env.dependencies, row._replace(chosen=ChosenVersion(LINE, "9.0.0", "p"))))

    assert route is not None
    assert (route.full_name, route.version, route.status) == (LINE, "9.0.0", "retired")


def test_a_waived_delivery_is_not_replayed_under_another_version() -> None:
    """The waiver is of the rejection by one version."""
    env, row = quarantined()
    expires = moment(env.memory.clock.now() + timedelta(hours=1))
    identity = str(drive(env.dependencies, waive(env.dependencies, row.id, "a reason", expires)))
    with pytest.raises(InputError, match="let through by a waiver"):
        drive(env.dependencies, replay(env.dependencies, identity, "orders@1.0.0"))

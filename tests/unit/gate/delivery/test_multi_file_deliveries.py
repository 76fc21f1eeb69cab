"""Deliveries of several objects: what the simulation does not play."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from lakegate.base.errors import AccessDenied, InputError, NotFound
from lakegate.base.timestamps import moment
from lakegate.contract.delivery_policy import DeliveryUnit, Duplicates
from lakegate.gate.datasets.pauses import pause, resume
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_row import Workload, replay_id
from lakegate.gate.delivery.find_deliveries import find_delivery, recent
from lakegate.gate.delivery.intake import admit, intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Alarm, Effect
from lakegate.gate.ports import Address
from lakegate.gate.registry.registry_store import Registry
from lakegate.gate.sweep import sweep
from tests.decisions import replay, waive
from tests.fakes.jobs import Ending
from tests.simulation.contract import PLAN, read_json
from tests.simulation.environment import LAKE, LANDING, LINE, PREFIX, Environment
from tests.simulation.parts import FOLDER, complete
from tests.simulation.stage import Fault, Stage
from tests.unit.gate.scenarios import drive, refused_at, resumed

SUCCESS, MANIFEST, QUIET = DeliveryUnit.SUCCESS, DeliveryUnit.MANIFEST, DeliveryUnit.QUIET


def environment(
    unit: DeliveryUnit = SUCCESS,
    bodies: tuple[bytes, ...] = (b"good:1", b"good:2"),
    endings: tuple[Ending, ...] = (),
    **policy: object,
) -> Environment:
    """A line whose deliveries have parts, and the parts of one, uploaded but not complete."""
    env = Environment(list(endings))
    env.publish("1.0.0", "active", replace(PLAN, policy=replace(PLAN.policy, delivery=unit, **policy)))  # type: ignore[arg-type]
    for number, body in enumerate(bodies):
        env.upload(f"{FOLDER}{number}.csv", body)
    return env


def finish(env: Environment) -> None:
    """Every event, every job, then two sweeps an hour and a half apart."""
    stage = Stage(env, lambda _: Fault.NONE)
    stage.promises.hold = lambda: None  # type: ignore[method-assign]  # its promises are of single objects
    stage.look()
    for _ in range(3):
        while stage.workers or env.inbox:
            if stage.workers:
                stage.step(stage.workers[0])
            else:
                stage.deliver(0)
        stage.sweep(90)


def deliveries(env: Environment) -> list[Workload]:
    return [row for row in env.memory.workloads.values() if not row.joined]


def only(env: Environment) -> Workload:
    (row,) = deliveries(env)
    return row


def reasons(row: Workload) -> tuple[str, ...]:
    assert row.decision is not None
    return row.decision.reasons


def test_the_parts_of_a_delivery_are_one_request_one_block_and_one_entry() -> None:
    """One run reads all parts, and the block lists each with its checksum, at keys without the producer's names."""
    env = environment()
    complete(env, SUCCESS)
    finish(env)
    row = only(env)
    request = read_json(env.lake[f"runs/{row.id}/attempt=1/request.json"][-1].body)
    (block,) = env.memory.chains[LINE]
    folder = f"accepted/{LINE}/ingest_date={row.pin.ingest_date if row.pin else ''}/workload={row.id}/"

    assert [(each["uri"], each["size"]) for each in request["parts"]] == [
        (f"s3://lake/staging/{row.id}/part-0000{number}.csv", 6) for number in range(2)
    ]
    assert [(each.key, each.size, each.checksum[:7]) for each in block.objects] == [
        (f"{folder}part-0000{number}.csv", 6, "sha256:") for number in range(2)
    ]


def test_the_same_parts_under_other_names_are_a_duplicate() -> None:
    """The content of a delivery is what its parts contain, not what they are called or how they are ordered."""
    env = environment()
    complete(env, SUCCESS)
    finish(env)
    again = f"{PREFIX}run=2/"
    for name, body in (("x.csv", b"good:2"), ("y.csv", b"good:1")):
        env.upload(again + name, body)
    complete(env, SUCCESS, again)
    finish(env)

    assert [reasons(row) for row in deliveries(env)] == [(), ("duplicate-content",)]


def test_a_part_without_a_strong_checksum_is_compared_after_it_is_staged() -> None:
    """Sources whose checksums do not identify them leave the question to the copies, which have one."""
    env = environment()
    complete(env, SUCCESS)
    finish(env)
    again = f"{PREFIX}run=2/"
    for number, body in enumerate((b"good:1", b"good:2")):
        env.upload(f"{again}{number}.csv", body, "crc32")
    complete(env, SUCCESS, again)
    finish(env)

    assert len(deliveries(env)) == 2
    assert all(row.parts is not None for row in deliveries(env))
    assert deliveries(env)[1].parts.checksum == ""  # type: ignore[union-attr]  # as asserted before


def test_a_failed_delivery_keeps_its_parts() -> None:
    """After its last attempt the parts stay in landing, and belong to it: a replay judges all of them."""
    env = environment(endings=(Ending.FAILED,) * 3)
    complete(env, SUCCESS)
    finish(env)
    row = only(env)

    assert row.state is State.FAILED
    assert [each.joined for each in env.memory.workloads.values() if each.joined] == [row.id] * 2
    assert {f"{FOLDER}{number}.csv" for number in range(2)} <= set(env.landing)


def test_a_rejected_delivery_is_replayed_as_a_whole() -> None:
    """The replay judges all quarantined copies together, under the contract that is valid then."""
    env = environment(bodies=(b"mild:1", b"good:2"))
    env.publish(
        "1.1.0",
        "active",
        replace(PLAN, contract_version="1.1.0", policy=replace(PLAN.policy, delivery=SUCCESS, max_bytes=1)),
    )
    complete(env, SUCCESS)
    finish(env)
    row = only(env)
    env.publish("1.0.0", "active", replace(PLAN, policy=replace(PLAN.policy, delivery=SUCCESS)))
    drive(env.dependencies, replay(env.dependencies, row.id))
    finish(env)
    again = env.memory.workloads[replay_id(row.id)]

    assert (row.state, reasons(row)) == (
        State.QUARANTINED,
        ("file/size: the parts have 12 bytes together, the contract allows 1",),
    )
    assert again.state is State.PUBLISHED
    assert [body for key, body in env.memory.objects.current(LAKE, "accepted/").items() if "/workload=" in key] == [
        b"mild:1",
        b"good:2",
    ]
    assert not [key for key in env.memory.objects.current(LAKE, "quarantine/") if "/part-" in key]


def test_an_incomplete_delivery_cannot_be_replayed() -> None:
    """What is in quarantine is less than the delivery: judging it would publish a part of it."""
    env = environment(MANIFEST)
    complete(env, MANIFEST, parts=[{"key": "0.csv", "size": 6}, {"key": "9.csv", "size": 6}])
    finish(env)
    env.memory.clock.sleep(100_000)
    finish(env)
    row = next(row for row in deliveries(env) if row.parts)
    with pytest.raises(InputError, match="deliver all parts again"):
        drive(env.dependencies, replay(env.dependencies, row.id))

    assert reasons(row) == (
        (
            "file/parts: entry 2 of 2 in `_delivery.json` names an object that is not in the folder: upload every part, then "
            "`_delivery.json`; deliver all of them again"
        ),
    )


def test_a_part_that_nothing_completed_is_rejected_with_its_reason() -> None:
    """After the contract's time it goes to quarantine, so that nothing stays in landing unnoticed."""
    env = environment(bodies=(b"good:1",), parts_within_minutes=60)
    finish(env)

    assert reasons(only(env)) == (
        (
            "file/parts: the object belongs to no delivery: within 60 minutes no `_SUCCESS` in its folder has completed one "
            "with it. Deliver all parts again, then write `_SUCCESS`"
        ),
    )


def test_a_part_waits_while_its_delivery_is_failed() -> None:
    """A delivery that a person has to look at first may still take what lies in its folder."""
    env = environment(MANIFEST, parts_within_minutes=60)
    complete(env, MANIFEST)
    last = env.uploads[-1]
    env.lock(last, AccessDenied)
    finish(env)
    failed = only(env)
    env.unlock()
    drive(env.dependencies, replay(env.dependencies, failed.id))
    finish(env)

    assert failed.state is State.FAILED
    assert only(env).state is State.PUBLISHED


def test_an_object_of_a_line_that_now_takes_quiet_folders_is_named() -> None:
    """What was claimed as a single object under the older version of the contract has to be delivered again."""
    env = Environment()
    upload = env.upload(f"{FOLDER}0.csv", b"good:1")
    steps = intake(env.dependencies, LANDING, upload.version.key)
    plan = replace(PLAN, policy=replace(PLAN.policy, delivery=QUIET))
    refused_at(env, Effect.CLAIM, steps, lambda: env.publish("1.0.0", "active", plan))
    finish(env)

    assert reasons(only(env)) == (
        "file/parts: the object landed while its contract took single objects, and now takes parts: deliver it again",
    )


def test_a_retired_contract_takes_no_parts() -> None:
    """The delivery is rejected as a whole, and its parts are in quarantine together."""
    env = environment()
    env.publish("1.0.0", "retired", replace(PLAN, policy=replace(PLAN.policy, delivery=SUCCESS)))
    complete(env, SUCCESS)
    finish(env)

    assert reasons(only(env)) == ("contract-retired",)
    assert sorted(body for body in env.memory.objects.current(LAKE, "quarantine/").values()) == [
        b"",
        b"good:1",
        b"good:2",
    ]


def test_a_delivery_whose_route_is_removed_is_unrouted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A delivery that was FAILED keeps its parts; without a route no contract judges them."""
    env = environment()
    complete(env, SUCCESS)
    env.lock(env.uploads[0], AccessDenied)
    finish(env)
    failed = only(env)
    env.unlock()
    monkeypatch.setattr(Registry, "routes", lambda *_: ())
    drive(env.dependencies, replay(env.dependencies, failed.id))
    finish(env)

    assert reasons(only(env)) == ("unrouted",)


def test_a_marker_that_its_producer_withdrew_completes_nothing() -> None:
    """Deleted before the gate looked: the delivery is gone, and its parts wait for another marker."""
    env = environment()
    complete(env, SUCCESS)
    steps = intake(env.dependencies, LANDING, f"{FOLDER}_SUCCESS")
    refused_at(env, Effect.CLAIM, steps, lambda: env.memory.objects.delete(Address(LANDING, f"{FOLDER}_SUCCESS")))
    assert only(env).state is State.GONE
    env.inbox.clear()
    complete(env, SUCCESS)
    finish(env)

    assert sorted(row.state for row in deliveries(env)) == [State.GONE, State.PUBLISHED]


def test_a_delivery_is_gone_with_all_its_parts() -> None:
    """Where the producer deleted every part before one was read, nothing is left to judge or to keep."""
    env = environment()
    complete(env, SUCCESS)
    steps = intake(env.dependencies, LANDING, f"{FOLDER}_SUCCESS")

    def gone() -> None:
        for upload in env.uploads[:2]:
            env.delete(upload)

    refused_at(env, Effect.PIN, steps, gone)

    assert only(env).state is State.GONE


def test_a_part_deleted_between_two_looks_is_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listed and then not there: the next look lists the folder again."""
    env = environment()
    complete(env, SUCCESS)
    head, missed = env.memory.objects.head, []

    def once(address: Address) -> object:
        if address.key.endswith("1.csv") and not missed:
            missed.append(address)
            raise NotFound
        return head(address)

    monkeypatch.setattr(env.memory.objects, "head", once)
    drive(env.dependencies, intake(env.dependencies, LANDING, f"{FOLDER}_SUCCESS"))
    waiting = only(env).state
    env.memory.clock.sleep(600)
    finish(env)

    assert (waiting, only(env).state) == (State.RECEIVED, State.PUBLISHED)


@pytest.mark.parametrize(("body", "code"), [(None, "parts-missing"), (b"{}", "parts-differ")])
def test_a_list_that_is_not_itself_raises_an_alarm(body: bytes | None, code: str) -> None:
    """Neither a missing list nor other bytes at its address say what a delivery consists of: another worker reads it."""
    env = environment()
    complete(env, SUCCESS)

    def broken() -> None:
        row = only(env)
        assert row.parts is not None
        env.memory.objects.delete(Address(LAKE, row.parts.key))
        if body is not None:
            env.memory.objects.put(Address(LAKE, row.parts.key), body)
        drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))

    with pytest.raises(Alarm) as raised:
        refused_at(env, Effect.JOIN, intake(env.dependencies, LANDING, f"{FOLDER}_SUCCESS"), broken)

    assert raised.value.code == code


TAKEN = "file/parts: a part belongs to another delivery already: write each delivery under new names, and deliver all parts again"


@pytest.mark.parametrize("effect", [Effect.PIN, Effect.JOIN])
def test_a_part_of_another_delivery_rejects_the_second_one(effect: Effect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two manifests list one object: who claims it first has it, and the other one goes to quarantine without it."""
    env = environment(MANIFEST)
    complete(env, MANIFEST)
    slow = intake(env.dependencies, LANDING, f"{FOLDER}_delivery.json")

    def first() -> None:
        env.memory.clock.sleep(60)
        complete(env, MANIFEST, parts=[{"key": "0.csv", "size": 6}])
        drive(env.dependencies, admit(env.dependencies, env.uploads[-1].version))

    with monkeypatch.context() as pages_of_one:
        pages_of_one.setattr(env.memory.objects, "versions", partial(env.memory.objects.versions, limit=1))
        refused_at(env, effect, slow, first)
    finish(env)
    rejected = next(row for row in deliveries(env) if row.state is State.QUARANTINED)
    stored = env.memory.objects.current(LAKE, "quarantine/")

    assert reasons(rejected) == (TAKEN,)
    assert [body for key, body in stored.items() if f"={rejected.id}/part-" in key] == [b"good:2"]
    assert [row.state for row in deliveries(env) if row is not rejected] == [State.PUBLISHED]


def test_empty_parts_beside_data_are_no_reason() -> None:
    """A writer's empty partition is no fault; a delivery of nothing else is, unless the contract allows it."""
    env = environment(bodies=(b"good:1", b""))
    complete(env, SUCCESS)
    finish(env)
    empty = environment(bodies=(b"", b""))
    complete(empty, SUCCESS)
    finish(empty)

    assert only(env).state is State.PUBLISHED
    assert reasons(only(empty)) == ("file/rows: every part is empty",)


def test_success_is_ignored_where_objects_are_deliveries() -> None:
    """A `_SUCCESS` beside single objects is no delivery, and neither is one that no route covers."""
    env = Environment()
    env.upload(f"{PREFIX}_SUCCESS", b"")
    env.upload("elsewhere/_SUCCESS", b"")
    finish(env)

    assert deliveries(env) == []


def test_objects_below_the_folder_are_no_parts() -> None:
    """A delivery has the objects directly in its folder; deeper ones, and the folder's own marker, wait for theirs."""
    env = environment()
    env.upload(FOLDER, b"")
    env.upload(f"{FOLDER}day=2/0.csv", b"good:3")
    complete(env, SUCCESS)
    finish(env)

    assert only(env).parts is not None
    assert {row.source.key for row in env.memory.workloads.values() if row.joined} == {
        f"{FOLDER}0.csv",
        f"{FOLDER}1.csv",
    }


def test_a_quiet_folder_waits_for_its_last_part() -> None:
    """A part that arrives in the meantime starts the quiet time again; the next part opens the next delivery."""
    env = environment(QUIET, quiet_minutes=60)
    for key in (f"{FOLDER}0.csv", f"{FOLDER}1.csv"):
        drive(env.dependencies, intake(env.dependencies, LANDING, key))
    env.memory.clock.sleep(50 * 60)
    env.upload(f"{FOLDER}2.csv", b"good:3")
    env.memory.clock.sleep(50 * 60)
    drive(env.dependencies, sweep(env.dependencies))
    waiting = only(env).state
    env.memory.clock.sleep(20 * 60)
    finish(env)
    env.upload(f"{FOLDER}3.csv", b"good:4")
    finish(env)

    assert waiting is State.RECEIVED
    secret = env.uploads[0].version.version
    assert [(row.source.version, row.state, row.parts.size) for row in deliveries(env) if row.parts] == [
        (f"quiet-0-{secret}", State.PUBLISHED, 18),
        (f"quiet-1-{secret}", State.PUBLISHED, 6),
    ]


def test_a_quiet_folder_without_parts_is_gone() -> None:
    """What opened the delivery was deleted before it was complete."""
    env = environment(QUIET, bodies=(b"good:1",))
    drive(env.dependencies, intake(env.dependencies, LANDING, f"{FOLDER}0.csv"))
    env.delete(env.uploads[0])
    env.inbox.clear()
    finish(env)

    assert only(env).state is State.GONE


def test_of_two_workers_one_opens_a_quiet_delivery() -> None:
    """Who comes second leaves the delivery to the first."""
    env = environment(QUIET)
    steps = intake(env.dependencies, LANDING, f"{FOLDER}0.csv")
    refused_at(
        env,
        Effect.CLAIM,
        steps,
        lambda: drive(env.dependencies, intake(env.dependencies, LANDING, f"{FOLDER}1.csv")),
    )

    assert len(deliveries(env)) == 1


def test_a_part_is_shown_as_its_delivery() -> None:
    """Lists of deliveries have one line for all parts, and a part's id leads to its delivery."""
    env = environment()
    complete(env, SUCCESS)
    drive(env.dependencies, intake(env.dependencies, LANDING, f"{FOLDER}_SUCCESS"))
    row = only(env)

    assert [(each.id, each.key, each.size) for each in recent(env.dependencies, 10)] == [
        (row.id, f"{FOLDER}_SUCCESS", 12)
    ]
    assert find_delivery(env.dependencies, env.uploads[0].workload, 10).id == row.id


def test_a_part_deleted_while_it_is_staged_is_named() -> None:
    """The worker that finds it missing leaves the delivery to the next look at the door, which rejects it."""
    env = environment()
    complete(env, SUCCESS)
    steps = intake(env.dependencies, LANDING, f"{FOLDER}_SUCCESS")
    refused_at(env, Effect.STAGE, steps, lambda: env.delete(env.uploads[0]))
    env.memory.clock.sleep(600)
    finish(env)

    assert reasons(only(env)) == (
        "file/parts: part 1 of 2 was deleted before it could be read: deliver all parts again",
    )
    assert [body for key, body in env.memory.objects.current(LAKE, "quarantine/").items() if "/part-" in key] == [
        b"good:2"
    ]


def test_duplicates_may_be_accepted() -> None:
    """`duplicates: accept` holds for deliveries of parts as for objects."""
    env = environment(duplicates=Duplicates.ACCEPT)
    complete(env, SUCCESS)
    finish(env)
    for number, body in enumerate((b"good:1", b"good:2")):
        env.upload(f"{PREFIX}run=2/{number}.csv", body)
    complete(env, SUCCESS, f"{PREFIX}run=2/")
    finish(env)

    assert [row.state for row in deliveries(env)] == [State.PUBLISHED, State.PUBLISHED]


def test_parts_of_a_withdrawn_marker_are_rejected_in_time() -> None:
    """Where nothing else completes them, parts whose marker was withdrawn go to quarantine each."""
    env = environment()
    complete(env, SUCCESS)
    steps = intake(env.dependencies, LANDING, f"{FOLDER}_SUCCESS")
    refused_at(env, Effect.CLAIM, steps, lambda: env.memory.objects.delete(Address(LANDING, f"{FOLDER}_SUCCESS")))
    env.inbox.clear()
    env.memory.clock.sleep(90_000)
    finish(env)

    assert sorted(row.state for row in deliveries(env)) == [State.GONE, State.QUARANTINED, State.QUARANTINED]


def test_a_rejected_delivery_without_any_object_left_is_gone() -> None:
    """Rejected at the door, then deleted by its producer before anything was copied: there is nothing to keep."""
    env = environment(bodies=(b"%PDF:1",))
    complete(env, SUCCESS)

    def gone() -> None:
        for upload in env.uploads:
            env.delete(upload)

    refused_at(env, Effect.COPY, intake(env.dependencies, LANDING, f"{FOLDER}_SUCCESS"), gone)

    assert only(env).state is State.GONE


def test_more_reasons_than_a_person_reads_are_not_written() -> None:
    """Of many parts that are refused at the door the first ten are named."""
    env = environment(bodies=tuple(b"%%PDF:%d" % number for number in range(12)))
    complete(env, SUCCESS)
    finish(env)

    assert len(reasons(only(env))) == 10
    assert reasons(only(env))[9].endswith("(part 10 of 12)")


def test_a_delivery_of_parts_is_held_while_its_line_is_paused() -> None:
    """What arrives in its quiet folder meanwhile belongs to it, because it is not pinned yet."""
    env = environment(QUIET, quiet_minutes=60)
    drive(env.dependencies, pause(env.dependencies, LINE, ""))
    drive(env.dependencies, intake(env.dependencies, LANDING, f"{FOLDER}0.csv"))
    env.memory.clock.sleep(90 * 60)
    drive(env.dependencies, sweep(env.dependencies))
    waiting = only(env).state
    env.upload(f"{FOLDER}2.csv", b"good:3")
    drive(env.dependencies, intake(env.dependencies, LANDING, f"{FOLDER}2.csv"))
    drive(env.dependencies, resume(env.dependencies, LINE))
    finish(env)
    row = only(env)

    assert (waiting, row.state) == (State.HELD, State.PUBLISHED)
    assert row.parts is not None
    assert row.parts.size == 18
    assert env.memory.pauses == {}


def test_a_rejected_delivery_of_parts_is_waived_as_a_whole() -> None:
    """All quarantined copies are accepted together, or none: once one of them is deleted, the delivery is gone."""
    ends = []
    for missing in (False, True):
        env = environment(bodies=(b"bad:1", b"good:2"))
        complete(env, SUCCESS)
        finish(env)
        row = only(env)
        steps = waive(env.dependencies, row.id, "a reason", moment(env.memory.clock.now() + timedelta(hours=1)))
        call = next(steps)
        while call.effect is not Effect.WAIVE:
            call = steps.send(call.do())
        if missing:
            key = next(each for each in env.lake if each.startswith("quarantine/") and each.endswith("part-00001.csv"))
            env.memory.objects.delete(Address(LAKE, key, env.lake[key][-1].version))
        drive(env.dependencies, resumed(steps, call))
        places = [key for key, stored in env.lake.items() if key.startswith("accepted/") and stored[-1].described]
        ends.append((env.memory.workloads[replay_id(row.id)].state, sum("/workload=" in key for key in places)))

    assert ends == [(State.PUBLISHED, 2), (State.GONE, 0)]


@pytest.mark.parametrize("unit", [SUCCESS, QUIET])
def test_a_part_deleted_before_intake_saw_it_is_no_delivery(unit: DeliveryUnit) -> None:
    """It belongs to no delivery; what completes one, and is deleted, ends as gone."""
    env = environment(unit, (b"good:1",))
    env.delete(env.uploads[0])
    drive(env.dependencies, intake(env.dependencies, LANDING, f"{FOLDER}0.csv", env.uploads[0].version.version, 6))

    assert env.memory.workloads == {}


def test_a_marker_deleted_before_intake_saw_it_is_gone() -> None:
    """The object that completes a delivery stands for it."""
    env = environment()
    marker = env.upload(f"{FOLDER}_SUCCESS", b"")
    env.delete(marker)
    drive(env.dependencies, intake(env.dependencies, LANDING, f"{FOLDER}_SUCCESS", marker.version.version))

    assert {each.id: each.state for each in deliveries(env)} == {marker.workload: State.GONE}


def test_what_was_in_a_folder_before_the_stack_was_made_is_no_part() -> None:
    """Also where its name comes before theirs."""
    env = environment()
    env.memory.clock.sleep(60)
    made = env.memory.clock.now()
    env.dependencies = replace(env.dependencies, takes_since=lambda: made)
    new = env.upload(f"{FOLDER}2.csv", b"good:3")
    complete(env, SUCCESS)
    finish(env)
    row = only(env)

    assert (row.state, row.parts and row.parts.size) == (State.PUBLISHED, len(new.body))


@pytest.mark.parametrize("heard", ["its own", "only the other's"])
def test_a_part_whose_event_nobody_got_yet_is_in_time(heard: str) -> None:
    """Events have no order: a part in parts, which ended before `_SUCCESS` was written, may be told of afterwards."""
    env = environment()
    slow = env.upload(f"{FOLDER}2.csv", b"good:3", took=timedelta(hours=1))
    env.memory.clock.sleep(1)
    complete(env, SUCCESS)
    marker = env.uploads[-1]
    env.memory.clock.sleep(1)
    told = [slow, marker] if heard == "its own" else [marker]
    for upload in told:
        said = (upload.version.version, len(upload.body), upload.arrived)
        drive(env.dependencies, intake(env.dependencies, LANDING, upload.version.key, *said))

    assert only(env).parts is not None
    assert only(env).parts.size == 18

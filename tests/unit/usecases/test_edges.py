"""What the simulation does not meet: broken documents, foreign runs, hot chains, and what only a defect could bring."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from contracts.errors import InputError, LakegateError
from contracts.ledger import GENESIS
from contracts.routes import Route
from contracts.workflow import Outcome
from functions.memory import Memory
from functions.memory.jobs import Ending
from functions.ports import (
    Address,
    ConditionFailed,
    Expected,
    Head,
    IdempotencyMismatch,
    NotFound,
    Publication,
    Throttled,
    TransactionConflict,
)
from functions.usecases import observe as observing
from functions.usecases.advance import advance
from functions.usecases.answer import Answer
from functions.usecases.completion import completion
from functions.usecases.gate import Terms
from functions.usecases.intake import intake
from functions.usecases.notify import notify
from functions.usecases.observe import content, observe
from functions.usecases.publish import publish_contract
from functions.usecases.replay import replay
from functions.usecases.steps import Alarm, Effect, run
from functions.usecases.sweep import sweep
from functions.workload import Message, Source, State, Workload
from tests.simulation.choices import Choices
from tests.simulation.exhaustive import MORE, SCENARIOS, Scenario, play
from tests.simulation.meaning import DIGESTS
from tests.simulation.promises import Promises
from tests.simulation.schedules import broken
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.world import LAKE, LANDING, PREFIX, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from functions.usecases.gate import Gate
    from functions.usecases.steps import Call, Steps

KEY = f"{PREFIX}day.csv"


def drive(gate: Gate, steps: Steps[object]) -> object:
    return run(steps, gate.clock)


def landed(body: bytes = b"good:1") -> tuple[World, Workload]:
    """A world in which one upload was taken in and its job is running."""
    world = World()
    upload = world.upload(KEY, body)
    drive(world.gate, intake(world.gate, LANDING, KEY))
    return world, world.gate.workloads.get(upload.workload)


def answered(body: bytes = b"good:1") -> tuple[World, Workload]:
    """The same with the job's result written, and nobody told."""
    world, row = landed(body)
    for _, job in world.new_jobs():
        run(job, world.gate.clock)
    return world, row


def decided(body: bytes = b"good:1") -> tuple[World, Workload]:
    """The same, decided, and stopped there."""
    world, row = answered(body)
    steps = advance(world.gate, row)
    call = next(steps)
    assert call.effect is Effect.DECIDE
    call.do()
    steps.close()
    return world, world.gate.workloads.get(row.id)


@pytest.mark.parametrize("scenario", [*SCENARIOS, *MORE], ids=lambda s: s.name)
def test_each_way_a_delivery_can_go_has_its_end(scenario: Scenario) -> None:
    """Nothing befalls it: the end is the one the scenario names."""
    assert scenario.ends == play(scenario).end


def test_some_schedules_for_the_inner_loop() -> None:
    """A hundred and fifty schedules break no promise."""
    assert [seed for seed in range(150) if broken(Choices(seed))] == []


def test_intake_reads_the_landing_bucket_only() -> None:
    """A hint of any other bucket is refused before anything is read."""
    world = World()
    with pytest.raises(InputError):
        drive(world.gate, intake(world.gate, LAKE, KEY))


def test_an_unversioned_landing_bucket_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The version `null` can change under us: it is never claimed."""
    world = World()
    upload = world.upload(KEY, b"good:1")
    page = world.gate.objects.versions(LANDING, KEY)
    unsafe = replace(page, versions=(replace(upload.version, version="null"),))
    monkeypatch.setattr(world.memory.objects, "versions", lambda *_: unsafe)
    with pytest.raises(InputError):
        drive(world.gate, intake(world.gate, LANDING, KEY))

    assert world.memory.rows.rows == {}


def test_unrouted_keys_may_be_ignored() -> None:
    """A stack that ignores what no contract covers claims nothing of it, and takes in what is covered."""
    world = World()
    gate = replace(world.gate, places=replace(world.gate.places, ignore_unrouted=True))
    world.upload("elsewhere/x.csv", b"good:1")
    upload = world.upload(KEY, b"good:2")
    drive(gate, sweep(gate))

    assert {upload.workload} == set(world.memory.rows.rows)


def test_a_folder_marker_is_no_delivery() -> None:
    """`orders/` with nothing in it is what consoles leave behind."""
    world = World()
    world.upload(PREFIX, b"")
    drive(world.gate, sweep(world.gate))

    assert world.memory.rows.rows == {}


def test_a_key_with_many_versions_is_read_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every version of the key is claimed and none of its longer namesakes."""
    world = World()
    for number in range(5):
        world.upload(KEY, f"good:{number}".encode())
    world.upload(f"{KEY}.bak", b"good:9")
    listing = world.memory.objects.versions
    monkeypatch.setattr(world.memory.objects, "versions", partial(listing, limit=2))
    drive(world.gate, intake(world.gate, LANDING, KEY))

    assert {KEY} == {row.source.key for row in world.memory.rows.rows.values()}
    assert len(world.memory.rows.rows) == 5


def test_a_key_whose_versions_fill_a_page_ends_the_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A last page that is exactly full is followed by none."""
    world = World()
    world.upload(KEY, b"good:1")
    monkeypatch.setattr(world.memory.objects, "versions", partial(world.memory.objects.versions, limit=1))
    drive(world.gate, intake(world.gate, LANDING, KEY))

    assert len(world.memory.rows.rows) == 1


def test_a_run_of_somebody_elses_is_no_business_of_ours() -> None:
    """Runs without a workload, and runs that are not there, are passed over."""
    world = World()
    drive(world.gate, completion(world.gate, world.stranger))
    drive(world.gate, completion(world.gate, "no-such-run"))

    assert world.memory.rows.rows == {}


@pytest.mark.parametrize(("plan", "code"), [(None, "plan-missing"), (b"{}", "plan-differs")])
def test_a_plan_that_is_not_itself_raises_an_alarm(plan: bytes | None, code: str) -> None:
    """Neither a missing plan nor other bytes at its address judge anything."""
    world = World()
    where = Address(LAKE, f"plans/{DIGESTS['1.0.0']}.json")
    world.memory.objects.delete(where)
    if plan is not None:
        world.memory.objects.put(where, plan)
    upload = world.upload(KEY, b"good:1")
    with pytest.raises(Alarm) as raised:
        drive(world.gate, intake(world.gate, LANDING, KEY))

    assert (code, upload.workload) == (raised.value.code, raised.value.workload)
    assert State.PINNED is world.gate.workloads.get(upload.workload).state


def test_a_sweep_tells_its_troubles_and_goes_on() -> None:
    """One workload that raises keeps no other from being swept."""
    world = World()
    world.publish("1.1.0", "active")
    bad = world.upload(KEY, b"good:1")
    world.memory.objects.delete(Address(LAKE, f"plans/{DIGESTS['1.1.0']}.json"))
    with pytest.raises(Alarm):
        drive(world.gate, intake(world.gate, LANDING, KEY))
    world.publish("1.0.0", "active")
    good = world.upload(f"{PREFIX}other.csv", b"good:2")
    world.memory.clock.sleep(600)
    swept = run(sweep(world.gate), world.gate.clock)

    assert [trouble.code for trouble in swept.troubles if isinstance(trouble, Alarm)] == ["plan-missing"]
    assert State.PINNED is world.gate.workloads.get(bad.workload).state
    assert State.VALIDATING is world.gate.workloads.get(good.workload).state
    assert swept.looked_at >= 2


def test_a_content_without_checksum_is_nobodys() -> None:
    """Where the store knows no checksum, no two deliveries are called the same."""
    _, row = landed()

    assert content(row, Source(LAKE, "x", "v1")) == ""
    assert content(replace(row, pin=None), row.source) == ""


def test_a_version_deleted_between_two_looks_of_the_door_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Described, then deleted, then read: the door has found out that it vanished."""
    world, row = landed()

    def gone(*_: object) -> bytes:
        raise NotFound

    monkeypatch.setattr(world.memory.objects, "read", gone)

    assert observe(world.gate, replace(row, state=State.PINNED)) == observing.VANISHED


def test_duplicates_may_be_accepted() -> None:
    """A contract that accepts the same content again claims none."""
    world = World()
    gate = replace(world.gate, meaning=replace(world.gate.meaning, terms=lambda _: Terms(".csv", duplicates=True)))
    for number in range(2):
        world.upload(f"{PREFIX}{number}.csv", b"good:1")
        drive(gate, intake(gate, LANDING, f"{PREFIX}{number}.csv"))
        for _, job in world.new_jobs():
            run(job, gate.clock)
    for run_id in list(world.memory.jobs.runs):
        drive(gate, completion(gate, run_id))

    assert [row.state for row in world.memory.rows.rows.values()] == [State.PUBLISHED] * 2
    assert world.memory.rows.contents == {}


def test_a_run_that_is_not_there_counts_as_lost() -> None:
    """An application that was made anew knows no old runs: the attempt is lost, not the workload."""
    world, row = landed()
    world.memory.jobs.runs.clear()

    assert Outcome.LOST is observing.observe(world.gate, row).on  # type: ignore[union-attr]  # something is found


@pytest.mark.parametrize("result", [b"not json", b"[]", b"{}", b'{"workload": 1}'])
def test_a_result_that_is_none_is_the_jobs_failure(result: bytes) -> None:
    """A broken answer costs an attempt and decides nothing about the data."""
    world, row = landed()
    world.memory.objects.put(Address(LAKE, f"runs/{row.id}/attempt=1/result.json"), result)

    assert Outcome.LOST is observe(world.gate, row).on  # type: ignore[union-attr]  # something is found


def test_a_judge_that_cannot_judge_decides_nothing() -> None:
    """What the verdict refuses to read counts as no result."""
    world, row = answered()

    def refuses(plan: bytes, result: bytes) -> object:
        raise InputError(f"{len(plan)} {len(result)}")

    gate = replace(world.gate, meaning=replace(world.gate.meaning, judge=refuses))  # type: ignore[arg-type]  # it raises

    assert Outcome.LOST is observe(gate, row).on  # type: ignore[union-attr]  # something is found


def test_an_answer_reads_event_times_and_objects() -> None:
    """The block's bounds and the split's objects come from the result."""
    document = {
        "workload": "w",
        "attempt": 1,
        "plan_digest": "p",
        "source_version": "v",
        "rows": 3,
        "rejected_rows": 1,
        "event_time": ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"],
        "objects": [{"share": "accepted", "key": "k", "size": 1, "checksum": "c"}],
    }
    answer = Answer.read(json.dumps(document).encode())

    assert answer.event_time == ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
    assert [each.share for each in answer.objects] == ["accepted"]


def swapped(world: World, key: str, body: bytes) -> None:
    """Exchange what lies at a key, as nobody should be able to."""
    world.memory.objects.delete(Address(LAKE, key))
    world.memory.objects.put(Address(LAKE, key), body)


def alarm_of(world: World, row: Workload) -> str:
    with pytest.raises(Alarm) as raised:
        drive(world.gate, advance(world.gate, row))
    return raised.value.code


def test_a_result_exchanged_after_the_decision_raises_an_alarm() -> None:
    """The decision names the bytes it was made of."""
    world, row = decided()
    swapped(world, f"runs/{row.id}/attempt=1/result.json", b"{}")

    assert alarm_of(world, row) == "result-differs"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"key": "staging/x/rows/accepted/x"}, "rows-elsewhere"),
        ({"size": 999}, "rows-differ"),
        ({"checksum": "sha256:other"}, "rows-differ"),
    ],
)
def test_a_split_that_is_not_as_listed_raises_an_alarm(change: dict[str, object], code: str) -> None:
    """A job can only have copied what lies below its own attempt, and what it said it wrote."""
    world, row = landed(b"split:12")
    for _, job in world.new_jobs():
        call = next(job)
        assert call.effect is Effect.WRITE_RESULT
        call.do()
        job.close()
    where = f"runs/{row.id}/attempt=1/result.json"
    document = json.loads(world.gate.objects.read(Address(LAKE, where)))
    document["objects"][0] |= change
    swapped(world, where, json.dumps(document).encode())

    assert code == alarm_of(world, row)


def test_a_staged_copy_of_another_size_raises_an_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that grew on the way are not judged."""
    world = World()
    world.upload(KEY, b"good:1")
    copy = world.memory.objects.copy
    monkeypatch.setattr(world.memory.objects, "copy", lambda *a, **k: replace(copy(*a, **k), size=99))
    with pytest.raises(Alarm, match="copy-differs"):
        drive(world.gate, intake(world.gate, LANDING, KEY))


def test_another_object_in_the_resting_place_raises_an_alarm() -> None:
    """What lies there must be the bytes that were judged."""
    world, row = decided()
    assert row.pin is not None
    day = f"accepted/{row.pin.chain}/ingest_date={row.pin.ingest_date}"
    world.memory.objects.put(Address(LAKE, f"{day}/workload={row.id}/part-00000.csv"), b"something else")

    assert alarm_of(world, row) == "copy-differs"


def test_bytes_that_are_nowhere_raise_an_alarm() -> None:
    """Decided, and neither the staged copy nor the landing version is there: a person must look."""
    world, row = decided()
    assert row.staged is not None
    world.memory.objects.delete(Address(LAKE, row.staged.key, row.staged.version))
    world.memory.objects.delete(Address(LANDING, row.source.key, row.source.version))

    assert alarm_of(world, row) == "source-lost"


def test_an_expired_staging_copy_is_taken_from_landing() -> None:
    """Staging expires after seven days, landing after thirty: the version is the same bytes for ever."""
    world, row = decided()
    assert row.staged is not None
    world.memory.objects.delete(Address(LAKE, row.staged.key, row.staged.version))
    drive(world.gate, advance(world.gate, row))

    assert State.PUBLISHED is world.gate.workloads.get(row.id).state


def test_a_head_that_moves_is_followed_and_then_left_to_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hot chain: the commit is built anew on each new head, a few times."""
    world, row = decided()
    asked: list[str] = []

    def stale(chain: str) -> Head:
        asked.append(chain)
        return Head(6, GENESIS)

    monkeypatch.setattr(world.memory.ledger, "head", stale)
    monkeypatch.setattr(world.memory.ledger, "commit", refuse_head)
    with pytest.raises(TransactionConflict):
        drive(world.gate, advance(world.gate, row))

    assert len(asked) == 5
    assert State.DECIDED is world.gate.workloads.get(row.id).state


def refuse_head(*_: object) -> None:
    raise ConditionFailed("", "head")


def test_a_commit_that_lost_its_decision_is_overtaken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that stands elsewhere belongs to another worker; nothing is told or written."""
    world, row = decided()

    def refuse_state(*_: object) -> None:
        raise ConditionFailed("state", "head")

    monkeypatch.setattr(world.memory.ledger, "commit", refuse_state)

    assert drive(world.gate, advance(world.gate, row)) == row
    assert world.memory.ledger.chains == {}


def test_a_manifest_that_moves_is_left_to_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others write the manifest all the time: a few tries, then somebody else's turn."""
    world, row = decided()
    put = world.memory.objects.put

    def moving(to: Address, body: bytes, **conditions: bool) -> object:
        if to.key.endswith("_manifest.json"):
            raise ConditionFailed("etag")
        return put(to, body, **conditions)  # type: ignore[arg-type]  # any condition

    monkeypatch.setattr(world.memory.objects, "put", moving)
    with pytest.raises(TransactionConflict):
        drive(world.gate, advance(world.gate, row))

    assert State.PUBLISHED is world.gate.workloads.get(row.id).state


def test_staging_of_an_unknown_workload_is_left_alone() -> None:
    """What the sweep cannot attribute it does not delete."""
    world = World()
    world.memory.objects.put(Address(LAKE, "staging/unknown/part-00000"), b"x")
    drive(world.gate, sweep(world.gate))

    assert world.memory.objects.current(LAKE, "staging/") == {"staging/unknown/part-00000": b"x"}


def test_a_large_bucket_is_seen_whole_over_several_sweeps() -> None:
    """The cursor is kept: a batch smaller than the bucket misses nothing, and starts anew at the end."""
    world = World()
    for number in range(7):
        world.upload(f"elsewhere/{number}.csv", f"good:{number}".encode())
    for _ in range(4):
        drive(world.gate, sweep(world.gate, 2))

    assert len(world.memory.rows.rows) == 7


def test_a_message_that_cannot_be_sent_stays_and_delays_no_other() -> None:
    """At least once, each for itself."""
    world = World()
    for number in range(2):
        message = Message(f"m{number}", "w", "gone", "{}", world.gate.clock.now())
        world.memory.rows.post(message)
    world.memory.clock.sleep(60)
    world.memory.weather.refusals.extend([Throttled()] * 5)
    troubles = run(notify(world.gate), world.gate.clock)

    assert [Throttled] == [type(trouble) for trouble in troubles]
    assert [message.id for message in world.memory.notifier.sent] == ["m1"]
    assert list(world.memory.rows.messages) == ["m0"]


def quarantined() -> tuple[World, Workload]:
    world = World()
    upload = world.upload(KEY, b"mild:1")
    world.publish("1.1.0", "active")
    settle(Stage(world, lambda _: Fault.NONE))
    return world, world.gate.workloads.get(upload.workload)


def test_a_quarantined_delivery_is_judged_again_under_the_contract_of_now() -> None:
    """The replay is a new workload; its source leaves quarantine once it rests elsewhere; asking twice is asking once."""
    world, row = quarantined()
    world.publish("1.0.0", "active")
    again = [drive(world.gate, replay(world.gate, row.id)) for _ in range(2)]
    for _, job in world.new_jobs():
        run(job, world.gate.clock)
    world.memory.clock.sleep(600)
    drive(world.gate, sweep(world.gate))
    replayed = world.gate.workloads.get(str(again[0]))
    places = Promises(world).places

    assert again[0] == again[1]
    assert (row.state, replayed.state) == (State.QUARANTINED, State.PUBLISHED)
    assert places(row.id) == {}
    assert list(places(replayed.id).values()) == [b"mild:1"]


def test_what_was_replayed_is_replayed_by_its_replay() -> None:
    """The quarantined copy is gone: the replay is the one to ask for."""
    world, row = quarantined()
    assert row.pin is not None
    place = f"quarantine/{row.pin.chain}/ingest_date={row.pin.ingest_date}/workload={row.id}/part-00000.csv"
    world.memory.objects.delete(Address(LAKE, place))
    with pytest.raises(InputError):
        drive(world.gate, replay(world.gate, row.id))


def test_only_what_failed_or_was_refused_is_replayed() -> None:
    """A delivery on its way, and one that nobody knows, are not."""
    world, row = landed()
    for workload in (row.id, "nobody"):
        with pytest.raises(InputError):
            drive(world.gate, replay(world.gate, workload))


def test_two_operators_revive_one_workload_once() -> None:
    """The second is overtaken by the first, and hears the same id."""
    world = World([Ending.FAILED] * 3)
    upload = world.upload(KEY, b"good:1")
    settle(Stage(world, lambda _: Fault.NONE))
    first, second = (replay(world.gate, upload.workload) for _ in range(2))
    waiting = next(second)
    run(first, world.gate.clock)
    with pytest.raises(ConditionFailed) as refused:
        waiting.do()
    with pytest.raises(StopIteration) as end:
        second.throw(refused.value)

    assert upload.workload == end.value.value
    assert State.VALIDATING is world.gate.workloads.get(upload.workload).state


def test_two_operators_replay_one_workload_once() -> None:
    """The second finds the replay that the first created."""
    world, row = quarantined()
    first, second = (replay(world.gate, row.id) for _ in range(2))
    waiting = next(second)
    identity = run(first, world.gate.clock)
    with pytest.raises(ConditionFailed) as refused:
        waiting.do()
    with pytest.raises(StopIteration) as end:
        second.throw(refused.value)

    assert identity == end.value.value
    assert len(world.memory.jobs.runs) == 3  # somebody else's, the first judgement's, the replay's


ROUTE = Route(LANDING, "new/", "new", "lines", 1, "1.0.0", "active", DIGESTS["1.0.0"])
PUBLICATION = Publication("new", "1.0.0", "active", "contracts/new", (ROUTE,))


def test_a_contract_is_published_after_its_plans_and_twice_is_once() -> None:
    """No route ever names a plan that is not there."""
    world = World()
    effects = []
    for _ in range(2):
        steps = publish_contract(world.gate, PUBLICATION, (b'{"plan": 1}',))
        call = next(steps)
        while True:
            effects.append(call.effect)
            try:
                answer = call.do()
            except LakegateError as refused:
                call = steps.throw(refused)
                continue
            try:
                call = steps.send(answer)
            except StopIteration:
                break

    assert effects == [Effect.WRITE_PLAN, Effect.PUBLISH] * 2
    assert world.gate.registry.routes(LANDING, ("new/",)) == (ROUTE,)


def test_a_prefix_is_taken_away() -> None:
    """A publication may retire prefixes of its line."""
    world = World()
    drive(world.gate, publish_contract(world.gate, PUBLICATION, ()))
    moved = replace(PUBLICATION, routes=(replace(ROUTE, prefix="moved/"),), retired=("new/",))
    drive(world.gate, publish_contract(world.gate, moved, ()))

    assert [route.prefix for route in world.gate.registry.routes(LANDING, ("new/", "moved/"))] == ["moved/"]


def test_the_twins_know_the_limits_of_aws() -> None:
    """Batches, transactions, keys and tokens are bounded as AWS bounds them."""
    memory = Memory.of(LAKE)
    many = tuple(replace(ROUTE, prefix=f"{number}/") for number in range(100))
    for beyond in (
        lambda: memory.registry.routes(LAKE, tuple("x" * 101)),
        lambda: memory.registry.publish(replace(PUBLICATION, routes=many)),
        lambda: memory.objects.put(Address(LAKE, "x" * 1_025), b""),
        lambda: memory.objects.put(Address(LAKE, ""), b""),
        lambda: memory.jobs.start({"clientToken": "a b", "name": "w"}),
        lambda: memory.jobs.start({"clientToken": "a", "name": "w" * 65}),
    ):
        with pytest.raises(InputError):
            beyond()


def test_a_delete_of_what_never_was_leaves_no_marker() -> None:
    """The twin stays lean: nothing is hidden where nothing was."""
    memory = Memory.of(LAKE)
    memory.objects.delete(Address(LAKE, "x"))
    memory.objects.delete(Address(LAKE, "x", "v1"))

    assert memory.objects.buckets[LAKE] == {}


def test_a_token_means_one_transaction_for_ten_minutes() -> None:
    """Within them another content is refused; after them the conditions decide again."""
    world, row = decided()
    steps = advance(world.gate, row)
    call = next(steps)
    while call.effect is not Effect.COMMIT:
        call = steps.send(call.do())
    call.do()
    block, after, _, message = call.do.args  # type: ignore[attr-defined]  # the call is a partial
    with pytest.raises(IdempotencyMismatch):
        world.memory.ledger.commit(block, after, Expected(State.STAGED, 0), message)
    world.memory.clock.sleep(601)
    with pytest.raises(ConditionFailed):
        call.do()

    assert len(world.gate.ledger.blocks(block.chain)) == 1


def refused_at(world: World, effect: Effect, steps: Steps[object], meanwhile: Callable[[], object]) -> object:
    """Drive a worker to an effect, let the world go on, then let it perform and finish; returns what it returned."""
    call = next(steps)
    while call.effect is not effect:
        call = steps.send(call.do())
    meanwhile()
    return drive(world.gate, resumed(steps, call))


def resumed(steps: Steps[object], call: Call) -> Steps[object]:
    try:
        while True:
            try:
                answer = yield call
            except LakegateError as refused:
                call = steps.throw(refused)
            else:
                call = steps.send(answer)
    except StopIteration as end:
        return end.value


def test_of_two_claims_one_wins() -> None:
    """Who comes second, later, leaves the workload to the first."""
    world = World()
    world.upload(KEY, b"good:1")

    def meanwhile() -> None:
        drive(world.gate, intake(world.gate, LANDING, KEY))
        world.memory.clock.sleep(1)

    late = intake(world.gate, LANDING, KEY)
    world.memory.clock.sleep(1)
    refused_at(world, Effect.CLAIM, late, meanwhile)

    assert len(world.memory.rows.rows) == 1
    assert [row.attempt for row in world.memory.rows.rows.values()] == [1]


def test_a_result_that_comes_before_the_cancel_counts() -> None:
    """Hung by the clock, answered before it was cancelled: no attempt is lost, and the result decides."""
    world, row = landed()
    world.memory.clock.sleep(90 * 60)

    def answer() -> None:
        for _, job in world.new_jobs():
            run(job, world.gate.clock)

    left = refused_at(world, Effect.CANCEL_JOB, advance(world.gate, row), answer)
    drive(world.gate, advance(world.gate, row))

    assert left == row
    assert world.gate.workloads.get(row.id).state is State.PUBLISHED
    assert world.gate.workloads.get(row.id).attempt == 1


def test_a_zombies_commit_long_after_is_no_second_block() -> None:
    """Asleep before the commit, awake when all is at rest and the token is forgotten: overtaken, and content with it."""
    world, row = decided()

    def others() -> None:
        world.memory.clock.sleep(3_600)
        drive(world.gate, sweep(world.gate))

    left = refused_at(world, Effect.COMMIT, advance(world.gate, row), others)

    assert left == world.gate.workloads.get(row.id)
    assert len(world.gate.ledger.blocks("orders/lines_v1")) == 1

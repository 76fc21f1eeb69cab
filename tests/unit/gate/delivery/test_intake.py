"""What lands: claimed once, by version, from the landing bucket only."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from lakegate.base.errors import InputError, NotFound
from lakegate.base.timestamps import moment
from lakegate.contract.delivery_policy import Duplicates
from lakegate.gate import dependencies
from lakegate.gate.datasets.pauses import pause
from lakegate.gate.delivery import transition
from lakegate.gate.delivery.admit_delivery import content
from lakegate.gate.delivery.advance import completion, observe
from lakegate.gate.delivery.delivery_row import Decision, SourceObject, replay_id
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Alarm, Effect, run
from lakegate.gate.ports import Address, VersionPage
from lakegate.gate.sweep import sweep
from tests.decisions import replay
from tests.simulation.contract import DIGESTS, PLAN
from tests.simulation.environment import LAKE, LANDING, LINE, PREFIX, Environment
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.gate.scenarios import (
    KEY,
    drive,
    landed,
    refused_at,
)


@pytest.mark.parametrize("bucket", [LAKE, "", f"{LANDING}-2", LANDING[:-1], LANDING.upper()])
def test_intake_reads_the_landing_bucket_only(bucket: str) -> None:
    """A hint of any other bucket is refused before anything is read."""
    env = Environment()
    with pytest.raises(InputError):
        drive(env.dependencies, intake(env.dependencies, bucket, KEY))


def test_an_unversioned_landing_bucket_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The version `null` can change under us: it is never claimed."""
    env = Environment()
    upload = env.upload(KEY, b"good:1")
    page = env.dependencies.objects.versions(LANDING, KEY)
    unsafe = page._replace(versions=(upload.version._replace(version="null"),))
    monkeypatch.setattr(env.memory.objects, "versions", lambda *_: unsafe)
    with pytest.raises(InputError):
        drive(env.dependencies, intake(env.dependencies, LANDING, KEY))

    assert env.memory.workloads == {}


@pytest.mark.parametrize("key", [KEY, "elsewhere/x.csv"], ids=["a line", "no route"])
def test_a_version_deleted_before_intake_saw_it_is_gone(key: str) -> None:
    """The event's version id is the trace: a delivery that ends as gone, once, and is told; the other versions are judged."""
    env = Environment()
    deleted, kept = env.upload(key, b"good:1"), env.upload(key, b"good:2")
    env.delete(deleted)
    for _ in range(2):
        drive(env.dependencies, intake(env.dependencies, LANDING, key, deleted.version.version, 6))
    row = env.dependencies.workloads.get(deleted.workload)

    assert (row.state, row.source, row.due_at) == (
        State.GONE,
        SourceObject(LANDING, key, deleted.version.version, size=6),
        None,
    )
    assert [each.kind for each in env.memory.messages.values() if each.workload == deleted.workload] == ["gone"]
    assert set(env.memory.workloads) == {deleted.workload, kept.workload}


def test_what_was_judged_and_removed_is_not_gone() -> None:
    """An event that comes again after its delivery ended changes nothing."""
    stage = Stage(Environment(), lambda _: Fault.NONE)
    upload = stage.env.upload(KEY, b"good:1")
    settle(stage)
    before = dict(stage.env.memory.workloads)
    drive(stage.env.dependencies, intake(stage.env.dependencies, LANDING, KEY, upload.version.version))

    assert (stage.env.memory.workloads, before[upload.workload].state) == (before, State.PUBLISHED)


@pytest.mark.parametrize("key", [PREFIX, f"{PREFIX}_temporary/0/x.csv", f"{PREFIX}_SUCCESS"])
def test_what_is_no_delivery_is_not_gone_either(key: str) -> None:
    """A folder marker, a file beside the data: nothing is claimed, deleted or not."""
    env = Environment()
    env.delete(env.upload(key, b""))
    drive(env.dependencies, intake(env.dependencies, LANDING, key, env.uploads[0].version.version))

    assert env.memory.workloads == {}


def test_unrouted_keys_may_be_ignored() -> None:
    """A stack that ignores what no contract covers claims nothing of it, and takes in what is covered."""
    env = Environment()
    dependencies = replace(env.dependencies, places=replace(env.dependencies.places, ignore_unrouted=True))
    env.upload("elsewhere/x.csv", b"good:1")
    upload = env.upload(KEY, b"good:2")
    drive(dependencies, sweep(dependencies))

    assert {upload.workload} == set(env.memory.workloads)


def test_a_folder_marker_is_no_delivery() -> None:
    """`orders/` with nothing in it is what consoles write: nothing is claimed, and nothing is deleted."""
    env = Environment()
    env.upload(PREFIX, b"")
    drive(env.dependencies, sweep(env.dependencies))

    assert (env.memory.workloads, list(env.landing)) == ({}, [PREFIX])


def test_a_key_with_many_versions_is_read_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every version of the key is claimed and none of its longer namesakes."""
    env = Environment()
    for number in range(5):
        env.upload(KEY, f"good:{number}".encode())
    env.upload(f"{KEY}.bak", b"good:9")
    listing = env.memory.objects.versions
    monkeypatch.setattr(env.memory.objects, "versions", partial(listing, limit=2))
    drive(env.dependencies, intake(env.dependencies, LANDING, KEY))

    assert {KEY} == {row.source.key for row in env.memory.workloads.values()}
    assert len(env.memory.workloads) == 5


def test_versions_behind_a_page_of_delete_markers_are_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the listing ends where the markers are those of other keys."""
    env = Environment()
    env.upload(KEY, b"good:1")
    listing = env.memory.objects.versions
    pages = {None: VersionPage((), "1", KEY), "1": listing(LANDING, KEY)._replace(after="2", last=f"{KEY}.bak")}
    monkeypatch.setattr(env.memory.objects, "versions", lambda _bucket, _key, after=None: pages[after])
    drive(env.dependencies, intake(env.dependencies, LANDING, KEY))

    assert [row.source.key for row in env.memory.workloads.values()] == [KEY]


def test_a_key_whose_versions_fill_a_page_ends_the_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A last page that is exactly full is followed by none."""
    env = Environment()
    env.upload(KEY, b"good:1")
    monkeypatch.setattr(env.memory.objects, "versions", partial(env.memory.objects.versions, limit=1))
    drive(env.dependencies, intake(env.dependencies, LANDING, KEY))

    assert len(env.memory.workloads) == 1


def test_of_two_claims_one_wins() -> None:
    """Who comes second, later, leaves the workload to the first."""
    env = Environment()
    env.upload(KEY, b"good:1")

    def meanwhile() -> None:
        drive(env.dependencies, intake(env.dependencies, LANDING, KEY))
        env.memory.clock.sleep(1)

    late = intake(env.dependencies, LANDING, KEY)
    env.memory.clock.sleep(1)
    refused_at(env, Effect.CLAIM, late, meanwhile)

    assert len(env.memory.workloads) == 1
    assert [row.attempt for row in env.memory.workloads.values()] == [1]


def test_a_claim_whose_answer_was_lost_is_continued() -> None:
    """The row that is there already is the one that the same worker wrote: the delivery goes on."""
    env = Environment()
    upload = env.upload(KEY, b"good:1")

    def arrived() -> None:
        lost = intake(env.dependencies, LANDING, KEY)
        next(lost).do()
        lost.close()

    refused_at(env, Effect.CLAIM, intake(env.dependencies, LANDING, KEY), arrived)

    assert env.dependencies.workloads.get(upload.workload).state is State.VALIDATING


@pytest.mark.parametrize(("plan", "code"), [(None, "plan-missing"), (b"{}", "plan-differs")])
def test_a_plan_that_is_not_itself_raises_an_alarm(plan: bytes | None, code: str) -> None:
    """Neither a missing plan nor other bytes at its address judge anything, and nothing is claimed by it."""
    env = Environment()
    where = Address(LAKE, f"plans/{DIGESTS['1.0.0']}.json")
    env.memory.objects.delete(where)
    if plan is not None:
        env.memory.objects.put(where, plan)
    upload = env.upload(KEY, b"good:1")
    with pytest.raises(Alarm) as raised:
        drive(env.dependencies, intake(env.dependencies, LANDING, KEY))

    assert (code, upload.workload) == (raised.value.code, raised.value.workload)
    assert env.memory.workloads == {}


def test_a_version_deleted_between_two_looks_of_the_door_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Described, then deleted, then read: the door has found out that it vanished."""
    env, row = landed()

    def gone(*_: object) -> bytes:
        raise NotFound

    monkeypatch.setattr(env.memory.objects, "read", gone)

    assert observe(DeliveryTurn(env.dependencies, row._replace(state=State.PINNED))) == transition.VANISHED


def test_a_content_without_checksum_is_nobodys() -> None:
    """Where the store knows no checksum, no two deliveries are called the same."""
    _, row = landed()

    assert content(row, SourceObject(LAKE, "x", "v1")) == ""
    assert content(row._replace(pin=None), row.source) == ""


def test_duplicates_may_be_accepted() -> None:
    """A contract that accepts the same content again claims none."""
    env = Environment()
    policy = replace(PLAN.policy, duplicates=Duplicates.ACCEPT)
    env.publish("1.0.0", "active", replace(PLAN, policy=policy))
    dependencies = env.dependencies
    for number in range(2):
        env.upload(f"{PREFIX}{number}.csv", b"good:1")
        drive(dependencies, intake(dependencies, LANDING, f"{PREFIX}{number}.csv"))
        for _, job in env.new_jobs():
            run(job, dependencies.clock)
    for run_id in list(env.memory.jobs.runs):
        drive(dependencies, completion(dependencies, run_id))

    assert [row.state for row in env.memory.workloads.values()] == [State.PUBLISHED] * 2
    assert env.memory.contents == {}


@pytest.mark.parametrize("algorithm", ["crc32", "crc64nvme", "sha256", ""])
def test_the_same_content_is_refused_before_a_job_whatever_its_checksum(algorithm: str) -> None:
    """Where the landed version's checksum does not identify its content, that of the staged copy does."""
    stage = Stage(Environment(), lambda _: Fault.NONE)
    for _ in range(2):
        stage.env.upload(KEY, b"good:1", algorithm)
        settle(stage)
    first, second = (stage.env.dependencies.workloads.get(each.workload) for each in stage.env.uploads)

    assert (first.state, second.state) == (State.PUBLISHED, State.QUARANTINED)
    assert second.decision == Decision("rejected", ("duplicate-content",), staged=False)
    assert len(stage.env.memory.jobs.runs) == 2  # one of them is somebody else's


@pytest.mark.parametrize("algorithm", ["crc32", "crc32c", ""])
def test_different_contents_of_one_size_are_no_duplicates(algorithm: str) -> None:
    """Equal size and CRC-32 do not make two contents equal: 32 bits are too few for a line of 10,000 deliveries."""
    stage = Stage(Environment(), lambda _: Fault.NONE)
    for body in (b"good:1", b"good:2"):
        stage.env.upload(KEY, body, algorithm)
        settle(stage)

    assert {row.state for row in stage.env.memory.workloads.values()} == {State.PUBLISHED}


def test_plans_that_are_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function remembers the plans that it read last, of some bytes together."""
    monkeypatch.setattr(dependencies, "MOST_KEPT_BYTES", 10)
    env = Environment()
    for body in (b"123456", b"abcdef"):
        digest = hashlib.sha256(body).hexdigest()
        env.memory.objects.put(Address(LAKE, f"plans/{digest}.json"), body)
        assert env.dependencies.plan_at(digest, "w") == body

    assert list(env.dependencies.plans.values()) == [b"abcdef"]


@pytest.mark.parametrize("find", ["event", "sweep"])
def test_a_shared_landing_bucket_keeps_what_is_not_for_the_gate(find: str) -> None:
    """What landed before the stack was made, and what is below another prefix, has no delivery and stays where it is."""
    env = Environment()
    earlier = env.upload(KEY, b"good:1")
    env.memory.clock.sleep(86_400)
    made = env.memory.clock.now()
    env.memory.clock.sleep(86_400)
    taken = env.upload(KEY, b"good:2")
    other = env.upload(f"others/{KEY}", b"good:3")
    env.dependencies = replace(
        env.dependencies,
        takes_since=lambda: made,
        places=replace(env.dependencies.places, landing_prefix=PREFIX),
    )
    if find == "event":
        for key in (KEY, f"others/{KEY}"):
            drive(env.dependencies, intake(env.dependencies, LANDING, key))
    else:
        drive(env.dependencies, sweep(env.dependencies))

    assert [(row.id, row.source.key) for row in env.memory.workloads.values()] == [(taken.workload, KEY)]
    left = env.memory.objects.versions(LANDING, "").versions
    assert {earlier.version.version, other.version.version} <= {version.version for version in left}


@pytest.mark.parametrize("found", ["event", "sweep"])
def test_an_upload_that_was_on_its_way_while_the_stack_was_made_is_taken_by_its_event(found: str) -> None:
    """Its Last-Modified is from before. Without the event nobody knows that it ended after, and it stays where it is."""
    env = Environment()
    env.memory.clock.sleep(3_600)
    made = env.memory.clock.now()
    env.memory.clock.sleep(60)
    upload = env.upload(KEY, b"good:1", took=timedelta(hours=1))
    env.dependencies = replace(env.dependencies, takes_since=lambda: made)
    said = (upload.version.version, 6, upload.arrived)
    drive(
        env.dependencies, intake(env.dependencies, LANDING, KEY, *said) if found == "event" else sweep(env.dependencies)
    )

    assert [row.id for row in env.memory.workloads.values()] == [upload.workload] * (found == "event")


ARRIVALS = {
    "by its event": ("event", timedelta(hours=26), timedelta()),
    "by an event that came late": ("late event", timedelta(hours=26), timedelta()),
    "by an event of a clock that is fast": ("fast event", timedelta(), timedelta()),
    "in parts, found by a listing": ("sweep", timedelta(hours=26), timedelta(hours=2)),
    "in one request, found by a listing": ("sweep", timedelta(), timedelta()),
}


@pytest.mark.parametrize(("found", "took", "after"), ARRIVALS.values(), ids=ARRIVALS)
def test_a_delivery_arrives_when_its_upload_ended(found: str, took: timedelta, after: timedelta) -> None:
    """Not when it began, which is the Last-Modified of an upload in parts: so its date is, and its place in the order."""
    env = Environment()
    upload = env.upload(KEY, b"good:1", took=took)
    env.memory.clock.sleep(2 * 3_600 if found in {"late event", "sweep"} else 0)
    at = upload.arrived + timedelta(hours=found == "fast event")
    steps = sweep(env.dependencies)
    if "event" in found:
        steps = intake(env.dependencies, LANDING, KEY, upload.version.version, 6, at)
    drive(env.dependencies, steps)
    row = env.memory.workloads[upload.workload]

    assert row.arrived == upload.arrived + after
    assert (row.pinned.arrived, row.pinned.ingest_date) == (moment(row.arrived), row.arrived.date().isoformat())


def test_the_time_of_an_event_is_that_of_the_version_it_names() -> None:
    """Another version of the key that is found with it arrived at another time."""
    env = Environment()
    first = env.upload(KEY, b"good:1")
    env.memory.clock.sleep(60)
    second = env.upload(KEY, b"good:2")
    drive(env.dependencies, intake(env.dependencies, LANDING, KEY, second.version.version, 6, second.arrived))

    assert [env.memory.workloads[each.workload].arrived for each in (first, second)] == [first.arrived, second.arrived]


def test_what_is_held_is_judged_in_the_order_in_which_uploads_ended() -> None:
    """The larger one began first and ended last."""
    env = Environment()
    drive(env.dependencies, pause(env.dependencies, LINE, ""))
    uploads = []
    for number, took in enumerate((timedelta(), timedelta(hours=1))):
        env.memory.clock.sleep(60)
        uploads.append(env.upload(f"{PREFIX}{number}.csv", b"good:%d" % number, took=took))
    for upload in reversed(uploads):
        said = (upload.version.version, 6, upload.arrived)
        drive(env.dependencies, intake(env.dependencies, LANDING, upload.version.key, *said))
    env.memory.clock.sleep(60)

    assert env.dependencies.pauses.held(LINE, 10) == tuple(each.workload for each in uploads)


def test_a_replay_has_the_date_on_which_its_upload_ended() -> None:
    """Its copies in the lake are newer."""
    env = Environment()
    upload = env.upload(KEY, b"bad:1")
    stage = Stage(env, lambda _: Fault.NONE)
    settle(stage)
    env.memory.clock.sleep(3 * 86_400)
    drive(env.dependencies, replay(env.dependencies, upload.workload))
    row = env.memory.workloads[replay_id(upload.workload)]

    assert (row.arrived, row.pinned.arrived) == (upload.arrived, moment(upload.arrived))
    assert row.pinned.ingest_date == upload.arrived.date().isoformat()

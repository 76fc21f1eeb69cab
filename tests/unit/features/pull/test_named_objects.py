"""Objects that a producer names: one delivery of each version, whatever is repeated, reordered, lost or interrupted."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from lakegate.base.errors import ConditionFailed, InputError, NotFound, PortError, Unanswered
from lakegate.contract.delivery_policy import Pull
from lakegate.features.pull import named_objects
from lakegate.features.pull.named_objects import NamedObject, deliver_named, name_object
from lakegate.features.pull.pull_sources import OpenedSource, S3Source, SourceIdentity, TransferByScheme
from lakegate.features.pull.pull_task import LEASE, S3LandingParts, tick
from lakegate.gate.effects import Effect, Steps, run
from lakegate.gate.ports import Address
from lakegate.gate.scheduled_tasks import Turn
from lakegate.gate.table import TableName
from tests.fakes.pulls import etag_of
from tests.simulation.environment import LANDING
from tests.unit.aws.conftest import ACCOUNT, Cloud
from tests.unit.features.pull.pull_stage import LINE, PART, PREFIX, PullStage

FOLDER = Pull("s3://partner-exports/out/")
KEY = "s3://partner-exports/out/rows.csv"


@dataclass
class Bucket:
    """Transfer: the producer's own bucket, by address and version."""

    objects: dict[tuple[str, str], bytes] = field(default_factory=dict)
    opened: int = 0
    failures: list[PortError] = field(default_factory=list)

    @contextmanager
    def open(
        self, _contract: str, pull: Pull, _unless: SourceIdentity, begun: SourceIdentity | None = None, at: int = 0
    ) -> Iterator[OpenedSource | None]:
        """The version that is begun."""
        assert begun is not None
        self.opened += 1
        if self.failures:
            raise self.failures.pop()
        body = self.objects.get((pull.source, begun.version))
        if body is None:
            raise NotFound("GetObject: NoSuchVersion")
        assert begun.etag in {"", etag_of(body)}
        place = at

        def read(length: int) -> bytes:
            nonlocal place
            place += len(found := body[place : place + length])
            return found

        yield OpenedSource(SourceIdentity(etag_of(body), "", begun.version), len(body), resumable=True, read=read)


@dataclass
class Stage(PullStage):
    """A contract whose producer names objects of a folder, and a gate that takes what landed."""

    bucket: Bucket = field(default_factory=Bucket)
    taken: Counter[bytes] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.publish(pull=FOLDER)

    def steps(self) -> Steps[Turn]:
        """The effects of one tick."""
        return tick(self.dependencies, self.bucket, self.landing, PART, also=deliver_named)

    def tick(self, hours: float = 0.1) -> Turn:
        """One tick, after the index has caught up."""
        return super().tick(hours)

    def has(self, body: bytes, version: str = "v1", source: str = KEY) -> None:
        self.bucket.objects[source, version] = body

    def name(self, version: str = "v1", source: str = KEY) -> NamedObject:
        return run(name_object(self.dependencies, LINE, source, version), self.env.memory.clock)

    def gate(self) -> None:
        """Take what landed, and delete it as the gate does when it has finished."""
        objects = self.env.memory.objects
        for each in objects.versions(LANDING, PREFIX).versions:
            self.taken[objects.read(Address(LANDING, each.key, each.version))] += 1
            objects.delete(Address(LANDING, each.key, each.version))


@pytest.mark.parametrize("body", [b"", b"id", b"id\n1", b"id\n1\n2\n3\n4", b"id\n1\n2\n3"])
def test_a_named_object_is_delivered_once(body: bytes) -> None:
    """Of no byte, of one part, of several, and of whole parts; naming it again changes nothing, also when the gate is done."""
    stage = Stage()
    stage.has(body)
    first = stage.name()
    assert stage.name() == first
    turn = stage.tick()
    (key,) = stage.landed
    stage.gate()
    done = stage.name()
    for _ in range(3):
        stage.tick(1)

    assert (stage.taken, stage.landed, stage.bucket.opened) == (Counter([body]), {}, 1)
    assert (key.startswith(PREFIX), key.endswith("-rows.csv")) == (True, True)
    assert done.end is not None
    assert (done.end.outcome.value, done.end.key, done.end.size, done.next) == ("FETCHED", key, len(body), "")
    assert turn.ends == [(LINE, done.end)]


def test_each_version_is_a_delivery_of_its_own() -> None:
    """In any order; one without a version id is whatever is at its key."""
    stage = Stage()
    for version in ("v1", "v2", ""):
        stage.has(f"id\n{version}".encode(), version)
    for version in ("v2", "", "v1", "v2"):
        stage.name(version)
    stage.tick()
    stage.gate()

    assert stage.taken == Counter([b"id\nv1", b"id\nv2", b"id\n"])


@pytest.mark.parametrize(
    ("source", "pull"),
    [
        ("s3://partner-exports/other/rows.csv", FOLDER),
        ("s3://partner-exports/out/", FOLDER),
        ("s3://partner-exports/output.csv", FOLDER),
        ("s3://another-bucket/out/rows.csv", FOLDER),
        ("https://partner-exports/out/rows.csv", FOLDER),
        (KEY, Pull(KEY, "rate(1 hour)")),
        (KEY, None),
    ],
)
def test_only_objects_of_the_folder_of_the_contract_are_named(source: str, pull: Pull | None) -> None:
    """A message decides neither contract nor place."""
    stage = Stage()
    stage.publish("1.0.1", pull=pull)
    with pytest.raises(InputError, match="takes no object at this address"):
        stage.name(source=source)


def test_a_folder_that_the_contract_gives_up_is_not_read() -> None:
    """Between the message and the tick another version was published."""
    stage = Stage()
    stage.has(b"id\n1")
    stage.name()
    stage.publish("1.0.1", pull=Pull("s3://partner-exports/new/"))
    stage.tick()

    assert (stage.landed, stage.bucket.opened) == ({}, 0)
    assert [each.end.reason for each in rows(stage) if each.end] == ["source-refused"]


def rows(stage: Stage) -> list[NamedObject]:
    found = named_objects.named_objects(stage.dependencies)
    stored = (row for row in stage.env.memory.table.scan(TableName.WORKLOADS) if row.key.name.startswith("object#"))
    return [found.get(each.key.name.partition("#")[2]) for each in stored]


def test_what_fails_is_tried_three_times_and_again_when_it_is_named_again() -> None:
    """The alarm counts the end; the reason is in the answer to whoever names it again."""
    stage = Stage()
    stage.bucket.failures = [Unanswered("ReadTimeoutError") for _ in range(3)]
    stage.has(b"id\n1")
    stage.name()
    ends = [end.reason for _ in range(4) for _, end in stage.tick(1).ends]
    again = stage.name()
    stage.tick()
    stage.gate()

    assert ends == ["ReadTimeoutError"]
    assert again.end is not None
    assert (again.end.outcome.value, again.next != "") == ("FAILED", True)
    assert stage.taken == Counter([b"id\n1"])


def test_an_end_that_somebody_has_to_know_is_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure, and the first success of the same object after it, each once, also if the tick dies at the row's end."""
    stage = Stage()
    stage.tick()
    stage.has(b"id\n2", "v2")
    for version in ("v1", "v2"):
        stage.name(version)
    stage.env.memory.clock.sleep(60)
    with monkeypatch.context() as patch:
        patch.setattr(named_objects, "change_row", lambda *_: _dies())
        stage.tick()
    stage.tick(1)
    stage.has(b"id\n1", "v1")
    stage.name("v1")
    stage.tick()
    messages = [
        (json.loads(each.body), each.dataset) for each in stage.env.memory.messages.values() if each.kind == "pull"
    ]

    assert [(body["outcome"], body["reason"], body["next"], line) for body, line in messages] == [
        ("FAILED", "GetObject: NoSuchVersion", None, LINE),
        ("FETCHED", None, None, LINE),
    ]
    assert all("partner-exports" not in json.dumps(body) for body, _ in messages)
    assert [(end.version, end.outcome.value) for end in stage.row.ends] == [("v1", "FETCHED"), ("v2", "FETCHED")]


def _dies() -> Steps[None]:
    yield from ()
    raise PortError("the function was ended")


def test_an_object_that_is_gone_or_too_large_fails_at_once() -> None:
    """Another attempt would find the same."""
    stage = Stage()
    stage.has(b"x" * 101, "large")
    for version in ("gone", "large"):
        stage.name(version)
    stage.tick()

    assert sorted(each.end.reason for each in rows(stage) if each.end) == ["GetObject: NoSuchVersion", "too-large"]
    assert stage.landed == {}


def test_a_paused_line_takes_it_later() -> None:
    """As a pull by schedule, which is not begun while the line is paused."""
    stage = Stage()
    stage.has(b"id\n1")
    stage.name()
    plan = named_objects.plan_of
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            named_objects, "plan_of", lambda *given: (found := plan(*given)) and found._replace(is_paused=True)
        )
        stage.tick()
        paused = stage.landed
    stage.tick(1)

    assert (paused, list(stage.landed.values())) == ({}, [b"id\n1"])


@pytest.mark.parametrize(("days", "delivered"), [(1, 0), (8, 1)])
def test_an_upload_that_s3_deleted_for_its_age_is_begun_again(days: int, delivered: int) -> None:
    """After seven days nothing may be lost; a younger upload that is missing was completed, and what it made is gone again."""
    for effects in range(14):
        stage = Stage()
        stage.has(b"id\n1\n2\n3")
        stage.name()
        stage.env.memory.clock.sleep(60)
        interrupted(stage, effects)
        if rows(stage)[0].completing:
            break
    stage.landing.uploads.clear()
    stage.tick(24 * days)
    stage.gate()

    assert stage.taken.total() == delivered
    assert [each.end.outcome.value for each in rows(stage) if each.end] == ["FETCHED"]


def interrupted(stage: Stage, effects: int, *, happens: bool = False) -> None:
    """A tick that dies before an effect, or behind it before it hears of it."""
    steps = stage.steps()
    try:
        call = next(steps)
        for _ in range(effects):
            call = steps.send(call.do())
        if happens:
            call.do()
    except StopIteration:
        pass
    except (ConditionFailed, PortError):
        steps.close()
    else:
        steps.close()


@pytest.mark.parametrize("body", [b"", b"id\n1"])
def test_an_object_is_delivered_once_on_s3(cloud: Cloud, body: bytes) -> None:
    """By the adapters of the function: a tick that dies behind the completion, and one later, make no second object."""
    cloud.s3.create_bucket(Bucket="partner-exports")
    cloud.s3.put_bucket_versioning(Bucket="partner-exports", VersioningConfiguration={"Status": "Enabled"})
    version = cloud.s3.put_object(Bucket="partner-exports", Key="out/rows.csv", Body=body)["VersionId"]
    cloud.s3.put_object(Bucket="partner-exports", Key="out/rows.csv", Body=b"newer")
    stage = Stage()
    transfer = TransferByScheme({"s3": S3Source(cloud.s3, frozenset({"landing", "lake"}))})
    landing = S3LandingParts(cloud.s3, "landing", ACCOUNT)

    def ticks() -> Steps[Turn]:
        stage.env.memory.clock.sleep(LEASE.total_seconds())
        return tick(stage.dependencies, transfer, landing, also=deliver_named)

    def landed() -> list[str]:
        return [
            each["Key"]
            for each in cloud.s3.get_paginator("list_objects_v2")
            .paginate(Bucket="landing")
            .build_full_result()
            .get("Contents", ())
        ]

    stage.name(version)
    steps = ticks()
    call = next(steps)
    while call.effect is not Effect.LAND:
        call = steps.send(call.do())
    call.do()
    steps.close()
    (key,) = landed()
    found = cloud.s3.get_object(Bucket="landing", Key=key)["Body"].read()
    cloud.s3.delete_object(Bucket="landing", Key=key)
    turns = [run(ticks(), stage.env.memory.clock) for _ in range(2)]

    assert (found, landed(), [each.failures for each in turns]) == (body, [], [[], []])
    assert stage.name(version).end == turns[0].ends[0][1]


BODIES = {f"v{n}": f"id\n{n}{n * 3 * 'x'}".encode() for n in range(1, 4)}


def schedule_of(seed: int) -> Stage:
    """Messages that are repeated and reordered, ticks that die anywhere, sources that fail, and a gate at any time."""
    choices, stage = random.Random(seed), Stage()
    for version, body in BODIES.items():
        stage.has(body, version)
    wanted = list(BODIES) * choices.randint(1, 3)
    choices.shuffle(wanted)
    while wanted or choices.random() < 0.9:
        match choices.randrange(6):
            case 0 if wanted:
                stage.name(wanted.pop())
            case 1 | 2:
                interrupted(stage, choices.randrange(14), happens=choices.random() < 0.5)
            case 3:
                stage.gate()
            case 4:
                stage.env.memory.clock.sleep(choices.choice((60, LEASE.total_seconds())))
            case 5:
                stage.bucket.failures = [Unanswered("ReadTimeoutError")] * choices.randrange(2)
    stage.bucket.failures = []
    for _ in range(6):
        for version in BODIES:
            stage.name(version)
        stage.tick(1)
        stage.gate()
    return stage


ONCE = Counter(BODIES.values())


@pytest.mark.parametrize("seed", range(150))
def test_every_version_is_delivered_exactly_once(seed: int) -> None:
    """Whatever is repeated, reordered, lost or interrupted."""
    stage = schedule_of(seed)

    assert stage.taken == ONCE
    assert [each.end.outcome.value for each in rows(stage) if each.end] == ["FETCHED"] * 3
    assert sorted((end.object, end.version, end.outcome.value) for end in stage.row.ends) == [
        (KEY, version, "FETCHED") for version in BODIES
    ]


def _forgets_that_it_completes(row: NamedObject, **changes: object) -> NamedObject:
    changes.pop("completing", None)
    return replace(row, **changes)  # type: ignore[arg-type]


def _ends_before_it_lands(*_: object) -> Steps[bool]:
    yield from ()
    return True


PLANTED: dict[str, tuple[str, object]] = {
    "completing is not written": ("replace", _forgets_that_it_completes),
    "the end is written without the object": ("_completed", _ends_before_it_lands),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one of the same schedules."""
    target, wrong = PLANTED[bug]
    monkeypatch.setattr(f"lakegate.features.pull.named_objects.{target}", wrong)

    assert any(_breaks(schedule_of, seed) for seed in range(150))


def _breaks(play: Callable[[int], Stage], seed: int) -> bool:
    return play(seed).taken != ONCE

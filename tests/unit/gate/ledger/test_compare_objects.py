"""Stored objects are compared with the ledger: versions, sizes, checksums, and objects that it does not list."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import reduce
from operator import getitem
from typing import Any

import pytest

from lakegate.base.json_codec import members_of
from lakegate.gate import lake_layout
from lakegate.gate.datasets import readers_manifest
from lakegate.gate.datasets.manifest_documents import AcceptedDelivery
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Effect, run
from lakegate.gate.ledger import compare_objects
from lakegate.gate.ledger.blocks import LedgerObject
from lakegate.gate.ledger.compare_objects import Compared, Damage, DamagedObject, compared_objects, damages
from lakegate.gate.ports import Address
from tests.fakes.jobs import Ending
from tests.simulation.environment import LAKE, LINE, PREFIX, Environment
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.gate.scenarios import decided

FOLDER = f"accepted/{LINE}/"


def finished(*bodies: bytes) -> Environment:
    """An environment with finished deliveries, `0.csv`, `1.csv` and so on."""
    env = Environment()
    stage = Stage(env, lambda _: Fault.NONE)
    for number, body in enumerate(bodies):
        env.upload(f"{PREFIX}{number}.csv", body)
        settle(stage)
    return env


def replayed(*endings: Ending) -> Environment:
    """An environment with one delivery in quarantine, and its finished replay."""
    stage = Stage(Environment([Ending.ANSWERED, *endings]), lambda _: Fault.NONE)
    upload = stage.env.upload(f"{PREFIX}0.csv", b"bad:1")
    settle(stage)
    stage.replay(upload.workload)
    settle(stage)
    return stage.env


def findings(env: Environment) -> list[DamagedObject]:
    return list(damages(env.dependencies, LINE, env.dependencies.ledger.head(LINE).height, lambda _: None))


def found(env: Environment) -> list[tuple[Damage, int | None, str]]:
    return [(each.damage, each.height, each.file) for each in findings(env)]


def recorded(env: Environment, height: int = 0) -> LedgerObject:
    return env.dependencies.ledger.blocks(LINE)[height].objects[0]


def at(each: LedgerObject, version: str | None = None) -> Address:
    return Address(LAKE, each.key, version)


def test_unchanged_objects_have_no_damage() -> None:
    """Accepted and quarantined objects of a line are compared, one by one, and counted."""
    counts: list[int] = []
    env = finished(b"good:1", b"bad:1", b"good:2")

    assert list(damages(env.dependencies, LINE, 2, counts.append)) == []
    assert counts == [3]


def test_an_object_that_was_written_over_is_found() -> None:
    """The judged version is still there, below another: the finding names the delivery, its file, and the version on top."""
    env = finished(b"good:1", b"good:2")
    judged = recorded(env, 1)
    above = env.memory.objects.put(at(judged), b"other bytes")
    (finding,) = findings(env)

    assert (finding.damage, finding.height, finding.file) == (Damage.REPLACED, 1, f"{PREFIX}1.csv")
    assert (finding.key, finding.version, finding.current) == (judged.key, judged.version, above.version)
    assert finding.workload == env.dependencies.ledger.blocks(LINE)[1].workload


def test_the_same_bytes_under_another_version_are_still_another_version() -> None:
    """Readers by version do not find it, and a checksum of 32 bits proves nothing."""
    env = finished(b"good:1")
    env.memory.objects.put(at(recorded(env)), b"good:1")

    assert found(env) == [(Damage.REPLACED, 0, f"{PREFIX}0.csv")]


def test_an_object_written_over_whose_judged_version_was_deleted_is_lost() -> None:
    """What readers get today is not what was accepted, and that is nowhere any more."""
    env = finished(b"good:1")
    judged = recorded(env)
    above = env.memory.objects.put(at(judged), b"other")
    env.memory.objects.delete(at(judged, judged.version))

    assert found(env) == [(Damage.LOST, 0, f"{PREFIX}0.csv")]
    assert findings(env)[0].current == above.version


def test_a_deleted_version_is_lost() -> None:
    """Nothing lies there at all."""
    env = finished(b"good:1")
    judged = recorded(env)
    env.memory.objects.delete(at(judged, judged.version))

    assert found(env) == [(Damage.LOST, 0, f"{PREFIX}0.csv")]
    assert findings(env)[0].current == ""


def test_a_delete_marker_hides_an_object() -> None:
    """The judged version is still there; who reads without a version does not see it."""
    env = finished(b"good:1")
    env.memory.objects.delete(at(recorded(env)))

    assert found(env) == [(Damage.HIDDEN, 0, f"{PREFIX}0.csv")]


@pytest.mark.parametrize("change", [{"size": 1}, {"checksum": "sha256:other"}])
@pytest.mark.parametrize("covered", [False, True])
def test_a_version_of_another_size_or_checksum_is_altered(change: dict[str, object], *, covered: bool) -> None:
    """A store that keeps other bytes under the same version id has lost the judged ones, whatever lies above them."""
    env = finished(b"good:1")
    stored = env.memory.objects.buckets[LAKE][recorded(env).key]
    assert stored[0].described is not None
    stored[0] = stored[0]._replace(described=stored[0].described._replace(**change))  # type: ignore[arg-type]
    if covered:
        env.memory.objects.put(at(recorded(env)), b"above")

    assert found(env) == [(Damage.ALTERED, 0, f"{PREFIX}0.csv")]


def test_an_object_without_a_recorded_checksum_is_compared_by_version_and_size() -> None:
    """A block may say that the store gave none: then there is nothing to compare."""
    env = finished(b"good:1")
    block = env.dependencies.ledger.blocks(LINE)[0]
    bare = replace(block, objects=(replace(block.objects[0], checksum=""),))
    env.memory.put_block(bare)
    env.memory.objects.delete(Address(LAKE, HEAD))
    run(readers_manifest.update(env.dependencies, LINE), env.dependencies.clock)

    assert found(env) == []


@pytest.mark.parametrize(
    "name", ["part-00001.csv", "ingest_date=2026-01-05/workload=x/part-00000.csv", "x/_manifest.json", ""]
)
def test_an_object_that_no_block_names_is_extra(name: str) -> None:
    """Anyone who reads the folder reads it, too; it has no delivery."""
    env = finished(b"good:1")
    extra = env.memory.objects.put(Address(LAKE, f"{FOLDER}{name}"), b"x")
    (finding,) = findings(env)

    assert (finding.damage, finding.key, finding.current) == (Damage.EXTRA, f"{FOLDER}{name}", extra.version)
    assert (finding.height, finding.workload, finding.file) == (None, "", "")


def test_an_extra_object_in_the_folder_of_a_delivery_names_that_delivery() -> None:
    """It would be read as a part of it."""
    env = finished(b"good:1")
    block = env.dependencies.ledger.blocks(LINE)[0]
    env.memory.objects.put(Address(LAKE, block.objects[0].key.replace("00000", "00001")), b"x")
    (finding,) = findings(env)

    assert (finding.damage, finding.workload, finding.file) == (Damage.EXTRA, block.workload, f"{PREFIX}0.csv")


def test_an_extra_object_in_another_folder_of_a_known_delivery_is_extra() -> None:
    """The name of a delivery in the key makes no place of its own."""
    env = finished(b"good:1")
    block = env.dependencies.ledger.blocks(LINE)[0]
    env.memory.objects.put(Address(LAKE, f"{FOLDER}ingest_date=1999-01-01/workload={block.workload}/x"), b"x")

    assert found(env) == [(Damage.EXTRA, None, f"{PREFIX}0.csv")]


def test_a_folder_of_many_objects_is_listed_to_its_end() -> None:
    """The store answers a thousand at a time."""
    env = finished(b"good:1")
    for number in range(1_001):
        env.memory.objects.put(Address(LAKE, f"{FOLDER}{number:04}"), b"x")

    assert len(findings(env)) == 1_001


def test_an_extra_object_below_a_delete_marker_is_nobodys_matter() -> None:
    """No reader sees it."""
    env = finished(b"good:1")
    env.memory.objects.put(Address(LAKE, f"{FOLDER}x"), b"x")
    env.memory.objects.delete(Address(LAKE, f"{FOLDER}x"))

    assert findings(env) == []


def test_another_line_whose_name_begins_alike_is_not_looked_at() -> None:
    """`lines_v1` and `lines_v10` are neighbours in the bucket."""
    env = finished(b"good:1")
    env.memory.objects.put(Address(LAKE, f"accepted/{LINE}0/x"), b"x")
    env.memory.put_block(replace(env.dependencies.ledger.blocks(LINE)[0], chain=f"{LINE}0"))

    assert findings(env) == []


def test_a_delivery_on_its_way_to_its_place_is_not_extra() -> None:
    """It is decided and copied, and the commit comes next."""
    env, row = decided()
    steps = advance(DeliveryTurn(env.dependencies, row))
    call = next(steps)
    assert call.effect is Effect.COPY
    call.do()
    steps.close()

    assert findings(env) == []


def test_a_delivery_that_is_committed_meanwhile_is_not_extra() -> None:
    """Its block is above the height up to which the chain was read."""
    env = finished(b"good:1", b"good:2")

    assert list(damages(env.dependencies, LINE, 0, lambda _: None)) == []


def test_a_rejected_delivery_has_nothing_in_the_accepted_folder() -> None:
    """What lies there in its name is extra, though its row is known."""
    env = finished(b"bad:1")
    row = env.dependencies.workloads.get(env.uploads[0].workload)
    assert row.pin is not None
    env.memory.objects.put(
        Address(LAKE, lake_layout.destination_key("accepted", row.pin, row.id, "part-00000.csv")), b"x"
    )

    assert found(env) == [(Damage.EXTRA, None, f"{PREFIX}0.csv")]


def test_a_quarantined_copy_that_was_replayed_is_not_missed() -> None:
    """Its bytes are at the destination of the replay; a block there names them."""
    env = replayed()

    assert [each.kind for each in env.dependencies.ledger.blocks(LINE)] == ["quarantined", "replay", "quarantined"]
    assert findings(env) == []


def test_a_quarantined_copy_that_is_gone_without_a_replay_is_lost() -> None:
    """An unfinished replay has deleted nothing."""
    env = replayed(*[Ending.FAILED] * 3)
    judged = recorded(env)
    env.memory.objects.delete(at(judged, judged.version))

    assert found(env) == [(Damage.LOST, 0, f"{PREFIX}0.csv")]


def test_a_finding_of_a_delivery_whose_row_is_gone_has_no_file_name() -> None:
    """So is its archive; the ledger knows the object all the same."""
    env = finished(b"good:1")
    env.memory.objects.delete(at(recorded(env)))
    (row,) = env.memory.workloads
    env.memory.objects.delete(Address(LAKE, lake_layout.row_key(row)))
    env.memory.workloads.clear()

    assert found(env) == [(Damage.HIDDEN, 0, "")]


def test_a_block_that_cannot_be_read_names_no_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chain is broken, which is found there; what other blocks name is compared all the same."""
    env = finished(b"good:1", b"good:2")
    whole = tuple(env.dependencies.ledger.texts(LINE))
    monkeypatch.setattr(type(env.memory.ledger), "texts", lambda _self, _chain: iter((b"{}", whole[1])))

    assert [(each.damage, each.key) for each in findings(env)] == [
        (Damage.EXTRA, env.dependencies.ledger.blocks(LINE)[0].objects[0].key)
    ]


def test_thousands_of_objects_are_compared_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every one is compared, no more are held at once than a batch has, and progress is reported after each batch."""
    monkeypatch.setattr(compare_objects, "BATCH", 2)
    counts: list[int] = []
    env = finished(*(f"good:{number}".encode() for number in range(5)))
    env.memory.objects.put(at(recorded(env, 4)), b"other")

    assert [each.height for each in damages(env.dependencies, LINE, 4, counts.append)] == [4]
    assert counts == [2, 4, 5]


def test_the_objects_of_a_split_are_all_compared() -> None:
    """Good rows in their place, bad rows in quarantine."""
    env = finished(b"split:1")
    for each in env.dependencies.ledger.blocks(LINE)[0].objects:
        env.memory.objects.delete(at(each, each.version))

    assert {(each.damage, each.key.partition("/")[0]) for each in findings(env)} == {
        (Damage.LOST, "accepted"),
        (Damage.LOST, "quarantine"),
    }


HEAD = f"{FOLDER}_manifest.json"
SEGMENT = f"{FOLDER}_manifest/{0:012}.json"
TAMPERED = {
    "not JSON": lambda _body: b"{",
    "no document": lambda _body: b"[]",
    "other rows": lambda body: body.replace(b'"rows": 6', b'"rows": 7', 1),
    "other line": lambda body: body.replace(b'"orders/', b'"others/', 1),
    "nothing listed": lambda _body: b'{"deliveries": {}}',
    "no object": lambda body: body.replace(b'"objects"', b'"others"', 1),
    "no height": lambda body: re.sub(rb'"height": \d+, "objects"', b'"height": [], "objects"', body, count=1),
}


@pytest.mark.parametrize("how", TAMPERED)
@pytest.mark.parametrize("key", [HEAD, SEGMENT])
def test_a_manifest_that_differs_from_the_ledger_is_found(key: str, how: str) -> None:
    """Head and segments are derived: whatever they say beside the ledger is named; written again, they are true."""
    env = finished(*(b"good:%d" % number for number in range(5)))
    assert found(env) == []
    body = env.dependencies.objects.read(Address(LAKE, key))
    env.memory.objects.put(Address(LAKE, key), TAMPERED[how](body))

    assert [(each.damage, each.key) for each in findings(env)] == [(Damage.UNTRUE, key)]

    env.memory.objects.delete(Address(LAKE, HEAD))
    run(readers_manifest.update(env.dependencies, LINE), env.dependencies.clock)
    assert (found(env), env.dependencies.objects.read(Address(LAKE, key))) == ([], body)


def test_a_head_above_the_ledger_is_found_and_written_again() -> None:
    """After the ledger was restored to an earlier time, the head lists what is not in it: the next delivery rebuilds it."""
    env = finished(b"good:1", b"good:2", b"good:3")
    body = json.loads(env.dependencies.objects.read(Address(LAKE, HEAD)))
    env.memory.objects.put(Address(LAKE, HEAD), json.dumps(body | {"height": 1_000}).encode())
    assert [(each.damage, each.key) for each in findings(env)] == [(Damage.UNTRUE, HEAD)]

    run(readers_manifest.update(env.dependencies, LINE), env.dependencies.clock)
    assert found(env) == []


OF_HEAD = ("format", "line", "height", "segments", "lifecycle", "deliveries", "gapless")
OF_SEGMENT = ("format", "line", "height", "deliveries")
OF_DELIVERY = tuple(each.key for each in members_of(AcceptedDelivery) if each.is_required)


@pytest.mark.parametrize(
    ("key", "place", "name"),
    [
        *((HEAD, (), each) for each in OF_HEAD),
        *((SEGMENT, (), each) for each in OF_SEGMENT),
        *((key, ("deliveries", 0), each) for key in (HEAD, SEGMENT) for each in OF_DELIVERY),
        *((key, ("deliveries", 0, "csv"), "delimiter") for key in (HEAD, SEGMENT)),
        *((key, ("deliveries", 0, "objects", 0), "checksum") for key in (HEAD, SEGMENT)),
    ],
)
def test_a_member_that_was_taken_out_of_a_manifest_is_found(key: str, place: tuple[str | int, ...], name: str) -> None:
    """At any depth. With the next delivery, a head that lacks a member is derived again."""
    env = finished(*(b"good:%d" % number for number in range(5)))
    body = json.loads(env.dependencies.objects.read(Address(LAKE, key)))
    holder: Any = reduce(getitem, place, body)
    del holder[name]
    env.memory.objects.put(Address(LAKE, key), json.dumps(body).encode())

    assert [(each.damage, each.key) for each in findings(env)] == [(Damage.UNTRUE, key)]


@pytest.mark.parametrize("key", [HEAD, SEGMENT])
def test_only_members_of_a_newer_release_may_stand_beside_those_of_the_ledger(key: str) -> None:
    """At any depth; a member of this release that the ledger does not have is found."""
    env = finished(*(b"good:%d" % number for number in range(5)))
    body = json.loads(env.dependencies.objects.read(Address(LAKE, key)))
    (delivery, *_) = body["deliveries"]
    for each in (body, delivery, delivery["csv"], delivery["objects"][0]):
        each["later"] = {"a": 1}
    env.memory.objects.put(Address(LAKE, key), json.dumps(body, sort_keys=True).encode())
    (unknown,) = findings(env)
    places = {"/later", *(f"/deliveries/0{each}/later" for each in ("", "/csv", "/objects/0"))}
    assert (unknown.damage, unknown.key, set(unknown.file.split(", "))) == (Damage.UNKNOWN, key, places)
    assert compared_objects(env.dependencies, LINE, 4, lambda _: None) == Compared(
        5, 0, (), (f"{key} has members that this release does not know, and that no reader of it uses: {unknown.file}",)
    )

    delivery["watermark"] = "2026-01-01T00:00:00Z"
    env.memory.objects.put(Address(LAKE, key), json.dumps(body).encode())
    assert [(each.damage, each.key) for each in findings(env)] == [(Damage.UNTRUE, key)]


def test_a_manifest_of_another_format_is_found() -> None:
    """It is rebuilt with the next delivery. A line without one has readers who see nothing."""
    env = finished(b"good:1")
    body = env.dependencies.objects.read(Address(LAKE, HEAD))
    env.memory.objects.put(Address(LAKE, HEAD), body.replace(b"lakegate-manifest/3", b"lakegate-manifest/2"))
    assert [(each.damage, each.key) for each in findings(env)] == [(Damage.UNTRUE, HEAD)]

    run(readers_manifest.update(env.dependencies, LINE), env.dependencies.clock)
    assert env.dependencies.objects.read(Address(LAKE, HEAD)) == body
    env.memory.objects.delete(Address(LAKE, HEAD))
    assert [(each.damage, each.key) for each in findings(env)] == [(Damage.UNLISTED, HEAD)]


def test_a_missing_segment_is_named() -> None:
    """Readers get an error that names it, too."""
    env = finished(*(b"good:%d" % number for number in range(5)))
    env.memory.objects.delete(Address(LAKE, SEGMENT))

    assert [(each.damage, each.key, each.current) for each in findings(env)] == [(Damage.UNLISTED, SEGMENT, "")]

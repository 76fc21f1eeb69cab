"""What lies at rest is compared with the ledger: versions, sizes and checksums, and nothing beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from functions.memory.jobs import Ending
from functions.ports import Address
from functions.usecases import audit, layout
from functions.usecases.advance import advance
from functions.usecases.audit import Damage, damages
from functions.usecases.steps import Effect
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.world import LAKE, LINE, PREFIX, World
from tests.unit.usecases.worlds import decided

if TYPE_CHECKING:
    from contracts.ledger import LedgerObject
    from functions.usecases.audit import Finding

FOLDER = f"accepted/{LINE}/"


def rested(*bodies: bytes) -> World:
    """A world whose deliveries have come to rest, `0.csv`, `1.csv` and so on."""
    world = World()
    stage = Stage(world, lambda _: Fault.NONE)
    for number, body in enumerate(bodies):
        world.upload(f"{PREFIX}{number}.csv", body)
        settle(stage)
    return world


def replayed(*endings: Ending) -> World:
    """A world with one delivery in quarantine, and its replay carried to its end."""
    stage = Stage(World([Ending.ANSWERED, *endings]), lambda _: Fault.NONE)
    upload = stage.world.upload(f"{PREFIX}0.csv", b"bad:1")
    settle(stage)
    stage.replay(upload.workload)
    settle(stage)
    return stage.world


def findings(world: World) -> list[Finding]:
    return list(damages(world.gate, LINE, world.gate.ledger.head(LINE).height, lambda _: None))


def found(world: World) -> list[tuple[Damage, int | None, str]]:
    return [(each.damage, each.height, each.file) for each in findings(world)]


def recorded(world: World, height: int = 0) -> LedgerObject:
    return world.gate.ledger.blocks(LINE)[height].objects[0]


def at(each: LedgerObject, version: str | None = None) -> Address:
    return Address(LAKE, each.key, version)


def test_what_rests_as_it_was_recorded_has_no_damage() -> None:
    """Accepted and quarantined objects of a line are compared, one by one, and counted."""
    counts: list[int] = []
    world = rested(b"good:1", b"bad:1", b"good:2")

    assert list(damages(world.gate, LINE, 2, counts.append)) == []
    assert counts == [3]


def test_an_object_that_was_written_over_is_found() -> None:
    """The judged version is still there, below another: the finding names the delivery, its file, and the version on top."""
    world = rested(b"good:1", b"good:2")
    judged = recorded(world, 1)
    above = world.memory.objects.put(at(judged), b"other bytes")
    (finding,) = findings(world)

    assert (finding.damage, finding.height, finding.file) == (Damage.REPLACED, 1, f"{PREFIX}1.csv")
    assert (finding.key, finding.version, finding.current) == (judged.key, judged.version, above.version)
    assert finding.workload == world.gate.ledger.blocks(LINE)[1].workload


def test_the_same_bytes_under_another_version_are_still_another_version() -> None:
    """Readers by version do not find it, and a checksum of 32 bits proves nothing."""
    world = rested(b"good:1")
    world.memory.objects.put(at(recorded(world)), b"good:1")

    assert found(world) == [(Damage.REPLACED, 0, f"{PREFIX}0.csv")]


def test_an_object_written_over_whose_judged_version_was_deleted_is_lost() -> None:
    """What readers get today is not what was accepted, and that is nowhere any more."""
    world = rested(b"good:1")
    judged = recorded(world)
    above = world.memory.objects.put(at(judged), b"other")
    world.memory.objects.delete(at(judged, judged.version))

    assert found(world) == [(Damage.LOST, 0, f"{PREFIX}0.csv")]
    assert findings(world)[0].current == above.version


def test_a_deleted_version_is_lost() -> None:
    """Nothing lies there at all."""
    world = rested(b"good:1")
    judged = recorded(world)
    world.memory.objects.delete(at(judged, judged.version))

    assert found(world) == [(Damage.LOST, 0, f"{PREFIX}0.csv")]
    assert findings(world)[0].current == ""


def test_a_delete_marker_hides_an_object() -> None:
    """The judged version is still there; who reads without a version does not see it."""
    world = rested(b"good:1")
    world.memory.objects.delete(at(recorded(world)))

    assert found(world) == [(Damage.HIDDEN, 0, f"{PREFIX}0.csv")]


@pytest.mark.parametrize("change", [{"size": 1}, {"checksum": "sha256:other"}])
@pytest.mark.parametrize("covered", [False, True])
def test_a_version_of_another_size_or_checksum_is_altered(change: dict[str, object], *, covered: bool) -> None:
    """A store that keeps other bytes under the same version id has lost the judged ones, whatever lies above them."""
    world = rested(b"good:1")
    stored = world.memory.objects.buckets[LAKE][recorded(world).key]
    assert stored[0].described is not None
    stored[0] = replace(stored[0], described=replace(stored[0].described, **change))  # type: ignore[arg-type]
    if covered:
        world.memory.objects.put(at(recorded(world)), b"above")

    assert found(world) == [(Damage.ALTERED, 0, f"{PREFIX}0.csv")]


def test_an_object_without_a_recorded_checksum_is_compared_by_version_and_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block may say that the store gave none: then there is nothing to compare."""
    world = rested(b"good:1")
    block = world.gate.ledger.blocks(LINE)[0]
    bare = replace(block, objects=(replace(block.objects[0], checksum=""),))
    monkeypatch.setitem(world.memory.ledger.chains, LINE, [bare])

    assert found(world) == []


@pytest.mark.parametrize(
    "name", ["part-00001.csv", "ingest_date=2026-01-05/workload=x/part-00000.csv", "x/_manifest.json", ""]
)
def test_an_object_that_no_block_names_is_extra(name: str) -> None:
    """Whoever reads the folder reads it, too; it has no delivery."""
    world = rested(b"good:1")
    extra = world.memory.objects.put(Address(LAKE, f"{FOLDER}{name}"), b"x")
    (finding,) = findings(world)

    assert (finding.damage, finding.key, finding.current) == (Damage.EXTRA, f"{FOLDER}{name}", extra.version)
    assert (finding.height, finding.workload, finding.file) == (None, "", "")


def test_an_extra_object_in_the_folder_of_a_delivery_names_that_delivery() -> None:
    """It would be read as a part of it."""
    world = rested(b"good:1")
    block = world.gate.ledger.blocks(LINE)[0]
    world.memory.objects.put(Address(LAKE, block.objects[0].key.replace("00000", "00001")), b"x")
    (finding,) = findings(world)

    assert (finding.damage, finding.workload, finding.file) == (Damage.EXTRA, block.workload, f"{PREFIX}0.csv")


def test_an_extra_object_below_a_delete_marker_is_nobodys_matter() -> None:
    """No reader sees it."""
    world = rested(b"good:1")
    world.memory.objects.put(Address(LAKE, f"{FOLDER}x"), b"x")
    world.memory.objects.delete(Address(LAKE, f"{FOLDER}x"))

    assert findings(world) == []


def test_another_line_whose_name_begins_alike_is_not_looked_at() -> None:
    """`lines_v1` and `lines_v10` are neighbours in the bucket."""
    world = rested(b"good:1")
    world.memory.objects.put(Address(LAKE, f"accepted/{LINE}0/x"), b"x")

    assert findings(world) == []


def test_a_delivery_on_its_way_to_its_place_is_not_extra() -> None:
    """It is decided and copied, and the commit comes next."""
    world, row = decided()
    steps = advance(world.gate, row)
    call = next(steps)
    assert call.effect is Effect.COPY
    call.do()
    steps.close()

    assert findings(world) == []


def test_a_delivery_that_is_committed_meanwhile_is_not_extra() -> None:
    """Its block stands above the height up to which the chain was read."""
    world = rested(b"good:1", b"good:2")

    assert list(damages(world.gate, LINE, 0, lambda _: None)) == []


def test_a_rejected_delivery_has_nothing_in_the_accepted_folder() -> None:
    """What lies there in its name is extra, though its row is known."""
    world = rested(b"bad:1")
    row = world.gate.workloads.get(world.uploads[0].workload)
    assert row.pin is not None
    world.memory.objects.put(Address(LAKE, layout.resting_key("accepted", row.pin, row.id, "part-00000.csv")), b"x")

    assert found(world) == [(Damage.EXTRA, None, f"{PREFIX}0.csv")]


def test_a_quarantined_copy_that_was_replayed_is_not_missed() -> None:
    """Its bytes rest where the replay has come to rest; a block there names them."""
    world = replayed()

    assert world.gate.ledger.head(LINE).height == 1
    assert findings(world) == []


def test_a_quarantined_copy_that_is_gone_without_a_replay_is_lost() -> None:
    """A replay that never came to rest has taken nothing away."""
    world = replayed(*[Ending.FAILED] * 3)
    judged = recorded(world)
    world.memory.objects.delete(at(judged, judged.version))

    assert found(world) == [(Damage.LOST, 0, f"{PREFIX}0.csv")]


def test_a_finding_of_a_delivery_whose_row_is_gone_has_no_file_name() -> None:
    """The ledger knows it all the same."""
    world = rested(b"good:1")
    world.memory.objects.delete(at(recorded(world)))
    world.memory.rows.rows.clear()

    assert found(world) == [(Damage.HIDDEN, 0, "")]


def test_a_block_that_cannot_be_read_names_no_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chain is broken, which is found there; what other blocks name is compared all the same."""
    world = rested(b"good:1", b"good:2")
    whole = tuple(world.gate.ledger.texts(LINE))
    monkeypatch.setattr(type(world.memory.ledger), "texts", lambda _self, _chain: iter((b"{}", whole[1])))

    assert [(each.damage, each.key) for each in findings(world)] == [
        (Damage.EXTRA, world.gate.ledger.blocks(LINE)[0].objects[0].key)
    ]


def test_thousands_of_objects_are_compared_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every one is compared, no more are held at once than a batch has, and progress is told after each batch."""
    monkeypatch.setattr(audit, "BATCH", 2)
    counts: list[int] = []
    world = rested(*(f"good:{number}".encode() for number in range(5)))
    world.memory.objects.put(at(recorded(world, 4)), b"other")

    assert [each.height for each in damages(world.gate, LINE, 4, counts.append)] == [4]
    assert counts == [2, 4, 5]


def test_the_objects_of_a_split_are_all_compared() -> None:
    """Good rows in their place, bad rows in quarantine."""
    world = rested(b"split:1")
    for each in world.gate.ledger.blocks(LINE)[0].objects:
        world.memory.objects.delete(at(each, each.version))

    assert {(each.damage, each.key.partition("/")[0]) for each in findings(world)} == {
        (Damage.LOST, "accepted"),
        (Damage.LOST, "quarantine"),
    }

"""What lands: claimed once, by version, from the landing bucket only."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from contracts.errors import InputError
from contracts.workflow import RESTING
from functions.ports import (
    Address,
    NotFound,
)
from functions.usecases import observe as observing
from functions.usecases.completion import completion
from functions.usecases.gate import Terms
from functions.usecases.intake import intake
from functions.usecases.observe import content, observe
from functions.usecases.steps import Alarm, Effect, run
from functions.usecases.sweep import sweep
from functions.workload import Source, State
from tests.simulation.meaning import DIGESTS
from tests.simulation.world import LAKE, LANDING, PREFIX, World
from tests.unit.usecases.worlds import (
    KEY,
    drive,
    landed,
    refused_at,
)


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


def test_a_folder_marker_is_judged_like_any_other_object() -> None:
    """`orders/` with nothing in it is what consoles leave behind: it ends in a verdict, not in silence."""
    world = World()
    marker = world.upload(PREFIX, b"")
    drive(world.gate, sweep(world.gate))

    assert world.memory.rows.rows[marker.workload].state in RESTING | {State.VALIDATING}


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


def test_a_version_deleted_between_two_looks_of_the_door_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Described, then deleted, then read: the door has found out that it vanished."""
    world, row = landed()

    def gone(*_: object) -> bytes:
        raise NotFound

    monkeypatch.setattr(world.memory.objects, "read", gone)

    assert observe(world.gate, replace(row, state=State.PINNED)) == observing.VANISHED


def test_a_content_without_checksum_is_nobodys() -> None:
    """Where the store knows no checksum, no two deliveries are called the same."""
    _, row = landed()

    assert content(row, Source(LAKE, "x", "v1")) == ""
    assert content(replace(row, pin=None), row.source) == ""


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

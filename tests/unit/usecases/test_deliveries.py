"""What has become of deliveries, found in what the protocol leaves behind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.errors import InputError
from contracts.routes import Route
from functions.memory.jobs import Ending
from functions.ports import Address, Publication
from functions.usecases import deliveries
from functions.usecases.deliveries import named, recent, result_of
from functions.usecases.intake import intake
from functions.usecases.steps import Alarm
from functions.workload import State, replay_id
from tests.simulation.meaning import DIGESTS
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.world import LAKE, LANDING, LINE, PREFIX, Upload, World
from tests.unit.usecases.worlds import drive

PLANS = (("lines", DIGESTS["1.0.0"]),)
ROUTE = Route(LANDING, PREFIX, "orders", "lines", 1, "1.0.0", "active", DIGESTS["1.0.0"])


def world_of(*endings: Ending) -> Stage:
    """A world whose registry says, as published by the command, which datasets there are, and everybody in it."""
    world = World(endings=list(endings))
    world.memory.registry.publish(Publication("orders", "1.0.0", "active", "contracts/1.0.0", (ROUTE,), plans=PLANS))
    return Stage(world, lambda _: Fault.NONE)


def at_rest(stage: Stage, name: str, body: bytes = b"good:1") -> Upload:
    """One upload, carried to its end; a minute passes."""
    upload = stage.world.upload(name, body)
    settle(stage)
    stage.world.memory.clock.sleep(60)
    return upload


def keys(stage: Stage, limit: int = 20) -> list[tuple[str, State | None]]:
    return [(each.key, each.row.state if each.row else None) for each in recent(stage.world.gate, limit)]


def test_the_latest_deliveries_are_listed_wherever_they_stand() -> None:
    """At rest, refused, unrouted, running, not yet seen: all of them, the newest first."""
    stage = world_of()
    at_rest(stage, f"{PREFIX}good.csv")
    at_rest(stage, f"{PREFIX}bad.csv", b"bad:1")
    at_rest(stage, "stray.csv")
    stage.world.upload(f"{PREFIX}running.csv", b"good:2")
    drive(stage.world.gate, intake(stage.world.gate, LANDING, f"{PREFIX}running.csv"))
    stage.world.memory.clock.sleep(60)
    stage.world.upload(f"{PREFIX}new.csv", b"good:3")

    assert keys(stage) == [
        (f"{PREFIX}new.csv", None),
        (f"{PREFIX}running.csv", State.VALIDATING),
        ("stray.csv", State.QUARANTINED),
        (f"{PREFIX}bad.csv", State.QUARANTINED),
        (f"{PREFIX}good.csv", State.PUBLISHED),
    ]
    assert keys(stage, 1) == [(f"{PREFIX}new.csv", None)]


def test_a_delivery_at_rest_is_listed_with_its_block() -> None:
    """Rows, objects and the time come from the ledger."""
    stage = world_of()
    at_rest(stage, f"{PREFIX}day.csv")
    (delivery,) = recent(stage.world.gate, 5)

    assert delivery.block == stage.world.gate.ledger.blocks(LINE)[0]
    assert delivery == named(stage.world.gate, delivery.id, 5)


def test_a_failed_delivery_is_listed_because_it_still_lies_where_it_landed() -> None:
    """Nothing that needs a person is out of sight."""
    stage = world_of(*[Ending.FAILED] * 3)
    upload = at_rest(stage, f"{PREFIX}day.csv")

    assert keys(stage) == [(f"{PREFIX}day.csv", State.FAILED)]
    assert result_of(stage.world.gate, stage.world.gate.workloads.get(upload.workload)) is None


def test_a_failed_replay_is_listed_beside_what_it_replays() -> None:
    """Its source lies in quarantine, so neither landing nor ledger know of it."""
    stage = world_of(Ending.ANSWERED, *[Ending.FAILED] * 3)
    upload = at_rest(stage, f"{PREFIX}day.csv", b"bad:1")
    stage.replay(upload.workload)
    settle(stage)
    states = {each.id: each.row.state for each in recent(stage.world.gate, 5) if each.row}

    assert states == {upload.workload: State.QUARANTINED, replay_id(upload.workload): State.FAILED}


def test_what_is_gone_is_found_by_its_id_alone() -> None:
    """The version is deleted, and nothing came to rest."""
    stage = world_of()
    upload = stage.world.upload(f"{PREFIX}day.csv", b"good:1")
    steps = intake(stage.world.gate, LANDING, f"{PREFIX}day.csv")
    next(steps).do()
    stage.world.delete(upload)
    steps.close()
    settle(stage)
    gone = named(stage.world.gate, upload.workload, 5)

    assert keys(stage) == []
    assert gone.row is not None
    assert (gone.row.state, gone.at, gone.block) == (State.GONE, None, None)


def test_a_delivery_is_found_by_the_beginning_of_its_id_or_by_its_key() -> None:
    """Of several versions of one key, the newest."""
    stage = world_of()
    first = at_rest(stage, f"{PREFIX}day.csv", b"good:1")
    second = at_rest(stage, f"{PREFIX}day.csv", b"good:2")

    assert first.workload == named(stage.world.gate, first.workload[:6], 5).id
    assert second.workload == named(stage.world.gate, f"{PREFIX}day.csv", 5).id


@pytest.mark.parametrize("name", ["", "0", "a1b2c3", "unknown.csv", "0" * 64, "x" * 64])
def test_what_is_not_there_is_said_to_be_missing(name: str) -> None:
    """Neither a short beginning nor an unknown id is guessed at."""
    stage = world_of()
    at_rest(stage, f"{PREFIX}day.csv")
    with pytest.raises(InputError):
        named(stage.world.gate, name, 5)


def test_a_beginning_that_several_share_is_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two deliveries whose ids begin alike: the person is asked for the whole id."""
    stage = world_of()
    same = [replace(at, id="abcdef" + at.id[6:]) for at in _two(stage)]
    monkeypatch.setattr(deliveries, "recent", lambda _gate, _limit: tuple(same))
    with pytest.raises(InputError, match="2 of the latest"):
        named(stage.world.gate, "abcdef", 5)


def _two(stage: Stage) -> tuple[deliveries.Delivery, ...]:
    for name in ("a", "b"):
        at_rest(stage, f"{PREFIX}{name}.csv", f"good:{name}".encode())
    return recent(stage.world.gate, 2)


def test_the_result_of_a_decision_is_read() -> None:
    """Of the attempt that was decided on; a refusal at the door has none."""
    stage = world_of()
    judged = at_rest(stage, f"{PREFIX}day.csv")
    refused = at_rest(stage, f"{PREFIX}junk.csv", b"junk")
    rows = stage.world.gate.workloads

    assert b'"attempt": 1' in (result_of(stage.world.gate, rows.get(judged.workload)) or b"")
    assert result_of(stage.world.gate, rows.get(refused.workload)) is None


def test_a_result_that_is_another_than_decided_on_is_an_alarm() -> None:
    """What is shown as the reason for a verdict is what the verdict was made of."""
    stage = world_of()
    upload = at_rest(stage, f"{PREFIX}day.csv")
    stage.world.memory.objects.put(Address(LAKE, f"runs/{upload.workload}/attempt=1/result.json"), b"{}")
    with pytest.raises(Alarm, match="result-differs"):
        result_of(stage.world.gate, stage.world.gate.workloads.get(upload.workload))


def test_a_large_landing_bucket_is_listed_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to a bound: what lies beyond it is what sweep looks after."""
    stage = world_of()
    for number in range(1_001):
        stage.world.memory.objects.put(Address(LANDING, f"{number:04}"), b"x")
    stage.world.memory.clock.sleep(60)
    stage.world.memory.objects.put(Address(LANDING, "z"), b"x")
    whole = recent(stage.world.gate, 1)
    monkeypatch.setattr(deliveries, "PAGES", 1)

    assert [each.key for each in whole] == ["z"]
    assert "z" not in {each.key for each in recent(stage.world.gate, 1_000)}


def test_nothing_landed_is_an_empty_list() -> None:
    """A new stack has no deliveries, and its chains no blocks."""
    stage = world_of()

    assert recent(stage.world.gate, 20) == ()
    assert deliveries.chains(stage.world.gate)[:2] == (LINE, "_unrouted/2026-01-05")

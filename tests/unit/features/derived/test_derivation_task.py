"""Requests for the rows of a derived dataset: one for each new state of its inputs, whatever happens to a sweep."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from lakegate.base.errors import InputError
from lakegate.features.derived.derivation_task import run_now
from lakegate.features.openlineage.openlineage_events import events, judged_delivery
from lakegate.features.waivers.waiver import WantedWaiver, waive
from lakegate.gate.channel_ports import EndedDelivery
from lakegate.gate.delivery.intake import intake
from lakegate.gate.effects import Effect, run
from lakegate.gate.event_bodies import message_id
from lakegate.gate.ledger.blocks import BlockInput, BlockKind
from lakegate.gate.ports import Address
from tests.fakes.jobs import Ending
from tests.simulation.environment import LAKE, LANDING, LINE
from tests.unit.features.derived.derived_stage import FOLDER, QUERY, TOTALS, DerivedStage
from tests.unit.features.openlineage.openlineage_checker import mistakes


def stage(deliveries: int = 1) -> DerivedStage:
    """An input with deliveries, and a derived dataset that the sweep knows."""
    found = DerivedStage()
    for _ in range(deliveries):
        found.deliver()
    found.publish()
    found.sweep()
    return found


def test_nothing_is_asked_for_before_every_input_has_something() -> None:
    found = stage(deliveries=0)
    found.sweep(6)

    assert found.requests == {}


def test_a_request_names_the_heights_and_becomes_a_block() -> None:
    """What the run computed is accepted, and the block says of what; what landed is gone."""
    found = stage()
    found.sweep(6)
    (request,) = found.requests.values()
    found.derive()
    found.sweep(1)
    (block,) = found.blocks
    (stored,) = block.objects

    assert (request["derive"], request["inputs"]) == (TOTALS, {LINE: 0})
    assert (block.kind, block.inputs) == (BlockKind.PUBLISHED, (BlockInput(LINE, 0),))
    assert stored.key.endswith("/part-00000.parquet")
    assert found.env.memory.objects.read(Address(LAKE, stored.key)) == b'[["orders/lines_v1", 0]]'
    assert found.requests == {}


def test_without_a_new_block_nothing_is_asked_for_again() -> None:
    found = stage()
    found.sweep(6)
    found.derive()
    for _ in range(3):
        found.sweep(6)

    assert (found.requests, len(found.blocks)) == ({}, 1)


def test_a_new_block_of_an_input_asks_again_and_the_next_delivery_replaces() -> None:
    found = stage()
    found.sweep(6)
    found.derive()
    found.deliver()
    found.sweep(6)
    found.derive()

    assert [(each.inputs[0].height, each.supersedes) for each in found.blocks] == [(0, ()), (1, (0,))]


def test_a_new_version_asks_again() -> None:
    """A mended query has other rows of the same inputs."""
    found = stage()
    found.sweep(6)
    found.derive(failing=1)
    found.publish(QUERY.replace("sum(amount)", "count(*)"), "1.0.1")
    found.sweep(6)
    found.sweep(6)
    found.derive()

    assert [(each.kind, each.contract_version) for each in found.blocks] == [
        (BlockKind.QUARANTINED, "1.0.0"),
        (BlockKind.PUBLISHED, "1.0.1"),
    ]


def test_the_next_request_waits_for_the_delivery_before() -> None:
    """Else an older state could be accepted after a newer one."""
    found = stage()
    found.sweep(6)
    (before,) = found.requests
    found.deliver()
    found.sweep(6)

    assert list(found.requests) == [before]


def test_a_delivery_that_has_read_more_than_was_asked_for_needs_no_other_one() -> None:
    """The heights are pinned when the request is taken in, and are then those of the block."""
    found = stage()
    found.sweep(6)
    found.deliver()
    found.derive()
    found.sweep(6)

    assert ([each.inputs[0].height for each in found.blocks], found.requests) == ([1], {})


@pytest.mark.parametrize("effect", [Effect.WRITE_ROW, Effect.LAND])
@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("is_derived", [False, True])
def test_a_sweep_that_ends_in_the_middle_asks_once(effect: Effect, *, is_done: bool, is_derived: bool) -> None:
    """It ended before or after an effect; meanwhile the delivery may have come and gone."""
    found = stage()
    found.env.memory.clock.sleep(360)
    steps = found.steps()
    call: Any = next(steps)
    while call.effect is not effect:
        call = steps.send(call.do())
    if is_done:
        call.do()
    steps.close()
    if is_derived:
        found.derive()
    found.sweep(6)
    found.derive()
    for _ in range(3):
        found.sweep(6)

    assert ([each.kind for each in found.blocks], found.requests) == ([BlockKind.PUBLISHED], {})


def test_a_person_asks_although_nothing_is_new() -> None:
    found = stage()
    found.sweep(6)
    found.derive()
    run(run_now(found.env.dependencies, TOTALS), found.env.memory.clock)
    found.sweep()
    found.derive()

    assert [each.supersedes for each in found.blocks] == [(), (0,)]


@pytest.mark.parametrize("name", ["foo.csv", "derived-0123456789abcdef.json", "derived"])
def test_what_nobody_has_asked_for_is_no_delivery(name: str) -> None:
    """Who may write below the prefix cannot have rows computed, or published once more."""
    found = stage()
    found.sweep(6)
    found.derive()
    found.env.upload(f"{FOLDER}{name}", b"{}")
    run(intake(found.env.dependencies, LANDING, f"{FOLDER}{name}"), found.env.memory.clock)
    found.sweep(6)

    assert [(each.kind, each.supersedes, each.rows) for each in found.blocks] == [
        (BlockKind.PUBLISHED, (), 2),
        (BlockKind.QUARANTINED, (), None),
    ]


def test_another_route_changes_nothing() -> None:
    """The next delivery replaces the one before, also where its request lands below another prefix."""
    found = stage()
    found.sweep(6)
    found.derive()
    found.publish(folder="a/")
    found.deliver()
    found.sweep(6)
    (key,) = found.requests
    found.derive()

    assert key.startswith("a/")
    assert [each.supersedes for each in found.blocks] == [(), (0,)]


def test_a_request_that_failed_does_not_stand_in_the_way() -> None:
    """It waits for a person; a new state of the inputs is computed meanwhile."""
    found = stage()
    found.sweep(6)
    (before,) = found.requests
    run(intake(found.env.dependencies, LANDING, before), found.env.memory.clock)
    for _ in range(8):
        for each in found.env.memory.jobs.runs.values():
            found.env.memory.jobs.end(each.id, Ending.FAILED)
        found.sweep(30)
    found.deliver()
    found.sweep(6)

    assert {*found.requests} > {before}


def test_an_input_that_is_not_shared_any_more_computes_nothing() -> None:
    """What was accepted stays; a delivery under way is rejected, and does not try for ever."""
    found = stage()
    found.sweep(6)
    found.publish(own=())
    found.derive(absent=True)
    found.deliver()
    for _ in range(3):
        found.sweep(6)

    assert [(each.kind, each.inputs) for each in found.blocks] == [(BlockKind.QUARANTINED, ())]
    assert found.requests == {}


def test_a_derived_delivery_is_not_waived() -> None:
    """Its rows would stand for inputs that nobody looks at any more."""
    found = stage()
    found.sweep(6)
    found.derive(failing=1)
    expires = (found.env.memory.clock.now() + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    wanted = WantedWaiver("waive", "a reason", expires)

    with pytest.raises(InputError, match="publish the next version"):
        run(waive(found.env.dependencies, found.blocks[0].workload, wanted), found.env.memory.clock)


def test_lineage_names_the_inputs() -> None:
    """Beside the request, which is what landed."""
    found = stage()
    found.sweep(6)
    found.derive()
    (block,) = found.blocks
    row = found.env.dependencies.workloads.get(block.workload)
    delivery = judged_delivery(
        found.env.dependencies, EndedDelivery(row.id, TOTALS, message_id(row), "2026-01-05T12:00:00.000000Z")
    )
    start, complete = events(delivery)

    assert delivery.landed.key.startswith(FOLDER)
    assert [each["name"] for each in complete["inputs"]] == [delivery.landed.key, f"accepted/{LINE}"]
    assert [each["name"] for each in complete["outputs"]] == [f"accepted/{TOTALS}"]
    assert [mistakes(each) for each in (start, complete)] == [[], []]

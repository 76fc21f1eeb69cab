"""What rules refer to is pinned once: the height of each line's ledger, and from it the objects that the job is told."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from contracts.ledger import BlockKind
from functions.adapters.rows import workload_item, workload_of
from functions.usecases.completion import completion
from functions.usecases.intake import intake
from functions.usecases.submission import request_document
from functions.workload import Referred
from tests.simulation.meaning import MEANING
from tests.simulation.stage import Fault, Stage, settle
from tests.simulation.world import LAKE, LANDING, PREFIX, World
from tests.unit.usecases.worlds import KEY, drive

if TYPE_CHECKING:
    from functions.usecases.gate import Gate, Terms
    from functions.workload import Workload

UNKNOWN = "nobody/nothing_v1"


def referring(world: World, *lines: str) -> Gate:
    """The gate of a world whose plans refer to these lines."""

    def terms(plan: bytes) -> Terms:
        return replace(MEANING.terms(plan), references=lines)

    return replace(world.gate, meaning=replace(MEANING, terms=terms))


def published(world: World, *bodies: bytes) -> str:
    """Deliveries that have come to rest; the chain of their line."""
    uploads = [world.upload(f"{PREFIX}{number}.csv", body) for number, body in enumerate(bodies)]
    settle(Stage(world, lambda _: Fault.NONE))
    pin = world.gate.workloads.get(uploads[0].workload).pin
    assert pin is not None
    return pin.chain


def told(world: World, row: Workload) -> list[dict[str, object]]:
    """The references of the request of a workload's current attempt."""
    requests = world.memory.objects.current(LAKE, f"runs/{row.id}/attempt={row.attempt}/")
    found: list[dict[str, object]] = json.loads(requests[f"runs/{row.id}/attempt={row.attempt}/request.json"])[
        "references"
    ]
    return found


def test_the_job_is_told_what_was_accepted_when_the_delivery_was_taken_in() -> None:
    """Accepted objects up to the pinned height, each with the plan that accepted it; refused ones are no part of it."""
    world = World()
    chain = published(world, b"good:1", b"bad:2", b"good:3")
    gate = referring(world, chain, UNKNOWN)
    upload = world.upload(KEY, b"good:4")
    drive(gate, intake(gate, LANDING, KEY))
    row = gate.workloads.get(upload.workload)
    accepted, nothing = told(world, row)
    blocks = [each for each in gate.ledger.blocks(chain) if each.kind is BlockKind.PUBLISHED]
    expected = [
        {
            "uri": f"s3://{LAKE}/{each.key}",
            "size": each.size,
            "plan_uri": f"s3://{LAKE}/plans/{block.plan}.json",
            "plan_digest": block.plan,
        }
        for block in blocks
        for each in block.objects
    ]

    assert (Referred(chain, 2), Referred(UNKNOWN, -1)) == (row.pin and row.pin.references)
    assert {"line": chain, "height": 2, "parts": expected} == accepted
    assert (nothing, len(expected)) == ({"line": UNKNOWN, "height": -1, "parts": []}, 2)


def test_what_is_accepted_later_changes_no_attempt() -> None:
    """Another attempt is told the same, though the line referred to has grown meanwhile."""
    world = World()
    chain = published(world, b"good:1")
    gate = referring(world, chain)
    upload = world.upload(KEY, b"good:4")
    drive(gate, intake(gate, LANDING, KEY))
    row = gate.workloads.get(upload.workload)
    for _, job in world.new_jobs():
        drive(world.gate, job)
    drive(world.gate, completion(world.gate, row.run))
    again = json.loads(request_document(gate, row, 2))["references"]

    assert gate.ledger.head(chain).height == 1
    assert told(world, row) == again


def test_a_row_keeps_its_references() -> None:
    """What was pinned comes back from the table as it was; a row of before there were any has none."""
    world = World()
    published(world, b"good:1")
    (first,) = world.memory.rows.rows.values()
    assert first.pin is not None
    row = replace(first, pin=replace(first.pin, references=(Referred("a/b_v1", 7),)))
    item = workload_item(row)
    older = json.loads(item["row"]["S"])
    del older["pin"]["references"]

    assert row.pin == workload_of(item).pin
    assert first.pin == workload_of(item | {"row": {"S": json.dumps(older)}}).pin

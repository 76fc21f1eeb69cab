"""What rules refer to is pinned once: the height of each line's ledger, and from it the objects in the job's request."""

from __future__ import annotations

import json
from dataclasses import replace

from lakegate.gate.delivery.advance import completion
from lakegate.gate.delivery.attempt_request import job_request
from lakegate.gate.delivery.delivery_row import Referred, Workload, workload_of, workload_row
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.ledger.blocks import BlockKind
from lakegate.gate.table import Row
from lakegate.plan.check import NONE, Check, Query, QueryRelation, Tier, Unit
from lakegate.plan.metrics import Metric
from tests.simulation.contract import PLAN
from tests.simulation.environment import LAKE, LANDING, PREFIX, Environment
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.gate.scenarios import KEY, drive

UNKNOWN = "nobody/nothing_v1"


def referring(env: Environment, *lines: str) -> None:
    """Publish a plan with a rule that refers to these lines."""
    relations = (
        QueryRelation("lines", ()),
        *(QueryRelation(line, (), delivered=False, full_name=line) for line in lines),
    )
    text = "SELECT count(1) AS k0 FROM r0 AS q1"
    query = Query(text, text, (), relations)
    rule = Check(
        "known",
        "known",
        "references",
        (),
        Metric.ANSWER,
        Unit.VALUE,
        Tier(NONE),
        query=query,
        skip="the simulated job runs no query",
    )
    env.publish("1.0.0", "active", replace(PLAN, checks=(*PLAN.checks, rule)))


def published(env: Environment, *bodies: bytes) -> str:
    """Finish deliveries; returns the chain of their line."""
    uploads = [env.upload(f"{PREFIX}{number}.csv", body) for number, body in enumerate(bodies)]
    settle(Stage(env, lambda _: Fault.NONE))
    pin = env.dependencies.workloads.get(uploads[0].workload).pin
    assert pin is not None
    return pin.dataset


def references(env: Environment, row: Workload) -> list[dict[str, object]]:
    """The references of the request of a workload's current attempt."""
    requests = env.memory.objects.current(LAKE, f"runs/{row.id}/attempt={row.attempt}/")
    found: list[dict[str, object]] = json.loads(requests[f"runs/{row.id}/attempt={row.attempt}/request.json"])[
        "references"
    ]
    return found


def test_the_job_gets_the_data_accepted_before_intake() -> None:
    """Accepted objects up to the pinned height, each with the plan that accepted it; refused ones are no part of it."""
    env = Environment()
    chain = published(env, b"good:1", b"bad:2", b"good:3")
    referring(env, chain, UNKNOWN)
    dependencies = env.dependencies
    upload = env.upload(KEY, b"good:4")
    drive(dependencies, intake(dependencies, LANDING, KEY))
    row = dependencies.workloads.get(upload.workload)
    nothing, accepted = references(env, row)
    blocks = [each for each in dependencies.ledger.blocks(chain) if each.kind is BlockKind.PUBLISHED]
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

    assert (Referred(UNKNOWN, -1), Referred(chain, 2)) == (row.pin and row.pin.references)
    assert {"line": chain, "height": 2, "parts": expected} == accepted
    assert (nothing, len(expected)) == ({"line": UNKNOWN, "height": -1, "parts": []}, 2)


def test_what_is_accepted_later_changes_no_attempt() -> None:
    """Another attempt gets the same references, though their line has grown meanwhile."""
    env = Environment()
    chain = published(env, b"good:1")
    referring(env, chain)
    dependencies = env.dependencies
    upload = env.upload(KEY, b"good:4")
    drive(dependencies, intake(dependencies, LANDING, KEY))
    row = dependencies.workloads.get(upload.workload)
    for _, job in env.new_jobs():
        drive(env.dependencies, job)
    drive(env.dependencies, completion(env.dependencies, row.run))
    again = json.loads(job_request(DeliveryTurn(dependencies, row), 2).to_bytes())["references"]

    assert dependencies.ledger.head(chain).height == 1
    assert references(env, row) == again


def test_a_row_keeps_its_references() -> None:
    """What was pinned comes back from the table as it was; a row of before there were any has none."""
    env = Environment()
    published(env, b"good:1")
    (first,) = env.memory.workloads.values()
    assert first.pin is not None
    row = first._replace(pin=replace(first.pin, references=(Referred("a/b_v1", 7),)))
    item = workload_row(row)
    older = json.loads(item.text("row"))
    del older["pin"]["references"]

    assert row.pin == workload_of(item).pin
    assert first.pin == workload_of(Row(item.key, {**item.values, "row": json.dumps(older)})).pin

"""The lineage of deliveries: every delivery of a line is reported once to a channel that gets it, as what became of it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import pytest

from lakegate.base.errors import AccessDenied, InputError, Throttled
from lakegate.contract.contract_model import FieldLineage, FieldSource, Shape, Transformation
from lakegate.contract.delivery_policy import DeliveryUnit
from lakegate.contract.logical_types import LogicalType
from lakegate.features.openlineage.openlineage_events import (
    JudgedDelivery,
    LineageColumn,
    LineageDataset,
    UsedEngine,
    columns_of,
    engine_of,
    events,
)
from lakegate.gate.datasets.dataset_states import DatasetState
from lakegate.gate.datasets.lifecycle import change
from lakegate.gate.datasets.subscriptions import add_subscription
from lakegate.gate.delivery.delivery_row import FailedAttempt, FailureCause, Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import run
from lakegate.gate.event_bodies import message
from lakegate.gate.send_messages import notify
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan, PlanField
from lakegate.rules.compile_plan import compile_plan
from tests.simulation.environment import LAKE, LANDING, LINE, Environment
from tests.unit.features.notifications.test_notices_sent import OPERATOR, Gate
from tests.unit.features.openlineage.openlineage_checker import mistakes
from tests.unit.gate.delivery.test_delivery_report import finished
from tests.unit.gate.scenarios import KEY, swapped

BACKEND = "openlineage:backend"


def subscribe(env: Environment, audience: str = "operator") -> None:
    decide = partial(add_subscription, team="platform", on=["lineage"], to=[BACKEND], audience=audience)
    run(change(env.dependencies, LINE, "", decide), env.dependencies.clock)


def ended(body: bytes, audience: str = "operator") -> tuple[Environment, Workload]:
    """A delivery has ended, its line has a channel for lineage, and the message about it is in the outbox."""
    env, row = finished(body)
    subscribe(env, audience)
    env.memory.clock.sleep(60)
    env.memory.post(message(env.dependencies, row))
    return env, row


def turn(env: Environment) -> list[JudgedDelivery]:
    """What one turn of notify reports."""
    env.memory.clock.sleep(60)
    env.memory.channels.reported.clear()
    run(notify(env.dependencies), env.dependencies.clock)
    assert {to for to, _ in env.memory.channels.reported} <= {BACKEND}
    return [each for _, each in env.memory.channels.reported]


@pytest.mark.parametrize(
    ("body", "state", "statuses", "numbers"),
    [
        (b"good:1", "published", [True] * 2, (6, 6)),
        (b"split:1", "published", [True, False], (7, 6)),
        (b"bad:1", "quarantined", [False, False], (5, 0)),
        (b"%PDF:1", "quarantined", [], (None, None)),
    ],
)
def test_a_delivery_is_reported_as_it_was_judged(
    body: bytes, state: str, statuses: list[bool], numbers: tuple[int | None, int | None]
) -> None:
    """What landed, what was asserted, where it was published; also what the door refused. Its events are valid."""
    env, row = ended(body)
    [found] = turn(env)

    assert (found.id, found.dataset, found.landed) == (
        f"{row.id}:{state}:{row.attempt}",
        LINE,
        LineageDataset(LANDING, KEY),
    )
    assert found.published == (LineageDataset(LAKE, f"accepted/{LINE}") if state == "published" else None)
    assert (found.contract, found.version) == ("orders", "1.0.0")
    assert sorted(each.success for each in found.assertions) == sorted(statuses)
    assert (found.rows, found.published_rows) == numbers
    assert found.engine == (UsedEngine("spark", "3.5.8") if statuses else None)
    assert (found.landed_version, found.size) == (row.source.version, row.source.size)
    assert found.began < found.ended
    assert [each.name for each in found.columns] == ["name", "amount"]
    assert row.decision is not None
    assert (found.reasons, found.verdict, found.status) == (row.decision.reasons, row.decision.verdict, "active")
    assert [mistakes(each) for each in events(found)] == [[], []]


def test_a_check_that_was_not_measured_is_no_assertion() -> None:
    """It neither succeeded nor failed."""
    env, row = ended(b"good:1")
    assert row.pin is not None
    plan = json.loads(env.dependencies.plan(row))
    plan["checks"].append({**plan["checks"][0], "id": "skipped", "skip": "cannot be measured"})
    env.dependencies.plans[row.pin.plan] = json.dumps(plan).encode()
    [found] = turn(env)

    assert sorted(each.id for each in found.assertions) == sorted(each["id"] for each in plan["checks"][:-1])


def test_the_lineage_of_a_contract_is_that_of_its_deliveries() -> None:
    """DCS `lineage`, also of nested fields, through plan and its schema to the delivery that is reported."""
    document = b"""
dataContractSpecification: 1.2.1
id: orders
info: {title: Orders, version: 1.0.0}
models:
  lines:
    fields:
      name:
        type: string
        lineage:
          inputFields:
            - {namespace: "postgres://crm", name: public.orders, field: name,
               transformations: [{type: DIRECT, subtype: TRANSFORMATION, description: lower, masking: false}]}
      more:
        type: record
        fields:
          part: {type: string, lineage: {inputFields: [{namespace: n, name: d, field: f}]}}
"""
    contract = read(document)
    [dataset] = contract.datasets
    plan = Plan.from_bytes(compile_plan(contract, dataset).to_bytes())
    step = Transformation("DIRECT", "TRANSFORMATION", "lower", masking=False)
    lineage = (
        FieldLineage("name", (FieldSource("postgres://crm", "public.orders", "name", (step,)),)),
        FieldLineage("more.part", (FieldSource("n", "d", "f"),)),
    )
    gate = Gate()
    subscribe(gate.env)
    assert gate.row.pin is not None
    gate.env.dependencies.plans[gate.row.pin.plan] = plan.to_bytes()
    gate.ends("published", "accepted", ())
    [found] = turn(gate.env)

    assert plan.lineage == found.lineage == lineage


def test_every_delivery_is_reported_once() -> None:
    """No two are counted together, and nothing is sent again in later turns."""
    gate = Gate()
    subscribe(gate.env)
    rows = [gate.ends("quarantined", "rejected") for _ in range(80)]
    found = turn(gate.env)
    later = [*turn(gate.env), *turn(gate.env)]

    assert sorted(each.id for each in found) == sorted(f"{each.id}:quarantined:1" for each in rows)
    assert later == []


def test_channels_for_lineage_and_for_notifications_do_not_mix() -> None:
    """A rejection is a notification to one and a run to the other; a change of the line, and what is gone, are no run."""
    gate = Gate()
    subscribe(gate.env)
    gate.subscribe(OPERATOR, "rejected", "failed")
    gate.ends("quarantined", "rejected")
    first = turn(gate.env)
    gate.ends("gone", None)
    gate.env.memory.post(
        replace(gate.env.memory.notifier.sent[0], id="x", kind="drift", workload="", dataset=LINE, body=DRIFT)
    )

    assert (len(first), turn(gate.env)) == (1, [])
    assert gate.sent() == [(OPERATOR, "rejected", 1, False)]


DRIFT = (
    f'{{"line": "{LINE}", "contract_version": "1.0.0", "compared": 2, "drifted": 1, "newest_height": 1, "fields": []}}'
)


def test_an_event_that_was_not_sent_is_sent_again_as_it_was() -> None:
    """A backend that does not answer delays nothing else, and gets the same run later."""
    env, _ = ended(b"good:1")
    env.memory.channels.broken[BACKEND] = Throttled("http-429")
    failed = turn(env)
    env.memory.channels.broken.clear()
    env.memory.clock.sleep(3_600)
    [found] = turn(env)
    run_ids = {each["run"]["runId"] for each in events(found)}

    assert failed == []
    assert len(run_ids) == 1
    assert found.ended < env.memory.clock.now().isoformat()


def test_a_producer_gets_lineage_once_the_contract_agrees() -> None:
    """As of notifications about deliveries."""
    env, _ = ended(b"good:1", "producer")

    assert turn(env) == []


def test_a_delivery_of_several_objects_is_its_folder() -> None:
    """The dataset is what the parts have in common; it has no version of its own."""
    gate = Gate()
    subscribe(gate.env)
    listed = replace(gate.row.source, key="runs/x/parts.json", size=70)
    gate.ends("published", "accepted", (), parts=listed, completed_by=DeliveryUnit.SUCCESS.value)
    [found] = turn(gate.env)

    assert (found.landed, found.landed_version, found.size) == (LineageDataset(LANDING, KEY.rpartition("/")[0]), "", 70)


def test_a_failed_delivery_that_is_replayed_meanwhile_is_reported_as_failed() -> None:
    """Nothing is reported of it that the replay may have changed."""
    gate = Gate()
    subscribe(gate.env)
    failure = FailedAttempt(1, "run", FailureCause.RUN_HUNG, gate.env.memory.clock.now())
    gate.env.memory.channels.broken[BACKEND] = Throttled("http-429")
    row = gate.ends("failed", None, failed=(failure,))
    assert turn(gate.env) == []
    gate.env.memory.channels.broken.clear()
    gate.env.memory.clock.sleep(3_600)
    gate.env.memory.workloads[row.id] = row._replace(state=State.PUBLISHED, attempt=2)
    [found] = turn(gate.env)
    again = gate.ends("failed", None, failed=(failure,))
    [other] = turn(gate.env)

    assert (found.id, found.published, found.contract, found.reasons) == (f"{row.id}:failed:1", None, "", ())
    assert (other.id, other.published, other.reasons) == (f"{again.id}:failed:1", None, ("run-hung",))
    assert [each["eventType"] for each in events(found)] == ["START", "FAIL"]


@pytest.mark.parametrize("lost", ["plan", "result"])
def test_what_is_lost_is_left_out(lost: str) -> None:
    """The run is reported without it."""
    env, row = ended(b"bad:1")
    assert row.pin is not None
    keys = {"plan": f"plans/{row.pin.plan}.json", "result": f"runs/{row.id}/attempt=1/result.json"}
    swapped(env, keys[lost], b"{}")
    env.dependencies = replace(env.dependencies, plans={})
    [found] = turn(env)

    assert (found.assertions, bool(found.columns)) == ((), lost == "result")
    assert found.rows == 5


def test_what_may_not_be_read_is_tried_again() -> None:
    """A right that is missing is an error of the channel, which a person sees in `lakegate notify dead`."""
    env, _ = ended(b"good:1")
    read = env.memory.objects.read
    env.memory.objects.read = lambda *_: (_ for _ in ()).throw(AccessDenied("GetObject"))  # type: ignore[method-assign]
    refused = turn(env)
    env.memory.objects.read = read  # type: ignore[method-assign]
    env.memory.clock.sleep(3_600)

    assert (refused, len(turn(env))) == ([], 1)


@pytest.mark.parametrize(("on", "to"), [(["lineage"], "slack:a"), (["rejected"], BACKEND), ([], BACKEND)])
def test_a_channel_for_lineage_and_its_kind_need_each_other(on: list[str], to: str) -> None:
    """A person would otherwise wait for messages that never come."""
    with pytest.raises(InputError, match="need each other"):
        add_subscription(DatasetState(LINE), "2026-01-05T12:00:00.000000Z", "platform", on, to=[to])


@pytest.mark.parametrize(
    ("versions", "engine"),
    [
        ({"duckdb": "2.0.0", "pyspark": "3.5.8", "spark": "3.5.8-amzn-0"}, UsedEngine("spark", "3.5.8-amzn-0")),
        ({"duckdb": "2.0.0", "pyarrow": "26.0.1"}, UsedEngine("duckdb", "2.0.0")),
        ({}, None),
    ],
)
def test_the_engine_of_a_delivery_is_the_one_of_its_result(versions: dict[str, str], engine: UsedEngine | None) -> None:
    """A job runs DuckDB in the tasks of Spark; the judge function runs it alone; an older result may name none."""
    assert engine_of(versions) == engine


def test_nested_fields_are_parts_of_their_columns() -> None:
    """Elements of a list, keys and values of a map have the names of OpenLineage's facet `schema`."""

    def field(*place: str, shape: Shape = Shape.VALUE) -> PlanField:
        return PlanField("".join(place), "c", LogicalType.STRING, shape=shape, path=place if len(place) > 1 else ())

    fields = (
        replace(field(".a", shape=Shape.LIST), name="a"),
        field(".a", "[]", shape=Shape.RECORD),
        field(".a", "[]", ".b{}"),
        replace(field(".m", shape=Shape.MAP), name="m"),
        field(".m", "{key}"),
        field(".m", "{value}"),
    )

    assert columns_of(fields) == (
        LineageColumn("a", "list", (LineageColumn("_element", "record", (LineageColumn("b{}", "string"),)),)),
        LineageColumn("m", "map", (LineageColumn("key", "string"), LineageColumn("value", "string"))),
    )

"""One delivery from landing to readers, through the handlers and the real adapters, on an AWS in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from types import ModuleType
from typing import Any

import botocore.session
import pytest
from moto.emrserverless import models

from functions import completion_handler, intake_handler, notify_handler, sweep_handler
from lakegate.aws import clients, lambda_runtime
from lakegate.aws.settings import read
from lakegate.aws.wiring import SystemClock, bootstrap
from lakegate.base.errors import NotFound
from lakegate.base.json_codec import canonical
from lakegate.contract.delivery_policy import DeliveryUnit, Policy
from lakegate.contract.logical_types import LogicalType
from lakegate.gate.delivery.delivery_row import workload_id
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ports import Address
from lakegate.gate.registry.registry_rows import Publication, Route
from lakegate.plan.check import NONE, Check, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.predicates import Present
from lakegate.plan.request import Request
from lakegate.plan.result import Measured, Measurement, Result
from tests.unit.aws.conftest import Cloud
from tests.unit.gate.ledger.ledger_chain import verify

FIELDS = (PlanField("id", "c0", LogicalType.STRING), PlanField("amount", "c1", LogicalType.INTEGER))
REQUIRED = Check("id/required", "id", "required", ("id",), Metric.FAILING_ROWS, Unit.ROWS, Tier(NONE, Present("id")))
PLAN = Plan("orders", "1.2.0", "lines", FIELDS, (REQUIRED,))
DATA = b"id,amount\n1,2\n"
KEY = "orders/2026 11+21.csv"


@dataclass
class Context:
    function_name: str = "f"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:us-east-1:123456789012:function:f"
    aws_request_id: str = "r"

    def get_remaining_time_in_millis(self) -> int:
        return 900_000


def settings(application: str) -> dict[str, str]:
    return {
        "LAKEGATE_STACK": "lakegate",
        "LAKEGATE_ACCOUNT": "123456789012",
        "LAKEGATE_LANDING": "landing",
        "LAKEGATE_LAKE": "lake",
        "LAKEGATE_REGISTRY_TABLE": "registry",
        "LAKEGATE_WORKLOADS_TABLE": "workloads",
        "LAKEGATE_LEDGER_TABLE": "ledger",
        "LAKEGATE_APPLICATION": application,
        "LAKEGATE_JOB_ROLE": "arn:aws:iam::123456789012:role/job-role",
        "LAKEGATE_ENTRY_POINT": "s3://code/validate.py",
    }


@pytest.fixture
def dependencies(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dependencies]:
    """A stack without its job; everything else is real."""
    for name, value in {"ACCESS_KEY_ID": "t", "SECRET_ACCESS_KEY": "t", "DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    emr: Any = botocore.session.get_session().create_client("emr-serverless")
    application = emr.create_application(releaseLabel="emr-7.14.0", type="SPARK")["applicationId"]
    clients._create_client.cache_clear()  # noqa: SLF001 - a client of another test knows another AWS
    monkeypatch.setattr(models, "JOB_STATUS", "RUNNING")  # moto 5.2.5 ends every run before it has begun
    dependencies = bootstrap(read(settings(application)), lambda_runtime.remaining)
    for module in (intake_handler, completion_handler, sweep_handler, notify_handler):
        monkeypatch.setattr(module, "dependencies", lambda: dependencies)
    cloud.store().put(Address("lake", f"plans/{PLAN.digest}.json"), canonical(PLAN))
    route = Route("landing", "orders/", "orders", "lines", 1, "1.2.0", "active", PLAN.digest)
    dependencies.registry.publish(Publication("orders", "1.2.0", "active", "contracts/orders.yaml", (route,)))
    yield dependencies
    lambda_runtime.INVOCATION.set(None)
    clients._create_client.cache_clear()  # noqa: SLF001 - likewise


def test_what_landed_before_the_stack_was_made_is_left_where_it_is(dependencies: Dependencies) -> None:
    """The stack is as old as its table of deliveries, which is asked once."""
    adopting = read(settings("00f1"))
    others = bootstrap(replace(adopting, adopts="no"))
    landed = dependencies.objects.put(Address("landing", KEY), DATA)
    made = others.takes_since()

    assert made is not None
    assert not others.may_deliver(landed._replace(modified=made - timedelta(seconds=1)))
    assert others.may_deliver(landed._replace(modified=made))
    assert bootstrap(adopting).takes_since() is None


def call(function: ModuleType, event: dict[str, Any] | None = None) -> dict[str, Any]:
    answer: dict[str, Any] = function.handler(event or {}, Context())
    return answer


def land(dependencies: Dependencies, body: bytes = DATA) -> str:
    landed = dependencies.objects.put(Address("landing", KEY), body)
    return workload_id("landing", KEY, landed.version)


def event_of(key: str = KEY) -> dict[str, Any]:
    detail = {"version": "0", "bucket": {"name": "landing"}, "object": {"key": key}}
    event = {"version": "0", "source": "aws.s3", "detail-type": "Object Created", "detail": detail}
    return {"Records": [{"messageId": "m", "eventSource": "aws:sqs", "body": json.dumps(event)}]}


def event_of_run(run: str) -> dict[str, Any]:
    detail = {"applicationId": "00f1", "jobRunId": run, "state": "SUCCESS"}
    kind = "EMR Serverless Job Run State Change"
    event = {"version": "0", "source": "aws.emr-serverless", "detail-type": kind, "detail": detail}
    return {"Records": [{"messageId": "m", "eventSource": "aws:sqs", "body": json.dumps(event)}]}


def job(dependencies: Dependencies, workload: str, failing: int = 0) -> None:
    """The work of the job: read its request, write the result beside it."""
    prefix = f"runs/{workload}/attempt=1"
    request = Request.from_bytes(dependencies.objects.read(Address("lake", f"{prefix}/request.json")))
    result = Result(
        request.workload,
        request.attempt,
        request.plan_digest,
        request.source_version,
        rows=1,
        rejected_rows=failing,
        measurements=(Measurement(REQUIRED.id, Measured(1, failing)),),
    )
    dependencies.objects.put(Address("lake", f"{prefix}/result.json"), result.to_bytes(), absent=True)


@pytest.mark.parametrize(
    ("failing", "state", "share"),
    [(0, State.PUBLISHED, "accepted"), (1, State.QUARANTINED, "quarantine")],
)
def test_a_delivery_reaches_its_destination(dependencies: Dependencies, failing: int, state: State, share: str) -> None:
    """Taken in by one event, judged by its job, moved by another event: one object, one block, nothing left behind."""
    workload = land(dependencies)
    assert call(intake_handler, event_of()) == {"batchItemFailures": []}
    row = dependencies.workloads.get(workload)
    assert State.VALIDATING is row.state
    job(dependencies, workload, failing)
    assert call(completion_handler, event_of_run(row.run)) == {"batchItemFailures": []}
    blocks = dependencies.ledger.blocks("orders/lines_v1")
    rested = blocks[0].objects[0]

    assert state is dependencies.workloads.get(workload).state
    assert dependencies.objects.read(Address("lake", rested.key, rested.version)) == DATA
    assert rested.key.startswith(f"{share}/orders/lines_v1/ingest_date=")
    assert verify(blocks, dependencies.ledger.head("orders/lines_v1").digest) == ()
    assert dependencies.objects.versions("landing", "").versions == ()
    with pytest.raises(NotFound):
        dependencies.objects.head(Address("lake", f"staging/{workload}/part-00000.csv"))


def test_every_event_may_be_lost(dependencies: Dependencies) -> None:
    """Sweep finds what no event reported; a message is sent once the delivery is finished."""
    workload = land(dependencies)
    assert call(sweep_handler)["failures"] == 0
    job(dependencies, workload)
    call(completion_handler, event_of_run(dependencies.workloads.get(workload).run))

    assert State.PUBLISHED is dependencies.workloads.get(workload).state
    assert call(notify_handler) == {"unsent": 0}
    assert dependencies.outbox.pending(10) == ()


def test_the_same_content_is_refused_at_the_door(dependencies: Dependencies) -> None:
    """A second delivery of accepted bytes starts no job."""
    first = land(dependencies)
    call(intake_handler, event_of())
    job(dependencies, first)
    call(completion_handler, event_of_run(dependencies.workloads.get(first).run))
    second = land(dependencies)
    call(intake_handler, event_of())
    row = dependencies.workloads.get(second)

    assert (row.state, row.run) == (State.QUARANTINED, "")
    assert row.decision is not None
    assert row.decision.reasons == ("duplicate-content",)


@pytest.mark.parametrize("unit", [DeliveryUnit.SUCCESS, DeliveryUnit.MANIFEST, DeliveryUnit.QUIET])
def test_parts_reach_their_destination_together(
    dependencies: Dependencies, unit: DeliveryUnit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two objects and what completes them: one row, one block with both and their checksums, nothing left in landing."""
    plan = replace(PLAN, policy=Policy(delivery=unit, quiet_minutes=1))
    dependencies.objects.put(Address("lake", f"plans/{plan.digest}.json"), canonical(plan))
    route = Route("landing", "orders/", "orders", "lines", 1, "1.3.0", "active", plan.digest)
    dependencies.registry.publish(Publication("orders", "1.3.0", "active", "contracts/orders.yaml", (route,)))
    keys = [f"orders/run=1/{name}" for name in ("a+b.csv", "c d.csv")]
    heads = [dependencies.objects.put(Address("landing", key), DATA + str(key).encode()) for key in keys]
    if unit is DeliveryUnit.QUIET:
        workload = workload_id("landing", "orders/run=1/", f"quiet-0-{heads[0].version}")
        call(intake_handler, event_of(keys[0]))
        later = dependencies.now + timedelta(hours=1)
        monkeypatch.setattr(SystemClock, "now", lambda _self: later)
        call(sweep_handler)
    else:
        listed = [
            {"key": key.rpartition("/")[2], "size": each.size, "checksum": each.checksum}
            for key, each in zip(keys, heads, strict=True)
        ]
        manifest = json.dumps({"format": "lakegate-delivery/1", "parts": listed}).encode()
        name, body = ("_SUCCESS", b"") if unit is DeliveryUnit.SUCCESS else ("_delivery.json", manifest)
        last = dependencies.objects.put(Address("landing", f"orders/run=1/{name}"), body)
        workload = workload_id("landing", last.key, last.version)
        call(intake_handler, event_of(last.key))
    row = dependencies.workloads.get(workload)
    job(dependencies, row.id)
    call(completion_handler, event_of_run(row.run))
    (block,) = dependencies.ledger.blocks("orders/lines_v1")

    assert dependencies.workloads.get(row.id).state is State.PUBLISHED
    assert [(each.size, each.checksum) for each in block.objects] == [(each.size, each.checksum) for each in heads]
    assert dependencies.objects.versions("landing", "").versions == ()
    assert not any(each.current for each in dependencies.objects.versions("lake", "staging/").versions)

"""One delivery from landing to readers, through the handlers and the real adapters, on an AWS in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import botocore.session
import pytest
from moto.emrserverless import models

from contracts.codec import canonical
from contracts.ledger import verify
from contracts.plan import Plan, PlanField
from contracts.routes import Route
from contracts.types import LogicalType
from functions import completion, edge, intake, notify, sweep
from functions.adapters import clients
from functions.bootstrap import bootstrap
from functions.meaning import Judged, door, terms
from functions.ports import Address, NotFound, Publication
from functions.settings import read
from functions.usecases.gate import Meaning
from functions.workload import State, workload_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from functions.usecases.gate import Gate
    from tests.unit.adapters.conftest import Cloud

FIELDS = (PlanField("id", "c0", LogicalType.STRING), PlanField("amount", "c1", LogicalType.INTEGER))
PLAN = Plan("orders", "1.2.0", "lines", FIELDS, ())
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
def gate(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """A stack whose job says what it is told to; all else is real."""
    for name, value in {"ACCESS_KEY_ID": "t", "SECRET_ACCESS_KEY": "t", "DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    emr: Any = botocore.session.get_session().create_client("emr-serverless")
    application = emr.create_application(releaseLabel="emr-7.14.0", type="SPARK")["applicationId"]
    told = Meaning(terms, door, lambda _plan, result: Judged(json.loads(result)["told"], ()))
    clients._client.cache_clear()  # noqa: SLF001 - a client of another test knows another AWS
    monkeypatch.setattr(models, "JOB_STATUS", "RUNNING")  # moto 5.2.5 ends every run before it has begun
    gate = bootstrap(read(settings(application)), edge.REMAINING, meaning=told)
    for module in (intake, completion, sweep, notify):
        monkeypatch.setattr(module, "gate", lambda: gate)
    cloud.store().put(Address("lake", f"plans/{PLAN.digest}.json"), canonical(PLAN))
    route = Route("landing", "orders/", "orders", "lines", 1, "1.2.0", "active", PLAN.digest)
    gate.registry.publish(Publication("orders", "1.2.0", "active", "contracts/orders.yaml", (route,)))
    yield gate
    edge.REMAINING.context = None
    clients._client.cache_clear()  # noqa: SLF001 - likewise


def call(function: ModuleType, event: dict[str, Any] | None = None) -> dict[str, Any]:
    answer: dict[str, Any] = function.handler(event or {}, Context())
    return answer


def land(gate: Gate, body: bytes = DATA) -> str:
    landed = gate.objects.put(Address("landing", KEY), body)
    return workload_id("landing", KEY, landed.version)


def told_of(key: str = KEY) -> dict[str, Any]:
    detail = {"version": "0", "bucket": {"name": "landing"}, "object": {"key": key}}
    event = {"version": "0", "source": "aws.s3", "detail-type": "Object Created", "detail": detail}
    return {"Records": [{"messageId": "m", "eventSource": "aws:sqs", "body": json.dumps(event)}]}


def told_of_run(run: str) -> dict[str, Any]:
    detail = {"applicationId": "00f1", "jobRunId": run, "state": "SUCCESS"}
    kind = "EMR Serverless Job Run State Change"
    event = {"version": "0", "source": "aws.emr-serverless", "detail-type": kind, "detail": detail}
    return {"Records": [{"messageId": "m", "eventSource": "aws:sqs", "body": json.dumps(event)}]}


def job(gate: Gate, workload: str, verdict: str) -> None:
    """What the job does: read what it is told, answer beside it."""
    prefix = f"runs/{workload}/attempt=1"
    request = json.loads(gate.objects.read(Address("lake", f"{prefix}/request.json")))
    answer = {name: request[name] for name in ("workload", "attempt", "plan_digest", "source_version")}
    body = json.dumps({**answer, "rows": 1, "rejected_rows": 0, "told": verdict}).encode()
    gate.objects.put(Address("lake", f"{prefix}/result.json"), body, absent=True)


@pytest.mark.parametrize(
    ("verdict", "state", "share"),
    [("accepted", State.PUBLISHED, "accepted"), ("rejected", State.QUARANTINED, "quarantine")],
)
def test_a_delivery_comes_to_rest(gate: Gate, verdict: str, state: State, share: str) -> None:
    """Taken in by one event, judged by its job, moved by another event: one object, one block, nothing left behind."""
    workload = land(gate)
    assert call(intake, told_of()) == {"batchItemFailures": []}
    row = gate.workloads.get(workload)
    assert State.VALIDATING is row.state
    job(gate, workload, verdict)
    assert call(completion, told_of_run(row.run)) == {"batchItemFailures": []}
    blocks = gate.ledger.blocks("orders/lines_v1")
    rested = blocks[0].objects[0]

    assert state is gate.workloads.get(workload).state
    assert gate.objects.read(Address("lake", rested.key, rested.version)) == DATA
    assert rested.key.startswith(f"{share}/orders/lines_v1/ingest_date=")
    assert verify(blocks, gate.ledger.head("orders/lines_v1").digest) == ()
    assert gate.objects.versions("landing", "").versions == ()
    with pytest.raises(NotFound):
        gate.objects.head(Address("lake", f"staging/{workload}/part-00000.csv"))


def test_every_event_may_be_lost(gate: Gate) -> None:
    """What no event tells of, sweep finds; what happened is told once it has come to rest."""
    workload = land(gate)
    assert call(sweep)["troubles"] == 0
    job(gate, workload, "accepted")
    call(completion, told_of_run(gate.workloads.get(workload).run))

    assert State.PUBLISHED is gate.workloads.get(workload).state
    assert call(notify) == {"unsent": 0}
    assert gate.outbox.pending(10) == ()


def test_the_same_content_is_refused_at_the_door(gate: Gate) -> None:
    """A second delivery of accepted bytes starts no job."""
    first = land(gate)
    call(intake, told_of())
    job(gate, first, "accepted")
    call(completion, told_of_run(gate.workloads.get(first).run))
    second = land(gate)
    call(intake, told_of())
    row = gate.workloads.get(second)

    assert (row.state, row.run) == (State.QUARANTINED, "")
    assert row.decision is not None
    assert row.decision.reasons == ("duplicate-content",)

"""Functions beside those of a delivery with the rights of their roles alone: HTTP API, judge, pulls, names, drift and tables.

`test_function_rights.py` has the deliveries. Each case plays its function over an AWS in this process as producers and people
use it; what of a role no case needs is listed with the reason.
"""

from __future__ import annotations

import json
import os
import secrets
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from moto.moto_server import werkzeug_app
from moto.server import ThreadedMotoServer
from pyiceberg.catalog.glue import GlueCatalog

from functions import (
    api_handler,
    completion_handler,
    drift_handler,
    intake_handler,
    judge_handler,
    naming_handler,
    notify_handler,
    pull_handler,
    sweep_handler,
    table_handler,
)
from lakegate.aws import clients, lambda_runtime
from lakegate.aws.settings import read
from lakegate.aws.wiring import SystemClock, bootstrap
from lakegate.features.http_api.api_routes import ROUTES
from lakegate.features.pull.naming_queues import TAG
from lakegate.features.workflows.callbacks import Callbacks, CallbackToken
from lakegate.features.workflows.published_workflows import publish_workflow
from lakegate.gate.datasets.pauses import pause, resume
from lakegate.gate.delivery.delivery_row import workload_id
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import run
from lakegate.gate.ports import Address
from tests.fakes.quick_moto import REGION, client
from tests.infra.packaging.asked_calls import HANDLERS, TEMPLATE, AskedCalls, asked, denied, handlers_of, policies
from tests.infra.packaging.iam import Call, allowed_to_each
from tests.sam.built import Stack
from tests.unit.aws import test_delivery_over_aws as deliveries
from tests.unit.aws.conftest import ACCOUNT, cloud
from tests.unit.aws.test_delivery_over_aws import dependencies
from tests.unit.features.http_api.conftest import CONTRACTS, Api, Response

__all__ = ["asked", "cloud", "dependencies"]

pytestmark = pytest.mark.tools
SHOP = """\
apiVersion: v3.1.0
kind: DataContract
id: ID
name: ID
version: 1.0.0
status: active
schema:
- name: sales
  logicalType: object
  properties: [{name: id, logicalType: integer, required: true}]
  customProperties: [{property: lakegate, value: SETTINGS}]
  quality: QUALITY
customProperties: [{property: lakegate, value: OWN}]
"""
TIMED = "[{id: once, metric: duplicateValues, arguments: {properties: [id]}, mustBe: 0, scheduler: cron, schedule: 0 6 * * *}]"
ASKING = """\
workflow: asking
version: 1.0.0
waitsFor: callback
transitions: [{from: VALIDATING, when: accepted, to: AWAITING}]
"""
BUCKET = "partner-exports"
QUEUES = f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/"
SETTINGS = {
    "LAKEGATE_JUDGE": "lakegate-judge",
    "LAKEGATE_SMALL_FILE_BYTES": "1000",
    "LAKEGATE_LANDED_QUEUE": f"{QUEUES}LandedQueue",
    "LAKEGATE_PULL_HOSTS": "data.invalid",
    "LAKEGATE_TABLE_DATABASE": "accepted",
}


@dataclass
class Town:
    """A stack with all functions, on an AWS in this process."""

    gate: Dependencies
    asked: AskedCalls
    patch: pytest.MonkeyPatch
    api: Api
    routes: set[str] = field(default_factory=set)
    """Those that were asked."""

    def publish(self, contract: str, settings: str = "{}", own: str = "{}", quality: str = "[]") -> str:
        """Publish a contract and route its prefix, both over HTTP; its document."""
        text = (
            SHOP.replace("ID", contract).replace("SETTINGS", settings).replace("OWN", own).replace("QUALITY", quality)
        )
        self.ask(f"POST {CONTRACTS}", "", text, confirm="true")
        route = {"prefix": f"{contract}/", "contract": contract, "dataset": "sales"}
        self.ask("POST /api/v1/route", "", route, confirm="true")
        return text

    def done(self, response: Response) -> Any:
        """What a request that was carried out is answered with."""
        assert response.status in {200, 202}, response.text
        return response.body

    def ask(self, route: str, path: str = "", body: object = None, **query: str) -> Any:
        """The same of a request to a route, which is noted."""
        self.routes.add(route)
        content = None if body is None else json.dumps(body).encode()
        return self.done(
            self.api.call(route, content, path=path, query=query, headers={"idempotency-key": uuid4().hex})
        )

    def land(self, key: str, body: bytes) -> str:
        """Let an object land, and be taken in; its workload."""
        version = self.gate.objects.put(Address("landing", key), body).version
        deliveries.call(intake_handler, deliveries.event_of(key))
        return workload_id("landing", key, version)

    def deliver(self, key: str, body: bytes) -> str:
        """The same up to its end, or until somebody is asked."""
        workload = self.land(key, body)
        self.judge()
        return workload

    def judge(self) -> None:
        """Run the judge function for what it was invoked with, and carry on what it has ended."""
        for payload in list(self.asked.invoked):
            answer = deliveries.call(judge_handler, payload)
            ended = {
                "version": "1.0",
                "requestContext": {"condition": "Success"},
                "requestPayload": payload,
                "responsePayload": answer,
            }
            message = {"messageId": "m", "eventSource": "aws:sqs", "body": json.dumps(ended)}
            deliveries.call(completion_handler, {"Records": [message]})
        self.asked.invoked.clear()

    @contextmanager
    def arrow(self) -> Iterator[None]:
        """S3 for Arrow, which is no client of botocore: its requests are noted as a server of HTTP gets them."""
        serve = werkzeug_app.DomainDispatcherApplication.__call__

        def noted(app: Any, environ: dict[str, Any], start: Any) -> Any:
            self.asked.note_http(environ["REQUEST_METHOD"], environ["PATH_INFO"], environ["QUERY_STRING"])
            return serve(app, environ, start)

        self.patch.setattr(werkzeug_app.DomainDispatcherApplication, "__call__", noted)
        server = ThreadedMotoServer(port=0, verbose=False)
        server.start()
        try:
            _host, port = server.get_host_and_port()
            self.patch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{port}")
            yield
        finally:
            server.stop()

    def later(self, **by: float) -> None:
        """Let so much time pass."""
        now = self.gate.now + timedelta(**by)
        self.patch.setattr(SystemClock, "now", lambda _self: now)


@pytest.fixture
def town(dependencies: Dependencies, asked: AskedCalls, monkeypatch: pytest.MonkeyPatch) -> Iterator[Town]:
    """A stack whose functions all have the settings that the template gives them."""
    for name, value in (deliveries.settings(dependencies.places.job.application) | SETTINGS).items():
        monkeypatch.setenv(name, value)
    client("sqs").create_queue(QueueName="LandedQueue")
    client("s3").create_bucket(Bucket=BUCKET)
    client("s3").put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    gate = bootstrap(read(os.environ), lambda_runtime.remaining)
    for module in (
        *(api_handler, intake_handler, completion_handler, sweep_handler, notify_handler, pull_handler, naming_handler),
        *(drift_handler, table_handler),
    ):
        monkeypatch.setattr(module, "dependencies", lambda: gate)
    naming_handler.queues.cache_clear()
    table_handler.catalog.cache_clear()
    table_handler.gate_of_tables.cache_clear()
    yield Town(gate, asked, monkeypatch, Api(None))  # type: ignore[arg-type] # it asks the handler alone
    naming_handler.queues.cache_clear()
    table_handler.catalog.cache_clear()
    table_handler.gate_of_tables.cache_clear()
    clients._create_client.cache_clear()  # noqa: SLF001 - a client of another test knows another AWS


# ---- The cases ----


def play_api(town: Town) -> None:
    """Every route once at least, with what `details` adds, and every decision of a person."""
    _contracts_and_routes(town)
    _announcements(town)
    _decisions(town)
    _answers(town)
    _pulls(town)
    _validations(town)
    town.publish("timed", quality=TIMED)
    town.ask(f"GET {CONTRACTS}/{{id}}/revalidation", "timed")
    assert town.routes == set(ROUTES)


def _contracts_and_routes(town: Town) -> None:
    text = town.publish("shop")
    town.ask(f"PUT {CONTRACTS}/{{id}}", "shop", text.replace("1.0.0", "1.1.0"), confirm="true", details="true")
    town.ask(f"POST {CONTRACTS}", "", text.replace("1.0.0", "1.2.0").replace("active", "draft"), confirm="true")
    for route in (f"GET {CONTRACTS}", f"GET {CONTRACTS}/{{id}}"):
        town.ask(route, "shop" if "{" in route else "", details="true")
    deliveries.call(sweep_handler)  # keeps the overview
    for route in ("dataset", "route"):
        town.ask(f"GET /api/v1/{route}")
        town.ask(f"GET {CONTRACTS}/{{id}}/{route}", "shop")
    other = {"prefix": "shop/else/", "dataset": "sales"}
    town.ask(f"POST {CONTRACTS}/{{id}}/route", "shop", other, confirm="true")
    town.ask(f"DELETE {CONTRACTS}/{{id}}/route", "shop", prefix="shop/else/")
    town.ask("POST /api/v1/route", "", other | {"contract": "shop"}, confirm="true")
    town.ask("DELETE /api/v1/route", "", prefix="shop/else/")
    town.publish("old")
    town.ask(f"DELETE {CONTRACTS}/{{id}}", "old", reason="nobody reads it", confirm="true")


def _announcements(town: Town) -> None:
    """Uploaded by the URL that the function has signed, and notified before and after it is taken in."""
    of_contract = f"{CONTRACTS}/{{id}}/workload"
    for number, of in enumerate(("", "shop / ")):
        data = f"id\n{number}\n".encode()
        checksum = "sha256:" + b64encode(sha256(data).digest()).decode()
        body = {"contract": "shop", "name": f"{number}.csv", "size": len(data), "checksum": checksum}
        made = town.ask(f"POST {of_contract}" if of else "POST /api/v1/workload", "shop" if of else "", body)
        name = f"{of}{made['workloadId']}"
        notify = f"POST {of_contract}/{{workload}}/notify" if of else "POST /api/v1/workload/notify/{id}"
        town.gate.objects.put(Address("landing", made["upload"]["key"]), data)
        town.ask(
            f"GET {of_contract}" if of else "GET /api/v1/workload",
            "shop" if of else "",
            details="true",
            **({} if of else {"dataContractId": "shop"}),
        )
        town.ask(notify, name)
        deliveries.call(intake_handler, deliveries.event_of(made["upload"]["key"]))
        town.ask(notify, name)
        town.judge()
        read = f"GET {of_contract}/{{workload}}" if of else "GET /api/v1/workload/{id}"
        assert town.ask(read, name, details="true")["status"] == "Accepted"
        assert town.ask(f"GET {of_contract}", "shop", details="true")


def _decisions(town: Town) -> None:
    """Recalled and put back, waived, judged again, and cancelled in each state."""
    decide, of_contract = (
        "POST /api/v1/workload/{id}/transition",
        f"POST {CONTRACTS}/{{id}}/workload/{{workload}}/transition",
    )
    why = {"reason": "the supplier asks for it"}
    accepted = town.deliver("shop/good.csv", b"id\n7\n")
    for name in ("recall", "restore"):
        town.ask(decide, accepted, {"transition": name} | why, details="true")
        deliveries.call(sweep_handler)
    expires = f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"
    rejected = [town.deliver(f"shop/bad{each}.csv", f"id\nx{each}\n".encode()) for each in range(2)]
    town.ask("GET /api/v1/workload/{id}", rejected[0], details="true")
    town.ask(decide, rejected[0], {"transition": "waive", "expires": expires} | why)
    town.ask(of_contract, f"shop / {rejected[1]}", {"transition": "replay", "contract": "shop@1.1.0"})
    judged, by_spark = town.land("shop/cancelled.csv", b"id\n8\n"), town.land("shop/large.csv", b"id\n" + b"9\n" * 1000)
    run(pause(town.gate, "shop/sales_v1", "an inspection"), town.gate.clock)
    held = town.land("shop/held.csv", b"id\n10\n")
    town.publish("parts", settings="{delivery: success}")
    for name in ("a.csv", "b.csv"):
        town.gate.objects.put(Address("landing", f"parts/day/{name}"), b"id\n" + name.encode() + b"\n")
    for each in (judged, by_spark, held, town.land("parts/day/_SUCCESS", b"")):
        town.ask(decide, each, {"transition": "cancel"} | why, details="true")
    run(resume(town.gate, "shop/sales_v1"), town.gate.clock)
    town.asked.invoked.clear()


def _answers(town: Town) -> None:
    """A delivery that waits: approved and declined, by a person and by another system's token."""
    run(publish_workflow(town.gate, ASKING.encode()), town.gate.clock)
    town.publish("asked", own="{workflow: asking@1}")
    first, second, third = (town.deliver(f"asked/{each}.csv", f"id\n{each}\n".encode()) for each in range(3))
    row = town.gate.workloads.get(third)
    assert row.state is State.AWAITING
    assert row.deadline is not None
    token = secrets.token_urlsafe(32)
    kept = CallbackToken(third, row.attempt, "webhook:erp", row.deadline)
    Callbacks(town.gate.table).keep(sha256(token.encode()).hexdigest(), kept)
    decide = "POST /api/v1/workload/{id}/transition"
    town.ask(decide, first, {"transition": "approve"})
    town.ask(decide, second, {"transition": "decline", "reason": "not this month"})
    town.ask("POST /api/v1/workload/{id}/callback", third, {"transition": "approve", "token": token})


def _pulls(town: Town) -> None:
    """All datasets of a contract, and one object of a folder."""
    town.publish(
        "fetched", settings="{pull: {source: 'https://data.invalid/rows.csv', schedule: rate(1 hour), secret: one}}"
    )
    town.publish("named", settings=f"{{pull: {{source: 's3://{BUCKET}/out/'}}}}")
    pull = f"POST {CONTRACTS}/{{id}}/pull"
    town.ask(pull, "fetched", details="true")
    deliveries.call(pull_handler)  # the schedule is known from now on
    town.ask(pull, "fetched", details="true")
    town.ask(pull, "named", object=f"s3://{BUCKET}/out/a.csv", version="v1")


def _validations(town: Town) -> None:
    """Of what landed, what was accepted and what was quarantined; as their own, and below a contract."""
    rules = [{"id": "rows", "ruleType": "size", "parameter": 1}]
    town.publish("looked")
    accepted, rejected = town.deliver("looked/a.csv", b"id\n1\n"), town.deliver("looked/b.csv", b"id\nx\n")
    town.gate.objects.put(Address("landing", "looked/c.csv"), b"id\n2\n")
    for number, path in enumerate((accepted, rejected, "looked/c.csv", "looked/")):
        of = f"{CONTRACTS}/{{id}}/v1" if number % 2 else "/v1"
        name = f"validation-{number}"
        body = {"workloadId": name, "validations": rules, "access": {"path": path}}
        town.ask(f"POST {of}/validation/start".replace(CONTRACTS, CONTRACTS), "looked" if number % 2 else "", body)
        town.judge()
        town.ask(f"GET {of}/validation/{{workloadId}}", f"looked / {name}" if number % 2 else name)


def play_judge(town: Town) -> None:
    """Accepted and rejected, with the slice before, with typed files, and what was landed or accepted measured again."""
    town.publish("sliced", settings="{publishAs: parquet}")
    town.publish("typed", settings="{publishAs: iceberg, onReject: rows}")
    for key in ("sliced/a.csv", "sliced/b.csv", "typed/a.csv"):
        town.deliver(key, f"id\n{key.encode()[-5]}\n".encode())
    _validations(town)


def play_pulls(town: Town) -> None:
    """By schedule with a secret, and an object that its producer named; one without a source, one in parts."""
    content = {"contract": "fetched", "host": "data.invalid", "token": "t"}
    client("secretsmanager").create_secret(Name="lakegate-source-one", SecretString=json.dumps(content))
    _pulls(town)
    put = client("s3").put_object(Bucket=BUCKET, Key="out/b.csv", Body=b"id\n1\n")
    town.ask(f"POST {CONTRACTS}/{{id}}/pull", "named", object=f"s3://{BUCKET}/out/b.csv", version=put["VersionId"])
    town.publish("object", settings=f"{{pull: {{source: 's3://{BUCKET}/out/b.csv', schedule: rate(1 hour)}}}}")
    for _ in range(3):
        deliveries.call(pull_handler)
        town.later(hours=1)
    landed = town.gate.objects.versions("landing", "").versions
    assert {each.key.partition("/")[0] for each in landed} == {"named", "object"}


def play_naming(town: Town) -> None:
    """By the queue of the stack, and by that of an owner."""
    town.publish("named", settings=f"{{pull: {{source: 's3://{BUCKET}/out/'}}}}")
    client("sqs").create_queue(QueueName="lakegate-named-own", tags={TAG: "named"})
    for name in ("lakegate-named", "lakegate-named-own"):
        body = json.dumps({"object": f"s3://{BUCKET}/out/{name}.csv", "version": "v1"})
        stated = {"SenderId": "AROA1:exporter", "SentTimestamp": "1800000000000"}
        record = {"messageId": "m", "body": body, "eventSourceARN": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"}
        answer = deliveries.call(naming_handler, {"Records": [record | {"attributes": stated}]})
        assert answer == {"batchItemFailures": []}


def play_drift(town: Town) -> None:
    """One dataset as promised, and one without a column: what was found is reported once, and again after it has changed."""
    town.publish("shop")
    town.deliver("shop/a.csv", b"id\n1\n")
    deliveries.call(sweep_handler)  # writes manifests that completion did not
    (block,) = town.gate.ledger.blocks("shop/sales_v1")
    town.gate.objects.put(Address("lake", block.objects[0].key), b"other\n1\n")
    for _ in range(2):
        assert deliveries.call(drift_handler)["drifted"] == 1


def play_tables(town: Town) -> None:
    """By an event and by schedule: made, added to, and without what was recalled."""
    client("glue").create_database(DatabaseInput={"Name": "accepted"})
    town.publish("typed", settings="{publishAs: iceberg, onReject: rows}")
    event = {"source": "lakegate", "detail-type": "workload published", "detail": {"body": {"line": "typed/sales_v1"}}}
    message = {"Records": [{"messageId": "m", "body": json.dumps(event)}]}
    with town.arrow():
        for number in range(2):
            last = town.deliver(f"typed/{number}.csv", f"id\n{number}\n".encode())
            town.gate.plans.clear()  # the function that tables are kept by has not judged
            assert deliveries.call(table_handler, message) == {"batchItemFailures": []}
        body = {"transition": "recall", "reason": "the supplier asks for it"}
        town.ask("POST /api/v1/workload/{id}/transition", last, body)
        assert deliveries.call(table_handler) == {"tables": 1}
        _gated_table(town)


def _gated_table(town: Town) -> None:
    """Two snapshots of a branch: one becomes main by an event, one by schedule."""
    client("s3").create_bucket(Bucket="sales")
    client("glue").create_database(DatabaseInput={"Name": "sales"})
    catalog = GlueCatalog("theirs", **{"s3.endpoint": os.environ["AWS_ENDPOINT_URL_S3"], "s3.region": REGION})
    columns = pa.schema([("id", pa.int64())])
    made = {"location": "s3://sales/orders", "properties": {"format-version": "2"}}
    catalog.create_table("sales.orders", columns, **made).append(columns.empty_table())
    table = catalog.load_table("sales.orders")
    table.manage_snapshots().create_branch(table.metadata.current_snapshot_id or 0, "audit").commit()
    source = "iceberg://sales/orders?branch=audit"
    town.publish("gated", settings=f"{{format: parquet, pull: {{source: '{source}', rows: added}}}}")
    deliveries.call(table_handler, {"gated": True})
    event = {"source": "lakegate", "detail-type": "workload published", "detail": {"body": {"line": "gated/sales_v1"}}}
    follow = {"Records": [{"messageId": "m", "body": json.dumps(event)}]}, {"gated": True}
    for number, by in enumerate(follow):
        table = catalog.load_table("sales.orders")
        table.append(pa.table({"id": [number]}), branch="audit")
        town.ask(f"POST {CONTRACTS}/{{id}}/pull", "gated", object=source)
        deliveries.call(table_handler, {"gated": True})
        town.later(minutes=10)
        town.gate.plans.clear()
        deliveries.call(table_handler, {"gated": True})
        (landed,) = town.gate.objects.versions("landing", "gated/").versions
        deliveries.call(intake_handler, deliveries.event_of(landed.key))
        town.judge()
        deliveries.call(table_handler, by)
        table = catalog.load_table("sales.orders")
        refs = table.refs()
        assert refs["main"].snapshot_id == refs["audit"].snapshot_id
        assert sorted(table.scan().to_arrow()["id"].to_pylist()) == list(range(number + 1))


CASES: Mapping[str, Callable[[Town], None]] = {
    "api_handler": play_api,
    "judge_handler": play_judge,
    "pull_handler": play_pulls,
    "naming_handler": play_naming,
    "drift_handler": play_drift,
    "table_handler": play_tables,
}


DELIVERIES = {"intake_handler", "completion_handler", "sweep_handler", "notify_handler", "anchor_handler"}
"""Played by `test_function_rights.py`."""
NOT_ASKED = {"ReceiveEvents", "ReceiveHints", "ReportTheEnd", "Log", "Trace", "TellAbsentFromForbidden"}
"""Statements for what Lambda does in the name of a function, and that by which S3 answers 404 instead of 403."""


def test_every_function_of_the_template_has_a_case() -> None:
    assert {*CASES, *DELIVERIES} == handlers_of(Stack.read(TEMPLATE)).keys() == set(HANDLERS)


@pytest.mark.parametrize("handler", CASES)
def test_a_function_needs_no_right_that_its_role_lacks(town: Town, handler: str) -> None:
    """Nor does another function that its case takes; and of its own role each statement is needed: one less denies a call."""
    CASES[handler](town)

    assert denied(town.asked) == []
    assert idle_statements(town.asked[handler].values(), handler) == set()


def idle_statements(calls: Iterable[Call], handler: str) -> set[str]:
    """Statements of a role without which no call would be denied."""
    sids = [one["Sid"] for each in policies(handler) for one in each["Statement"] if one["Sid"] not in NOT_ASKED]
    answers = allowed_to_each([policies(handler, sid) for sid in sids], list(calls))
    return {sid for sid, answer in zip(sids, answers, strict=True) if all(answer)}

"""Great Expectations itself as a registered validator: it measures expectations that our table does not know."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from infra.setup.environments import install
from lakegate.aws.https_client import Web
from lakegate.aws.secrets import Secrets
from lakegate.features.external_validators.registered_validators import add_validator, service_of
from lakegate.features.external_validators.validator_client import HttpsValidators
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.decide_verdict import report_of
from lakegate.gate.delivery.delivery_row import FailureCause, Workload
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import run
from lakegate.gate.ports import Address
from lakegate.gate.registry.publish_contract import compile_document, referred_of
from lakegate.gate.sweep import sweep
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.report.dcm_results import MeasuringTechnology, technologies
from lakegate.report.delivery_report import Report
from tests.agreement.great_expectations.compare import ENVIRONMENT
from tests.deliveries.delivery import measure_natively
from tests.fakes.receiver import certificate
from tests.simulation.environment import LAKE, LANDING, PREFIX, Environment, key_of, request_of

SERVICE = Path(__file__).with_name("service.py")
KEY = f"{PREFIX}sums.csv"
SUMS = ("expect_multicolumn_sum_to_equal", {"column_list": ["paid", "open"], "sum_total": 100})
PAIRS = (
    "expect_column_pair_values_to_be_in_set",
    {"column_A": "kind", "column_B": "paid", "value_pairs_set": [["a", 40], ["b", 60]]},
)
SCORES = (
    "expect_column_value_z_scores_to_be_less_than",
    {"column": "paid", "threshold": 1.5, "double_sided": True},
)
KNOWN = ("expect_column_values_to_not_be_null", {"column": "kind"})
CLEAN = b"kind,paid,open\na,40,60\nb,60,40\na,40,60\n"
DIRTY = b"kind,paid,open\na,40,60\nb,60,50\na,40,60\n"

pytestmark = [
    pytest.mark.tools,
    pytest.mark.skipif("LAKEGATE_FULL" not in os.environ, reason="needs Great Expectations, as make nightly does"),
]


def document(*expectations: tuple[str, dict[str, Any]]) -> bytes:
    columns = [
        {"name": "kind", "logicalType": "string"},
        *({"name": each, "logicalType": "integer"} for each in ("paid", "open")),
    ]
    quality = [
        {"type": "custom", "engine": "great-expectations", "implementation": {"expectation_type": call, "kwargs": args}}
        for call, args in expectations
    ]
    schema = [{"name": "lines", "logicalType": "object", "properties": columns, "quality": quality}]
    head = {"apiVersion": "v3.2.0", "kind": "DataContract", "id": "orders", "version": "1.0.0", "status": "active"}
    return json.dumps({**head, "schema": schema}).encode()


class Vault:
    """Secrets Manager with one secret."""

    def get_secret_value(self, SecretId: str) -> dict[str, str]:  # noqa: N803 - as boto3 has it
        assert SecretId == "lakegate-validator-gx"
        return {"SecretString": json.dumps({"host": "localhost", "token": "letmein"})}


@dataclass
class Signer:
    """S3, as far as it signs addresses: those of a server of this test, with the version."""

    port: int

    def generate_presigned_url(self, _operation: str, **asked: Any) -> str:
        of = asked["Params"]
        return f"http://127.0.0.1:{self.port}/{of['Key']}?versionId={of['VersionId']}"


@contextmanager
def serving(env: Environment) -> Iterator[int]:
    """The lake over HTTP, by key and version."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            body = env.memory.objects.read(Address(LAKE, parts.path[1:], parse_qs(parts.query)["versionId"][0]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def great_expectations() -> Iterator[int]:
    """The service in its own environment, until the end of the block; its port."""
    command = [str(install(ENVIRONMENT) / "bin/python"), str(SERVICE), str(certificate())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own program
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.terminate()


@dataclass
class Gate:
    """A stack with a contract, whose jobs measure by the native engine."""

    env: Environment
    folder: Path

    def publish(self, *expectations: tuple[str, dict[str, Any]]) -> Plan:
        text = document(*expectations)
        compiled = compile_document(text, referred_of(self.env.dependencies, text), allow_unmeasured=True)
        plan = Plan.from_bytes(compiled.plans["lines"])
        self.env.publish("1.0.0", "active", plan)
        return plan

    def deliver(self, body: bytes) -> Workload:
        """One upload, until it has ended."""
        env = self.env
        upload = env.upload(KEY, body)
        run(intake(env.dependencies, LANDING, KEY), env.memory.clock)
        self.measure()
        run(advance(DeliveryTurn(env.dependencies, env.memory.workloads[upload.workload])), env.memory.clock)
        for _ in range(100):
            row = env.memory.workloads[upload.workload]
            if row.state in {State.PUBLISHED, State.QUARANTINED, State.FAILED}:
                return row
            time.sleep(0.2)
            env.memory.clock.sleep(330)
            run(sweep(env.dependencies), env.memory.clock)
            self.measure()
        raise AssertionError(row)

    def measure(self) -> None:
        """Each run that has no result writes the one of the native engine."""
        objects = self.env.memory.objects
        for each in list(self.env.memory.jobs.runs.values())[1:]:
            asked = Request.from_bytes(objects.read(Address(LAKE, key_of(request_of(each.request)))))
            key = f"{key_of(asked.output_uri)}/result.json"
            if key in self.env.lake:
                continue
            plan = Plan.from_bytes(objects.read(Address(LAKE, key_of(asked.plan_uri))))
            parts = []
            for number, part in enumerate(asked.parts):
                path = self.folder / f"part-{number}"
                path.write_bytes(objects.read(Address(LAKE, key_of(part.uri))))
                parts.append(replace(part, uri=path.as_uri()))
            local = replace(asked, parts=tuple(parts), output_uri=(self.folder / "out").as_uri())
            objects.put(Address(LAKE, key), measure_natively(local, plan).to_bytes())

    def report(self, row: Workload) -> Report:
        found = report_of(DeliveryTurn(self.env.dependencies, row))
        assert found is not None
        return found


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(Environment(), tmp_path)


@contextmanager
def validated(gate: Gate) -> Iterator[Gate]:
    """The same, with Great Expectations registered."""
    env = gate.env
    with great_expectations() as port, serving(env) as data:
        trusting = ssl.create_default_context(cafile=str(certificate()))
        web = Web(lambda address: address.is_loopback, None, trusting, 30.0)
        signer: Any = Signer(data)
        adapter = HttpsValidators(
            web, Secrets(Vault()), frozenset({"localhost"}), "lakegate-validator-", signer, lambda *_: {}
        )
        env.dependencies = replace(
            env.dependencies, of=lambda name: adapter if name == "validators" else env.memory.adapter(name)
        )
        service = service_of("gx", f"https://localhost:{port}", ["GreatExpectations"], "gx")
        run(add_validator(env.dependencies, service), env.memory.clock)
        yield gate


def statuses(report: Report) -> dict[str, str]:
    """By the name of the expectation."""
    rules = {each.check: json.loads(each.rule)["call"] for each in report.plan.external}
    return {rules[each.id]: each.status.value for each in report.judgement.outcomes if each.id in rules}


def test_without_a_validator_they_are_named_skips(gate: Gate) -> None:
    """The delivery is accepted by the rules that are measured, whatever these would say."""
    gate.publish(SUMS, PAIRS, SCORES, KNOWN)
    row = gate.deliver(DIRTY)
    outcomes = [each.status.value for each in gate.report(row).judgement.outcomes if each.kind == "custom"]

    assert (row.state, outcomes) == (State.PUBLISHED, ["skip", "skip", "skip", "pass"])


def test_great_expectations_measures_what_we_do_not(gate: Gate) -> None:
    """What it accepts is published, what it rejects is quarantined; each result names it with its version."""
    with validated(gate):
        plan = gate.publish(SUMS, PAIRS, SCORES, KNOWN)
        rows = [gate.deliver(body) for body in (CLEAN, DIRTY)]
    clean, dirty = map(gate.report, rows)
    measured = technologies(clean.plan, clean.judgement, clean.result)
    locked = (Path(__file__).parents[3] / "infra/setup/great-expectations.lock").read_text()
    version = next(line for line in locked.splitlines() if line.startswith("great-expectations==")).split()[0]

    assert [json.loads(each.rule)["call"] for each in plan.external] == [SUMS[0], PAIRS[0], SCORES[0]]
    assert [each.state for each in rows] == [State.PUBLISHED, State.QUARANTINED]
    assert statuses(clean) == {SUMS[0]: "pass", PAIRS[0]: "pass", SCORES[0]: "pass"}
    assert statuses(dirty) == {SUMS[0]: "fail", PAIRS[0]: "pass", SCORES[0]: "pass"}
    assert {measured[each.check] for each in plan.external} == {
        MeasuringTechnology("GreatExpectations", version.removeprefix("great-expectations=="))
    }
    assert [each.failed for each in rows] == [(), ()]


@pytest.mark.parametrize(
    ("expectation", "cause"),
    [
        (("expect_what_nobody_knows", {}), FailureCause.VALIDATOR_REFUSED),
        (
            ("expect_multicolumn_sum_to_equal", {"column_list": ["paid", "kind"], "sum_total": 1}),
            FailureCause.UNDECIDED,
        ),
    ],
)
def test_what_great_expectations_cannot_measure_is_failed(
    gate: Gate, expectation: tuple[str, dict[str, Any]], cause: FailureCause
) -> None:
    """An expectation that it does not know, and one that raises: the delivery is neither accepted nor quarantined."""
    with validated(gate):
        gate.publish(expectation)
        row = gate.deliver(CLEAN)

    assert (row.state, {each.cause for each in row.failed}) == (State.FAILED, {cause})

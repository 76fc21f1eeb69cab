"""A whole stack in this process: what the command sees of AWS, and the functions and jobs that would run there."""

from __future__ import annotations

import io
import json
import os
import zipfile
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from typer.testing import CliRunner

from lakegate.cli.main import app
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.plan.result import Columns, Measured, Measurement, Result, Sample
from lakegate.contracts.plan.serialization import canonical
from lakegate.functions.adapters import clients
from lakegate.functions.adapters.tables import DEFINITIONS
from lakegate.functions.bootstrap import bootstrap
from lakegate.functions.ports.objects import Address
from lakegate.functions.settings import read
from lakegate.functions.usecases.advance import advance
from lakegate.functions.usecases.intake import intake
from lakegate.functions.usecases.layout import attempt_prefix
from lakegate.functions.usecases.steps import run
from lakegate.functions.workload import State
from tests.fakes import FaultInjector, MemoryJobs
from tests.fakes.moto_state import MotoState
from tests.fakes.quick_moto import quick_aws
from tests.unit.api.conftest import serve  # noqa: F401 - a fixture
from tests.unit.cli.api_server import server  # noqa: F401 - likewise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click.testing import Result as CliResult

    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import Workload

ACCOUNT, REGION = "123456789012", "us-east-1"
LANDING, LAKE = "lakegate-landing", "lakegate-lake"
CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: shop
version: VERSION
status: STATUS
name: Shop
schema:
  - name: orders
    logicalType: object
    properties:
      - {name: id, logicalType: string, required: true}
      - {name: amount, logicalType: integer, classification: public}
"""
RETENTION = "customProperties: [{property: lakegate, value: {quarantineDays: 7}}]\nschema:\n"
"""In the place of `schema:`, a contract whose rejected data expires."""
ROWS = 4


@dataclass(slots=True)
class Lakegate:
    """A deployed stack, a person at its command line, and the job runs that answer."""

    folder: Path
    dependencies: Dependencies
    clients: dict[str, Any] = field(default_factory=dict)
    jobs: MemoryJobs = field(default_factory=lambda: MemoryJobs(FaultInjector()))
    deployed: MotoState | None = None
    """What the stack was when it was deployed."""

    def __call__(self, *words: str, text: str = "") -> CliResult:
        return CliRunner().invoke(app, list(words), input=text)

    def ok(self, *words: str) -> str:
        result = self(*words)
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        return result.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self.ok(*words, "--json"))

    def contract(self, version: str = "1.0.0", status: str = "active", **changes: str) -> str:
        text = CONTRACT.replace("VERSION", version).replace("STATUS", status)
        for old, new in changes.items():
            text = text.replace(old, new)
        path = self.folder / f"shop-{sha256(text.encode()).hexdigest()[:8]}.yaml"
        path.write_text(text)
        return str(path)

    def file(self, body: bytes = b"id,amount\na,1\nb,2\nc,3\nd,4\n", name: str = "day.csv") -> str:
        path = self.folder / name
        path.write_bytes(body)
        return str(path)

    def begin(self, build: Callable[[Lakegate], object]) -> None:
        """What many tests begin with: built by the first of them, restored for the others (not after a change)."""
        if self.deployed is None or MotoState.save(self.jobs) != self.deployed or any(self.folder.iterdir()):
            build(self)
        elif build in _BUILT:
            state, files = _BUILT[build]
            state.restore(self.jobs)
            for name, body in files.items():
                (self.folder / name).write_bytes(body)
        else:
            build(self)
            files = {each.name: each.read_bytes() for each in self.folder.iterdir()}
            _BUILT[build] = MotoState.save(self.jobs), files

    def routed(self, **changes: str) -> None:
        """The contract is published, with changes of its text, and `orders/` delivers to it."""
        if changes:
            _routed(self, **changes)
        else:
            self.begin(_routed)

    def upload(self, *words: str, **given: Any) -> str:
        """Upload a file and return the workload's id."""
        return str(self.json("upload", self.file(**given), "--to", "orders/", *words)["workload"])

    def intake(self, key: str = "orders/day.csv") -> None:
        run(intake(self.dependencies, LANDING, key), self.dependencies.clock)

    def answer(self, workload: str, failing: int = 0, error: str | None = None) -> Workload:
        """The job's result, and what completion makes of it."""
        row = self.dependencies.workloads.get(workload)
        assert row.pin is not None
        plan = Plan.from_json(json.loads(self.dependencies.plan(row)))
        rows = [_measured(each.id, failing, error) for each in plan.checks]
        result = Result(row.id, row.attempt, plan.digest, row.source.version, ROWS, failing, columns=Columns(("id",)))
        document = canonical(result).replace(b'"measurements":[]', b'"measurements":' + canonical(rows))
        self.dependencies.objects.put(Address(LAKE, f"{attempt_prefix(row.id, row.attempt)}/result.json"), document)
        return run(advance(self.dependencies, row), self.dependencies.clock)

    def delivered(self, failing: int = 0, **given: Any) -> str:
        """An upload, judged."""
        workload = self.upload(**given)
        self.intake(f"orders/{given.get('name', 'day.csv')}")
        self.answer(workload, failing)
        return workload

    def fail(self, workload: str, attempt: int | None = None) -> None:
        """Write the row as it is when every attempt is used up."""
        attempt = self.dependencies.workloads.get(workload).attempt if attempt is None else attempt
        self.overwrite(workload, lambda row: row.update(state=State.FAILED, attempt=attempt))

    def overwrite(self, workload: str, change: Callable[[dict[str, Any]], object]) -> None:
        """Bring a row where only time, or another version of the code, would bring it."""
        key, table = {"id": {"S": f"workload#{workload}"}}, "workloads"
        row = json.loads(self.clients["dynamodb"].get_item(TableName=table, Key=key)["Item"]["row"]["S"])
        change(row)
        self.clients["dynamodb"].update_item(
            TableName=table,
            Key=key,
            UpdateExpression="SET #row = :row, #state = :state, attempt = :attempt REMOVE #at, #shard",
            ExpressionAttributeNames={"#row": "row", "#state": "state", "#at": "at", "#shard": "shard"},
            ExpressionAttributeValues={
                ":row": {"S": json.dumps(row)},
                ":state": {"S": row["state"]},
                ":attempt": {"N": str(row["attempt"])},
            },
        )


_BUILT: dict[Callable[[Lakegate], object], tuple[MotoState, dict[str, bytes]]] = {}
_DEPLOYED: list[tuple[MotoState, dict[str, str]]] = []


def _routed(lakegate: Lakegate, **changes: str) -> None:
    lakegate.ok("publish", lakegate.contract(**changes))
    lakegate.ok("route", "add", "orders/", "shop")


def _measured(check: str, failing: int, error: str | None) -> Measurement:
    if error is not None:
        return Measurement(check, error=error)
    bad = failing if check.endswith("required/id") or "required" in check else 0
    samples = (Sample(3, ("null",)),) if bad else ()
    return Measurement(check, Measured(ROWS, bad, engine_passed=not bad), samples=samples)


@pytest.fixture
def fresh_clients(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clients of this test's own environment."""
    monkeypatch.setattr("lakegate.functions.adapters.clients.ATTEMPTS", 1)
    clients._client.cache_clear()  # noqa: SLF001 - what a new process begins with
    yield
    clients._client.cache_clear()  # noqa: SLF001 - likewise


@pytest.fixture
def lakegate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lakegate]:
    """The stack `lakegate`, deployed in this process, with nothing in it."""
    for name in [each for each in os.environ if each.startswith(("AWS_", "LAKEGATE_"))]:
        monkeypatch.delenv(name)
    for name, value in {"ACCESS_KEY_ID": "testing", "SECRET_ACCESS_KEY": "testing", "DEFAULT_REGION": REGION}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    with quick_aws():
        clients = {
            name: _client(name) for name in ("s3", "dynamodb", "cloudformation", "lambda", "iam", "emr-serverless")
        }
        jobs = MemoryJobs(FaultInjector())  # a job run of moto has ended before anybody looks
        if not _DEPLOYED:
            environment = _deployed(clients)
            _DEPLOYED.append((MotoState.save(jobs), environment))
        state, environment = _DEPLOYED[0]
        state.restore(jobs)
        _function(clients["lambda"], environment)
        monkeypatch.setattr("lakegate.functions.bootstrap.EmrServerless", lambda *_: jobs)
        yield Lakegate(tmp_path, bootstrap(read(environment)), clients, jobs, MotoState.save(jobs))


_CLIENTS: dict[str, Any] = {}


def _client(service: str) -> Any:
    """Made once: a client costs half a second, and moto answers it in whichever test it is used."""
    if service not in _CLIENTS:
        _CLIENTS[service] = boto3.client(service, region_name=REGION)  # type: ignore[call-overload] # any service
    return _CLIENTS[service]


def _deployed(clients: dict[str, Any]) -> dict[str, str]:
    for bucket in (LANDING, LAKE):
        clients["s3"].create_bucket(Bucket=bucket)
        clients["s3"].put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    for name, definition in DEFINITIONS.items():
        clients["dynamodb"].create_table(TableName=name, BillingMode="PAY_PER_REQUEST", **definition)
    application = clients["emr-serverless"].create_application(name="x", releaseLabel="emr-7.14.0", type="SPARK")
    role = clients["iam"].create_role(RoleName="job", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    environment = {
        "LAKEGATE_STACK": "lakegate",
        "LAKEGATE_ACCOUNT": ACCOUNT,
        "LAKEGATE_LANDING": LANDING,
        "LAKEGATE_LAKE": LAKE,
        "LAKEGATE_REGISTRY_TABLE": "registry",
        "LAKEGATE_WORKLOADS_TABLE": "workloads",
        "LAKEGATE_LEDGER_TABLE": "ledger",
        "LAKEGATE_APPLICATION": application["applicationId"],
        "LAKEGATE_JOB_ROLE": role,
        "LAKEGATE_ENTRY_POINT": "s3://code/validate.py",
    }
    outputs = {
        "LandingBucket": LANDING,
        "LakeBucket": LAKE,
        "RegistryTable": "registry",
        "WorkloadsTable": "workloads",
        "LedgerTable": "ledger",
        "ApplicationId": application["applicationId"],
        "EventBusName": "default",
        "IntakeFunction": "intake",
        "NotifyFunction": "notify",
    }
    described = {name: {"Value": value} for name, value in outputs.items()}
    template = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}, "Outputs": described}
    clients["cloudformation"].create_stack(StackName="lakegate", TemplateBody=json.dumps(template))
    return environment


def _function(client: Any, environment: dict[str, str]) -> None:
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("x.py", "")
    client.create_function(
        FunctionName="intake",
        Runtime="python3.11",
        Role=environment["LAKEGATE_JOB_ROLE"],
        Handler="x.y",
        Code={"ZipFile": code.getvalue()},
        Environment={"Variables": environment},
    )


def with_segments(lakegate: Lakegate, heights: int) -> Lakegate:
    """The same stack, with so many heights in a segment of its readers' manifests."""
    places = replace(lakegate.dependencies.places, segment_heights=heights)
    return replace(lakegate, dependencies=replace(lakegate.dependencies, places=places))

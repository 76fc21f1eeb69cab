"""A whole stack in this process: what the command sees of AWS, and the functions and jobs that would run there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from infra.site.command_schemas import FILE
from lakegate.aws import clients
from lakegate.aws.settings import read
from lakegate.aws.wiring import bootstrap
from lakegate.base.json_codec import canonical
from lakegate.cli.main import app
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import run
from lakegate.gate.lake_layout import attempt_prefix
from lakegate.gate.ports import Address
from lakegate.plan.plan import Plan
from lakegate.plan.result import Columns, Measured, Measurement, Result, Sample, Shares
from tests.fakes import FaultInjector, MemoryJobs
from tests.fakes.beginnings import Beginning
from tests.fakes.moto_state import MotoState
from tests.fakes.quick_moto import REGION, client, quick_aws
from tests.unit.cli.deployed_stack import LAKE, LANDING, add_function, deployed
from tests.unit.features.http_api.api_server import server  # noqa: F401 - likewise
from tests.unit.features.http_api.conftest import serve  # noqa: F401 - a fixture

if TYPE_CHECKING:
    from click.testing import Result as CliResult


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
T = TypeVar("T")


@dataclass(slots=True)
class Lakegate:
    """A deployed stack, a person at its command line, and the job runs that answer."""

    folder: Path
    dependencies: Dependencies
    clients: dict[str, Any] = field(default_factory=dict)
    jobs: MemoryJobs = field(default_factory=lambda: MemoryJobs(FaultInjector()))
    replaced: Callable[[], int] = lambda: 0
    """How many things of its process this test has replaced since the stack was deployed."""
    deployed: Dependencies = field(init=False)
    """The ports of the stack that was deployed."""
    beginning: Beginning = field(init=False)

    def __post_init__(self) -> None:
        self.deployed, self.beginning = self.dependencies, Beginning(self)

    def __call__(self, *words: str, text: str = "") -> CliResult:
        return CliRunner().invoke(app, list(words), input=text)

    def ok(self, *words: str) -> str:
        result = self(*words)
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        return result.stdout

    def json(self, *words: str) -> Any:
        document = json.loads(self.ok(*words, "--json"))
        check_form(words, document)
        return document

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

    def begin(self, build: Callable[[Lakegate], T]) -> T:
        """What many tests begin with: built by the first of them, restored for the others (not after a change)."""
        return self.beginning.step(self, build, lambda: build(self))

    def _step(self, name: Hashable, take: Callable[[], T]) -> T:
        """Likewise, unless this test has other ports or replaced something: others do not take the step that way."""
        is_usual = self.dependencies is self.deployed and self.replaced() == 0
        return self.beginning.step(self, name, take) if is_usual else take()

    def routed(self, **changes: str) -> None:
        """The contract is published, with changes of its text, and `orders/` delivers to it."""
        self._step(("routed", *changes.items()), lambda: _routed(self, **changes))

    def upload(self, *words: str, **given: Any) -> str:
        """Upload a file and return the workload's id."""
        return self._step(("upload", words, *given.items()), lambda: self._uploaded(*words, **given))

    def _uploaded(self, *words: str, **given: Any) -> str:
        return str(self.json("upload", self.file(**given), "--to", "orders/", *words)["workload"])

    def intake(self, key: str = "orders/day.csv") -> None:
        self._step(("intake", key), lambda: run(intake(self.dependencies, LANDING, key), self.dependencies.clock))

    def answer(
        self, workload: str, failing: int = 0, error: str | None = None, shares: Shares | None = None
    ) -> Workload:
        """The job's result, and what completion makes of it."""
        row = self.dependencies.workloads.get(workload)
        assert row.pin is not None
        plan = Plan.from_json(json.loads(self.dependencies.plan(row)))
        rows = [_measured(each.id, failing, error) for each in plan.checks]
        known = (row.id, row.attempt, plan.digest, row.source.version, ROWS, failing)
        result = Result(*known, columns=Columns(("id",)), shares=shares)
        document = canonical(result).replace(b'"measurements":[]', b'"measurements":' + canonical(rows))
        self.dependencies.objects.put(Address(LAKE, f"{attempt_prefix(row.id, row.attempt)}/result.json"), document)
        return run(advance(DeliveryTurn(self.dependencies, row)), self.dependencies.clock)

    def delivered(self, failing: int = 0, **given: Any) -> str:
        """An upload, judged."""
        return self._step(("delivered", failing, *given.items()), lambda: self._delivered(failing, **given))

    def _delivered(self, failing: int, **given: Any) -> str:
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
        row = json.loads(
            self.clients["dynamodb"].get_item(TableName=table, ConsistentRead=True, Key=key)["Item"]["row"]["S"]
        )
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


@cache
def forms() -> dict[str, list[Draft202012Validator]]:
    """Of each command the schemas of what it prints with `--json`."""
    schemas = json.loads(FILE.read_text())
    return {name: list(map(Draft202012Validator, own)) for name, own in schemas.items()}


def check_form(words: tuple[str, ...], document: Any) -> None:
    """The document of a command fits one of its schemas, or the command has none."""
    known = forms().get(" ".join(words[:2])) or forms().get(words[0]) or []
    assert not known or any(each.is_valid(document) for each in known), [
        each.message for one in known for each in one.iter_errors(document)
    ]


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
    monkeypatch.setattr("lakegate.aws.clients.ATTEMPTS", 1)
    clients._create_client.cache_clear()  # noqa: SLF001 - what a new process begins with
    yield
    clients._create_client.cache_clear()  # noqa: SLF001 - likewise


@pytest.fixture
def lakegate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lakegate]:
    """The stack `lakegate`, deployed in this process, with nothing in it."""
    for name in [each for each in os.environ if each.startswith(("AWS_", "LAKEGATE_"))]:
        monkeypatch.delenv(name)
    for name, value in {"ACCESS_KEY_ID": "testing", "SECRET_ACCESS_KEY": "testing", "DEFAULT_REGION": REGION}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    with quick_aws():
        clients = {
            name: client(name) for name in ("s3", "dynamodb", "cloudformation", "lambda", "iam", "emr-serverless")
        }
        jobs = MemoryJobs(FaultInjector())  # a job run of moto has ended before anybody looks
        if not _DEPLOYED:
            environment = deployed(clients)
            _DEPLOYED.append((MotoState.save(jobs), environment))
        state, environment = _DEPLOYED[0]
        state.restore(jobs)
        add_function(clients["lambda"], environment)
        monkeypatch.setattr("lakegate.aws.wiring.EmrServerless", lambda *_: jobs)
        before = _patches(monkeypatch)
        yield Lakegate(tmp_path, bootstrap(read(environment)), clients, jobs, lambda: _patches(monkeypatch) - before)


def _patches(monkeypatch: pytest.MonkeyPatch) -> int:
    return len(monkeypatch._setattr) + len(monkeypatch._setitem)  # noqa: SLF001 - pytest has no other way


def with_segments(lakegate: Lakegate, heights: int) -> Lakegate:
    """The same stack, with so many heights in a segment of its readers' manifests."""
    places = replace(lakegate.dependencies.places, segment_heights=heights)
    small = copy(lakegate)
    small.dependencies = replace(lakegate.dependencies, places=places)
    return small

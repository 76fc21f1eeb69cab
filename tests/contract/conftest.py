"""Both implementations of the ports: in memory, and on an AWS in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from lakegate.functions.adapters.emr import EmrServerless
from lakegate.functions.adapters.ledger import DynamoLedger
from lakegate.functions.adapters.registry import DynamoRegistry
from lakegate.functions.adapters.workloads import DynamoAgenda, DynamoOutbox, DynamoWorkloads
from tests.fakes import Memory
from tests.unit.adapters.conftest import BUCKETS, Cloud, clients, cloud  # noqa: F401 - fixtures

if TYPE_CHECKING:
    from lakegate.functions.ports.agenda import Agenda
    from lakegate.functions.ports.jobs import JobRunner
    from lakegate.functions.ports.ledger import Ledger
    from lakegate.functions.ports.objects import ObjectStore
    from lakegate.functions.ports.outbox import Outbox
    from lakegate.functions.ports.registry import Registry
    from lakegate.functions.ports.workloads import Workloads


@dataclass(frozen=True, slots=True)
class Ports:
    objects: ObjectStore
    workloads: Workloads
    agenda: Agenda
    outbox: Outbox
    ledger: Ledger
    registry: Registry
    jobs: JobRunner
    application: str


def in_memory() -> Ports:
    memory = Memory.of(*BUCKETS)
    rows = memory.rows
    return Ports(memory.objects, rows, rows, rows, memory.ledger, memory.registry, memory.jobs, "application")


def on_aws(there: Cloud) -> Ports:
    emr: Any = boto3.client("emr-serverless", region_name="us-east-1")
    application = emr.create_application(name="lakegate", releaseLabel="emr-7.14.0", type="SPARK")["applicationId"]
    table = there.table("workloads")
    return Ports(
        there.store(),
        DynamoWorkloads(table),
        DynamoAgenda(table),
        DynamoOutbox(table),
        DynamoLedger(there.table("ledger"), table),
        DynamoRegistry(there.table("registry"), "landing"),
        EmrServerless(emr, application),
        application,
    )


@pytest.fixture(params=["memory", "moto"])
def ports(request: pytest.FixtureRequest) -> Ports:
    """The same suite for both; a known gap of moto is an expected failure, marked `moto_gap`."""
    if request.param == "memory":
        return in_memory()
    for gap in request.node.iter_markers("moto_gap"):
        request.node.add_marker(pytest.mark.xfail(reason=gap.args[0], strict=True))
    return on_aws(request.getfixturevalue("cloud"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "moto_gap(reason): moto accepts here what AWS refuses")

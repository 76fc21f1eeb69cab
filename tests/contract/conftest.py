"""Both implementations of the ports: in memory, and on an AWS in this process."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

import pytest

from lakegate.aws.emr_serverless import EmrServerless
from lakegate.features.announcements.announced_delivery import Announcements
from lakegate.features.http_api.idempotency_keys import RequestKeys
from lakegate.features.notifications.notices import notices
from lakegate.features.odf.slice_turns import Turns
from lakegate.features.pull.pull_task import PullState
from lakegate.features.revalidation.revalidation import RevalidationState
from lakegate.features.validator_api.validation_run import Validations
from lakegate.features.workflows.callbacks import Callbacks
from lakegate.gate.datasets.dataset_states import DatasetRowStore, dataset_deadlines, dataset_lifecycles
from lakegate.gate.delivery_store import Agenda, Arrivals, Batches, Outbox, Pauses, Workloads
from lakegate.gate.ledger.ledger_store import History, Ledger
from lakegate.gate.ports import Address, JobRunner, ObjectStore, ObjectVersion, SigningKeys
from lakegate.gate.registry.registry_store import Registry
from lakegate.gate.table import Tables
from tests.fakes import Memory
from tests.fakes.quick_moto import client
from tests.fakes.signing import MemoryKey
from tests.unit.aws.conftest import BUCKETS, Cloud, cloud  # noqa: F401 - a fixture

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies

LIMIT = 6


class Ports:
    """One implementation of each port, and the stores of all subjects over its tables."""

    def __init__(  # noqa: PLR0913, PLR0917 - so many ports
        self,
        table: Tables,
        objects: ObjectStore,
        in_parts: ObjectStore,
        jobs: JobRunner,
        application: str,
        land: Callable[[Address, bytes, str], ObjectVersion],
    ) -> None:
        self.table, self.objects, self.in_parts, self.jobs, self.application = (
            table,
            objects,
            in_parts,
            jobs,
            application,
        )
        self.land = land
        """A producer's upload, with the checksum of this algorithm; `composite`: in parts, with one of each part."""
        self.workloads, self.agenda, self.outbox = Workloads(table), Agenda(table), Outbox(table)
        self.arrivals = Arrivals(table)
        self.batches, self.pauses = Batches(table), Pauses(table)
        self.ledger, self.history = Ledger(table), History(table)
        self.registry = Registry(table, "landing")
        self.datasets, self.deadlines = dataset_lifecycles(table), dataset_deadlines(table)
        self.turns, self.notices = Turns(table), notices(cast("Dependencies", self))
        self.pulls: DatasetRowStore[PullState] = DatasetRowStore(table, "pull", "pull", PullState)
        self.revalidations: DatasetRowStore[RevalidationState] = DatasetRowStore(
            table, "revalidation", "revalidation", RevalidationState
        )
        self.announcements, self.requests = Announcements(table), RequestKeys(table)
        self.validations, self.callbacks = Validations(table), Callbacks(table)


def in_memory() -> Ports:
    memory = Memory.of(*BUCKETS)
    objects = memory.objects

    def land(to: Address, body: bytes, algorithm: str) -> ObjectVersion:
        objects.parts_above = LIMIT
        return objects.land(to, body, algorithm.replace("composite", ""))

    return Ports(memory.table, objects, objects, memory.jobs, "application", land)


def on_aws(there: Cloud) -> Ports:
    emr = client("emr-serverless")
    application = emr.create_application(name="lakegate", releaseLabel="emr-7.14.0", type="SPARK")["applicationId"]
    jobs = EmrServerless(emr, application)
    return Ports(there.table(), there.store(), there.store(limit=LIMIT), jobs, application, partial(landed, there))


def landed(there: Cloud, to: Address, body: bytes, algorithm: str) -> ObjectVersion:
    """Moto has no composite checksums, and CRC-32s as values of CRC-32C and CRC-64/NVME, in landed objects and in copies."""
    name = algorithm.replace("composite", "crc32").upper()
    value = {f"Checksum{name}": base64.b64encode(zlib.crc32(body).to_bytes(4)).decode()} if "CRC" in name else {}
    there.s3.put_object(Bucket=to.bucket, Key=to.key, Body=body, ChecksumAlgorithm=name, **value)  # type: ignore[arg-type] # a name
    return there.store().head(to)


@pytest.fixture
def signing(ports: Ports) -> Callable[..., Ledger]:
    """The same ledger, in a stack with these keys."""

    def with_keys(*keys: MemoryKey) -> Ledger:
        return Ledger(ports.table, SigningKeys(*keys))

    return with_keys


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

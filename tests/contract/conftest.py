"""Both implementations of the ports: in memory, and on an AWS in this process."""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from lakegate.aws.dataset_tables import DynamoLines, promises
from lakegate.aws.delivery_tables import DynamoAgenda, DynamoBatches, DynamoOutbox, DynamoPauses, DynamoWorkloads
from lakegate.aws.emr_serverless import EmrServerless
from lakegate.aws.ledger_table import DynamoHistory, DynamoLedger
from lakegate.aws.registry_table import DynamoRegistry
from lakegate.features.announcements.announced_delivery import DynamoAnnouncements
from lakegate.features.http_api.idempotency_keys import DynamoRequestKeys
from lakegate.features.notifications.notices import DynamoNotices
from lakegate.features.odf.slice_turns import DynamoTurns
from lakegate.features.pull.pull_task import dynamo_pulls
from lakegate.features.revalidation.revalidation import dynamo_revalidations
from lakegate.features.validator_api.validation_run import DynamoValidations
from lakegate.features.workflows.callbacks import DynamoCallbacks
from lakegate.gate.ports import SigningKeys
from tests.fakes import Memory, MemoryLedger
from tests.fakes.quick_moto import client
from tests.unit.adapters.conftest import BUCKETS, Cloud, cloud  # noqa: F401 - a fixture

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.features.announcements.announced_delivery import Announcements
    from lakegate.features.http_api.idempotency_keys import RequestKeys
    from lakegate.features.notifications.notices import Notices
    from lakegate.features.odf.slice_turns import Turns
    from lakegate.features.pull.pull_task import Pulls
    from lakegate.features.revalidation.revalidation import Revalidations
    from lakegate.features.validator_api.validation_run import Validations
    from lakegate.features.workflows.callbacks import Callbacks
    from lakegate.gate.datasets.dataset_lines import DatasetLines, Promises
    from lakegate.gate.ports import Address, JobRunner, ObjectStore, ObjectVersion
    from lakegate.gate.registry.registry_rows import Registry
    from lakegate.gate.table import Agenda, Batches, History, Ledger, Outbox, Pauses, Workloads
    from tests.fakes.signing import MemoryKey


LIMIT = 6


@dataclass(frozen=True, slots=True)
class Ports:
    objects: ObjectStore
    workloads: Workloads
    agenda: Agenda
    outbox: Outbox
    batches: Batches
    ledger: Ledger
    turns: Turns
    history: History
    pauses: Pauses
    registry: Registry
    lines: DatasetLines
    notices: Notices
    promises: Promises
    pulls: Pulls
    revalidations: Revalidations
    announcements: Announcements
    requests: RequestKeys
    validations: Validations
    callbacks: Callbacks
    jobs: JobRunner
    application: str
    land: Callable[[Address, bytes, str], ObjectVersion]
    """A producer's upload, with the checksum of this algorithm; `composite`: in parts, with one of each part."""
    in_parts: ObjectStore
    """The same store, where objects above 6 bytes are copied in parts."""


def in_memory() -> Ports:
    memory = Memory.of(*BUCKETS)
    rows = memory.rows
    objects = memory.objects

    def land(to: Address, body: bytes, algorithm: str) -> ObjectVersion:
        objects.parts_above = LIMIT
        return objects.land(to, body, algorithm.replace("composite", ""))

    return Ports(
        objects,
        rows,
        rows,
        rows,
        rows.batches,
        memory.ledger,
        memory.turns,
        memory.ledger,
        rows,
        memory.registry,
        memory.lines,
        memory.notices,
        memory.promises,
        memory.pulls,
        memory.revalidations,
        memory.announcements,
        memory.requests,
        memory.validations,
        memory.callbacks,
        memory.jobs,
        "application",
        land,
        objects,
    )


def on_aws(there: Cloud) -> Ports:
    emr = client("emr-serverless")
    application = emr.create_application(name="lakegate", releaseLabel="emr-7.14.0", type="SPARK")["applicationId"]
    table = there.table("workloads")
    return Ports(
        there.store(),
        DynamoWorkloads(table),
        DynamoAgenda(table),
        DynamoOutbox(table),
        DynamoBatches(table),
        DynamoLedger(there.table("ledger"), table),
        DynamoTurns(table, there.table("ledger")),
        DynamoHistory(there.table("ledger")),
        DynamoPauses(table),
        DynamoRegistry(there.table("registry"), "landing", there.table("ledger")),
        DynamoLines(table, there.table("ledger")),
        DynamoNotices(table),
        promises(table),
        dynamo_pulls(table),
        dynamo_revalidations(table),
        DynamoAnnouncements(table),
        DynamoRequestKeys(table),
        DynamoValidations(table),
        DynamoCallbacks(table),
        EmrServerless(emr, application),
        application,
        partial(landed, there),
        there.store(limit=LIMIT),
    )


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
        if isinstance(ports.ledger, MemoryLedger):
            ports.ledger.signing = SigningKeys(*keys)
            return ports.ledger
        assert isinstance(ports.ledger, DynamoLedger)
        return replace(ports.ledger, signing=SigningKeys(*keys))

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

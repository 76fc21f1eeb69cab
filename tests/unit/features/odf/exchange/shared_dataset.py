"""A signed line that publishes slices, in the lake of a stack, for the tests of `lakegate dataset export` and `import`."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lakegate.base.errors import NotFound
from lakegate.cli.datasets.chain_proofs import signatures_by
from lakegate.contract.delivery_policy import Policy, PublishAs
from lakegate.engine.read.data_source import path_of
from lakegate.features.odf.exchange.odf_export import Exported, export_dataset
from lakegate.features.odf.exchange.odf_import import DatasetCopy, Proof, bring_dataset
from lakegate.features.odf.exchange.odf_repositories import FolderPlace
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger.blocks import GENESIS, AnyBlock, BlockKind, Head, LedgerObject, LedgerSlice, canonical
from lakegate.gate.ledger.signatures import SignedText
from lakegate.gate.ports import Address
from lakegate.plan.dataset_about import DatasetAbout, License
from lakegate.plan.plan import Plan
from lakegate.plan.slice_order import SliceOrder
from tests.deliveries.delivery import plan_of
from tests.deliveries.sliced import slices
from tests.fakes.signing import MemoryKey
from tests.unit.gate.ledger.ledger_chain import a_block
from tests.unit.gate.ledger.signing import ONE, key_record, signature_by

LINE = "shop/visits_v1"
POLICY = Policy(publish_as=PublishAs.PARQUET, event_time="at")
PLAN = replace(
    plan_of({"id": "integer", "at": "timestamp"}), policy=POLICY, about=DatasetAbout("Visits", license=License("MIT"))
)
WIDER = replace(
    plan_of({"id": "integer", "at": "timestamp", "note": "string"}),
    policy=POLICY,
    about=DatasetAbout("Visits", license=License("Our terms")),
)
"""Of a later version of the contract, with another licence."""


@dataclass(slots=True)
class Lake:
    """The objects and the chain of one line: what an export reads of a stack."""

    folder: Path
    objects: dict[str, bytes] = field(default_factory=dict)
    stored: list[SignedText] = field(default_factory=list)
    plans: dict[str, bytes] = field(default_factory=dict)
    offset: int = 0
    slices: int = 0
    watermark: str | None = None
    times: list[str] = field(default_factory=list)
    """The system times of the slices."""
    by: MemoryKey = field(default_factory=lambda: ONE)
    """That signs."""

    def signed(self, chain: str) -> Iterator[SignedText]:
        """See `Ledger`."""
        assert chain == LINE
        return iter(self.stored)

    def head(self, _chain: str) -> Head:
        """See `Ledger`."""
        return Head(len(self.stored) - 1, self.previous)

    def read(self, address: Address, start: int = 0, length: int | None = None) -> bytes:
        """See `ObjectReader`."""
        if address.key not in self.objects:
            raise NotFound(address.key)
        return self.objects[address.key][start:][:length]

    @property
    def previous(self) -> str:
        """The digest of the last block."""
        return hashlib.sha3_256(self.stored[-1].text).hexdigest() if self.stored else GENESIS

    @property
    def dependencies(self) -> Dependencies:
        """As far as an export needs them."""
        lake = SimpleNamespace(lake="lake")
        found: Any = SimpleNamespace(
            ledger=self,
            objects=self,
            places=lake,
            plan_at=lambda plan, _: self.plans[plan],
            in_lake=lambda key, version=None: Address(lake.lake, key, version),
        )
        return found

    def append(self, block: AnyBlock) -> None:
        linked = replace(block, height=len(self.stored), previous=self.previous, chain=LINE)
        self.stored.append(SignedText(canonical(linked), signature_by(self.by, linked)))

    def name_key(self) -> None:
        self.append(key_record(0, GENESIS, self.by))

    def publish(self, rows: str, plan: Plan = PLAN) -> None:
        """A delivery of one slice. The watermark of the line is a day before the latest event."""
        name = sha256(str(len(self.stored)).encode()).hexdigest()
        self.plans[plan.digest] = plan.to_bytes()
        (self.folder / name).mkdir(parents=True)
        if len(self.times) == self.slices:
            self.times.append(f"2026-11-21T11:30:{self.slices:02}.000000Z")
        time = self.times[self.slices]
        self.slices += 1
        order = SliceOrder(self.offset, "at", system_time=time)
        (found,) = slices(plan, self.folder / name, rows.encode(), order=order)
        key = f"accepted/{LINE}/ingest_date=2026-11-21/workload={name}/part-00000.parquet"
        body = self.objects[key] = path_of(found.uri).read_bytes()
        checksum = base64.b64encode(sha256(body).digest()).decode()
        hashes = found.logical, found.physical
        stated = LedgerSlice(key, self.offset, found.rows, found.event_times, *hashes, system_time=time)
        self.offset += found.rows
        latest = datetime.fromisoformat(found.event_times[1]) - timedelta(days=1)
        self.watermark = max(self.watermark or "", f"{latest:%Y-%m-%dT%H:%M:%S.%fZ}")
        judged = LedgerObject(key, "v1", len(body), f"sha256:{checksum}")
        self.append(
            replace(
                a_block(len(self.stored)),
                workload=name,
                plan=plan.digest,
                objects=(judged,),
                rows=found.rows,
                slices=(stated,),
                watermark=self.watermark,
            )
        )

    def quarantine(self) -> None:
        """A rejected delivery."""
        rejected = replace(a_block(len(self.stored)), kind=BlockKind.QUARANTINED, verdict="rejected")
        self.append(rejected)

    def export(self, folder: Path) -> Exported:
        return export_dataset(self.dependencies, LINE, FolderPlace(folder))


def a_line(folder: Path) -> Lake:
    """The record of the key, two deliveries, a rejected one between them, and one with a column more."""
    made = Lake(folder)
    made.name_key()
    made.publish("id,at\n1,2026-11-20T10:00:00Z\n2,2026-11-20T09:00:00Z\n")
    made.quarantine()
    made.publish("id,at\n3,2026-11-19T10:00:00Z\n")
    made.publish("id,at,note\n4,2026-11-21T10:00:00Z,late\n", WIDER)
    return made


def bring(source: Path, folder: Path) -> DatasetCopy:
    """Import from a folder."""
    return bring_dataset(FolderPlace(source), FolderPlace(folder), Proof(signatures_by(None)))


def files_of(folder: Path) -> dict[str, bytes]:
    """All files of a folder by their places."""
    return {str(each.relative_to(folder)): each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file()}


def size_of(line: Lake) -> int:
    """Bytes of its slices."""
    return sum(map(len, line.objects.values()))


def one(folder: Path, kind: str, number: int = 0) -> Path:
    """A file of the dataset, the smallest first."""
    return sorted((folder / kind).iterdir(), key=lambda each: (each.stat().st_size, each.name))[number]


def shorter_line(line: Lake) -> None:
    """Leave out what was published last."""
    line.stored[3:] = []

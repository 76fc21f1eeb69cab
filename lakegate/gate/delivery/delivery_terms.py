"""The terms of a plan for the control plane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Final, NamedTuple

from lakegate.base.json_codec import encode
from lakegate.contract.delivery_policy import DeliveryUnit, Duplicates, MergeStrategy, Mode, OnReject, Policy, PublishAs
from lakegate.contract.file_formats import Format
from lakegate.contract.service_levels import ServiceLevel
from lakegate.gate.delivery.protocol import PUSH, Workflow, workflow_of
from lakegate.plan.check import referred_in
from lakegate.plan.plan import Plan


class BatchLimits(NamedTuple):
    """The limits of a batch of deliveries; None: not said here."""

    files: int | None = None
    bytes: int | None = None
    seconds: int | None = None


UNLIMITED: Final = BatchLimits()
REMEMBERED_BYTES: Final = 256 << 10
"""Of a plan whose terms are remembered, with its bytes: 16 MiB of all."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The part of a plan that decides how a delivery moves, not what is measured."""

    suffix: str = ""
    """The suffix of keys of this dataset, from the declared format: `.csv`, `.csv.gz`, `.parquet`."""
    duplicates: bool = False
    """Whether the same content is accepted again."""
    by_rows: bool = False
    """Whether single rows are rejected."""
    batch: BatchLimits = UNLIMITED
    """Settings of the contract; without them, the stack's apply."""
    observed: bool = False
    """Whether rules only warn (`mode: observe`)."""
    references: tuple[str, ...] = ()
    """The datasets whose accepted data its rules refer to, sorted."""
    workflow: Workflow = PUSH
    delivery: DeliveryUnit = DeliveryUnit.OBJECT
    quiet: timedelta = timedelta()
    """With `delivery: quiet`: how long no part may arrive before the delivery is complete."""
    parts_within: timedelta = timedelta()
    """The time that parts wait for what completes their delivery, and a manifest for its parts."""
    max_bytes: int | None = None
    """Of a delivery."""
    allow_empty: bool = False
    service_levels: tuple[ServiceLevel, ...] = ()
    """About the time of the next accepted delivery."""
    quarantine_days: int | None = None
    """The days for which quarantined data is kept; None: for ever."""
    has_companion: bool = False
    """Whether others measure some of its rules beside the run (`Companion`)."""
    snapshots: bool = False
    """Whether each delivery has all current rows, and what differs from the one before is published."""
    dialect: Mapping[str, object] = field(default_factory=dict)
    """The format of a file for a reader, as in the manifest: format, compression and, of CSV, `csv`."""
    policy: Policy = field(default_factory=Policy)
    """Features read their settings in it."""

    derived_from: tuple[str, ...] = ()
    """The datasets that the run computes the rows of, sorted; what landed only asks for them. Empty: rows are delivered."""

    @property
    def is_derived(self) -> bool:
        """Whether the run computes the rows."""
        return bool(self.derived_from)

    @property
    def as_slices(self) -> bool:
        """Whether slices are published in place of the files that arrived, one delivery after another."""
        return self.policy.publish_as is PublishAs.PARQUET

    @property
    def by_run(self) -> bool:
        """Whether the run writes rows that are published: those of a split, of a query, or in another form (`Publisher`)."""
        return self.by_rows or self.is_derived or self.policy.publish_as is not PublishAs.ORIGINAL


UNROUTED: Final = Terms()
"""The terms of an upload before a plan is pinned, and where no route covers the key."""


def terms_of(plan: bytes) -> Terms:
    """The terms of a plan, given its bytes. Those of plans that are not large are remembered."""
    return _remembered(plan) if len(plan) <= REMEMBERED_BYTES else _terms(plan)


@lru_cache(maxsize=64)
def _remembered(plan: bytes) -> Terms:
    return _terms(plan)


def _terms(body: bytes) -> Terms:
    plan = Plan.from_bytes(body)
    policy, read = plan.policy, plan.published.storage
    csv = encode(plan.csv) if read.format is Format.CSV else None
    return Terms(
        suffix=plan.storage.suffix,
        duplicates=policy.duplicates is Duplicates.ACCEPT,
        by_rows=policy.on_reject is OnReject.ROWS,
        batch=BatchLimits(policy.batch_files, policy.batch_bytes, policy.batch_seconds),
        observed=policy.mode is Mode.OBSERVE,
        references=plan.references,
        workflow=workflow_of(plan.workflow),
        delivery=policy.delivery,
        quiet=timedelta(minutes=policy.quiet_minutes),
        parts_within=timedelta(minutes=policy.parts_within_minutes),
        max_bytes=policy.max_bytes,
        allow_empty=policy.allow_empty,
        service_levels=plan.service_levels,
        quarantine_days=policy.quarantine_days,
        has_companion=bool(plan.external),
        snapshots=policy.merge_strategy is MergeStrategy.SNAPSHOT,
        dialect={**encode(read), "csv": csv},
        policy=policy,
        derived_from=tuple(sorted(set(referred_in(plan.derived)))) if plan.derived else (),
    )

"""The terms of a plan for the control plane, read from its JSON.

A plan was validated when it was published, and its address is the digest of its bytes: its schema is not needed again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lakegate.contract.delivery_policy import DeliveryUnit
from lakegate.contract.file_formats import Format, Storage, storage_of
from lakegate.contract.service_levels import Promise
from lakegate.gate.delivery.protocol import PUSH, workflow_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.gate.delivery.protocol import Workflow


class BatchLimits(NamedTuple):
    """When a batch of deliveries is closed; None: not said here."""

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
    """The lines whose accepted data its rules refer to, sorted."""
    workflow: Workflow = PUSH
    delivery: DeliveryUnit = DeliveryUnit.OBJECT
    quiet: timedelta = timedelta()
    """With `delivery: quiet`: how long no part may arrive before the delivery is complete."""
    parts_within: timedelta = timedelta()
    """How long parts wait for what completes their delivery, and a manifest for its parts."""
    max_bytes: int | None = None
    """Of a delivery."""
    allow_empty: bool = False
    promises: tuple[Promise, ...] = ()
    """About the time of the next accepted delivery."""
    quarantine_days: int | None = None
    """How long quarantined data is kept; None: for ever."""
    as_slices: bool = False
    """Whether accepted rows are published as slices of Open Data Fabric."""
    has_external: bool = False
    """Whether registered validators measure some of its rules."""
    snapshots: bool = False
    """Whether each delivery has all current rows, and what differs from the one before is published."""
    dialect: Mapping[str, object] = field(default_factory=dict)
    """The format of a file for a reader, as in the manifest: format, compression and, of CSV, `csv`."""
    policy: Mapping[str, Any] = field(default_factory=dict)
    """The policy as the plan states it: features read their settings in it."""


UNROUTED: Final = Terms()
"""The terms of an upload before a plan is pinned, and where no route covers the key."""


def terms_of(plan: bytes) -> Terms:
    """The terms of a plan, given its bytes. Those of plans that are not large are remembered."""
    return _remembered(plan) if len(plan) <= REMEMBERED_BYTES else _terms(plan)


@lru_cache(maxsize=64)
def _remembered(plan: bytes) -> Terms:
    return _terms(plan)


def _terms(plan: bytes) -> Terms:
    document = json.loads(plan)
    policy, storage = document["policy"], storage_of(document)
    as_slices = policy.get("publish_as") == "parquet"
    read = Storage(Format.PARQUET) if as_slices else storage
    csv = document["csv"] if read.format is Format.CSV else None
    return Terms(
        suffix=storage.suffix,
        duplicates=policy["duplicates"] == "accept",
        by_rows=policy["on_reject"] == "rows",
        batch=BatchLimits(*(policy.get(f"batch_{name}") for name in BatchLimits._fields)),
        observed=policy["mode"] == "observe",
        references=referred_lines(document),
        workflow=workflow_of(document.get("workflow")),
        delivery=DeliveryUnit(policy.get("delivery", "object")),
        quiet=timedelta(minutes=policy.get("quiet_minutes", 0)),
        parts_within=timedelta(minutes=policy.get("parts_within_minutes", 0)),
        max_bytes=policy["max_bytes"],
        allow_empty=policy["allow_empty"],
        promises=tuple(Promise(**each) for each in document.get("promises", ())),
        quarantine_days=policy.get("quarantine_days"),
        has_external=bool(document.get("external")),
        as_slices=as_slices,
        snapshots=policy.get("merge_strategy") == "snapshot",
        dialect={"format": read.format.value, "compression": read.compression.value, "csv": csv},
        policy=policy,
    )


def referred_lines(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """The lines whose accepted data the rules of a plan refer to, sorted."""
    queries = (check.get("query") for check in plan.get("checks", ()))
    return tuple(sorted({each["line"] for query in queries if query for each in query["relations"] if each["line"]}))

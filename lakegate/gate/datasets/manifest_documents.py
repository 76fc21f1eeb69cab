"""Documents of the readers' manifest: the head `accepted/<line>/_manifest.json`, and segments `_manifest/<height>.json`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from lakegate.base.json_codec import Bounds, Exact, NotEmpty, Pattern, Permitted, Sha256, omit_default
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.contract.file_formats import LONGEST_PATH, Compression, Csv, Format
from lakegate.gate.datasets.current_deliveries import NotCurrent
from lakegate.gate.delivery.delivery_row import Waiver
from lakegate.gate.ledger.blocks import LedgerObject, LedgerSlice
from lakegate.gate.ledger.record_contents import LifecycleState, StaleRule
from lakegate.gate.person_decisions import Accepted
from lakegate.gate.registry.next_dataset import NextDataset

FORMAT: Final = "lakegate-manifest/3"
"""Part of every head; one of another format is rebuilt from the whole ledger."""
SEGMENT_FORMAT: Final = "lakegate-manifest-segment/3"
"""Part of every segment. Another format, or another number of heights, needs another folder of segments."""
_READ: Final = tuple(each.value for each in Format if each is not Format.UNKNOWN)


@dataclass(frozen=True, slots=True)
class AcceptedDelivery:
    """An accepted delivery."""

    height: Exact
    workload: NotEmpty
    contract_version: NotEmpty
    """The version that accepted it."""
    verdict: Accepted
    published_at: NotEmpty
    """RFC 3339, UTC."""
    event_time: tuple[NotEmpty, NotEmpty] | None
    """Earliest and latest event time in the data; null where the contract names no event time."""
    rows: Exact | None
    """Rows that were delivered."""
    published_rows: Exact | None
    """Rows that the objects hold."""
    rejected_rows: Exact | None
    """Rows that were kept apart (onReject: rows)."""
    format: Annotated[Format, Permitted(_READ)]
    """any-json: lines or one array, the first character of a file decides."""
    compression: Compression
    """Of the whole file."""
    csv: Csv | None
    """The form of a CSV file; null for the other formats."""
    report: NotEmpty
    """Key of the HTML report of the delivery."""
    objects: tuple[LedgerObject, ...]
    """Sorted by key; together they are the delivery."""
    plan: Sha256
    """Digest of the plan by which it was accepted."""
    records: Annotated[str, Bounds(1, LONGEST_PATH)] = omit_default("")
    """Only of files that are one JSON object each: the members that lead to the array of records, with points between them."""
    waiver: Waiver | None = omit_default(None)
    """Only of a delivery that was rejected, and that a person let through."""
    slices: tuple[LedgerSlice, ...] | None = omit_default(None)
    """Only of a delivery that is published as slices of Open Data Fabric: the objects, in the order of their offsets."""
    watermark: NotEmpty | None = omit_default(None)
    """Only of a delivery with slices, of a dataset that has a watermark: no event before this time is expected any more."""
    supersedes: Annotated[tuple[Exact, ...], Bounds(1)] = omit_default(())
    """Heights of the deliveries in whose place it comes, the lowest first; absent: of none."""


@dataclass(frozen=True, slots=True)
class SegmentCount:
    """The segments below a head."""

    count: Exact
    """Segment n begins at the height n * heights."""
    heights: Annotated[int, Bounds(1)]
    """Of one segment."""
    folder: Annotated[str, Pattern("_manifest/erased-[0-9]{12}/")] | None = omit_default(None)
    """Of the segments, beside the head; absent: _manifest/. Another one after each erasure."""


@dataclass(frozen=True, slots=True)
class StaleMark:
    """A rule that is measured by schedule does not hold for accepted data."""

    since: NotEmpty
    """The earliest of its rules."""
    reason: NotEmpty
    height: Exact
    """Of the record in the ledger."""
    rules: Annotated[tuple[StaleRule, ...], Bounds(1)]


@dataclass(frozen=True, slots=True)
class ManifestHead:
    """The head of the manifest of a dataset."""

    format: Literal["lakegate-manifest/3"]
    dataset: NotEmpty = field(metadata=DATASET_KEY)
    height: Exact
    """Of the highest block read: never goes back."""
    segments: SegmentCount
    lifecycle: LifecycleState | None
    """Of the dataset, as of the height; null if it was always active."""
    deliveries: tuple[AcceptedDelivery, ...]
    """Above the segments."""
    gapless: bool
    """Whether every block up to the height could be read."""
    stale: StaleMark | None = omit_default(None)
    """Present while a rule that is measured by schedule does not hold for accepted data."""
    not_current: NotCurrent | None = omit_default(None)
    """The listed deliveries that were recalled or superseded; absent: there never was one."""
    next: NextDataset | None = omit_default(None)
    """The dataset that replaces it, as the last sweep of its contract found it; absent: there was none."""


@dataclass(frozen=True, slots=True)
class ManifestSegment:
    """A segment, which is written once."""

    format: Literal["lakegate-manifest-segment/3"]
    dataset: NotEmpty = field(metadata=DATASET_KEY)
    height: Exact
    """The last one of the segment."""
    deliveries: tuple[AcceptedDelivery, ...]


Manifest = ManifestHead | ManifestSegment
"""The readers' manifest of a dataset: every accepted delivery in the order of the ledger (docs/manifest.md)."""

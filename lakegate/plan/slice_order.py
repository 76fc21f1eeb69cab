"""Slices of Open Data Fabric: where one is to begin (part of a request), and which were written (part of a result)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from lakegate.base.json_codec import MAX_INTEGER, Bounds, Count, Exact, Name, Pattern, Sha256, omit_default
from lakegate.base.timestamps import Moment, OptionalMoment
from lakegate.contract.contract_model import DATASET_KEY

Uri = Annotated[str, Pattern(r"(file:/|s3://)[^\x00-\x1f\x7f]+"), Bounds(most=2048)]
"""The address of an object of the lake."""
Rows = Annotated[int, Bounds(1, MAX_INTEGER)]
ETag = Annotated[str, Bounds(1, 256)]


@dataclass(frozen=True, slots=True)
class StateRun:
    """A file of the merge state of a dataset: of some current rows the hashes of key and content."""

    uri: Uri
    """Its address; in the control plane, its key in the lake."""
    rows: Exact
    digest: Sha256
    """Of its index, by which every part of it is verified."""
    as_of: OptionalMoment = ""
    """Of a dataset of snapshots or upserts, the time of the newest one (RFC 3339, UTC, six decimals)."""


@dataclass(frozen=True, slots=True)
class PublishedSlice:
    """A slice of the dataset, from which retracted and corrected rows are read."""

    uri: Uri
    offset: Exact
    """Of the first row."""
    rows: Rows


@dataclass(frozen=True, slots=True)
class SnapshotOrder:
    """The delivery has all current rows, or new and changed ones: what differs from the state of the dataset becomes events."""

    time: OptionalMoment
    """Of the snapshot (RFC 3339, UTC, six decimals); empty: its name has none. A column with times has priority."""
    slices: Annotated[tuple[PublishedSlice, ...], Bounds(most=1_000_000)] = ()
    """Those of the dataset, in the order of their offsets."""
    keeps: bool = omit_default(False)
    """Whether the delivery has new and changed rows alone (an upsert): other keys stay, and its time is the system time."""


@dataclass(frozen=True, slots=True)
class MergeOrder:
    """Rows are compared with the state of the dataset by their keys: those with new keys become slices, or what differs."""

    dataset: Name = field(metadata=DATASET_KEY)
    key: Annotated[tuple[Name, ...], Bounds(1, 100)]
    """The columns of the primary key."""
    runs: Annotated[tuple[StateRun, ...], Bounds(most=100)] = ()
    """The state of the dataset, the oldest first; no key is in two of them. Of snapshots and upserts there is one."""
    snapshot: SnapshotOrder | None = None
    """None: rows with new keys become slices."""


@dataclass(frozen=True, slots=True)
class SliceOrder:
    """The accepted rows of the delivery are to be written as slices."""

    offset: Exact
    """Of the first row."""
    event_time: Name | None = None
    """The column with the time of the event (a date or a timestamp); None: the system time."""
    watermark: OptionalMoment = ""
    """Of the dataset, with the slices before (RFC 3339, UTC, six decimals): rows of earlier events are late. Empty: none."""
    merge: MergeOrder | None = None
    """None: all rows are appended."""
    system_time: OptionalMoment = ""
    """Of all rows, after that of the slices before (RFC 3339, UTC, whole milliseconds). Empty: the judging time, of a command."""


@dataclass(frozen=True, slots=True)
class WrittenSlice:
    """One Parquet file with consecutive offsets, of at least one row."""

    uri: Uri
    size: Count
    etag: ETag
    """The ETag or checksum of the object after it was written."""
    rows: Rows
    offset: Exact
    """Of the first row."""
    event_times: tuple[Moment, Moment]
    """The earliest and the latest (RFC 3339, UTC, six decimals)."""
    logical: Annotated[str, Pattern("f9680c00120[0-9a-f]{64}")]
    """The hash of the rows, and below that of the bytes (docs/odf.md)."""
    physical: Annotated[str, Pattern("f1620[0-9a-f]{64}")]
    late: Count = 0
    """Rows with an event time before the watermark of the order."""


@dataclass(frozen=True, slots=True)
class WrittenRun:
    """The file of the merge state that a delivery adds."""

    uri: Uri
    size: Count
    etag: ETag
    """The ETag or checksum of the object after it was written."""
    rows: Exact
    """Its own, and those of the files that it takes up."""
    digest: Sha256
    """As `StateRun.digest`."""


@dataclass(frozen=True, slots=True)
class MergedSnapshot:
    """The relation of a snapshot, or of an upsert, to its dataset."""

    time: OptionalMoment
    """Empty: it is not known."""
    newest: OptionalMoment
    """The time of the newest snapshot before; empty: there is none."""
    without_key: Count = 0
    """Rows with a null in their key, or the key of an earlier row of the snapshot."""
    appended: Count = 0
    """Events by their kind; of a correction both events are one."""
    retracted: Count = 0
    corrected: Count = 0

    @property
    def is_merged(self) -> bool:
        """Whether its differences become events: else the dataset stays as it is."""
        return bool(self.time) and self.time >= self.newest and not self.without_key

    @property
    def events(self) -> int:
        """Rows of its slices."""
        return self.appended + self.retracted + 2 * self.corrected


@dataclass(frozen=True, slots=True)
class Merged:
    """The relation of a delivery's accepted rows to their dataset, and the state of the dataset with them."""

    offset: Exact
    """Of the request."""
    known: Count
    """Rows with a key and a content that are there, and all rows of a snapshot that is not merged; they are in no slice."""
    changed: Count
    """Rows with a key that is there with another content; likewise."""
    vanished: Count
    """Keys of the dataset without a row in the delivery."""
    without_key: Count = 0
    """Rows with a null in their key: they are in slices, and not in the state."""
    before: Annotated[tuple[StateRun, ...], Bounds(most=100)] = ()
    """The request's state."""
    kept: Annotated[tuple[StateRun, ...], Bounds(most=100)] = ()
    """The files of the request's state that stay."""
    run: WrittenRun | None = None
    """None: no key is new, and no row of a snapshot is another one."""
    snapshot: MergedSnapshot | None = None
    """None: rows with new keys become slices."""

    @property
    def repeated(self) -> int:
        """Accepted rows that are in no slice."""
        return self.known + self.changed

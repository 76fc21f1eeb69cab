"""Slices of Open Data Fabric: where one is to begin (part of a request), and which were written (part of a result)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StateRun:
    """A file of the merge state of a line: of some current rows the hashes of key and content."""

    uri: str
    """Its address; in the control plane, its key in the lake."""
    rows: int
    digest: str = ""
    """Of its index, by which every part of it is verified; empty: written by a release without digests."""
    as_of: str = ""
    """Of a line of snapshots, the time of the newest one (RFC 3339, UTC, six decimals)."""


@dataclass(frozen=True, slots=True)
class PublishedSlice:
    """A slice of the line, from which retracted and corrected rows are read."""

    uri: str
    offset: int
    """Of the first row."""
    rows: int


@dataclass(frozen=True, slots=True)
class SnapshotOrder:
    """The delivery has all current rows: what differs from the state of the line becomes events."""

    time: str
    """Of the snapshot (RFC 3339, UTC, six decimals); empty: its name has none. A column with times has priority."""
    slices: tuple[PublishedSlice, ...] = ()
    """Those of the line, in the order of their offsets."""


@dataclass(frozen=True, slots=True)
class MergeOrder:
    """Rows are compared with the state of the line by their keys: those with new keys become slices, or what differs."""

    line: str
    key: tuple[str, ...]
    """The columns of the primary key."""
    runs: tuple[StateRun, ...] = ()
    """The state of the line, the oldest first; no key is in two of them. Of snapshots there is one."""
    snapshot: SnapshotOrder | None = None
    """None: rows with new keys become slices."""


@dataclass(frozen=True, slots=True)
class SliceOrder:
    """The accepted rows of the delivery are to be written as slices."""

    offset: int
    """Of the first row."""
    event_time: str | None = None
    """The column with the time of the event (a date or a timestamp); None: the judging time."""
    watermark: str = ""
    """Of the line, with the slices before (RFC 3339, UTC, six decimals): rows of earlier events are late. Empty: none."""
    merge: MergeOrder | None = None
    """None: all rows are appended."""


@dataclass(frozen=True, slots=True)
class WrittenSlice:
    """One Parquet file with consecutive offsets, of at least one row."""

    uri: str
    size: int
    etag: str
    """The ETag or checksum of the object after it was written."""
    rows: int
    offset: int
    """Of the first row."""
    event_times: tuple[str, str]
    """The earliest and the latest (RFC 3339, UTC, six decimals)."""
    logical: str
    """The hash of the rows, and below that of the bytes (docs/odf.md)."""
    physical: str
    late: int = 0
    """Rows with an event time before the watermark of the order."""


@dataclass(frozen=True, slots=True)
class WrittenRun:
    """The file of the merge state that a delivery adds."""

    uri: str
    size: int
    etag: str
    """The ETag or checksum of the object after it was written."""
    rows: int
    """Its own, and those of the files that it takes up."""
    digest: str = ""
    """As `StateRun.digest`."""


@dataclass(frozen=True, slots=True)
class MergedSnapshot:
    """What a snapshot is to its line."""

    time: str
    """Empty: it is not known."""
    newest: str
    """That of the newest snapshot before; empty: there is none."""
    without_key: int = 0
    """Rows with a null in their key, or the key of an earlier row of the snapshot."""
    appended: int = 0
    """Events by their kind; of a correction both events are one."""
    retracted: int = 0
    corrected: int = 0

    @property
    def is_merged(self) -> bool:
        """Whether its differences become events: else the line stays as it is."""
        return bool(self.time) and self.time >= self.newest and not self.without_key

    @property
    def events(self) -> int:
        """Rows of its slices."""
        return self.appended + self.retracted + 2 * self.corrected


@dataclass(frozen=True, slots=True)
class Merged:
    """What the accepted rows of a delivery are to its line, and the state of the line with them."""

    offset: int
    """Of the request."""
    known: int
    """Rows with a key and a content that are there, and all rows of a snapshot that is not merged; they are in no slice."""
    changed: int
    """Rows with a key that is there with another content; likewise."""
    vanished: int
    """Keys of the line without a row in the delivery."""
    without_key: int = 0
    """Rows with a null in their key: they are in slices, and not in the state."""
    before: tuple[StateRun, ...] = ()
    """The request's state."""
    kept: tuple[StateRun, ...] = ()
    """The files of the request's state that stay."""
    run: WrittenRun | None = None
    """None: no key is new, and no row of a snapshot is another one."""
    snapshot: MergedSnapshot | None = None
    """None: rows with new keys become slices."""

    @property
    def repeated(self) -> int:
        """Accepted rows that are in no slice."""
        return self.known + self.changed

"""Slices of Open Data Fabric: where one is to begin (part of a request), and which were written (part of a result)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SliceOrder:
    """The accepted rows of the delivery are to be written as slices."""

    offset: int
    """Of the first row."""
    event_time: str | None = None
    """The column with the time of the event (a date or a timestamp); None: the judging time."""
    watermark: str = ""
    """Of the line, with the slices before (RFC 3339, UTC, six decimals): rows of earlier events are late. Empty: none."""


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

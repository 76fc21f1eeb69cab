"""`result.json`: all that one attempt of the job reports.

It holds numbers; `lakegate.verdict` computes what they mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from lakegate.json_codec import VersionedDocument
from lakegate.plan.billed_cost import BilledCost
from lakegate.plan.slice_order import Merged, WrittenSlice

VERSION = "lakegate/result/1"


@dataclass(frozen=True, slots=True)
class Measured:
    """What an engine found for one tier of a check."""

    of: int
    """Rows (or keys) the number was taken over."""
    failing: int | None = None
    """Rows that break the tier, where rows are counted."""
    number: float | None = None
    """The aggregate, where one is measured; None when there was no value to take it of."""
    exact: Decimal | None = None
    """The answer of a query: to the last digit, or of a floating number its first twelve."""
    engine_passed: bool | None = None
    """Deequ's status of the constraint; None if Deequ did not evaluate it (nothing to measure)."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One failing row with masked values; only `public` fields are shown as written."""

    row: int
    """Line of the file, from 1, including the header; of a record of several lines the first, of a JSON array the element."""
    shapes: tuple[str, ...]
    """The values of the check's fields: masked (`aaa-99`), or raw if the field is public; `null` for none."""
    part: int = 0
    """Index of the object in the delivery, from 0."""
    at: str = ""
    """The position in the row of an element of a list or map: `items[2]`, from 0."""
    raw: tuple[bool, ...] = ()
    """Which of the shapes are raw values; empty if none is."""
    record: str | None = None
    """The kind of a record without data: `header` (a repeated header) or `blank` (delimiters, quotes, spaces)."""


@dataclass(frozen=True, slots=True)
class ValueMistake:
    """A known mistake in failing values (`lakegate.verdict.value_mistakes`)."""

    code: str
    values: int
    """Sampled values with the mistake."""
    of: int
    """Sampled values."""
    word: str = ""
    """The word, if it is in the list of known null words: `NULL`."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """The measurement of one check, or the reason why there is none."""

    check: str
    accept: Measured | None = None
    tolerate: Measured | None = None
    error: str | None = None
    """Why the check could not be measured: one of a fixed set of messages, never a value of the data."""
    samples: tuple[Sample, ...] = ()
    skip: str | None = None
    """Why there was nothing to compare with: the check is then skipped."""
    good: tuple[str, ...] = ()
    """Masked shapes of passing values, the most common first; only for failed checks of one field."""
    form: ValueMistake | None = None
    """The known mistake in the failing values, if there is one."""


@dataclass(frozen=True, slots=True)
class IncompatibleType:
    """A column or nested field whose type in the file is incompatible with the declared one."""

    field: str
    physical: str
    """The type's name in the file."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The differences between the file's header and the declared fields."""

    found: tuple[str, ...]
    absent: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    reordered: bool = False
    foreign: tuple[IncompatibleType, ...] = ()


@dataclass(frozen=True, slots=True)
class MalformedRecords:
    """Records that do not have the declared structure."""

    reason: str
    """A code of `lakegate.verdict.file_checks.MALFORMED`."""
    rows: int
    first_row: int
    part: int = 0
    """The object of the first such row."""
    values: int | None = None
    """The number of values of the first such row, if it is wrong."""
    wanted: int | None = None
    """The number of values it should have."""
    record: str | None = None
    """The kind of the first such row, as in samples."""
    is_last: bool = False
    """Whether the first such row is the last line of its object."""
    encoding: str | None = None
    """An encoding that decodes the first such row, if the declared one does not."""
    at: int | None = None
    """The character of the first such row, from 1, at which it is no JSON."""
    samples: tuple[Sample, ...] = ()
    """The first such rows."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why the delivery could not be measured, although the job did not fail."""

    code: str
    """Stable, e.g. `gzip`, `no-header`, `not-text`."""
    message: str
    """One sentence with the problem and how to fix it."""
    part: int | None = None
    """The index of the object, from 0; None for the whole delivery."""


@dataclass(frozen=True, slots=True)
class WrittenObject:
    """One object the job wrote: a share of the delivery's rows."""

    uri: str
    size: int
    etag: str
    """The ETag or checksum of the object after the job wrote it."""


@dataclass(frozen=True, slots=True)
class Shares:
    """The delivery split by rows: each record is in exactly one part."""

    accepted: tuple[WrittenObject, ...] = ()
    rejected: tuple[WrittenObject, ...] = ()


@dataclass(frozen=True, slots=True)
class Result(VersionedDocument):
    """The result of one attempt."""

    schema = "result"
    workload: str
    attempt: int
    plan_digest: str
    source_version: str
    rows: int
    """Records in the delivery, including malformed ones."""
    rejected_rows: int = 0
    """Rows that break a row rule or are malformed."""
    unreadable: Unreadable | None = None
    columns: Columns | None = None
    is_marked: bool = False
    """Whether an object begins with a byte order mark, which is no part of its text."""
    malformed: tuple[MalformedRecords, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    event_time: tuple[str, str] | None = None
    """Earliest and latest moment (RFC 3339, UTC, six decimals) of the timestamp field of a service level; None
    without such a field, or if it is classified."""
    shares: Shares | None = None
    """Present only if the contract rejects single rows, and some were rejected."""
    slices: tuple[WrittenSlice, ...] = ()
    """The accepted rows as slices, in the order of their offsets, if the request wants them; none of a delivery without rows."""
    merge: Merged | None = None
    """If the request wants only rows with new keys as slices."""
    watermark: str = ""
    """Of the request: what late rows of slices were counted by; empty if the line has none."""
    engines: dict[str, str] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    """Seconds by step."""
    vcpu_seconds: float | None = None
    """Processor seconds of the attempt: the driver's and the executors' (docs/performance.md); None if it was not measured."""
    cost: BilledCost | None = None
    """Of an invocation of the judge function. What a job run costs is known only after its end: EMR Serverless bills workers."""
    does_not_fit: str | None = None
    """Why the judge function cannot hold the delivery: `time`, `memory`, `disk`, `references` or `rows`; the rest is then
    empty, and no verdict follows. A result of Spark never has it."""
    version: str = VERSION

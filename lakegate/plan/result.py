"""`result.json`: all that one attempt of the job reports.

It holds numbers; `lakegate.verdict` computes what they mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Annotated, Final, Literal

from lakegate.base.json_codec import Bounds, Count, Name, Pattern, Permitted, Sha256, VersionedDocument, omit_default
from lakegate.base.timestamps import Moment, OptionalMoment
from lakegate.plan.billed_cost import Amount, BilledCost
from lakegate.plan.check import CheckId, Sentence
from lakegate.plan.request import Attempt, SourceVersion, WorkloadId
from lakegate.plan.slice_order import ETag, Merged, Rows, Uri, WrittenSlice

RESULT_VERSION: Final = "lakegate/result/1"
Number = Annotated[int, Bounds(1)]
"""Of a row or a character, from 1; or how many of at least one."""
Code = Annotated[str, Pattern("[a-z0-9]+(-[a-z0-9]+)*"), Bounds(most=64)]
Step = Annotated[str, Bounds(1, 64)]
Long = Annotated[str, Bounds(most=1 << 20)]
Names = Annotated[tuple[Long, ...], Bounds(most=100_000)]
REASONS: Final = (
    *("fields", "quotes", "encoding", "nul", "line-ends", "too_long", "elements", "json"),
    *("nan", "python", "comma", "spread", "several", "cut", "surrogate", "object", "keys"),
)
"""Of malformed records."""
MASKED_MISTAKES: Final = ("no-day", "no-time", "case", "unlisted", "blank-before", "blank-behind")
"""Of a value whose shape shows none."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The numbers of an engine for one tier of a check."""

    of: Count
    """Rows (or keys) the number was taken over."""
    failing: Count | None = None
    """Rows that break the tier, where rows are counted."""
    number: float | None = None
    """The aggregate, where one is measured; None when there was no value to take it of."""
    exact: Annotated[Decimal, Pattern(r"-?[0-9]{1,400}(\.[0-9]{1,400})?")] | None = None
    """The result of a query: to the last digit, or of a floating number its first twelve."""
    engine_passed: bool | None = None
    """Deequ's status of the constraint; None if Deequ did not evaluate it (nothing to measure)."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One failing row with masked values; only `public` fields are shown as written."""

    row: Number
    """Line of the file, from 1, including the header; of a record of several lines the first, of a JSON array the element."""
    shapes: Annotated[tuple[Annotated[str, Bounds(most=1024)], ...], Bounds(most=100)]
    """The values of the check's fields: masked (`aaa-99`), or raw if the field is public; `null` for none."""
    part: Count = 0
    """Index of the object in the delivery, from 0."""
    at: Annotated[str, Bounds(most=8192)] = ""
    """The position in the row of an element of a list or map: `items[2]`, from 0."""
    raw: Annotated[tuple[bool, ...], Bounds(most=100)] = ()
    """The shapes that are raw values; empty if none is."""
    record: Annotated[str, Permitted(("header", "blank", "total"))] | None = None
    """The kind of a record without data: `header` (a repeated header) or `blank` (delimiters, quotes, spaces)."""
    mistake: Annotated[str, Permitted(MASKED_MISTAKES)] | None = omit_default(None)
    """What is wrong with the one value, where it is masked and its shape is that of a good one."""


Samples = Annotated[tuple[Sample, ...], Bounds(most=1000)]


@dataclass(frozen=True, slots=True)
class ValueMistake:
    """A known mistake in failing values (`lakegate.verdict.value_mistakes`)."""

    code: Code
    values: Number
    """Sampled values with the mistake."""
    of: Number
    """Sampled values."""
    word: Annotated[str, Bounds(most=40)] = ""
    """The word, if it is in the list of known null words: `NULL`."""


@dataclass(frozen=True, slots=True)
class ObservedValues:
    """What the data has, beside the number of failing rows (DCM's metric); None of fields that are classified, unless public."""

    least: float | None = omit_default(None)
    """The smallest number, of a check with bounds."""
    greatest: float | None = omit_default(None)
    values: Annotated[tuple[Annotated[str, Bounds(most=1 << 16)], ...], Bounds(most=100)] = omit_default(())
    """The allowed values that occur, in the order of the rule; of a validator the list that is its metric."""
    severities: Annotated[tuple[Annotated[str, Permitted(("fail", "warn"))], ...], Bounds(most=2)] = omit_default(())
    """Of a validator, the severities that it answers of."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """The measurement of one check, or the reason why there is none."""

    check: CheckId
    accept: Measured | None = None
    tolerate: Measured | None = None
    error: Sentence | None = None
    """The reason why the check could not be measured: one of a fixed set of messages, never a value of the data."""
    samples: Samples = ()
    skip: Sentence | None = None
    """The reason why there was nothing to compare with: the check is then skipped."""
    good: Annotated[tuple[Annotated[str, Bounds(most=64)], ...], Bounds(most=3)] = ()
    """Masked shapes of passing values, the most common first; only for failed checks of one field."""
    form: ValueMistake | None = None
    """The known mistake in the failing values, if there is one."""
    observed: ObservedValues | None = omit_default(None)


@dataclass(frozen=True, slots=True)
class IncompatibleType:
    """A column or nested field whose type in the file is incompatible with the declared one."""

    field: Name
    physical: Annotated[str, Bounds(1, 1 << 20)]
    """The type's name in the file."""


@dataclass(frozen=True)
class Columns:
    """The differences between the file's header and the declared fields."""

    found: Names
    absent: Names = ()
    extra: Names = ()
    reordered: bool = False
    foreign: Annotated[tuple[IncompatibleType, ...], Bounds(most=100_000)] = ()

    @cached_property
    def lacking(self) -> frozenset[str]:
        """The absent fields, which each check asks for its own."""
        return frozenset(self.absent)

    @cached_property
    def stored_as(self) -> dict[str, str]:
        """The types in the file that differ from the declared ones, by field."""
        return {each.field: each.physical for each in self.foreign}


@dataclass(frozen=True, slots=True)
class MalformedRecords:
    """Records that do not have the declared structure."""

    reason: Annotated[str, Permitted(REASONS)]
    """A code of `lakegate.verdict.file_checks.MALFORMED`."""
    rows: Number
    first_row: Number
    part: Count = 0
    """The object of the first such row."""
    values: Count | None = None
    """The number of values of the first such row, if it is wrong."""
    wanted: Count | None = None
    """The number of values it should have."""
    record: Annotated[str, Permitted(("header", "blank", "total", "wrapped"))] | None = None
    """The kind of the first such row, as in samples."""
    is_last: bool = False
    """Whether the first such row is the last line of its object."""
    encoding: Annotated[str, Permitted(("utf-8", "windows-1252", "iso-8859-1"))] | None = None
    """An encoding that decodes the first such row, if the declared one does not."""
    at: Number | None = None
    """The character of the first such row, from 1, at which it is no JSON."""
    samples: Samples = ()
    """The first such rows."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The reason why the delivery could not be measured, although the job did not fail."""

    code: Code
    """Stable, e.g. `gzip`, `no-header`, `not-text`."""
    message: Sentence
    """One sentence with the problem and how to fix it."""
    part: Count | None = None
    """The index of the object, from 0; None for the whole delivery."""


@dataclass(frozen=True, slots=True)
class WrittenObject:
    """One object the job wrote: a share of the delivery's rows."""

    uri: Uri
    size: Count
    etag: ETag
    """The ETag or checksum of the object after the job wrote it."""


@dataclass(frozen=True, slots=True)
class WrittenFile(WrittenObject):
    """A typed file of rows."""

    rows: Rows


@dataclass(frozen=True, slots=True)
class Shares:
    """The delivery split by rows: each record is in exactly one part."""

    accepted: tuple[WrittenObject, ...] = ()
    rejected: tuple[WrittenObject, ...] = ()


MOST_PERIODS: Final = 100
"""Periods of a delivery that are counted."""


@dataclass(frozen=True, slots=True)
class DeliveredPeriod:
    """The values of the period column in the accepted rows of a delivery (`replaces: period`): how many, and which one."""

    values: Count
    """Different ones, at most one more than `MOST_PERIODS`."""
    has_rows_without: bool
    """Whether an accepted row has none."""
    digest: Sha256 | None
    """Of the text of the one value; None where they are several, or a row has none."""


@dataclass(frozen=True, slots=True)
class Result(VersionedDocument):
    """The result of one attempt."""

    schema = "result"
    workload: WorkloadId
    attempt: Attempt
    plan_digest: Sha256
    source_version: SourceVersion
    rows: Count
    """Records in the delivery, including malformed ones."""
    rejected_rows: Count = 0
    """Rows that break a row rule or are malformed."""
    unreadable: Unreadable | None = None
    columns: Columns | None = None
    is_marked: bool = False
    """Whether an object begins with a byte order mark, which is no part of its text."""
    is_utf_8: bool = omit_default(False)
    """Whether an object is UTF-8, although the contract declares another encoding, in which it can be read, too."""
    malformed: Annotated[tuple[MalformedRecords, ...], Bounds(most=20)] = ()
    measurements: Annotated[tuple[Measurement, ...], Bounds(most=100_000)] = ()
    event_time: tuple[Moment, Moment] | None = None
    """Earliest and latest moment (RFC 3339, UTC, six decimals) of the timestamp field of a service level; None
    without such a field, or if it is classified."""
    period: DeliveredPeriod | None = omit_default(None)
    """Absent where the contract asks for none, and of a delivery without accepted rows."""
    shares: Shares | None = None
    """Present only if the contract rejects single rows, and some were rejected."""
    slices: Annotated[tuple[WrittenSlice, ...], Bounds(most=100_000)] = ()
    """The accepted rows as slices, in the order of their offsets, if the request wants them; none of a delivery without rows."""
    merge: Merged | None = None
    """If the request wants only rows with new keys as slices."""
    watermark: OptionalMoment = ""
    """Of the request: what late rows of slices were counted by; empty if the line has none."""
    system_time: OptionalMoment = ""
    """Of the rows of its slices, by the request; empty without slices."""
    typed_files: Annotated[tuple[WrittenFile, ...], Bounds(most=100_000)] = omit_default(())
    """The accepted rows as typed files, in the order of the delivery, if the request wants them; none of a delivery without
    rows."""
    rejected_files: Annotated[tuple[WrittenFile, ...], Bounds(most=100_000)] = omit_default(())
    """Likewise its rejected rows, if the contract rejects single rows."""
    derived: Annotated[tuple[WrittenFile, ...], Bounds(most=100_000)] = omit_default(())
    """Of a derived dataset the rows of its query, which are the delivery, in order; empty if the query failed."""
    engines: Annotated[dict[Step, Annotated[str, Bounds(most=128)]], Bounds(most=20)] = field(default_factory=dict)
    timings: Annotated[dict[Step, Amount], Bounds(most=100)] = field(default_factory=dict)
    """Seconds by step."""
    vcpu_seconds: Amount | None = None
    """Processor seconds of the attempt: the driver's and the executors' (docs/performance.md); None if it was not measured."""
    cost: BilledCost | None = None
    """Of an invocation of the judge function. What a job run costs is known only after its end: EMR Serverless bills workers."""
    does_not_fit: Annotated[str, Permitted(("time", "memory", "disk", "references", "rows"))] | None = None
    """The reason why the judge function cannot hold it: `time`, `memory`, `disk`, `references` or `rows`; the rest is then
    empty, and no verdict follows. A result of Spark never has it."""
    version: Literal["lakegate/result/1"] = RESULT_VERSION

    @property
    def lacking(self) -> frozenset[str]:
        """The fields that the file lacks, as far as its columns are known."""
        return self.columns.lacking if self.columns else frozenset()

    @property
    def measured(self) -> dict[str, Measurement]:
        """The measurements by check."""
        return {measurement.check: measurement for measurement in self.measurements}

"""`result.json`: all that one attempt of the job answers. It reports numbers; what they mean is `contracts.verdict`'s to say."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from contracts.codec import decode, encode
from contracts.schemas import validate

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
    """Deequ's own status of the constraint; None where Deequ was not asked (nothing to measure)."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One failing row, without its values: only `public` fields are shown as written."""

    row: int
    """Line of the file, from 1, the header included (record, where values may hold line breaks)."""
    shapes: tuple[str, ...]
    """The values of the check's fields: masked shapes (`aaa-99`), or raw where the field is public; `null` for none."""
    part: int = 0
    """Which object of the delivery, from 0."""
    at: str = ""
    """Where in the row, for an element of a list or a map: `items[2]`, counted from 0."""
    raw: tuple[bool, ...] = ()
    """Which of the shapes are values as written; none where it is empty."""
    record: str | None = None
    """What the record is, where it holds no data: `header` (that line once more) or `blank` (delimiters, quotes, blanks)."""


@dataclass(frozen=True, slots=True)
class Form:
    """How failing values are written, from a closed list of known mistakes (`contracts.writing`)."""

    code: str
    values: int
    """Sampled values that are written so."""
    of: int
    """Sampled values."""
    word: str = ""
    """The word itself, where it is one of a closed list: `NULL`."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """The answer to one check: what was measured, or why it could not be."""

    check: str
    accept: Measured | None = None
    tolerate: Measured | None = None
    error: str | None = None
    """Why the check could not be measured: a closed set of sentences, never a value of the data."""
    samples: tuple[Sample, ...] = ()
    skip: str | None = None
    """Why there was nothing to measure it against: it is then only named."""
    good: tuple[str, ...] = ()
    """Masked shapes of values that pass, the most common first; of checks of one field that failed."""
    form: Form | None = None
    """How the failing values are written, where that is a known mistake."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A column, or a part of one, whose type in the file cannot hold values of the declared one."""

    field: str
    physical: str
    """The file's own name for its type."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The file's own header against the declared fields."""

    found: tuple[str, ...]
    absent: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    reordered: bool = False
    foreign: tuple[Foreign, ...] = ()


@dataclass(frozen=True, slots=True)
class Malformed:
    """Records that are no records of the promised shape."""

    reason: str
    """`fields`, `quotes`, `encoding`, `nul`, `too_long`; of JSON also `json`, `object` and `keys`."""
    rows: int
    first_row: int
    part: int = 0
    """The object of the first such row."""
    values: int | None = None
    """How many values the first such row has, where their number is wrong."""
    wanted: int | None = None
    """How many it should have."""
    record: str | None = None
    """What the first such row is, as of samples."""
    is_last: bool = False
    """Whether the first such row is the last line of its object."""
    encoding: str | None = None
    """An encoding in which the first such row can be read, where it is none of the declared one."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why nothing of the delivery could be measured, though the job itself is well."""

    code: str
    """Stable, e.g. `gzip`, `no-header`, `not-text`."""
    message: str
    """One sentence that says how to mend it."""
    part: int | None = None
    """The object that is meant, from 0; None where it is the delivery as a whole."""


@dataclass(frozen=True, slots=True)
class Written:
    """One object the job wrote: a share of the delivery's rows."""

    uri: str
    size: int
    etag: str
    """The storage's own mark of the content, as it stood when the job had written it."""


@dataclass(frozen=True, slots=True)
class Shares:
    """The delivery split by rows; together they hold every record once."""

    accepted: tuple[Written, ...] = ()
    rejected: tuple[Written, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """The answer of one attempt."""

    workload: str
    attempt: int
    plan_digest: str
    source_version: str
    rows: int
    """Records in the delivery, malformed ones included."""
    rejected_rows: int = 0
    """Rows that break a row rule or are malformed."""
    unreadable: Unreadable | None = None
    columns: Columns | None = None
    malformed: tuple[Malformed, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    event_time: tuple[str, ...] | None = None
    """Earliest and latest moment (RFC 3339, UTC, six decimals) of the field by which a service level tells the age of rows; None
    where there is none, and of a classified field."""
    shares: Shares | None = None
    """Only where the contract refuses single rows, and some were."""
    engines: dict[str, str] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    """Seconds by step."""
    vcpu_seconds: float | None = None
    """Processor seconds of the attempt: the driver's and the executors' (docs/performance.md); None where nobody counted."""
    version: str = VERSION

    def to_json(self) -> dict[str, object]:
        """The document `result.json`."""
        document: dict[str, object] = encode(self)
        return document

    @staticmethod
    def from_json(document: object) -> Result:
        """The result a document writes; InputError where it breaks the schema."""
        validate("result", document)
        return decode(Result, document)

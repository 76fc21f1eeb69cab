"""The one model that documents of every format are read into.

A `Contract` says what datasets look like; a `Rule` is anything it says about data, be it a field constraint or a quality
rule. Readers (`contracts/formats`) build it, `contracts/compile` turns it into a plan, and nothing else knows the formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from types import MappingProxyType

from contracts.types import LogicalType

NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Origin:
    """Where in its document a thing was said."""

    path: str
    """e.g. `$.quality[3]`"""
    line: int | None = None
    """From 1; None where the document has no lines."""


class Severity(Enum):
    """The worst a broken rule can be."""

    FAIL = "fail"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far from its parameter a DCM rule may be before it warns and before it fails (DCM table A.3)."""

    warn: Decimal | None = None
    fail: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """An operator of a quality rule with its operand (ODCS 3.1 §quality), e.g. `mustBeLessThan` 5 percent."""

    operator: str
    operands: tuple[Decimal, ...]
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """What the contract says about data, in the words of `contracts.rules.RULES`."""

    id: str
    kind: str
    origin: Origin
    fields: tuple[str, ...] = ()
    """Field paths the rule names; empty where it speaks of the whole dataset."""
    arguments: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    comparison: Comparison | None = None
    tolerance: Tolerance = Tolerance()
    severity: Severity = Severity.FAIL
    name: str | None = None
    dimension: str | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """A value that a document shows for a field; None is null."""

    written: str | None
    origin: Origin


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a dataset, or a nested part of one."""

    name: str
    """Its path: `address`, and of its parts `address.street`, `lines[].sku`, `prices.key`, `prices.value`."""
    type: LogicalType
    origin: Origin
    description: str | None = None
    classification: str | None = None
    """Free text of the document, e.g. `public`, `confidential`; samples show raw values of `public` fields only."""
    personal: bool | None = None
    """Whether the document says it is personal data (`pii`); None where it does not say."""
    declared: str | None = None
    """The type in the document's own word, e.g. `record`, `varchar`."""
    parts: tuple[Field, ...] = ()
    """The fields of a record, the items of an array, the keys and values of a map."""
    examples: tuple[Example, ...] = ()
    physical: str | None = None
    """What the column is called where the data lies, if the document says so: queries may use that name."""


class Format(Enum):
    """What a file of the dataset is; its name says nothing."""

    CSV = "csv"
    JSONL = "jsonl"
    """One JSON object a line."""
    JSON = "json"
    """One JSON array of objects."""
    ANY_JSON = "any-json"
    """Either of the two: the first character of a file decides."""
    PARQUET = "parquet"
    ORC = "orc"
    AVRO = "avro"
    UNKNOWN = "unknown"
    """The servers of the document name formats that differ or are not read here: no file is taken for another format."""

    @property
    def is_text(self) -> bool:
        """Whether the file is text; others bring a schema of their own, and compress inside."""
        return self is Format.CSV or self.is_json

    @property
    def is_json(self) -> bool:
        """Whether the file is JSON, as lines or as one array."""
        return self in {Format.JSONL, Format.JSON, Format.ANY_JSON}


class Compression(Enum):
    """What a whole file of text is packed with."""

    NONE = "none"
    GZIP = "gzip"
    BZIP2 = "bzip2"
    ZSTD = "zstd"


@dataclass(frozen=True, slots=True)
class Storage:
    """The form of a file: what the contract says, never what a name ends in."""

    format: Format = Format.CSV
    compression: Compression = Compression.NONE

    @property
    def suffix(self) -> str:
        """How keys of ours end: `.csv`, `.jsonl.gz`, `.parquet`; nothing where the format is unknown."""
        form = {Format.ANY_JSON: ".json", Format.UNKNOWN: ""}.get(self.format, f".{self.format.value}")
        return form + _ENDINGS[self.compression]


_ENDINGS = {Compression.NONE: "", Compression.GZIP: ".gz", Compression.BZIP2: ".bz2", Compression.ZSTD: ".zst"}


@dataclass(frozen=True, slots=True)
class Csv:
    """How a CSV file of the dataset is written."""

    delimiter: str = ","
    quote: str = '"'
    header: bool = True
    encoding: str = "utf-8"
    null_values: tuple[str, ...] = ()
    """Texts that mean null beside the empty unquoted value."""
    multi_line: bool = False
    """Whether a quoted value may hold line breaks."""


class Additional(Enum):
    """What becomes of a file with fields its contract does not name."""

    ALLOW = "allow"
    WARN = "warn"
    FORBID = "forbid"


class Mode(Enum):
    """Whether a bad delivery is kept out or only reported."""

    ENFORCE = "enforce"
    OBSERVE = "observe"


class OnReject(Enum):
    """What is refused: the whole file, or the rows that break a rule."""

    FILE = "file"
    ROWS = "rows"


class Duplicates(Enum):
    """What becomes of a delivery whose content was accepted before."""

    REFUSE = "refuse"
    ACCEPT = "accept"


@dataclass(frozen=True, slots=True)
class Policy:
    """How the gate treats deliveries of a dataset: the `lakegate` extension of a document."""

    mode: Mode = Mode.ENFORCE
    on_reject: OnReject = OnReject.FILE
    max_rejected_share: Decimal = Decimal(1)
    additional_fields: Additional = Additional.ALLOW
    allow_empty: bool = False
    duplicates: Duplicates = Duplicates.REFUSE
    samples: bool = True
    max_bytes: int | None = None
    """A larger object is refused at the door, in every mode."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """One table of a contract."""

    name: str
    fields: tuple[Field, ...]
    rules: tuple[Rule, ...]
    origin: Origin
    policy: Policy = field(default_factory=Policy)
    csv: Csv = field(default_factory=Csv)
    storage: Storage = field(default_factory=Storage)
    physical: str | None = None
    """What the table is called where the data lies, if the document says so: queries may use that name."""

    def field(self, path: str) -> Field | None:
        """The field at a path, which may be a part of another, or None."""
        return _found(self.fields, path)


def _found(fields: tuple[Field, ...], path: str) -> Field | None:
    for each in fields:
        if each.name == path:
            return each
        if path.startswith(each.name) and (part := _found(each.parts, path)):
            return part
    return None


@dataclass(frozen=True, slots=True)
class Server:
    """Where data of a contract lies, in the words of its document."""

    name: str
    type: str
    settings: Mapping[str, object]
    """Everything else it says, e.g. `location`, `format`."""
    origin: Origin


@dataclass(frozen=True, slots=True)
class Deprecation:
    """How a contract ends (ADR-0029): the five keys of the root block `deprecation`, as written."""

    origin: Origin
    announced: str | None = None
    sunset_date: str | None = None
    replacement: str | None = None
    migration_guide: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class About:
    """What a document says beside its datasets."""

    description: str | None = None
    owner: str | None = None
    purpose: str | None = None
    usage: str | None = None
    limitations: str | None = None
    tags: tuple[str, ...] = ()
    servers: tuple[Server, ...] = ()
    deprecation: Deprecation | None = None
    sections: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    """Every other key of the document's root, in its own words: team, roles, support, prices, terms, links, …"""


@dataclass(frozen=True, slots=True)
class Contract:
    """One version of a document that promises what datasets look like."""

    id: str
    version: str
    """Semantic version, e.g. `1.0.0`."""
    format: str
    """Format and version of the document, e.g. `ODCS v3.1.0`, `DCS 1.2.1`, `DCM 0.1.3`."""
    datasets: tuple[Dataset, ...]
    name: str | None = None
    status: str | None = None
    about: About = field(default_factory=About)

    def dataset(self, name: str) -> Dataset | None:
        """The dataset of that name, or None."""
        return next((each for each in self.datasets if each.name == name), None)

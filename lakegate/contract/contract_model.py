"""Contract, dataset, field, rule, server, labels; ids of datasets (`shop/orders_v1`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Final

from lakegate.base.errors import InputError
from lakegate.base.json_codec import DOCUMENT_NAME, Bounds
from lakegate.contract.delivery_policy import OnReject, Policy, PublishAs
from lakegate.contract.field_paths import FieldPath, column_name, column_path, own_name, path_of, steps_of
from lakegate.contract.file_formats import Csv, Storage
from lakegate.contract.logical_types import SCALE, LogicalType


class Shape(Enum):
    """The shape of values: scalar or nested."""

    VALUE = "value"
    RECORD = "record"
    LIST = "list"
    MAP = "map"
    ANY = "any"
    """A nested value without declared fields: its content is not checked."""


NESTED_KIND = "nested"
"""The kind of rules that values are records, lists or maps; with an option that is not measured, the rule is skipped."""
NO_SHAPE = "this file format, or the contract, leaves open what the values consist of"
_SHAPES = {
    **dict.fromkeys(("object", "record", "struct"), Shape.RECORD),
    **dict.fromkeys(("array", "list", "vector"), Shape.LIST),
    "map": Shape.MAP,
    **dict.fromkeys(("variant", "json", "union"), Shape.ANY),
}
"""The shape of the values of a type, by its declared name."""


def shape_of(field: Field) -> Shape:
    """The shape of a field's values."""
    word = (field.declared or "").strip().lower()
    if word == "json" and not field.parts:
        return Shape.VALUE
    return _SHAPES.get(word, Shape.VALUE)


DATASET_KEY: Final = MappingProxyType({DOCUMENT_NAME: "line"})
"""Metadata of a field with the full name of a dataset: documents and stored rows call it `line`."""


def full_dataset_name(contract: str, schema_object: str, major: int) -> str:
    """Folder and chain of a dataset."""
    return f"{contract}/{schema_object}_v{major}"


def parts_of(name: str) -> tuple[str, str, int]:
    """Contract, schema object and major number of a dataset."""
    contract, _, rest = name.rpartition("/")
    dataset, _, number = rest.rpartition("_v")
    return contract, dataset, int(number)


# ---- Lineage of a field ----


@dataclass(frozen=True, slots=True)
class Transformation:
    """The derivation of the field from a source (DCS 1.1 `lineage`, as OpenLineage's facet `columnLineage`)."""

    type: str
    """`DIRECT` or `INDIRECT`."""
    subtype: str | None = None
    description: str | None = None
    masking: bool | None = None


@dataclass(frozen=True, slots=True)
class FieldSource:
    """A field of another dataset that a field is made of."""

    namespace: str
    name: str
    """Of the dataset."""
    field: str
    transformations: tuple[Transformation, ...] = ()


@dataclass(frozen=True, slots=True)
class FieldLineage:
    """All sources of one field."""

    field: str
    """Its path."""
    sources: Annotated[tuple[FieldSource, ...], Bounds(1)]


# ---- The model of a contract ----
# A `Contract` describes datasets; a `Rule` is any requirement of their data: a field constraint, a quality rule or a service
# level. Readers (`lakegate/contract/documents/`) build the model and `lakegate/rules/` compiles it to a plan; no other module
# knows the formats.


NOTHING: Mapping[str, object] = MappingProxyType({})
COMMON = "*"
"""The name of the dataset whose requirements hold for every dataset of the contracts that inherit."""
NOTICE_DAYS = 30
"""ADR-0029, "Consequences": consumers have 30 days to migrate, unless the contract says otherwise."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of an element in its document."""

    path: str
    """e.g. `$.quality[3]`"""
    line: int | None = None
    """From 1; None if the document has no lines."""


class Severity(Enum):
    """The worst status of a check of the rule."""

    FAIL = "fail"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The deviations from its parameter at which a DCM rule warns and fails (DCM table A.3)."""

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
    """A requirement of a contract, of a kind that `lakegate.rules` describes."""

    id: str
    kind: str
    origin: Origin
    fields: tuple[FieldPath, ...] = ()
    """Paths of the rule's fields; empty for a rule of the whole dataset."""
    arguments: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    comparison: Comparison | None = None
    tolerance: Tolerance = Tolerance()
    severity: Severity = Severity.FAIL
    name: str | None = None
    dimension: str | None = None
    schedule: str = ""
    """Its schedule over all accepted data, as EventBridge writes it; empty: it is measured with each delivery."""


@dataclass(frozen=True, slots=True)
class Example:
    """An example value of a field; None is null."""

    written: str | None
    origin: Origin


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a dataset, or a nested field."""

    name: FieldPath
    """Its path: `address`, and of nested fields `address.street`, `lines[].sku`, `prices.key`, `prices.value`."""
    type: LogicalType
    origin: Origin
    description: str | None = None
    classification: str | None = None
    """Free text of the document, e.g. `public`, `confidential`; samples show raw values of `public` fields only."""
    personal: bool | None = None
    """Whether the document marks it as personal data (`pii`); None if it does not contain the mark."""
    declared: str | None = None
    """The type as the document writes it, e.g. `record`, `varchar`."""
    parts: tuple[Field, ...] = ()
    """The fields of a record, the items of an array, the keys and values of a map."""
    examples: tuple[Example, ...] = ()
    physical: str | None = None
    """The physical name of the column, if the document declares one: queries may use it."""
    sources: tuple[FieldSource, ...] = ()
    """The sources of the field, if the document declares its lineage."""
    scale: int = SCALE
    """The digits after the point of a decimal's values."""
    physical_type: str | None = None
    """The type that it declares beside the logical one, e.g. `decimal(12,2)`, `timestamptz`, `varchar(30)`."""
    native: Mapping[str, str] = field(default_factory=dict)
    """Its types in systems (`glueType`, `avroType`, …), which conversions write."""
    stable_id: str | None = None
    """The id that the document gives it (ODCS `id`), which stays when the name changes."""

    @property
    def own_name(self) -> str:
        """Its name without its path, as data has it: `street` of `address.street`, `[]` of the elements of a list."""
        return own_name(self.name)


@dataclass(frozen=True)
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
    """The physical name of the table, if the document declares one: queries may use it."""
    declared: frozenset[str] = frozenset()
    """The settings of `policy`, `csv` and `storage` that the document sets, and `critical`; all others are defaults."""
    notice_days: int = NOTICE_DAYS
    """The days that its subscribers have before a version with a higher major number takes effect."""
    description: str | None = None
    """Of a table that was read from a schema of another tool; documents keep theirs as they are."""
    native: Mapping[str, str] = field(default_factory=dict)
    """Its names in systems (`avroNamespace`)."""
    stable_id: str | None = None
    """The id that the document gives it (ODCS `id`), which stays when the name changes."""

    @property
    def is_whole_document(self) -> bool:
        """Whether it stands for a document that describes no dataset: it has what the document says for all data."""
        return self.name == COMMON and self.origin.path == "$"

    def field(self, path: str) -> Field | None:
        """The field at a path, which may be nested, or None."""
        return self._by_path.get(FieldPath(path))

    def named(self, text: str) -> tuple[Field, ...]:
        """The fields that a text of a document can mean: a path, in which any name may be quoted, or the name of a column.

        Two, where a column has a name that is also the path of a nested field: the quoted forms of both are unambiguous.
        """
        paths = (text, path_of(steps_of(text) or (f".{text}",)), column_path(text))
        return tuple(found for path in dict.fromkeys(paths) if (found := self.field(path)) is not None)

    @cached_property
    def _by_path(self) -> dict[FieldPath, Field]:
        """The fields, nested ones included; of two with one path the first."""
        found: dict[FieldPath, Field] = {}
        open_fields = list(reversed(self.fields))
        while open_fields:
            each = open_fields.pop()
            found.setdefault(each.name, each)
            open_fields += reversed(each.parts)
        return found


def by_written_name(fields: Iterable[Field]) -> dict[str, Field]:
    """Some fields by the texts with which a document names them: their paths, and of columns also the plain names."""
    found = tuple(fields)
    return {column_name(entry.name): entry for entry in found} | {entry.name: entry for entry in found}


@dataclass(frozen=True, slots=True)
class Server:
    """A server of a contract, as the document describes it."""

    name: str
    type: str
    settings: Mapping[str, object]
    """All other keys, e.g. `location`, `format`."""
    origin: Origin


@dataclass(frozen=True, slots=True)
class Deprecation:
    """The deprecation of a contract (ADR-0029): the five keys of the root block `deprecation`, as written."""

    origin: Origin
    announced: str | None = None
    sunset_date: str | None = None
    replacement: str | None = None
    migration_guide: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ParentReference:
    """The contract that another one inherits from: the newest version of a major number."""

    contract: str
    major: int
    origin: Origin

    @property
    def name(self) -> str:
        """As documents write it, e.g. `acme-policies@1`."""
        return f"{self.contract}@{self.major}"


@dataclass(frozen=True, slots=True)
class About:
    """The contents of a document except its datasets."""

    description: str | None = None
    owner: str | None = None
    purpose: str | None = None
    usage: str | None = None
    limitations: str | None = None
    tags: tuple[str, ...] = ()
    servers: tuple[Server, ...] = ()
    deprecation: Deprecation | None = None
    sections: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    """All other keys of the document's root, as written: team, roles, support, prices, terms, links, …"""


@dataclass(frozen=True, slots=True)
class Contract:
    """One version of a document that describes datasets."""

    id: str
    version: str
    """Semantic version, e.g. `1.0.0`."""
    format: str
    """Format and version of the document, e.g. `ODCS v3.1.0`, `DCS 1.2.1`, `DCM 0.1.3`."""
    datasets: tuple[Dataset, ...]
    document_id: str = ""
    """The id in the document, where it ends in the version (DCM): all versions have one `id`, without it. Otherwise empty."""
    name: str | None = None
    status: str | None = None
    about: About = field(default_factory=About)
    common: Dataset | None = None
    """The dataset with the name `*`: its requirements hold for every dataset of the contracts that inherit. Of a document
    without datasets, its policies (ADR-0029: an enterprise contract has no others), with the address of the whole document."""
    inherits: ParentReference | None = None
    require: tuple[str, ...] = ()
    """Keys of `lakegate/lints/metadata_lints.py` that the contract, and each one that inherits from it, must declare."""
    shared_with: tuple[str, ...] = ()
    """Contracts that may refer to its accepted data and inherit from it: ids, or the beginning of ids and a star."""

    @property
    def all_datasets(self) -> tuple[Dataset, ...]:
        """The datasets, and the common one last."""
        return self.datasets if self.common is None else (*self.datasets, self.common)

    @property
    def with_own_common(self) -> Contract:
        """The contract with its common dataset among the others, unless it is inherited as a whole."""
        above = self.inherits.origin.path if self.inherits is not None else None
        is_inherited = self.common is None or (above is not None and self.common.origin.path.startswith(f"{above}["))
        return replace(self, datasets=self.datasets if is_inherited else self.all_datasets, common=None)

    def dataset(self, name: str) -> Dataset | None:
        """The dataset of that name, or None."""
        return next((dataset for dataset in self.datasets if dataset.name == name), None)


def separate_common(datasets: Iterable[Dataset]) -> tuple[tuple[Dataset, ...], Dataset | None]:
    """The datasets of a document without the common one, and that one."""
    found = list(datasets)
    common = next((dataset for dataset in found if dataset.name == COMMON), None)
    return tuple(dataset for dataset in found if dataset is not common), common


# ---- Labels of a contract ----


PULL = "pull"
"""The label with the name of a dataset that is pulled: the scheduler reads no plan to find it."""
GATED_TABLE = "gated-table"
"""The label with the name of a dataset whose deliveries are snapshots of a table, besides `PULL`."""
DERIVED = "derived"
"""The label with the name of a dataset that is derived from others."""
REVALIDATED = "revalidated"
"""The label with the name of a dataset that has rules with a schedule of their own."""
TABLE = "table"
"""The label with the name of a dataset that is published as a table."""
REJECTED_TABLE = "rejected-table"
"""The label with the name of such a dataset, if single rows of it are rejected: these are a table, too."""
NAMES = ("name", "owner", "domain", "tag", "producer", "consumer")
"""The names of labels; a contract has several tags."""


def labels_of(contract: Contract) -> tuple[tuple[str, str], ...]:
    """The labels that a document declares: its name, its owner, the domain of ODCS, producer and consumer of DCM."""
    return tuple(dict.fromkeys((name, value) for name, value in _labels(contract) if value))


def _labels(contract: Contract) -> Iterator[tuple[str, str]]:
    about = contract.about
    yield "name", contract.name or ""
    yield "owner", about.owner or ""
    yield "domain", _text(about.sections.get("domain"))
    yield from (("tag", tag) for tag in about.tags)
    for name in ("producer", "consumer"):
        section = about.sections.get(name)
        yield name, _text(section.get("name") if isinstance(section, Mapping) else section)
    yield from ((PULL, dataset.name) for dataset in contract.datasets if dataset.policy.pull)
    gated = (dataset for dataset in contract.datasets if dataset.policy.pull and dataset.policy.pull.is_table)
    yield from ((GATED_TABLE, dataset.name) for dataset in gated)
    yield from ((DERIVED, dataset.name) for dataset in contract.datasets if dataset.policy.derive)
    scheduled = (dataset for dataset in contract.datasets if any(rule.schedule for rule in dataset.rules))
    yield from ((REVALIDATED, dataset.name) for dataset in scheduled)
    as_tables = [dataset for dataset in contract.datasets if dataset.policy.publish_as is PublishAs.ICEBERG]
    yield from ((TABLE, dataset.name) for dataset in as_tables)
    by_rows = (dataset for dataset in as_tables if dataset.policy.on_reject is OnReject.ROWS)
    yield from ((REJECTED_TABLE, dataset.name) for dataset in by_rows)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# ---- Placeholders and variables ----
# In a query `{table}` and `${table}` are placeholders, replaced when the query is compiled; any other `${NAME}` is a variable
# of ODCS 3.2, replaced before the document is validated. A reserved name is always a placeholder.


PLACEHOLDERS = frozenset(
    ("model", "table", "object", "schema", "dataset", "project", "catalog", "database", "field", "column", "property")
)
VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")


# ---- Names of contracts and datasets ----


LONGEST_NAME = 128
"""Bytes: contract, dataset and line together stay far below what a key may have."""


def is_usable(name: str) -> bool:
    """Whether a contract or dataset can have this name; the leading underscore is reserved."""
    bad = "/" in name or not name.isprintable() or name.startswith(("_", ".")) or name != name.strip()
    return bool(name) and not bad and len(name.encode()) <= LONGEST_NAME


_NUMBERED = re.compile(r"(?P<contract>.+)-(?P<version>[0-9]+\.[0-9]+\.[0-9]+)", re.DOTALL)


def split_release(name: str) -> tuple[str, str] | None:
    """Contract and version of a name that ends in a release, such as `shop-1.0.0`; None for any other.

    No contract has such an id: each version would be a contract of its own, and would have the name of another's version.
    """
    found = _NUMBERED.fullmatch(name)
    return (found["contract"], found["version"]) if found else None


def refuse_unusable(name: str) -> None:
    """Raise InputError for a name that cannot be a folder of the lake."""
    if not is_usable(name):
        raise InputError(
            f"the name {name!r} cannot be a folder of the lake: at most {LONGEST_NAME} bytes, no slash, no leading dot or _"
        )

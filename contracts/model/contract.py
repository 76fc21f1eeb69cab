"""The model of a contract, common to all document formats.

A `Contract` describes datasets; a `Rule` is any requirement of their data: a field constraint, a quality rule or a service level.
Readers (`contracts/documents`) build the model and `contracts/compile` compiles it to a plan; no other module knows the formats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from functools import cached_property
from types import MappingProxyType

from lakegate.contracts.model.origin import FieldSource
from lakegate.contracts.model.policy import Policy
from lakegate.contracts.model.storage import Csv, Storage
from lakegate.contracts.model.types import LogicalType

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
    """A requirement of a contract, of a kind that `lakegate.contracts.compile.rules` describes."""

    id: str
    kind: str
    origin: Origin
    fields: tuple[str, ...] = ()
    """Paths of the rule's fields; empty for a rule of the whole dataset."""
    arguments: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    comparison: Comparison | None = None
    tolerance: Tolerance = Tolerance()
    severity: Severity = Severity.FAIL
    name: str | None = None
    dimension: str | None = None
    schedule: str = ""
    """When it is measured over all accepted data, as EventBridge writes it; empty: it is measured with each delivery."""


@dataclass(frozen=True, slots=True)
class Example:
    """An example value of a field; None is null."""

    written: str | None
    origin: Origin


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a dataset, or a nested field."""

    name: str
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
    """What it is made of, if the document declares its lineage."""


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
    """How long its subscribers have before a version with a higher major number takes effect."""
    description: str | None = None
    """Of a table that was read from a schema of another tool; documents keep theirs as they are."""

    def field(self, path: str) -> Field | None:
        """The field at a path, which may be nested, or None."""
        return self._by_path.get(path)

    @cached_property
    def _by_path(self) -> dict[str, Field]:
        """The fields, nested ones included; of two with one path the first."""
        found: dict[str, Field] = {}
        open_fields = list(reversed(self.fields))
        while open_fields:
            each = open_fields.pop()
            found.setdefault(each.name, each)
            open_fields += reversed(each.parts)
        return found


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
    name: str | None = None
    status: str | None = None
    about: About = field(default_factory=About)
    common: Dataset | None = None
    """The dataset with the name `*`: its requirements hold for every dataset of the contracts that inherit."""
    inherits: ParentReference | None = None
    require: tuple[str, ...] = ()
    """What the contract, and each one that inherits from it, must declare: keys of `contracts/lint/inheritance.py`."""
    shared_with: tuple[str, ...] = ()
    """Who else may refer to its accepted data and inherit from it: ids of contracts, or the beginning of ids and a star."""

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
        return next((each for each in self.datasets if each.name == name), None)


def separated(datasets: Iterable[Dataset]) -> tuple[tuple[Dataset, ...], Dataset | None]:
    """The datasets of a document without the common one, and that one."""
    found = list(datasets)
    common = next((each for each in found if each.name == COMMON), None)
    return tuple(each for each in found if each is not common), common

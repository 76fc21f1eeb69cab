"""The plan: all checks of one dataset and how to read it, content-addressed (`plan.json`).

A plan is all the job knows of a contract: no YAML reaches it. Fields carry generated aliases (`c0`, `c1`, …), so that no text of
a contract becomes a name in an engine's language.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from contracts.check import Check
from contracts.codec import decode, digest, encode
from contracts.model import Csv, Policy, Storage
from contracts.schemas import validate
from contracts.types import LogicalType

VERSION = "lakegate/plan/1"
OF_MAPS = ("{key}", "{value}")
ENTRIES = "{}"
_ELEMENTS = ("[]", ENTRIES)


class Shape(Enum):
    """Whether values have parts of their own, and which."""

    VALUE = "value"
    RECORD = "record"
    LIST = "list"
    MAP = "map"
    ANY = "any"
    """Parts that nobody declares: what they are is not judged."""


@dataclass(frozen=True, slots=True)
class PlanField:
    """One declared column, or a part of one: where its data is found and what its text means."""

    name: str
    alias: str
    type: LogicalType
    classification: str | None = None
    shape: Shape = Shape.VALUE
    path: tuple[str, ...] = ()
    """Steps to a part: `.name` of a record, `[]` for elements of a list, `{key}` and `{value}` of a map; a column has none."""

    @property
    def place(self) -> tuple[str, ...]:
        """The steps to the field from its row; of a column the only one, its name."""
        return self.path or (f".{self.name}",)

    @property
    def level(self) -> tuple[str, ...]:
        """The steps to the list or map whose elements the field belongs to; none where it belongs to the row itself."""
        steps = tuple(ENTRIES if step in OF_MAPS else step for step in self.place)
        last = max((at for at, step in enumerate(steps) if step in _ELEMENTS), default=-1)
        return steps[: last + 1]

    @property
    def public(self) -> bool:
        """Whether raw values may be shown in reports (P15: an allow-list)."""
        return self.classification is not None and self.classification.strip().lower() == "public"


@dataclass(frozen=True, slots=True)
class Plan:
    """All checks of one dataset of one contract version."""

    contract: str
    contract_version: str
    dataset: str
    fields: tuple[PlanField, ...]
    checks: tuple[Check, ...]
    policy: Policy = field(default_factory=Policy)
    csv: Csv = field(default_factory=Csv)
    storage: Storage = field(default_factory=Storage)
    version: str = VERSION

    @property
    def digest(self) -> str:
        """The plan's address: SHA-256 of its canonical JSON."""
        return digest(self)

    @property
    def columns(self) -> tuple[PlanField, ...]:
        """The declared columns, without their parts."""
        return tuple(each for each in self.fields if not each.path)

    def field(self, name: str) -> PlanField:
        """The declared field of that name (KeyError where there is none)."""
        return {each.name: each for each in self.fields}[name]

    def to_json(self) -> dict[str, object]:
        """The document `plan.json`."""
        document: dict[str, object] = encode(self)
        return document

    @staticmethod
    def from_json(document: object) -> Plan:
        """The plan a document writes; InputError where it breaks the schema."""
        validate("plan", document)
        return decode(Plan, document)

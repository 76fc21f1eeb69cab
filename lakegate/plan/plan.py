"""The plan: all checks of one dataset and how to read it, content-addressed (`plan.json`).

The job reads only the plan, never the contract's YAML. Fields have generated aliases (`c0`, `c1`, …), so that no text of a
contract becomes an identifier in an engine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Final, Literal

from lakegate.base.json_codec import DOCUMENT_NAME, Bounds, Name, Pattern, VersionedDocument, digest, omit_default
from lakegate.contract.contract_model import FieldLineage, Shape
from lakegate.contract.delivery_policy import OnReject, Policy, PublishAs
from lakegate.contract.field_paths import column_path, path_of
from lakegate.contract.file_formats import Csv, Format, Storage
from lakegate.contract.logical_types import SCALE, LogicalType
from lakegate.contract.service_levels import ServiceLevel
from lakegate.plan.check import Check, Query, Scale, predicates_of, referred_datasets, referred_in
from lakegate.plan.dataset_about import DatasetAbout
from lakegate.plan.external_rule import ExternalRule
from lakegate.plan.planned_workflow import PlannedWorkflow
from lakegate.plan.predicates import Predicate, fields_of, leaves

PLAN_VERSION: Final = "lakegate/plan/1"
MOST_MEMBERS: Final = Bounds(most=100_000)
"""Fields of a dataset, and checks of a plan."""
OF_MAPS = ("{key}", "{value}")
ENTRIES = "{}"
_ELEMENTS = ("[]", ENTRIES)


@dataclass(frozen=True, slots=True)
class PlanField:
    """One declared column or nested field: its path and its type."""

    name: Name
    """Its path as a text (`lakegate.contract.field_paths`); in plans of before, of a column just its name."""
    alias: Annotated[str, Pattern("c[0-9]{1,5}")]
    type: LogicalType
    classification: Annotated[str, Bounds(most=1024)] | None = None
    shape: Shape = Shape.VALUE
    path: Annotated[tuple[Annotated[str, Bounds(1, 1025)], ...], Bounds(most=64)] = ()
    """Steps to the field: `.name` to a column or a member, `[]` of a list, `{key}` and `{value}` of a map.

    Empty for a column whose path is its name.
    """
    physical: Annotated[str, Bounds(most=1 << 20)] | None = None
    """The other name that the contract gives a column (`physicalName`): deliveries have `name`."""
    scale: Scale = omit_default(SCALE)
    """The digits after the point of a decimal's values."""
    zone: bool | None = omit_default(None)
    """Of moments in files with a schema of their own: whether its type says that they have a zone. None: either will do."""

    @property
    def words(self) -> str:
        """Its type, for reasons."""
        return (
            self.type.value if self.zone is None else f"{self.type.value} {'with' if self.zone else 'without'} a zone"
        )

    @property
    def place(self) -> tuple[str, ...]:
        """The steps to the field from its row; for a column only its name."""
        return self.path or (f".{self.name}",)

    @property
    def column(self) -> str:
        """The name of its column, as deliveries have it."""
        return self.place[0][1:]

    @property
    def is_column(self) -> bool:
        """Whether it is no nested field."""
        return not self.path[1:]

    @property
    def level(self) -> tuple[str, ...]:
        """The steps to the list or map whose elements the field belongs to; empty if it belongs to the row."""
        steps = tuple(ENTRIES if step in OF_MAPS else step for step in self.place)
        last = max((at for at, step in enumerate(steps) if step in _ELEMENTS), default=-1)
        return steps[: last + 1]

    @property
    def public(self) -> bool:
        """Whether raw values may be shown in reports (P15: an allow-list)."""
        return self.classification is not None and self.classification.strip().lower() == "public"


@dataclass(frozen=True, slots=True)
class ScheduledCheck:
    """A check of a rule with a schedule: it is measured over all accepted data of the dataset, not with a delivery."""

    schedule: Annotated[str, Pattern(r"cron\([ -~]{1,300}\)")]
    """`cron(…)`, in UTC."""
    check: Check


@dataclass(frozen=True)
class Plan(VersionedDocument):
    """All checks of one dataset of one contract version."""

    schema = "plan"
    contract: Name
    contract_version: Annotated[str, Bounds(1, 256)]
    dataset: Name
    fields: Annotated[tuple[PlanField, ...], MOST_MEMBERS]
    checks: Annotated[tuple[Check, ...], MOST_MEMBERS]
    policy: Policy = field(default_factory=Policy)
    csv: Csv = field(default_factory=Csv)
    storage: Storage = field(default_factory=Storage)
    version: Literal["lakegate/plan/1"] = PLAN_VERSION
    service_levels: tuple[ServiceLevel, ...] = field(default=(), metadata={DOCUMENT_NAME: "promises"})
    lineage: tuple[FieldLineage, ...] = ()
    """Of the fields whose lineage the contract declares."""
    workflow: PlannedWorkflow | None = None
    """The published workflow that the policy names, pinned when the contract is published; None: that of every delivery."""
    external: Annotated[tuple[ExternalRule, ...], MOST_MEMBERS] = ()
    """The rules that registered validators measure, one for each check of `Metric.EXTERNAL`; bound when it is published."""
    scheduled: Annotated[tuple[ScheduledCheck, ...], MOST_MEMBERS] = ()
    """Each has a skipped check with its id among `checks`."""
    about: DatasetAbout | None = None
    """Statements for readers of slices, or of a table; None in other plans."""
    derived: Query | None = omit_default(None)
    """The query whose rows are the delivery, over accepted data alone: its column `kN` is that of the field with this number.
    None: the rows are those of the objects that arrived."""

    @property
    def references(self) -> tuple[str, ...]:
        """The datasets whose accepted data is read beside a delivery, sorted."""
        return tuple(sorted({*referred_datasets(self.checks), *(referred_in(self.derived) if self.derived else ())}))

    @property
    def digest(self) -> str:
        """The plan's address: SHA-256 of its canonical JSON."""
        return digest(self)

    @property
    def published(self) -> Plan:
        """The plan by which what it accepted is read: slices are Parquet, whatever was delivered."""
        is_sliced = self.policy.publish_as is PublishAs.PARQUET
        return replace(self, storage=Storage(Format.PARQUET)) if is_sliced else self

    @property
    def current(self) -> Plan:
        """The plan by which rules read what it accepted: of snapshots, that is the newest one as it was delivered.

        Of upserts, what a person names as accepted rows likewise; those of a stack are slices (`Reference.is_corrected`).
        """
        return self if self.policy.merge_strategy.corrects else self.published

    @property
    def unjudged(self) -> Plan:
        """The plan by which objects of a delivery are read again, each record as it is: nothing is measured or rejected."""
        return replace(self, policy=replace(self.policy, on_reject=OnReject.FILE), checks=())

    def of_schedules(self, due: Collection[str]) -> Plan:
        """The plan that measures accepted data by some of the schedules: what is broken is reported, and shows no value."""
        checks = tuple(check.check for check in self.scheduled if check.schedule in due)
        policy = Policy(samples=False, allow_empty=True)
        own = replace(self.current, checks=checks, policy=policy, scheduled=(), derived=None)
        return replace(own, service_levels=(), lineage=(), workflow=None, external=())

    @property
    def columns(self) -> tuple[PlanField, ...]:
        """The declared columns, without nested fields."""
        return tuple(field for field in self.fields if field.is_column)

    @property
    def physical_names(self) -> dict[str, str]:
        """The physical names of columns that have one, by their paths."""
        return {column.name: column_path(column.physical) for column in self.columns if column.physical}

    @property
    def columns_by_path(self) -> dict[str, PlanField]:
        """The columns by their paths, which plans of before do not have, and by the names in this plan."""
        return {column.name: column for column in self.columns} | {
            path_of(column.place): column for column in self.columns
        }

    def named(self, text: str) -> tuple[PlanField, ...]:
        """The fields that a person can mean: by path, or the column of that name; two where one is also the other."""
        return tuple(
            field for field in self.fields if text in ((field.name, field.column) if field.is_column else (field.name,))
        )

    def paths_of(self, names: Iterable[str]) -> tuple[str, ...]:
        """The columns of a file by their paths: of declared ones as the plan names them."""
        declared = {column.column: column.name for column in self.columns}
        return tuple(declared.get(name, column_path(name)) for name in names)

    def field(self, name: str) -> PlanField:
        """The declared field of that name; KeyError if there is none."""
        return self._by_name[name]

    def read_as(self, kind: type[Predicate]) -> frozenset[str]:
        """Aliases of the fields that predicates of one kind read."""
        read = (leaf for whole in predicates_of(self.checks) for leaf in leaves(whole) if isinstance(leaf, kind))
        return frozenset(self.field(name).alias for leaf in read for name in fields_of(leaf))

    @cached_property
    def _by_name(self) -> dict[str, PlanField]:
        return {field.name: field for field in self.fields}

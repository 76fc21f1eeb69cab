"""The current rows of a dataset with the columns and types of its contract, whatever arrived."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakegate.admission.file_signatures import UnreadableError
from lakegate.base.errors import InputError
from lakegate.base.extension_points import load_extensions
from lakegate.engine.read.data_source import LocalStore
from lakegate.engine.read.open_delivery import open_source
from lakegate.engine.typed_columns import PlanColumns, TypedColumns
from lakegate.gate.datasets.readers_manifest import not_current_in, whole
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Alarm
from lakegate.plan.plan import Plan
from lakegate.plan.request import StagedPart
from lakegate.transfer.download_files import ListedDelivery, deliveries, fetched

if TYPE_CHECKING:
    from collections.abc import Callable

    RowsOfSlices = Callable[[Dependencies, dict[str, Any], Path], Iterator[pa.Table]]
    """A row of the extension point `sliced rows`: the rows of the slices that were not taken back, some at a time. Files go to
    the folder."""


def plan_at(dependencies: Dependencies, digest: str, workload: str) -> Plan:
    """A plan by its digest. InputError where it cannot be read."""
    try:
        return Plan.from_json(json.loads(dependencies.plan_at(digest, workload)))
    except Alarm as alarm:
        raise InputError(f"the plan {digest[:12]} cannot be read: {alarm}") from None


@dataclass(frozen=True)
class RowsOfDataset:
    """The rows of the accepted deliveries of a dataset above a height, but for those that were recalled or superseded."""

    dependencies: Dependencies
    head: dict[str, Any]
    """Of the dataset's manifest."""
    since: int
    _plans: dict[str, Plan] = field(default_factory=dict)
    """Those that were read, by digest."""

    @property
    def dataset(self) -> str:
        """Its whole name."""
        return str(self.head["line"])

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """With all deliveries above the height."""
        return whole(self.dependencies, self.head, self.since)

    @cached_property
    def listed(self) -> tuple[ListedDelivery, ...]:
        """The deliveries, by height."""
        state = not_current_in(self.head)
        return tuple(each for each in deliveries(self.manifest, self.since) if each.height not in state)

    def plan(self, listed: Mapping[str, Any]) -> Plan:
        """The plan of a listed delivery. InputError where it cannot be read."""
        digest = listed["plan"]
        if digest not in self._plans:
            self._plans[digest] = plan_at(self.dependencies, digest, listed["workload"])
        return self._plans[digest]

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of all deliveries, with the types that the values of each fit in."""
        schemas = dict.fromkeys(PlanColumns(self.plan(each.listed)).schema for each in self.listed)
        return pa.unify_schemas(list(schemas), promote_options="permissive") if schemas else self.without_rows.schema

    @property
    def without_rows(self) -> pa.Table:
        """A table without rows, with the columns of the newest accepted delivery; of a dataset that has none without columns."""
        segments = self.head["segments"]
        above = (segments["count"] - 1) * segments["heights"] - 1
        newest = whole(self.dependencies, self.head, above)["deliveries"][-1:]
        if not newest or "slices" in newest[0]:
            return pa.table({})
        return PlanColumns(self.plan(newest[0])).schema.empty_table()

    def tables(self, listed: Iterable[ListedDelivery], folder: Path) -> Iterator[pa.Table]:
        """The rows of deliveries, some at a time, each with the columns of its own. Their objects go to the folder.

        Raises InputError where an object is not as the manifest lists it.
        """
        sliced: list[dict[str, Any]] = []
        for each in listed:
            if "slices" in each.listed:
                sliced.append(each.listed)
            else:
                yield from self._arrived(each, folder)
        if not sliced:
            return
        readers: list[RowsOfSlices] = list(load_extensions("sliced rows"))
        if not readers:
            raise InputError(f"{self.dataset} is published as slices, and the feature that reads them is not installed")
        for reader in readers:
            yield from reader(self.dependencies, {**self.manifest, "deliveries": sliced}, folder)

    def _arrived(self, delivery: ListedDelivery, folder: Path) -> Iterator[pa.Table]:
        """The rows of a delivery that was published as it arrived, read by its plan."""
        fetched(self.dependencies, folder, delivery, lambda _: None)
        plan = self.plan(delivery.listed)
        parts = tuple(StagedPart((folder / one.place).resolve().as_uri(), one.size, one.key) for one in delivery.files)
        try:
            columns = TypedColumns(plan, open_source(plan, parts, LocalStore()))
            yield columns.schema.empty_table()
            yield from columns.tables(folder)
        except UnreadableError as error:
            raise InputError(f"an object of height {delivery.height} cannot be read by its plan: {error}") from None

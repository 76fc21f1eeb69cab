"""publishAs: iceberg: whether the fields of a contract can be columns of a table, and settings without an effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lakegate.base.text import quote
from lakegate.contract.contract_model import Contract, Dataset, Shape
from lakegate.contract.delivery_policy import PublishAs
from lakegate.contract.documents.document_tree import Document
from lakegate.contract.file_formats import Format
from lakegate.lints.findings import Finding, Lint, LintLevel, settings_of
from lakegate.plan.plan import OF_MAPS, PlanField
from lakegate.rules.compile_plan import plan_fields

RESERVED: Final = frozenset(
    {
        *("_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number"),
        *("_change_type", "_change_ordinal", "_commit_snapshot_id"),
    }
)
"""Columns that engines add to every table of Iceberg; they refuse tables with columns of these names."""


def misfits(dataset: Dataset) -> Iterator[tuple[str, str]]:
    """The fields that no table can have, each with the reason and the remedy."""
    return misfits_of(plan_fields(dataset.fields, with_inner=True), dataset.storage.format)


def misfits_of(fields: tuple[PlanField, ...], form: Format) -> Iterator[tuple[str, str]]:
    """Likewise of planned fields, and the format that is delivered."""
    parts = {field.place: field for field in fields}
    opened = {field.place[:-1] for field in fields if not field.is_column}
    known: dict[str, str] = {}
    for each in fields:
        same = known.setdefault(_name_of(each), each.name)
        if each.is_column and each.column.lower() in RESERVED:
            yield each.name, "every table of Iceberg has a column of this name: rename the field"
        elif same != each.name:
            yield each.name, f"many engines do not tell this name from that of {quote(same)}: rename one of the two"
        elif each.shape is not Shape.VALUE and form is Format.CSV:
            yield each.name, "a CSV file has no parts of values: declare a text, or say which `format` is delivered"
        elif each.shape is Shape.MAP and not _is_map(each, parts):
            yield each.name, "a map has keys of one plain type, and values of one type: declare both"
        elif each.shape is Shape.ANY or (each.shape is not Shape.VALUE and each.place not in opened):
            yield each.name, "a column of a table has one type: declare the fields, or the items, of the values"


def _name_of(field: PlanField) -> str:
    """The name of a column of a table, as engines that ignore case have it; of parts with the names of what they are in."""
    return ".".join([field.column, *(step.removeprefix(".") for step in field.place[1:])]).lower()


def _is_map(field: PlanField, parts: dict[tuple[str, ...], PlanField]) -> bool:
    keys, values = (parts.get((*field.place, step)) for step in OF_MAPS)
    return keys is not None and keys.shape is Shape.VALUE and values is not None


def no_table(contract: Contract, _document: Document) -> Iterator[Finding]:
    """With `publishAs: iceberg`, each field has a name and a type that a table can have."""
    for dataset in (each for each in contract.datasets if each.policy.publish_as is PublishAs.ICEBERG):
        if not dataset.fields:
            yield dataset.origin.path, "With `publishAs: iceberg` a table has at least one column: declare the fields."
        for name, reason in misfits(dataset):
            field = dataset.field(name)
            assert field is not None
            yield field.origin.path, f"With `publishAs: iceberg` {reason}."


def idle_setting(contract: Contract, document: Document) -> Iterator[Finding]:
    """Only a table has earlier states that are kept, and files that are put together."""
    for name in ("timeTravelDays", "compactTable"):
        for place, datasets in settings_of(contract, document, name):
            if all(dataset.policy.publish_as is not PublishAs.ICEBERG for dataset in datasets):
                yield place.path, f"`{name}` has an effect only with `publishAs: iceberg`: add that, or remove it."


LINTS: Final = {
    "no-table": Lint(LintLevel.ERROR, no_table),
    "idle-table-setting": Lint(LintLevel.WARNING, idle_setting),
}

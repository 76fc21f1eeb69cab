"""Whether the accepted rows of a dataset can be slices of Open Data Fabric: names of columns, and types that ODF's hash knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.nested_fields import planned
from lakegate.contracts.model.storage import Format
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.odf.columns import COMMON
from lakegate.contracts.plan.plan import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.model.contract import Dataset
    from lakegate.contracts.plan.plan import PlanField

TIMES = {LogicalType.DATE, LogicalType.TIMESTAMP}


def misfits(dataset: Dataset) -> Iterator[tuple[str, str]]:
    """The fields that no slice can have, each with the reason and the remedy."""
    fields = planned(dataset.fields, with_inner=True)
    opened = {each.path[:-1] for each in fields if each.path}
    for each in fields:
        if not each.path and each.name.lower() in COMMON:
            yield each.name, "every slice has a column of this name: rename the field"
        elif each.shape is not Shape.VALUE and dataset.storage.format is Format.CSV:
            yield each.name, "a CSV file has no parts of values: declare a text, or say which `format` is delivered"
        elif each.shape is Shape.MAP:
            yield each.name, "ODF's logical hash does not know maps: declare a record, or a list of texts"
        elif each.shape is Shape.RECORD and each.level:
            yield each.name, "ODF's logical hash does not know records in lists: declare lists of plain values"
        elif each.shape is Shape.ANY or (each.shape is not Shape.VALUE and each.place not in opened):
            yield each.name, "a column of a slice has one type: declare the fields, or the items, of the values"


def merge_key(dataset: Dataset) -> tuple[str, ...]:
    """The columns by which rows are merged: those of the primary key; none where parts of values are in it."""
    keys = [rule.fields for rule in dataset.rules if rule.kind == "primaryKey"]
    names = {
        each.name for each in planned(dataset.fields, with_inner=True) if not each.path and each.shape is Shape.VALUE
    }
    return keys[0] if len(keys) == 1 and set(keys[0]) <= names else ()


def event_time_misfit(fields: tuple[PlanField, ...], name: str) -> str | None:
    """Why a column has no times of events; None if it has."""
    found = next((each for each in fields if each.name == name and not each.path), None)
    if found is None:
        return "the contract has no such column"
    if found.type not in TIMES or found.shape is not Shape.VALUE:
        return "it is neither a date nor a timestamp"
    return None

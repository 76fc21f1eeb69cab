"""Compares the schema of a file with the declared fields. Columns are bound by name.

A declared column that the file lacks is absent; a column that is not declared is extra. Their order is of no account: readers of
these formats find columns by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.contracts.door.file_signatures import UnreadableError
from lakegate.contracts.judge.no_header import other_names
from lakegate.contracts.model.policy import OnReject
from lakegate.contracts.plan.result import Columns, IncompatibleType
from lakegate.engine.read.bounds import GRACE, GRACE_VALUES, RATIO, refuse_columns, unreadable
from lakegate.engine.type.physical import Kind, Physical, holds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakegate.contracts.plan.plan import Plan, PlanField

    Found = tuple[PlanField, Physical | None]
    """A field, and its type in the file; None if the file does not have it."""

UNWRITTEN = {Kind.TIME, Kind.OTHER, Kind.NOTHING}
"""Kinds whose values Spark cannot write as they came."""


@dataclass(frozen=True, slots=True)
class Table:
    """Schema and size of a file."""

    schema: Physical
    rows: int
    bounds: tuple[int, ...]
    """Where its shares begin (row groups, stripes, bytes of blocks), and where the last one ends."""


def schema_of(tables: Sequence[Table]) -> Physical:
    """The schema of a delivery; UnreadableError where its objects have different ones, or name a column twice."""
    schema = tables[0].schema
    if any(each.schema != schema for each in tables):
        raise UnreadableError(
            "schema", "the objects of the delivery have different schemas: give all of them the same one"
        )
    names = [name for name, _ in schema.parts]
    if len(set(names)) < len(names):
        raise UnreadableError("header", "the file names a column twice: every column needs a name of its own")
    return schema


def names_of(schema: Physical, plan: Plan) -> list[str]:
    """The columns that are read: the declared ones, and all of them where rows may have to be written again."""
    names = [name for name, _ in schema.parts]
    if plan.policy.on_reject is not OnReject.ROWS:
        return [name for name in names if name in {field.name for field in plan.columns}]
    for name, column in schema.parts:
        if {leaf.kind for leaf in column.leaves()} & UNWRITTEN:
            words = f"the column {name} has a type that cannot be written to split files"
            raise UnreadableError("schema", f"{words}: give it another one, or refuse whole files")
    return names


def found_in(schema: Physical, plan: Plan) -> list[Found]:
    """Each declared field with what the file has in its place."""
    return [(field, _physical(schema, field)) for field in plan.fields]


def columns_of(schema: Physical, plan: Plan, found: list[Found]) -> Columns:
    """The file's columns against the declared fields; UnreadableError where it has none of them."""
    names = [name for name, _ in schema.parts]
    declared = [field.name for field in plan.columns]
    if not set(names) & set(declared):
        words = other_names(names, declared, plan.physical_names)
        raise UnreadableError("header", words or "the file has none of the declared columns: is it of this dataset?")
    foreign = [(field, each) for field, each in found if each is not None and not holds(each, field)]
    return Columns(
        found=tuple(names),
        absent=tuple(field.name for field, each in found if each is None and not _is_in_foreign(field, foreign)),
        extra=tuple(_extra(schema, plan, found)),
        foreign=tuple(IncompatibleType(field.name, each.words) for field, each in foreign),
    )


def _physical(schema: Physical, field: PlanField) -> Physical | None:
    found: Physical | None = schema
    for step in field.place:
        found = found.part(step) if found is not None else None
    return found


def _is_in_foreign(field: PlanField, foreign: list[tuple[PlanField, Physical]]) -> bool:
    """Whether a part is missing because its parent is of another type, which is reported."""
    return any(field.place[: len(each.place)] == each.place for each, _ in foreign)


def _extra(schema: Physical, plan: Plan, found: list[Found]) -> list[str]:
    """Undeclared columns and members of records."""
    declared = {field.place for field in plan.fields}
    extra = [name for name, _ in schema.parts if (f".{name}",) not in declared]
    for field, physical in found:
        if physical is not None and physical.kind is Kind.RECORD and field.shape.value == "record":
            extra += [
                f"{field.name}.{name}" for name, _ in physical.parts if (*field.place, f".{name}") not in declared
            ]
    return extra


# --- bounds


def refuse_wide(schema: Physical) -> None:
    """UnreadableError where a file has too many columns."""
    refuse_columns(sum(1 for _ in schema.leaves()))


def refuse_values(table: Table, unpacked: int, size: int) -> None:
    """UnreadableError if a file declares far more values than its bytes can contain."""
    leaves = sum(1 for _ in table.schema.leaves())
    if unpacked > max(GRACE, RATIO * size) or table.rows * leaves * 8 > max(GRACE_VALUES, RATIO * size):
        raise unreadable("bomb")

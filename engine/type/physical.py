"""Compares the types of a file that contains its own schema, as a few kinds, with the declared types.

Types are compared structurally, never by a cast that might succeed. Where a column's kind cannot hold values of the declared
type, none of its values is one, and the reason names the file's own type.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.plan import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.plan.plan import PlanField


class Kind(Enum):
    """The kinds of values in all formats, each with its type in Spark."""

    TEXT = "STRING"
    BYTES = "BINARY"
    WHOLE = "BIGINT"
    EXACT = "DECIMAL"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    BOOLEAN = "BOOLEAN"
    DATE = "DATE"
    TIME = "STRING "
    """A time of day, which Spark has no type for: as text."""
    MOMENT = "TIMESTAMP"
    """With a zone, or without one, which is UTC (docs/types.md)."""
    RECORD = "STRUCT"
    LIST = "ARRAY"
    MAP = "MAP"
    NOTHING = "STRING  "
    """A column of nulls alone."""
    OTHER = "BOOLEAN "
    """Whatever no declared type has: only whether a value is there is known."""


@dataclass(frozen=True, slots=True)
class Physical:
    """The type of a column, or of a part of one."""

    kind: Kind
    words: str
    """The file's own name for it, for reasons."""
    digits: tuple[int, int] = (0, 0)
    """Precision and scale of an exact number."""
    parts: tuple[tuple[str, Physical], ...] = ()
    """Of a record its members; of a list `[]`; of a map `{key}` and `{value}`."""
    is_required: bool = field(default=False, compare=False)
    """Whether the schema forbids nulls; files with and without may be one delivery."""

    def part(self, step: str) -> Physical | None:
        """The part that a step of a plan's path leads to."""
        name = step[1:] if self.kind is Kind.RECORD and step.startswith(".") else step
        return dict(self.parts).get(name)

    @property
    def sql(self) -> str:
        """The type that Spark is given for it; members of records are named by their places."""
        inner = [part.sql for _, part in self.parts]
        match self.kind:
            case Kind.EXACT:
                return f"DECIMAL({self.digits[0]}, {self.digits[1]})"
            case Kind.RECORD:
                return f"STRUCT<{', '.join(f'f{at}: {each}' for at, each in enumerate(inner))}>"
            case Kind.LIST | Kind.MAP:
                return f"{self.kind.value}<{', '.join(inner)}>"
            case _:
                return str(self.kind.value).strip()

    def leaves(self) -> Iterator[Physical]:
        """The type itself, or all types without parts below it."""
        if not self.parts:
            yield self
        for _, part in self.parts:
            yield from part.leaves()


_HELD = {
    LogicalType.STRING: {Kind.TEXT},
    LogicalType.INTEGER: {Kind.WHOLE, Kind.EXACT},
    LogicalType.NUMBER: {Kind.WHOLE, Kind.EXACT, Kind.FLOAT, Kind.DOUBLE},
    LogicalType.DECIMAL: {Kind.WHOLE, Kind.EXACT},
    LogicalType.BOOLEAN: {Kind.BOOLEAN},
    LogicalType.DATE: {Kind.DATE},
    LogicalType.TIME: {Kind.TIME, Kind.TEXT},
    LogicalType.TIMESTAMP: {Kind.MOMENT},
    LogicalType.BINARY: {Kind.BYTES, Kind.TEXT},
}
"""The kinds whose values can be of a declared type (docs/data.md)."""
_SHAPES = {Shape.RECORD: Kind.RECORD, Shape.LIST: Kind.LIST, Shape.MAP: Kind.MAP}


def holds(physical: Physical, planned: PlanField) -> bool:
    """Whether a column of that type can contain values of the declared one."""
    if physical.kind is Kind.NOTHING or planned.shape is Shape.ANY:
        return True
    if planned.shape in _SHAPES:
        return physical.kind is _SHAPES[planned.shape]
    is_fraction = physical.kind is Kind.EXACT and physical.digits[1] > 0
    return physical.kind in _HELD[planned.type] and not (is_fraction and planned.type is LogicalType.INTEGER)

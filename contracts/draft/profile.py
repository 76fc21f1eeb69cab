"""What is known of a delivery before it has a contract: its format, and what its columns contain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakegate.contracts.model.storage import Csv, Storage
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.plan import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Spelling:
    """A way to write values of a type that is not the one of the written grammar; all texts of a column have it."""

    type: LogicalType
    code: str
    """The mistake that `check` would name (`lakegate.contracts.judge.value_mistakes`)."""
    format: str | None = None
    """Of dates and times, the format that a contract can declare; None where more than one fits."""
    separators: str = ""
    """Of numbers, the decimal separator and after it that of thousands, where a contract can declare them."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a column that are present."""

    distinct: int = 0
    """How many there are; an estimate, unless the column is in `Profile.unique` or `words` has them."""
    low: str | None = None
    """The smallest value, as text: by the column's type, of strings by their bytes. None of types without an order."""
    high: str | None = None
    shortest: int = 0
    """Characters of the shortest one."""
    longest: int = 0
    shapes: tuple[tuple[str, int], ...] = ()
    """Shapes (`A` a capital, `a` a small letter, `9` a digit, other characters as they are) with their numbers of values: all of
    them, or none where they are too many."""
    words: tuple[tuple[str, int], ...] = ()
    """All distinct values with their numbers, where they are few; else none."""
    forms: tuple[tuple[str, int], ...] = ()
    """Forms of personal data (`lakegate.contracts.draft.personal.FORMS`), each with the number of values that have it."""
    codes: tuple[tuple[str, int], ...] = ()
    """Forms of codes (`lakegate.contracts.draft.shapes.CODES`), each with the number of values that have it."""
    almost: tuple[LogicalType, int] | None = None
    """Of strings: the type that most of them are values of, and how many are."""
    spelling: Spelling | None = None
    """Of strings: the type that they are values of in another spelling."""


@dataclass(frozen=True, slots=True)
class ProfiledColumn:
    """One column, or a nested field."""

    name: str
    """Its own name; of the items of a list, and of keys and values of a map, `[]`, `key` and `value`."""
    type: LogicalType
    shape: Shape = Shape.VALUE
    """ANY: its values are of several kinds."""
    is_certain: bool = False
    """Whether the file itself declares the type."""
    physical: str | None = None
    """The physical type of an exact number: `decimal(10,2)`."""
    rows: int = 0
    """Rows, elements or records around it that could have a value."""
    present: int = 0
    values: Values = field(default_factory=Values)
    parts: tuple[ProfiledColumn, ...] = ()

    @property
    def meaning(self) -> LogicalType:
        """The type of its values, in whichever spelling."""
        return self.type if self.values.spelling is None else self.values.spelling.type

    def inner(self) -> Iterator[ProfiledColumn]:
        """The column and all nested ones."""
        yield self
        for part in self.parts:
            yield from part.inner()


@dataclass(frozen=True, slots=True)
class Profile:
    """What a delivery contains."""

    storage: Storage
    csv: Csv
    rows: int
    files: int
    columns: tuple[ProfiledColumn, ...]
    unique: tuple[str, ...] = ()
    """Columns that have a value in each row, and none twice."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Pairs of columns that are unique together, the likeliest key first; looked for where no unique column may be a key."""
    malformed: int = 0
    """Records that cannot be read."""

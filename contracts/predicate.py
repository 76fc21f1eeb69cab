"""Row conditions as frozen values: what a row must be, never a string of any engine's language.

**Null policy**: every predicate but `Present` holds for a null. Those that compare values (`OneOf`, `Within`, `MultipleOf`)
hold for a text that is not of its field's type (the type check answers for it); `Length` and `Matches` judge it as written.
Behind `Not` and `All` stands three-valued logic: what a row gives nothing to judge is neither true nor false, and holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Present:
    """The field has a value (an empty quoted text is one)."""

    kind: ClassVar = "present"
    field: str


@dataclass(frozen=True, slots=True)
class Typed:
    """The text is a value of the field's declared type, by its written grammar."""

    kind: ClassVar = "typed"
    field: str


@dataclass(frozen=True, slots=True)
class OneOf:
    """The value equals one of a closed list: as text for text, as a number for numbers, as a moment for dates."""

    kind: ClassVar = "one_of"
    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Within:
    """The value lies between two bounds (decimal or ISO text), inclusive unless open; None is no bound."""

    kind: ClassVar = "within"
    field: str
    low: str | None = None
    high: str | None = None
    low_open: bool = False
    high_open: bool = False


@dataclass(frozen=True, slots=True)
class Length:
    """The text has between `low` and `high` code points, inclusive."""

    kind: ClassVar = "length"
    field: str
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Matches:
    """A part of the text matches a regular expression in the dialect of plans (anchors make it the whole)."""

    kind: ClassVar = "matches"
    field: str
    pattern: str


@dataclass(frozen=True, slots=True)
class MultipleOf:
    """The number is a whole multiple of another."""

    kind: ClassVar = "multiple_of"
    field: str
    factor: str


class Relation(Enum):
    """How the first of two values stands to the second."""

    EQUAL = "equal"
    GREATER = "greater"
    AT_LEAST = "at_least"


@dataclass(frozen=True, slots=True)
class Compare:
    """The value of one field stands in a relation to that of another, of the same row."""

    kind: ClassVar = "compare"
    field: str
    relation: Relation
    other: str


@dataclass(frozen=True, slots=True)
class Not:
    """The inner predicate does not hold (a null still passes)."""

    kind: ClassVar = "not"
    inner: Predicate


@dataclass(frozen=True, slots=True)
class All:
    """Every inner predicate holds."""

    kind: ClassVar = "all"
    inner: tuple[Predicate, ...]


Predicate = Present | Typed | OneOf | Within | Length | Matches | MultipleOf | Compare | Not | All


def fields_of(predicate: Predicate) -> frozenset[str]:
    """The fields a predicate reads."""
    match predicate:
        case Not(inner):
            return fields_of(inner)
        case All(inner):
            return frozenset().union(*map(fields_of, inner))
        case Compare(field, _, other):
            return frozenset({field, other})
        case _:
            return frozenset({predicate.field})


def where(given: Predicate | None, predicate: Predicate) -> Predicate:
    """The predicate, asked of those rows alone for which `given` surely holds."""
    return predicate if given is None else Not(All((given, Not(predicate))))


def together(*parts: Predicate | None) -> Predicate | None:
    """All of the given parts at once; None where there are none."""
    said = tuple(part for part in parts if part is not None)
    return None if not said else said[0] if len(said) == 1 else All(said)


def any_present(fields: Iterable[str]) -> Predicate:
    """At least one of the fields has a value."""
    return Not(All(tuple(Not(Present(name)) for name in fields)))

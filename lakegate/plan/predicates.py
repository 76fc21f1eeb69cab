"""Row conditions as values, and their evaluation on one literal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Annotated, Any, ClassVar

from lakegate.base.json_codec import DECIMAL, Bounds, Count, Name
from lakegate.base.text import for_python
from lakegate.contract.logical_types import SCALE, LogicalType, literal

# ---- Row conditions ----
# **Null policy**: every predicate except `Present` holds for a null. Those that compare values (`OneOf`, `Within`,
# `MultipleOf`) hold for a text that is not of its field's type, which the type check reports; `Length`, `Matches` and
# `JsonForm` use the text as written.
# `Size` and `NoRepeats` hold for a value that is no list, map or record, likewise. `Not` and `All` use
# three-valued logic: a predicate on a null is unknown, and unknown holds.


Limit = Annotated[str, Bounds(1, 2002)]


@dataclass(frozen=True, slots=True)
class Present:
    """The field has a value (an empty quoted text is a value)."""

    kind: ClassVar = "present"
    field: Name


@dataclass(frozen=True, slots=True)
class Typed:
    """The text matches the grammar of the field's declared type."""

    kind: ClassVar = "typed"
    field: Name


@dataclass(frozen=True, slots=True)
class OneOf:
    """The value is in a list, compared as text, number, date or timestamp by the field's type."""

    kind: ClassVar = "one_of"
    field: Name
    values: Annotated[tuple[Annotated[str, Bounds(most=1 << 16)], ...], Bounds(1, 100_000)]


@dataclass(frozen=True, slots=True)
class Within:
    """The value is between two bounds (decimal or ISO text), inclusive unless open; None: no bound."""

    kind: ClassVar = "within"
    field: Name
    low: Limit | None = None
    high: Limit | None = None
    low_open: bool = False
    high_open: bool = False


@dataclass(frozen=True, slots=True)
class Length:
    """The text has between `low` and `high` code points, inclusive."""

    kind: ClassVar = "length"
    field: Name
    low: Count | None = None
    high: Count | None = None


@dataclass(frozen=True, slots=True)
class Matches:
    """A regular expression in the dialect of plans is found in the text (anchors require the whole text)."""

    kind: ClassVar = "matches"
    field: Name
    pattern: Annotated[str, Bounds(most=1 << 16)]


@dataclass(frozen=True, slots=True)
class JsonForm:
    """The text is JSON that a JSON Schema describes."""

    kind: ClassVar = "json_form"
    field: Name
    schema: Annotated[str, Bounds(1, 1 << 17)]
    """Of draft 2020-12, without references; its patterns are in the dialect of plans (`lakegate.rules.json_schema_rules`)."""


@dataclass(frozen=True, slots=True)
class MultipleOf:
    """The number is a whole multiple of another."""

    kind: ClassVar = "multiple_of"
    field: Name
    factor: Annotated[str, DECIMAL]


@dataclass(frozen=True, slots=True)
class Size:
    """The list has between `low` and `high` elements, the map so many entries, the record so many members with a value."""

    kind: ClassVar = "size"
    field: Name
    low: Count | None = None
    high: Count | None = None


@dataclass(frozen=True, slots=True)
class NoRepeats:
    """No two elements of the list are equal; nulls are equal to each other."""

    kind: ClassVar = "no_repeats"
    field: Name


class Relation(Enum):
    """A comparison of two values."""

    EQUAL = "equal"
    GREATER = "greater"
    AT_LEAST = "at_least"


@dataclass(frozen=True, slots=True)
class Compare:
    """Compares the value of one field with that of another field of the same row."""

    kind: ClassVar = "compare"
    field: Name
    relation: Relation
    other: Name


@dataclass(frozen=True, slots=True)
class Not:
    """The inner predicate does not hold (a null still passes)."""

    kind: ClassVar = "not"
    inner: Predicate


@dataclass(frozen=True, slots=True)
class All:
    """Every inner predicate holds."""

    kind: ClassVar = "all"
    inner: Annotated[tuple[Predicate, ...], Bounds(1, 100)]


Predicate = (
    Present | Typed | OneOf | Within | Length | Matches | JsonForm | MultipleOf | Size | NoRepeats | Compare | Not | All
)


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


def leaves(predicate: Predicate) -> Iterator[Predicate]:
    """The predicates inside a predicate that have none inside themselves."""
    match predicate:
        case Not(inner):
            yield from leaves(inner)
        case All(inner):
            for each in inner:
                yield from leaves(each)
        case _:
            yield predicate


def where(given: Predicate | None, predicate: Predicate) -> Predicate:
    """The predicate restricted to rows for which `given` is true (not null); it holds for all others."""
    return predicate if given is None else Not(All((given, Not(predicate))))


def together(*parts: Predicate | None) -> Predicate | None:
    """The conjunction of the parts that are not None; None if there are none."""
    present = tuple(part for part in parts if part is not None)
    return None if not present else present[0] if len(present) == 1 else All(present)


def any_present(fields: Iterable[str]) -> Predicate:
    """At least one of the fields has a value."""
    return Not(All(tuple(Not(Present(name)) for name in fields)))


# ---- Predicates on literals ----
# Examples and listed values that violate their own field are found so, and minima and maxima of a data summary are judged.


LONGEST_JUDGED = 200
"""The most characters of a value that a pattern is matched with."""


def holds(predicate: Predicate, logical: LogicalType, written: str, scale: int = SCALE) -> bool:
    """Whether a literal satisfies a predicate; True if that cannot be decided here. `scale` is that of a decimal's field."""
    match predicate:
        case Not(inner):
            return not holds(inner, logical, written, scale)
        case All(inner):
            return all(holds(each, logical, written, scale) for each in inner)
        case Length(_, low, high):
            return (low is None or low <= len(written)) and (high is None or len(written) <= high)
        case JsonForm():
            return True
        case Matches(_, pattern):
            return len(written) > LONGEST_JUDGED or re.search(for_python(pattern), written) is not None
        case _:
            value = literal(logical, written, scale)
            return not isinstance(predicate, Typed) if value is None else _compared(predicate, logical, value)


def _compared(predicate: Predicate, logical: LogicalType, value: str) -> bool:
    match predicate:
        case OneOf(_, values):
            return any(sort_key(logical, each) == sort_key(logical, value) for each in values)
        case MultipleOf(_, factor):
            return Fraction(value) % Fraction(factor) == 0
        case Within():
            return _within(predicate, logical, value)
        case _:
            return True


def _within(bounds: Within, logical: LogicalType, value: str) -> bool:
    key: Any = sort_key(logical, value)
    low, high = (None if end is None else sort_key(logical, end) for end in (bounds.low, bounds.high))
    if low is not None and (key < low or (bounds.low_open and key == low)):
        return False
    return high is None or key < high or (not bounds.high_open and key == high)


def sort_key(logical: LogicalType, value: str) -> Any:  # noqa: ANN401 -- all values of one type have keys of one type
    """The sort key of a value of a type, in the form of plans: numbers by value, timestamps in UTC, others as text."""
    if logical is LogicalType.NUMBER:
        return float(value)
    if logical.numeric:
        return Decimal(value)
    if logical is LogicalType.TIMESTAMP:
        moment = datetime.fromisoformat(value)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return value

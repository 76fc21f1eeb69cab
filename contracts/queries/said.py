"""What an expression says: its text in Spark's SQL, its kind, and what must be known of it to use it inside another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from contracts.queries.refusal import RefusedError, UntranslatedError
from contracts.types import LogicalType

MOST_GROWTH = 64
"""How many times the text of a value an expression may hold: more is a bomb."""
LONGEST_TEXT = 32_768


class Kind(Enum):
    """Kinds of values, as far as they are computed with differently. Their names are for sentences."""

    INTEGER = "a whole number"
    SUM = "a sum of whole numbers"
    DECIMAL = "an exact number"
    DOUBLE = "a number"
    TEXT = "a text"
    BOOLEAN = "true or false"
    DATE = "a date"
    TIMESTAMP = "a moment"
    DURATION = "a stretch of time"
    """Microseconds, as a whole number."""
    MONTHS = "a number of months"
    NULL = "null"

    @property
    def numeric(self) -> bool:
        """Whether values are numbers."""
        return self in NUMBERS

    @property
    def temporal(self) -> bool:
        """Whether values are points in time."""
        return self in {Kind.DATE, Kind.TIMESTAMP}


NUMBERS = (Kind.INTEGER, Kind.SUM, Kind.DECIMAL, Kind.DOUBLE)
KINDS = {
    LogicalType.STRING: Kind.TEXT,
    LogicalType.INTEGER: Kind.INTEGER,
    LogicalType.NUMBER: Kind.DOUBLE,
    LogicalType.DECIMAL: Kind.DECIMAL,
    LogicalType.BOOLEAN: Kind.BOOLEAN,
    LogicalType.DATE: Kind.DATE,
    LogicalType.TIMESTAMP: Kind.TIMESTAMP,
    LogicalType.BINARY: Kind.TEXT,
}


@dataclass(frozen=True, slots=True)
class Said:
    """An expression in Spark's SQL, whole in itself: it can stand anywhere without brackets."""

    text: str
    kind: Kind
    bare: frozenset[str] = frozenset()
    """Columns of the own SELECT that it reads outside of aggregates."""
    growth: int = 1
    aggregates: bool = False
    windows: bool = False
    asks: bool = False
    """Whether it holds a query of its own."""
    outer: bool = False
    """Whether it reads a column of the query around it."""
    constant: str | None = None
    """What a text constant writes."""


def made(text: str, kind: Kind, *parts: Said, growth: int | None = None) -> Said:
    """An expression made of others."""
    size = max((each.growth for each in parts), default=1) if growth is None else growth
    if size > MOST_GROWTH or len(text) > LONGEST_TEXT:
        raise RefusedError("query-too-large", "The query builds values that grow: keep them as long as they are.")
    return Said(
        text,
        kind,
        frozenset().union(*(each.bare for each in parts)),
        size,
        any(each.aggregates for each in parts),
        any(each.windows for each in parts),
        any(each.asks for each in parts),
        any(each.outer for each in parts),
    )


def wanted(said: Said, *kinds: Kind) -> Said:
    """The expression, if it is of one of these kinds (null is of every kind)."""
    if said.kind in kinds or said.kind is Kind.NULL:
        return said
    raise UntranslatedError(f"it uses {said.kind.value} where {kinds[0].value} is needed")


def number(said: Said) -> Said:
    """The expression, if it is a number."""
    return wanted(said, *NUMBERS)


def double(said: Said) -> Said:
    """A number as a float."""
    if said.kind is Kind.DOUBLE:
        return said
    return replace(number(said), text=f"CAST({said.text} AS DOUBLE)", kind=Kind.DOUBLE)


def exact(said: Said) -> Said:
    """A number as an exact one; beyond 20 digits before the point there is none (null)."""
    if said.kind is Kind.DECIMAL:
        return said
    return replace(number(said), text=f"try_cast({said.text} AS DECIMAL(38,18))", kind=Kind.DECIMAL)


def moment(said: Said) -> Said:
    """A point in time as a moment: a date is its midnight."""
    if said.kind is Kind.DATE:
        return replace(said, text=f"CAST({said.text} AS TIMESTAMP)", kind=Kind.TIMESTAMP)
    return wanted(said, Kind.TIMESTAMP)


def micros(said: Said) -> str:
    """A point in time as microseconds since 1970."""
    return f"unix_micros({moment(said).text})"


def of_one_kind(*parts: Said) -> tuple[Kind, list[Said]]:
    """Expressions turned into their common kind, and that kind; null takes any."""
    kinds = {each.kind for each in parts} - {Kind.NULL}
    if len(kinds) <= 1:
        return next(iter(kinds), Kind.NULL), list(parts)
    for common, family, turn in _FAMILIES:
        if kinds <= family:
            return common, [each if each.kind is Kind.NULL else turn(each) for each in parts]
    words = " with ".join(sorted(each.value for each in kinds))
    raise UntranslatedError(f"it mixes {words}")


_FAMILIES = (
    (Kind.DECIMAL, {Kind.INTEGER, Kind.DECIMAL}, exact),
    (Kind.DOUBLE, set(NUMBERS), double),
    (Kind.TIMESTAMP, {Kind.DATE, Kind.TIMESTAMP}, moment),
)

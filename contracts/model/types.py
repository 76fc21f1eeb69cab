"""The grammar of the texts of each logical type (docs/types.md).

A value is checked as text before any cast, so that the result does not depend on a lenient cast (` 1`, `1d`, `2019` as a date,
`NaN`). The pattern checks characters and structure, the cast checks range and calendar: a value is of its type if the whole text
matches and the cast succeeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class LogicalType(Enum):
    """The logical types of fields, common to all document formats."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    BINARY = "binary"

    @property
    def numeric(self) -> bool:
        """Whether values are compared as numbers."""
        return self in {LogicalType.INTEGER, LogicalType.NUMBER, LogicalType.DECIMAL}

    @property
    def ordered(self) -> bool:
        """Whether values are ordered, so that bounds apply."""
        return self not in {LogicalType.STRING, LogicalType.BOOLEAN, LogicalType.BINARY}


class Cast(Enum):
    """The types that text is cast to."""

    TEXT = "text"
    LONG = "long"
    DOUBLE = "double"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"


@dataclass(frozen=True, slots=True)
class Grammar:
    """The grammar of a type's values."""

    pattern: str | None
    """Regular expression that the whole text matches; None if any text is a value."""
    cast: Cast
    words: str
    """The description of the grammar, for reasons and docs/types.md."""


_MINUTE = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_SECOND = r":[0-5][0-9](?:\.[0-9]{1,9})?"
_OFFSET = r"(?:Z|[+-](?:0[0-9]|1[0-8]):[0-5][0-9])"

GRAMMARS = {
    LogicalType.STRING: Grammar(None, Cast.TEXT, "any text"),
    LogicalType.INTEGER: Grammar(r"[-+0-9]+", Cast.LONG, "a whole number such as 1234, within 64 bits"),
    LogicalType.NUMBER: Grammar(
        r"[-+.0-9]{1,200}(?:[eE][-+]?[0-9]{1,2})?",
        Cast.DOUBLE,
        "a decimal number such as 1234.50",
    ),
    LogicalType.DECIMAL: Grammar(
        r"[-+]?(?:[0-9]{1,20}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})",
        Cast.DECIMAL,
        "a decimal number of at most 20 digits before and 18 after the point",
    ),
    LogicalType.BOOLEAN: Grammar(r"true|false|TRUE|FALSE|True|False", Cast.BOOLEAN, "true or false"),
    LogicalType.DATE: Grammar(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", Cast.DATE, "a calendar date as YYYY-MM-DD"),
    LogicalType.TIME: Grammar(
        f"{_MINUTE}(?:{_SECOND})?", Cast.TEXT, "a time of day as HH:MM, HH:MM:SS or with a fraction"
    ),
    LogicalType.TIMESTAMP: Grammar(
        rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ]{_MINUTE}(?:{_SECOND}{_OFFSET}?)?",
        Cast.TIMESTAMP,
        "a date and a time of day such as 2026-01-31T09:30:00Z; without an offset it is in UTC",
    ),
    LogicalType.BINARY: Grammar(None, Cast.TEXT, "any bytes; in CSV and JSON any text"),
}

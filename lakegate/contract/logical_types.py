"""Logical types, the grammar of their values, constants in canonical form."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum

# ---- The grammar of each logical type (docs/types.md) ----
# A value is checked as text before any cast, so that the result does not depend on a lenient cast (` 1`, `1d`, `2019` as a
# date, `NaN`). The pattern checks characters and structure, the cast checks range and calendar: a value is of its type if the
# whole text matches and the cast succeeds.


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


PRECISION, SCALE = 38, 18
"""The digits of a decimal, as in the engines, and those of them that follow the point unless its field declares others."""
TOO_MANY_DIGITS = (
    f"Decimals have at most {PRECISION} digits. Of a field that declares more, numbers of more than {PRECISION - SCALE} digits "
    f"before the point, or {SCALE} after it, are rejected: declare at most {PRECISION}, or the type `string` with a `pattern`."
)


def decimal_scale(precision: int, scale: int) -> int:
    """The scale of a decimal that declares these digits: its own where `SCALE` leaves too few before or after the point.

    A precision beyond `PRECISION` changes nothing: no engine has such decimals.
    """
    is_wide = precision - scale > PRECISION - SCALE or scale > SCALE
    return scale if is_wide and precision <= PRECISION and 0 <= scale <= PRECISION else SCALE


def _decimal(scale: int) -> Grammar:
    """The grammar of decimals of a scale. Zeros may follow up to `SCALE` digits after the point."""
    before, zeros = PRECISION - scale, max(SCALE - scale, 0)
    whole, pad = f"[0-9]{{1,{before}}}" if before else "0", f"0{{0,{zeros}}}" if zeros else ""
    fraction = rf"\.[0-9]{{1,{scale}}}{pad}" if scale else rf"\.0{{1,{zeros}}}"
    return Grammar(
        rf"[-+]?(?:{whole}(?:\.[0-9]{{0,{scale}}}{pad})?|{fraction})",
        Cast.DECIMAL,
        f"a decimal number of at most {before} digits before and {scale} after the point",
    )


_MINUTE = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_SECOND = r":[0-5][0-9](?:\.[0-9]{1,9})?"
_OFFSET = r"(?:Z|[+-](?:0[0-9]|1[0-8]):[0-5][0-9])"

GRAMMARS = {
    LogicalType.STRING: Grammar(None, Cast.TEXT, "any text"),
    LogicalType.INTEGER: Grammar(r"[-+0-9]+", Cast.LONG, "a whole number such as 1234, within 64 bits"),
    LogicalType.NUMBER: Grammar(
        r"[-+.0-9]{1,200}(?:[eE][-+]?[0-9]{1,3})?",
        Cast.DOUBLE,
        "a decimal number such as 1234.50",
    ),
    LogicalType.DECIMAL: _decimal(SCALE),
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


_DECIMALS = tuple(map(_decimal, range(PRECISION + 1)))


def grammar(logical: LogicalType, scale: int = SCALE) -> Grammar:
    """The grammar of the values of a field of this type; `scale` is that of a decimal."""
    return _DECIMALS[scale] if logical is LogicalType.DECIMAL else GRAMMARS[logical]


# ---- Literals of a contract ----
# Literals are checked when the contract is compiled, so that engines never see a bound or a listed value that is not of its
# field's type.


_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
_MIDNIGHT = "00:00:00.000000000"
_MAX_OFFSET = "18:00"
LONGEST_NUMBER = 400
"""The most characters of a number without exponent: more than any finite float needs before its point."""


def text_of(value: object) -> str:
    """A scalar of a document as text: booleans as JSON writes them, decimals without an exponent."""
    match value:
        case bool():
            return "true" if value else "false"
        case Decimal():
            return format(value, "f") if value.is_finite() else str(value)
        case _:
            return str(value)


def number_of(value: object) -> Decimal | None:
    """A scalar of a document as a finite number of limited length, or None; booleans are not numbers."""
    text = text_of(value)
    if not _NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    return number if len(format(number, "f")) <= LONGEST_NUMBER else None


def literal(logical: LogicalType, value: object, scale: int = SCALE) -> str | None:
    """The text of a value of this type in plans; None if it is not of the type, or of the scale of its decimals.

    Numbers are written without an exponent, times of day with nine digits of fraction, dates beside timestamps as their midnight.
    """
    return _exact(text_of(value), scale) if logical is LogicalType.DECIMAL else _LITERALS[logical](text_of(value))


def _numeric(text: str) -> str | None:
    number = number_of(text)
    return None if number is None else format(number, "f")


def _float(text: str) -> str | None:
    written = _numeric(text)
    return written if written is not None and math.isfinite(float(written)) else None


def _exact(text: str, scale: int = SCALE) -> str | None:
    written = _numeric(text)
    if written is None:
        return None
    shortest = written.rstrip("0").rstrip(".") if "." in written else written
    before, _, after = shortest.lstrip("-").partition(".")
    return shortest if len(before.lstrip("0")) <= PRECISION - scale and len(after) <= scale else None


def _date(text: str) -> str | None:
    if not _of_grammar(LogicalType.DATE, text):
        return None
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return None


def _timestamp(text: str) -> str | None:
    day, clock = text[:10], text[11:]
    if _date(day) is None:
        return None
    if text == day:
        return f"{day}T00:00:00Z"
    offset = re.search(r"[-+](\d\d:\d\d)$", clock)
    too_far = offset is not None and offset[1] > _MAX_OFFSET
    return text if _of_grammar(LogicalType.TIMESTAMP, text) and not too_far else None


def _of_grammar(logical: LogicalType, text: str) -> bool:
    pattern = GRAMMARS[logical].pattern
    return pattern is not None and re.fullmatch(pattern, text) is not None


_LITERALS: dict[LogicalType, Callable[[str], str | None]] = {
    LogicalType.STRING: str,
    LogicalType.INTEGER: _exact,
    LogicalType.NUMBER: _float,
    LogicalType.BOOLEAN: lambda text: text.lower() if text.lower() in {"true", "false"} else None,
    LogicalType.DATE: _date,
    LogicalType.TIME: lambda text: text + _MIDNIGHT[len(text) :] if _of_grammar(LogicalType.TIME, text) else None,
    LogicalType.TIMESTAMP: _timestamp,
    LogicalType.BINARY: str,
}

"""Values of a contract in the canonical form of plans.

Literals are checked when the contract is compiled, so that engines never see a bound or a listed value that is not of its field's
type.
"""

from __future__ import annotations

import math
import re
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from lakegate.contracts.model.types import GRAMMARS, LogicalType

if TYPE_CHECKING:
    from collections.abc import Callable

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
_MIDNIGHT = "00:00:00.000000000"
_MAX_OFFSET = "18:00"
LONGEST_NUMBER = 400
"""The most characters of a number without exponent: more than any finite float needs before its point."""
DIGITS_BEFORE, DIGITS_AFTER = 20, 18
"""The most digits before and after the point of a decimal: 38 together, as in the engines."""


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


def literal(logical: LogicalType, value: object) -> str | None:
    """The text of a value of this type in plans; None if it is not of the type.

    Numbers are written without an exponent, times of day with nine digits of fraction, dates beside timestamps as their midnight.
    """
    return _LITERALS[logical](text_of(value))


def _numeric(text: str) -> str | None:
    number = number_of(text)
    return None if number is None else format(number, "f")


def _float(text: str) -> str | None:
    written = _numeric(text)
    return written if written is not None and math.isfinite(float(written)) else None


def _exact(text: str) -> str | None:
    written = _numeric(text)
    if written is None:
        return None
    shortest = written.rstrip("0").rstrip(".") if "." in written else written
    before, _, after = shortest.lstrip("-").partition(".")
    return shortest if len(before.lstrip("0")) <= DIGITS_BEFORE and len(after) <= DIGITS_AFTER else None


def _boolean(text: str) -> str | None:
    return text.lower() if text.lower() in {"true", "false"} else None


def _date(text: str) -> str | None:
    if not _of_grammar(LogicalType.DATE, text):
        return None
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return None


def _time(text: str) -> str | None:
    return text + _MIDNIGHT[len(text) :] if _of_grammar(LogicalType.TIME, text) else None


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
    LogicalType.DECIMAL: _exact,
    LogicalType.BOOLEAN: _boolean,
    LogicalType.DATE: _date,
    LogicalType.TIME: _time,
    LogicalType.TIMESTAMP: _timestamp,
    LogicalType.BINARY: str,
}

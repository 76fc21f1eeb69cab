"""The grammar of docs/types.md a second time, in plain Python: which texts are values of which type."""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from lakegate.contract.logical_types import LogicalType

_NUMBER = re.compile(r"(?=[^eE]{1,200}(?:[eE]|\Z))[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
_DECIMAL = re.compile(r"[-+]?(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?")
_CLOCK = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?", re.ASCII)
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ]([0-9:.]+)(Z|([-+])(\d\d):(\d\d))?", re.ASCII)
DAY_SECONDS = 86400


def parse(logical: LogicalType, text: str | None, scale: int = 18) -> Any:
    """The value that a text writes, comparable with others of its type; None where it writes none.

    `scale`: the digits after the point of a decimal, which has 38.
    """
    if text is None:
        return None
    return _decimal(text, scale) if logical is LogicalType.DECIMAL else _PARSERS[logical](text)


def separated(text: str | None, decimal: str, thousands: str) -> str | None:
    """A number with separators in the form without; None where it is written otherwise."""
    mantissa, mark, exponent = re.fullmatch(r"([^eE]*)([eE]?)(.*)", text or "", re.DOTALL).groups()  # type: ignore[union-attr]
    whole, *fraction = mantissa.split(decimal)
    groups = whole.lstrip("+-").split(thousands) if thousands else [whole.lstrip("+-")]
    is_grouped = len(groups) == 1 or (1 <= len(groups[0]) <= 3 and {len(each) for each in groups[1:]} == {3})
    digits = (*groups, *fraction)
    if text is None or not is_grouped or len(fraction) > 1 or not all(each == "" or each.isdigit() for each in digits):
        return None
    sign = whole[: len(whole) - len(whole.lstrip("+-"))]
    return sign + "".join(groups) + ".".join(["", *fraction]) + mark + exponent


def _integer(text: str) -> int | None:
    number = int(text) if re.fullmatch(r"[-+]?[0-9]+", text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _float(text: str) -> float | None:
    """A number that is neither infinite as a float nor, of other digits than 0, zero."""
    if not _NUMBER.fullmatch(text):
        return None
    found, exact = float(text), Decimal(text)
    return found if math.isfinite(found) and (found == 0) == (exact == 0) else None


def _decimal(text: str, scale: int) -> Decimal | None:
    """Zeros alone may stand behind the digits of the scale, up to the eighteenth; before the point, one zero always may."""
    found = _DECIMAL.fullmatch(text)
    if found is None:
        return None
    whole, fraction = found[1], found[2] or ""
    has_room = len(whole) <= 38 - scale or whole == "0"
    return Decimal(text) if has_room and len(fraction) <= max(scale, 18) and not fraction[scale:].strip("0") else None


def _boolean(text: str) -> bool | None:
    return (
        {"true": True, "false": False}.get(text.lower()) if text in {text.lower(), text.upper(), text.title()} else None
    )


def _date(text: str) -> tuple[int, int, int] | None:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return None
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:])
    is_day = 1 <= month <= 12 and 1 <= day <= monthrange(year or 2000, month)[1]
    return (year, month, day) if is_day else None


def _time(text: str) -> Fraction | None:
    """Seconds since midnight."""
    found = _CLOCK.fullmatch(text)
    if not found:
        return None
    hour, minute, second = (int(found[each] or 0) for each in (1, 2, 3))
    if hour > 23 or minute > 59 or second > 59:
        return None
    return hour * 3600 + minute * 60 + second + Fraction(f"0.{found[4] or 0}")


def _timestamp(text: str) -> int | None:
    """Microseconds since 1970, the precision of the engine; finer digits are cut off."""
    found = _MOMENT.fullmatch(text)
    day, clock = (_date(found[1]), _time(found[2])) if found else (None, None)
    if found is None or day is None or clock is None:
        return None
    hours, minutes = int(found[5] or 0), int(found[6] or 0)
    offset = (hours * 60 + minutes) * (-60 if found[4] == "-" else 60)
    has_seconds = found[2].count(":") == 2
    if minutes > 59 or abs(offset) > 18 * 3600 or (found[3] and not has_seconds):
        return None
    return (days(day) * DAY_SECONDS - offset) * 10**6 + math.floor(clock * 10**6)


def days(day: tuple[int, int, int]) -> int:
    """Days since 1970; the year 0 is 400 years before the year 400."""
    year, month, number = day
    shift = 400 if year == 0 else 0
    moment = datetime(year + shift, month, number, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return moment // timedelta(days=1) - (146097 if shift else 0)


_PARSERS: dict[LogicalType, Callable[[str], Any]] = {
    LogicalType.STRING: lambda text: text,
    LogicalType.INTEGER: _integer,
    LogicalType.NUMBER: _float,
    LogicalType.BOOLEAN: _boolean,
    LogicalType.DATE: _date,
    LogicalType.TIME: _time,
    LogicalType.TIMESTAMP: _timestamp,
    LogicalType.BINARY: lambda text: text,
}

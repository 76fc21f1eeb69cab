"""Times in names of objects: `customers_%Y-%m-%d` finds the day in `in/customers_2026-11-24.csv`."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

WRITTEN: Final = (
    "text with `%Y`, `%m`, `%d` and, if the name has them, `%H`, `%M`, `%S`, each once, such as `day_%Y-%m-%d`"
)
"""The possible directives, in words."""
LONGEST_NAME_FORMAT: Final = 200
_DIGITS: Final = {"Y": 4, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2}
_FINER: Final = ("H", "M", "S")
_PART: Final = re.compile(r"%(.?)", re.DOTALL)
_HASHES: Final = re.compile(r"(?<![^/])[0-9a-f]{64}/|(?<=[0-9]{6}Z-)[0-9a-f]{12}-")
"""In keys that Lakegate made: the folder of an announced upload, and behind the time of a schedule what is pulled."""


def pattern_of(written: str) -> re.Pattern[str] | None:
    """The pattern of a time in a name; None where the text is none. Its groups are named after the parts of the time."""
    parts = _PART.findall(written)
    own = [part for part in parts if part != "%"]
    finer = [entry in own for entry in _FINER]
    if len(written) > LONGEST_NAME_FORMAT or not set("Ymd") <= set(own) <= set(_DIGITS) or len(set(own)) != len(own):
        return None
    if finer != sorted(finer, reverse=True):  # minutes without hours are no time
        return None
    pieces = _PART.split(written)
    escapes = [
        re.escape(piece) if at % 2 == 0 else "%" if piece == "%" else f"(?P<{piece}>[0-9]{{{_DIGITS[piece]}}})"
        for at, piece in enumerate(pieces)
    ]
    return re.compile("".join(escapes), re.ASCII)


def time_in(written: str, name: str) -> datetime | None:
    """The last time in a name, in UTC; None where it has none. Eight digits of a hash are often a day: hashes are left out."""
    pattern = pattern_of(written)
    for match in reversed(list(pattern.finditer(_HASHES.sub("", name))) if pattern else []):
        try:
            return datetime(*(int(match[digit]) for digit in _DIGITS if digit in match.groupdict()), tzinfo=UTC)  # type: ignore[misc, arg-type]  # six numbers at most
        except ValueError:
            continue
    return None

"""Types of unquoted texts in a document: exact numbers, true, false, null, else text.

This is the core schema of YAML 1.2 without octal, hexadecimal and infinite numbers and leading zeros: `NO`, `12:30`, `010` and
`2024-01-01` are texts, as in JSON.
"""

from __future__ import annotations

import re
from decimal import Decimal

Scalar = str | bool | int | Decimal | None

LONGEST_NUMBER = 100
"""Characters; longer numbers are refused, because exact arithmetic with them is too slow."""
LARGEST_EXPONENT = 400
"""Larger than the range of 64-bit floats; without a limit, exact arithmetic could exhaust the memory."""

WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
NUMBER = re.compile(r"[-+]?(?:(?P<whole>0|[1-9][0-9]*)(?P<part>\.[0-9]*)?|\.[0-9]+)(?:[eE](?P<exponent>[-+]?[0-9]+))?")


class TooLargeError(ValueError):
    """A number exceeds the limits."""


def meaning(text: str) -> Scalar:
    """The value of an unquoted text; TooLargeError for a number that exceeds the limits."""
    if text in WORDS:
        return WORDS[text]
    number = NUMBER.fullmatch(text)
    if number is None:
        return text
    if len(text) > LONGEST_NUMBER or abs(int(number["exponent"] or 0)) > LARGEST_EXPONENT:
        raise TooLargeError
    whole = number["whole"] is not None and number["part"] is None and number["exponent"] is None
    return int(text) if whole else Decimal(text)

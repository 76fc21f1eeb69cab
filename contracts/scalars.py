"""What a bare (unquoted) text of a document means: numbers exactly as written, true, false, null, and otherwise the text itself.

This is YAML 1.2's core schema without its octal, hexadecimal, infinite and zero-led numbers: `NO`, `12:30`, `010` and
`2024-01-01` stay texts, as they would in JSON.
"""

from __future__ import annotations

import re
from decimal import Decimal

Scalar = str | bool | int | Decimal | None

LONGEST_NUMBER = 100
"""Characters; longer numbers are refused, since exact arithmetic with them costs more than any contract is worth."""
LARGEST_EXPONENT = 400
"""Beyond the range of 64-bit floats; an exponent of a billion would make exact arithmetic run out of memory."""

WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
NUMBER = re.compile(r"[-+]?(?:(?P<whole>0|[1-9][0-9]*)(?P<part>\.[0-9]*)?|\.[0-9]+)(?:[eE](?P<exponent>[-+]?[0-9]+))?")


class TooLargeError(ValueError):
    """A number longer or larger than any contract needs."""


def meaning(text: str) -> Scalar:
    """The value of a bare text; TooLargeError for a number out of bounds."""
    if text in WORDS:
        return WORDS[text]
    number = NUMBER.fullmatch(text)
    if number is None:
        return text
    if len(text) > LONGEST_NUMBER or abs(int(number["exponent"] or 0)) > LARGEST_EXPONENT:
        raise TooLargeError
    whole = number["whole"] is not None and number["part"] is None and number["exponent"] is None
    return int(text) if whole else Decimal(text)

"""The named formats of texts (`valid format`), as the list of valid formats of SodaCL describes them.

As in Soda, spaces are allowed around a text, and between the parts of a number. Addresses are stricter: an `email` has a domain
with a point, and the numbers of an `ip address` go up to 255.
"""

from __future__ import annotations

from typing import Final

from lakegate.rules.field_constraints import NAME_AT_DOMAIN, TEXT_FORMS

_SIGNS: Final = {"": "[-+]? *", "positive ": r"\+? *", "negative ": "- *"}
_MARKS: Final = {"": "[.,]", " point": r"\.", " comma": ","}
_CURRENCY: Final = " *(?:[A-Z]{3}|[a-z]{3})"
_DAY, _MONTH, _YEAR = "(?:0?[1-9]|[12][0-9]|3[01])", "(?:0?[1-9]|1[0-2])", "(?:[12][0-9])?[0-9]{2}"
_HOURS: Final = {"24h": "(?:[01]?[0-9]|2[0-3])", "12h": "(?:0?[0-9]|1[0-2])"}
_MINUTE: Final = "[0-5]?[0-9]"
_SECOND: Final = "[0-5]?[0-9](?:[.,][0-9]+)?"
_DATE: Final = "[12][0-9]{3}-?(?:(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12][0-9]|3[01])|W[0-5][0-9](?:-?[1-7])?|[0-3][0-9]{2})"
"""Year with month and day, with a week, or with the day of the year."""
_TIME: Final = (
    f"[ T]{_HOURS['24h']}(?::?[0-5][0-9](?::?[0-5][0-9](?:[.,][0-9]+)?)?)?(?:Z|[-+]{_HOURS['24h']}(?::?[0-5][0-9])?)?"
)


def _digits(mark: str, digit: str = "[0-9]") -> str:
    return f"(?:{digit}+(?:{mark}{digit}+)?|{mark}{digit}+)"


def _sign_number(sign: str, mark: str, unit: str) -> str:
    """A number of a sign; a negative one may be zero without a sign."""
    number = f"{_SIGNS[sign]}{_digits(mark)}"
    return f"(?:{number}|{_digits(mark, '0')}){unit}" if sign == "negative " else f"{number}{unit}"


def _group_digits(group: str, mark: str) -> str:
    """A number with its digits in groups of three."""
    return f"[-+]? *[0-9]{{1,3}}(?:{group}[0-9]{{3}})*(?:{mark}[0-9]+)?{_CURRENCY}"


_NUMBERS: Final = {
    f"{sign}{name}{words}": _sign_number(sign, mark, unit)
    for name, unit in (("decimal", ""), ("percentage", " *%"))
    for sign in _SIGNS
    for words, mark in _MARKS.items()
}
_SPACED: Final = {
    "integer": "[-+]? *[0-9]+",
    "positive integer": r"\+? *[0-9]+",
    "negative integer": "(?:- *[0-9]+|0+)",
    **_NUMBERS,
    "money": f"[-+]? *{_digits('[.,]')}{_CURRENCY}",
    "money point": _group_digits(",", r"\."),
    "money comma": _group_digits(r"\.", ","),
    "date us": f"{_MONTH}[-./]{_DAY}[-./]{_YEAR}",
    "date eu": f"{_DAY}[-./]{_MONTH}[-./]{_YEAR}",
    "date inverse": f"{_YEAR}[-./]{_MONTH}[-./]{_DAY}",
    "date iso 8601": f"{_DATE}(?:{_TIME})?",
    **{f"time {name}": f"{hour}:{_MINUTE}(?::{_SECOND})?" for name, hour in _HOURS.items()},
    **{f"time {name} nosec": f"{hour}:{_MINUTE}" for name, hour in _HOURS.items()},
    **{f"timestamp {name}": f"{hour}:{_MINUTE}:{_SECOND}" for name, hour in _HOURS.items()},
}
FORMATS: Final = {
    "email": NAME_AT_DOMAIN,
    "uuid": TEXT_FORMS["uuid"].pattern,
    "ip address": TEXT_FORMS["ipv4"].pattern,
    "ipv4 address": TEXT_FORMS["ipv4"].pattern,
    "ipv6 address": TEXT_FORMS["ipv6"].pattern,
    "phone number": r"\A(?:(?:\+[0-9]{1,2} )?\(?[0-9]{3}\)?[ .-])?[0-9]{3}[ .-](?:[0-9]{4}|[A-Z]{4})\z",
    "credit card number": r"\A(?:[0-9]{14,19}|(?:[0-9]{4}-){3}[0-9]{4}|(?:[0-9]{4} ){3}[0-9]{4}|(?:[0-9]{5} ){3}[0-9]{5})\z",
    **{name: rf"\A *(?:{pattern}) *\z" for name, pattern in _SPACED.items()},
}
"""Each format with its pattern."""

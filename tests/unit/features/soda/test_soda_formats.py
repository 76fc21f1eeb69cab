"""The named formats of texts of SodaCL."""

from __future__ import annotations

import re

import pytest

from lakegate.base.text import for_python
from lakegate.features.soda.soda_formats import FORMATS

EXAMPLES: dict[str, tuple[list[str], list[str]]] = {
    "email": (["name@domain.example"], ["name@domain", "name"]),
    "uuid": (["123e4567-e89b-12d3-a456-426614174000"], ["123e4567e89b12d3a456426614174000"]),
    "ip address": (["192.0.2.1"], ["192.0.2", "192.0.2.256"]),
    "ipv4 address": (["192.0.2.1"], ["::1"]),
    "ipv6 address": (["2001:db8::1"], ["192.0.2.1"]),
    "phone number": (
        ["+12 123 123 1234", "123 123 1234", "+1 123-123-1234", "+12 123 123-1234", "555-2368", "555-ABCD"],
        ["12345", "555-23688"],
    ),
    "credit card number": (
        ["1234 5678 1234 5678", "1234-5678-1234-5678", "1234567812345678", "12345 12345 12345 12345"],
        ["1234 5678", "1234-5678 1234-5678"],
    ),
    "integer": (["12", "-12", "+ 12", " 12 "], ["1.5", "twelve", ""]),
    "positive integer": (["12", "+12"], ["-12"]),
    "negative integer": (["-12", "- 12", "0"], ["12"]),
    "decimal": (["1.5", "1,5", "-1", ".5"], ["1.", "1.5.2", "x"]),
    "positive decimal": (["1.5", "1,5"], ["-1.5"]),
    "negative decimal": (["-1.5", "-1,5", "0,0"], ["1.5"]),
    "decimal point": (["1.5", "-1.5", "2"], ["1,5"]),
    "positive decimal point": (["1.5"], ["-1.5", "1,5"]),
    "negative decimal point": (["-1.5", "0.0"], ["1.5", "-1,5"]),
    "decimal comma": (["1,5", "-1,5", "2"], ["1.5"]),
    "positive decimal comma": (["1,5"], ["-1,5", "1.5"]),
    "negative decimal comma": (["-1,5", "0,0"], ["1,5", "-1.5"]),
    "percentage": (["5%", "-1.5 %", "1,5%"], ["5", "%"]),
    "positive percentage": (["5%"], ["-5%"]),
    "negative percentage": (["-5%", "0%"], ["5%"]),
    "percentage point": (["1.5%"], ["1,5%"]),
    "positive percentage point": (["1.5%"], ["-1.5%", "1,5%"]),
    "negative percentage point": (["-1.5%"], ["1.5%", "-1,5%"]),
    "percentage comma": (["1,5%"], ["1.5%"]),
    "positive percentage comma": (["1,5%"], ["-1,5%", "1.5%"]),
    "negative percentage comma": (["-1,5%"], ["1,5%", "-1.5%"]),
    "money": (["12.50 EUR", "12,50eur"], ["12.50", "EUR"]),
    "money point": (["1,234,567.50 EUR"], ["1.234,50 EUR", "1,23 EUR"]),
    "money comma": (["1.234.567,50 EUR"], ["1,234.50 EUR"]),
    "date us": (["12/31/2021", "1-2-21"], ["31/12/2021"]),
    "date eu": (["31/12/2021", "31.12.21"], ["12/31/2021"]),
    "date inverse": (["2021/12/31", "21-12-31"], ["31/12/2021"]),
    "date iso 8601": (
        ["2021-04-28T09:00:00+02:00", "2021-04-28", "20210428", "2021-W17-3", "2021-118", "2021-04-28 09:00Z"],
        ["28/04/2021", "2021-13-01", "2021-04-28T25:00"],
    ),
    "time 24h": (["23:59:59", "7:05", "23:59:59.123"], ["24:00", "23"]),
    "time 24h nosec": (["23:59"], ["23:59:59"]),
    "time 12h": (["11:59:59", "12:00"], ["13:00"]),
    "time 12h nosec": (["11:59"], ["11:59:59", "13:00"]),
    "timestamp 24h": (["23:59:59"], ["23:59"]),
    "timestamp 12h": (["11:59:59"], ["13:59:59", "11:59"]),
}
"""Texts of each format, those of its reference among them, and texts that are not of it."""


def test_every_format_has_examples() -> None:
    """No format of the table is without a text of it, and none is missing."""
    assert set(FORMATS) == set(EXAMPLES)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_a_format_takes_its_texts_alone(name: str) -> None:
    """The texts of a format match its pattern, and the others do not."""
    pattern = re.compile(for_python(FORMATS[name]))
    good, bad = EXAMPLES[name]

    assert ([each for each in good if not pattern.search(each)], [each for each in bad if pattern.search(each)]) == (
        [],
        [],
    )

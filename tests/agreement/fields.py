"""The fields that generated contracts draw from, and the texts of their values: valid ones, and damaged ones."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A field: of a scalar kind, or one of `object`, `array` and `map` with its parts."""

    name: str
    kind: str
    parts: tuple[Field, ...] = ()
    """The fields of an object, the items of an array, the values of a map (whose keys are texts)."""


FLAT = tuple(
    Field(name, kind)
    for kind, names in {
        "string": ("id", "status", "name", "note"),
        "integer": ("total", "quantity"),
        "number": ("weight", "height"),
        "decimal": ("price", "fee"),
        "decimal(38,0)": ("balance",),
        "decimal(38,30)": ("rate",),
        "boolean": ("paid",),
        "date": ("day", "due"),
        "time": ("opens",),
        "timestamp": ("placed", "seen"),
        "binary": ("code",),
        "day": ("written",),
    }.items()
    for name in names
)
NESTED = (
    Field(
        "address",
        "object",
        (
            Field("street", "string"),
            Field("zip", "integer"),
            Field("place", "object", (Field("height", "number"),)),
        ),
    ),
    Field("items", "array", (Field("", "object", (Field("sku", "string"), Field("count", "integer"))),)),
    Field("tags", "array", (Field("", "string"),)),
    Field("prices", "map", (Field("", "decimal"),)),
)
LONG = "x" * 300
VALID: Mapping[str, tuple[str, ...]] = {
    "string": (
        *(
            "new",
            "closed",
            "paid",
            " new ",
            "it's",
            "é",
            "e\u0301",
            "😀",
            "",
            "NULL",
            "null",
            "N/A",
            "17",
            "a,b",
            "a;b",
        ),
        *("a\tb", 'say "hi"', "ab", "abc", "B", "2024-02-29", "29/02/2023", "'", "\\", "-", LONG, "a|b", "line\nbreak"),
        *("ana@example.org", "\u202e", "\ufeff", "%", "\x7f", "new"),
    ),
    "integer": (
        *("0", "1", "-1", "7", "007", "+5", "9223372036854775807", "-9223372036854775808", "42", "-0", "3", "2", "10"),
        *("255", "1000000"),
    ),
    "number": (
        *("0", "-0", "0.1", "-2.5", "1e3", "1E-2", ".5", "5.", "3.14159", "1e22", "123456789.123", "-0.0", "1", "2"),
        *("0.30000000000000004", "1e-99", "1E+20", "16777217", "10"),
    ),
    "decimal": (
        *("0", "1.50", "1.5", "-2.25", "12345678901234567890.123456789012345678", "0.000000000000000001", "10", "+3.1"),
        *("-99999999999999999999.999999999999999999", ".5", "7.", "0.1", "-0"),
    ),
    "decimal(38,0)": (
        "9" * 38,
        "-" + "9" * 38,
        "0",
        "1",
        "7.",
        "5.00",
        "12345678901234567890123456789012345678",
        "-2",
        "010",
    ),
    "decimal(38,30)": ("99999999." + "9" * 30, "-0." + "0" * 29 + "1", "0", "1.5", "0.1", "-2.25", ".5", "10", "1.50"),
    "boolean": ("true", "false", "TRUE", "False", "true"),
    "date": ("2024-01-05", "2024-02-29", "0000-01-01", "9999-12-31", "1582-10-10", "2023-12-31", "1969-12-31"),
    "time": ("12:00", "12:00:00", "23:59:59.999999999", "00:00", "09:30:00.5", "12:00:00.000"),
    "timestamp": (
        *("2026-01-01T03:04:05Z", "2024-01-05T01:02:03.000004Z", "2024-01-05 01:02", "2024-06-30T23:59:59+18:00"),
        *("0000-01-01T00:00:00", "9999-12-31T23:59:59.9999999Z", "1970-01-01T00:00:00", "1900-01-01T00:00:00-05:30"),
        *("2025-12-31T23:59:59.999999Z", "2026-01-02T00:00:00Z", "1582-10-10T10:10:10", "2024-01-05T01:02:00Z"),
    ),
    "binary": ("ab", "é", "00ff", "Zg==", "ab"),
    "day": ("29/02/2024", "01/12/2020", "31/12/1999"),
}
WRONG: Mapping[str, tuple[str, ...]] = {
    "string": ("",),
    "integer": (
        *("1.0", "1e3", "0x10", "1_000", " 12", "12 ", "9223372036854775808", "NaN", "x", "1,000", "--1", "٣", "1e400"),
        *("", "true", "N/A", "+", "1\u00a0000"),
    ),
    "number": ("NaN", "inf", "1e400", "1e100", "0x10", "1_000", " 1.5", "1,5", "", "1d", "n/a", "-", ".", "1e"),
    "decimal": ("123456789012345678901", "0.1234567890123456789", "1e3", "NaN", "1_0", "", "1,50", "."),
    "decimal(38,0)": ("1" + "0" * 38, "0.5", "5.01", "1e3", "NaN", "", "."),
    "decimal(38,30)": ("100000000", "0." + "0" * 30 + "1", "1e3", "", "1,50"),
    "boolean": ("yes", "1", "tRUE", "", "0", "t"),
    "date": (
        *("2023-02-29", "2024-1-5", "05/01/2024", "10000-01-01", "2024-01-05T00:00", "-001-01-01", "2024-13-01", ""),
        "05.01.2024",
    ),
    "time": ("24:00", "12:60", "1:00", "12:00:00Z", "", "12:00:60"),
    "timestamp": (
        *("2024-01-05", "2024-01-05T25:00:00Z", "2024-01-05T01:02Z", "0000-01-01T00:00:00+01:00", "1704416400", ""),
        *("9999-12-31T23:59:59-01:00", "2024-01-05T01:02:03+18:01", "2024-01-05t01:02:03Z"),
    ),
    "binary": ("",),
    "day": ("29/02/2023", "1/2/2024", "2024-02-29", ""),
}
NUMERIC = frozenset({"integer", "number", "decimal", "decimal(38,0)", "decimal(38,30)"})
WHOLE = frozenset({"integer", "decimal(38,0)"})
BOUNDED = NUMERIC | {"date", "timestamp"}


def pool(draw: random.Random, kind: str) -> list[str]:
    """Some valid texts of a kind, few enough that keys repeat."""
    return draw.sample(VALID[kind], draw.randint(1, min(8, len(VALID[kind]))))


def literal(draw: random.Random, kind: str) -> object:
    """A value of a field's kind as a contract writes it: a number of moderate size, or a text."""
    if kind in WHOLE:
        return draw.choice([-1, 0, 1, 2, 7, 42, 255])
    if kind in NUMERIC:
        return draw.choice([-2.5, 0, 0.1, 0.5, 1, 1.5, 10, 1000])
    if kind == "boolean":
        return draw.choice([True, False])
    return draw.choice([each for each in VALID[kind] if each.isprintable() and each])

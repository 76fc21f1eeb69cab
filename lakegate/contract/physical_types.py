"""Type names of databases and engines (BIT, NUMBER) as logical types."""

from __future__ import annotations

import re
from decimal import Decimal

from lakegate.contract.logical_types import SCALE, LogicalType, decimal_scale

# ---- Type names of other engines ----


_ENGINE_NAMES = {
    LogicalType.STRING: "str string text varchar char nvarchar stringtype object_",
    LogicalType.INTEGER: "int integer bigint smallint tinyint long int8 int16 int32 int64 integertype longtype shorttype "
    "bytetype",
    LogicalType.NUMBER: "float double float32 float64 real double_precision floattype doubletype number",
    LogicalType.DECIMAL: "decimal numeric decimaltype",
    LogicalType.BOOLEAN: "bool boolean booleantype bool_",
    LogicalType.DATE: "date datetype",
    LogicalType.TIME: "time",
    LogicalType.TIMESTAMP: "timestamp datetime datetime64 datetime64[ns] timestamptype timestamp_tz timestamp_ntz timestamptz",
    LogicalType.BINARY: "binary varbinary bytes bytea binarytype",
}

TYPE_NAMES = {name: logical for logical, names in _ENGINE_NAMES.items() for name in names.split()}
"""By the name in lower case."""


# ---- Logical types by physical type ----


EXACT = ("decimal", "numeric", "number", "dec", "bignumeric", "bigdecimal", "money", "smallmoney")

_NAMES = {
    LogicalType.INTEGER: "int integer bigint smallint tinyint mediumint hugeint byteint long short byte uint serial bigserial "
    "smallserial",
    LogicalType.NUMBER: "float double real",
    LogicalType.DECIMAL: " ".join(EXACT),
    LogicalType.BOOLEAN: "bool boolean",
    LogicalType.STRING: "varchar char character text string nvarchar nchar clob nclob ntext tinytext mediumtext longtext "
    "citext bpchar uuid uniqueidentifier xml",
    LogicalType.BINARY: "binary varbinary bytes bytea blob tinyblob mediumblob longblob image raw long_raw byte_array "
    "fixed_len_byte_array binary_large_object binary_varying",
    LogicalType.DATE: "date",
    LogicalType.TIME: "time timetz",
    LogicalType.TIMESTAMP: "timestamp timestamptz timestampntz timestampltz datetime datetimeoffset smalldatetime",
}

PHYSICAL = {name: logical for logical, names in _NAMES.items() for name in names.split()}
"""By the name in lower case, with `_` for spaces."""


def digits_of(text: str | None) -> tuple[int, int] | None:
    """The precision and scale in a physical type: of `DECIMAL(10, 2)`, and of `decimal(38)`, whose scale is 0; None without."""
    match = re.match(r"[a-z][a-z_ ]*\(\s*([0-9]{1,4})\s*(?:,\s*([0-9]{1,4})\s*)?\)", (text or "").strip().lower())
    return (int(match[1]), int(match[2] or 0)) if match else None


def length_of(text: str | None) -> int | None:
    """The length in a physical type of texts: 30 of `varchar(30)` and `VARCHAR2(30 CHAR)`; None without."""
    match = re.match(r"[a-z][a-z0-9_ ]*\(\s*([0-9]{1,9})\s*(?:char\s*)?\)", (text or "").strip().lower())
    return int(match[1]) or None if match else None


_ZONES = {
    **dict.fromkeys(("timestamptz", "timestampltz", "datetimeoffset"), True),
    **dict.fromkeys(("timestampntz", "datetime", "datetime2", "smalldatetime"), False),
}


def zone_of(text: str | None) -> bool | None:
    """Whether moments of a physical type, such as `timestamptz` or `TIMESTAMP(6) WITH TIME ZONE`, have an offset, or None."""
    words = re.sub(r"\([^()]*\)|\s+", " ", (text or "").lower()).split()
    if words[-2:] == ["time", "zone"]:
        return "without" not in words
    return _ZONES.get("".join(words).replace("_", ""))


def digit_bounds(precision: int, scale: int) -> tuple[Decimal, Decimal]:
    """The largest number of so many digits, `scale` of which follow the point, and the step between numbers.

    Both are exact; arithmetic with them, even a sign, would round to 28 digits.
    """
    return Decimal((0, (9,) * precision, -scale)), Decimal((0, (1,), -scale))


def scale_of(text: str | None) -> int:
    """The scale of the decimals of a physical type."""
    digits = digits_of(text)
    return decimal_scale(*digits) if digits else SCALE


_OF_SEVERAL = re.compile(r"[\[<]|\b(?:v?array|multiset|setof|list|map|struct|row|record)\b")
"""What a type of several values has: `text[]`, `integer ARRAY[4]`, `ARRAY<INT>`, `MAP(VARCHAR, INT)`, `SETOF text`."""


_ARRAYS = tuple(
    re.compile(entry, re.IGNORECASE | re.DOTALL)
    for entry in (r"(.+?)\s*\[\s*[0-9]*\s*\]", r"(.+?)\s+array", r"(?:array|list)\s*[<(](.+)[>)]")
)


def element_of(text: str | None) -> str | None:
    """The physical type of an array's elements: `int` of `int[]`, `int[3]`, `INT ARRAY`, `ARRAY<INT>`; None of other types."""
    matches = (array.fullmatch((text or "").strip()) for array in _ARRAYS)
    return next((item[1].strip() for item in matches if item), None)


def type_word(text: str | None) -> str:
    """The name in a physical type: `decimal` of `DECIMAL(10, 2)`, `timestamp` of `TIMESTAMP_NTZ`, `long_raw` of `LONG RAW`.

    Empty for a type of several values: what it is made of is no type of the whole.
    """
    if _OF_SEVERAL.search((text or "").lower()):
        return ""
    whole = re.match(r"[a-z]+(?:[ _][a-z]+)*", (text or "").strip().lower())
    name = whole[0].replace(" ", "_") if whole else ""
    return name if name in PHYSICAL else name.partition("_")[0]

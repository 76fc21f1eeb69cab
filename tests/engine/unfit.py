"""Files with values that do not fit the type that the file itself gives them, for both engines.

Each case has good values, one that does not fit, and the number of failing values.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lakegate.contract.file_formats import Format
from tests.deliveries.avro import container, long
from tests.deliveries.parquet_footers import STRUCT, Fields, put, value, with_footer
from tests.deliveries.written import as_parquet

FAR = 18_446_744_073_709_551_616 // 1000
"""Milliseconds whose microseconds are those of a moment of 1970, once 64 bits have wrapped."""
INT, LONG, INT96, BYTES, FIXED = 1, 2, 3, 6, 7
"""Physical types of Parquet."""
DECIMAL, TIME_MILLIS, UINT_8, UINT_16, INT_8, INT_16 = 5, 7, 11, 12, 15, 16
"""Converted types of Parquet."""
JULIAN_1970 = 2_440_588
DAY = 86_400_000_000_000


@dataclass(frozen=True)
class Unfit:
    """A file with the field `x`: what it is declared as, and how many of its values are none."""

    form: Format
    content: bytes
    declared: str = "timestamp"
    failing: int = 1


def annotated(values: pa.Array, **changes: Any) -> bytes:
    """A Parquet file with one column, whose element of the schema and whose chunk are changed."""

    def change(fields: Fields) -> None:
        leaf = value(fields, 2)[1][-1]
        leaf[:] = [each for each in leaf if each[0] not in {6, 10}]
        for number, (kind, content) in changes.get("element", {}).items():
            put(leaf, number, kind, content)
        if "kind" in changes:
            put(leaf, 1, 5, changes["kind"])
            leaf[:] = [each for each in leaf if each[0] != 2]
            put(value(fields, 4, 0, 1, 0, 3), 1, 5, changes["kind"])

    options = {"store_schema": False, "write_statistics": False}
    return with_footer(as_parquet(pa.table({"x": values}), **options), change)


def decimal(precision: int, scale: int) -> dict[int, tuple[int, int]]:
    return {6: (5, DECIMAL), 7: (5, scale), 8: (5, precision)}


def integer(bits: int, *, signed: bool) -> dict[int, tuple[int, Any]]:
    """The logical type INTEGER."""
    return {10: (STRUCT, [[10, STRUCT, [[1, 3, bytes([bits])], [2, 1 if signed else 2, None]]]])}


def int96(*moments: tuple[int, int]) -> bytes:
    """Nanoseconds of the day and days since 1970."""
    stored = [struct.pack("<qi", nanoseconds, day + JULIAN_1970) for nanoseconds, day in moments]
    return annotated(pa.array(stored, pa.binary(12)), kind=INT96)


def big(number: int) -> bytes:
    return number.to_bytes(16, "big", signed=True)


def avro(schema: Any, *values: bytes) -> bytes:
    return container({"type": "record", "name": "r", "fields": [{"name": "x", "type": schema}]}, list(values))


def far(unit: str, *numbers: int) -> pa.Array:
    return pa.array(numbers, pa.int64()).view(pa.timestamp(unit))


def logical(kind: str, word: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": word, **more}


def exact(number: int, size: int) -> bytes:
    return long(size) + number.to_bytes(size, "big", signed=True)


PARQUET: dict[str, tuple[bytes, str, int]] = {
    "milliseconds that wrap": (as_parquet(pa.table({"x": far("ms", 0, FAR, -FAR)})), "timestamp", 2),
    "milliseconds with a zone": (
        as_parquet(pa.table({"x": far("ms", 0, FAR).view(pa.timestamp("ms", "Europe/Berlin"))})),
        "timestamp",
        1,
    ),
    "INT96 of less than nothing": (int96((1000, 18_000), (-1, 18_000)), "timestamp", 1),
    "INT96 of more than a day": (int96((DAY - 1, 18_000), (DAY, 18_000), (DAY + 1, 18_000)), "timestamp", 2),
    "INT96 of days that overflow": (
        int96((0, 18_000), (0, 2**31 - 1 - JULIAN_1970), (0, 106_751_991)),
        "timestamp",
        2,
    ),
    "a decimal in 32 bits": (
        annotated(pa.array([5, -9999, 10_000, -999_999], pa.int32()), element=decimal(4, 2)),
        "decimal",
        2,
    ),
    "a decimal in 64 bits": (
        annotated(pa.array([10**15 - 1, 10**15], pa.int64()), element=decimal(15, 2)),
        "decimal",
        1,
    ),
    "a decimal in bytes of a fixed number": (
        annotated(pa.array([big(10**20 - 1), big(10**20), big(-(2**127))], pa.binary(16)), element=decimal(20, 0)),
        "decimal",
        2,
    ),
    "a decimal of 38 digits": (
        annotated(pa.array([big(10**38 - 1), big(10**38)], pa.binary(16)), element=decimal(38, 20)),
        "decimal(38,20)",
        1,
    ),
    "a decimal as a number": (annotated(pa.array([5, 999_999], pa.int32()), element=decimal(4, 2)), "number", 1),
    "a decimal as an integer": (annotated(pa.array([5, 999_999], pa.int32()), element=decimal(4, 0)), "integer", 1),
    "8 bits": (annotated(pa.array([1, 127, -128, 128, 300], pa.int32()), element={6: (5, INT_8)}), "integer", 2),
    "8 bits without a sign": (
        annotated(pa.array([0, 255, 256, -1], pa.int32()), element={6: (5, UINT_8)}),
        "integer",
        2,
    ),
    "16 bits": (
        annotated(pa.array([32_767, 32_768], pa.int32()), element=integer(16, signed=True)),
        "number",
        1,
    ),
    "16 bits without a sign": (
        annotated(pa.array([65_535, 65_536, -1], pa.int32()), element=integer(16, signed=False)),
        "decimal",
        2,
    ),
    "a time of 25 hours": (
        annotated(pa.array([0, 90_000_000, -1], pa.int32()), element={6: (5, TIME_MILLIS)}),
        "time",
        2,
    ),
}
AVRO: dict[str, tuple[bytes, str, int]] = {
    "milliseconds that wrap": (
        avro(logical("long", "timestamp-millis"), long(0), long(FAR), long(2**63 - 1), long(-(2**63))),
        "timestamp",
        3,
    ),
    "a local moment that wraps": (avro(logical("long", "local-timestamp-millis"), long(0), long(FAR)), "timestamp", 1),
    "a day beyond 32 bits": (avro(logical("int", "date"), long(0), long(2**31), long(2**40)), "date", 2),
    "a number beyond 32 bits": (avro("int", long(2**31 - 1), long(2**31), long(-(2**31) - 1)), "integer", 2),
    "a time of 25 hours": (
        avro(logical("int", "time-millis"), long(0), long(90_000_000), long(-1)),
        "time",
        2,
    ),
    "a time of 25 hours in microseconds": (
        avro(logical("long", "time-micros"), long(0), long(90_000_000_000), long(2**63 - 1)),
        "time",
        2,
    ),
    "a time that wraps": (avro(logical("int", "time-millis"), long(0), long(2**60)), "time", 1),
    "a decimal": (
        avro(logical("bytes", "decimal", precision=4, scale=2), exact(9999, 2), exact(10_000, 2), exact(-(10**30), 20)),
        "decimal",
        2,
    ),
    "a decimal of 38 digits": (
        avro(logical("bytes", "decimal", precision=38), exact(10**38 - 1, 16), exact(10**38, 16), exact(10**60, 30)),
        "decimal(38,0)",
        2,
    ),
}
UNFIT = {
    f"{form.value}: {name}": Unfit(form, *case)
    for form, cases in ((Format.PARQUET, PARQUET), (Format.AVRO, AVRO))
    for name, case in cases.items()
}

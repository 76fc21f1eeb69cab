"""Texts and values of every type of a file's own: the texts are those of Spark's `CAST(… AS STRING)`."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from lakegate.contract.file_formats import Format, Storage
from tests.deliveries.delivery import plan_of
from tests.deliveries.written import as_parquet
from tests.unit.engine.read.opened import read

DAYS = [0, -1, 11016, 2932896, 2932897, -719528, -719529, 3_000_000, -800_000]
DOUBLES = [
    *(
        0.0,
        -0.0,
        1.0,
        0.1,
        -1.5,
        100.0,
        1e-3,
        9.99e-4,
        1e-5,
        -1.25e-7,
        123456.789,
        9999999.0,
        9999999.9,
        1e7,
        12345678.9,
    ),
    *(1.5e10, 1e16, 1e20, 1e21, 1.7976931348623157e308, 2.2250738585072014e-308, 1e-300, 0.30000000000000004),
    *(float("nan"), float("inf"), float("-inf"), 123456789012345680.0, -3.0e-10),
]
FLOATS = [0.0, -0.0, 0.1, 1.1, 3.4028235e38, 16777216.0, 1e10, 1e-5, 0.001, 9999999.0, float("nan"), float("-inf")]
MOMENTS = [
    *(0, 1, -1, 100_000, 1_500_000, 1_577_840_523_000_004, 253_402_300_799_999_999, 253_402_300_800_000_000),
    *(-62_167_219_200_000_000, -62_167_219_200_000_001, -70_000_000_000_000_001, 300_000_000_000_000_120),
]
SMALL = ["0", "1", "-1.5", "0.000001", "0.0000001", "-0.00000012", "1E-18", "12345678901234567890.123456789012345678"]
COLUMNS = {
    "whole": (pa.array([0, -1, 2**63 - 1, -(2**63)], pa.int64()), "integer"),
    "short": (pa.array([0, -128, 127], pa.int8()), "integer"),
    "unsigned": (pa.array([0, 2**64 - 1, 2**63], pa.uint64()), "integer"),
    "unsigned number": (pa.array([0, 2**64 - 1, 2**63], pa.uint64()), "number"),
    "whole decimal": (pa.array(list(map(Decimal, [10**37, -5, 2**63 - 1, 2**63])), pa.decimal128(38, 0)), "integer"),
    "whole as decimal": (pa.array([0, -1, 2**63 - 1], pa.int64()), "decimal"),
    "whole as number": (pa.array([0, -1, 2**63 - 1, 2**53 + 1], pa.int64()), "number"),
    "cents": (pa.array(list(map(Decimal, ["0.00", "-1.50", "99999999.99"])), pa.decimal128(10, 2)), "decimal"),
    "cents as number": (pa.array(list(map(Decimal, ["0.10", "-1.50", "99999999.99"])), pa.decimal128(10, 2)), "number"),
    "small": (pa.array(list(map(Decimal, SMALL)), pa.decimal128(38, 18)), "decimal"),
    "small as number": (pa.array(list(map(Decimal, SMALL)), pa.decimal128(38, 18)), "number"),
    "fine": (pa.array(list(map(Decimal, ["1E-20", "0.5", "-1E-18", "0"])), pa.decimal128(38, 20)), "decimal"),
    "wide": (pa.array(list(map(Decimal, ["1E+35", "0.5", "-1E+19"])), pa.decimal128(38, 2)), "decimal"),
    "hundredths": (pa.array(list(map(Decimal, ["0.50", "-0.25", "0.00"])), pa.decimal128(2, 2)), "decimal"),
    "fraction": (
        pa.array([Decimal(f"-0.{'9' * 38}"), Decimal("0.5"), Decimal(0)], pa.decimal128(38, 38)),
        "decimal(38,38)",
    ),
    "double": (pa.array(DOUBLES), "number"),
    "float": (pa.array(FLOATS, pa.float32()), "number"),
    "half": (pa.array([0.5, -0.0, 65504.0, 0.1], pa.float16()), "number"),
    "boolean": (pa.array([True, False, None]), "boolean"),
    "day": (pa.array(DAYS, pa.int32()).cast(pa.date32()), "date"),
    "moment": (pa.array(MOMENTS, pa.int64()).cast(pa.timestamp("us")), "timestamp"),
    "zoned": (pa.array(MOMENTS, pa.int64()).cast(pa.timestamp("us", "Europe/Berlin")), "timestamp"),
    "nanos": (
        pa.array([1, -1, 999, 1_000_000_001, 1_577_840_523_000_004_999], pa.int64()).cast(pa.timestamp("ns")),
        "timestamp",
    ),
    "clock": (pa.array([0, 86_399_999_999, 3_723_000_004], pa.int64()).cast(pa.time64("us")), "time"),
    "clock in nanos": (pa.array([0, 1, 3_723_000_004_005], pa.int64()).cast(pa.time64("ns")), "time"),
    "text": (pa.array(["", "a", "ção", "x\0y", "'\\\n"]), "string"),
    "no UTF-8": (pa.array([b"a\xff", b"ok", b"\xed\xa0\x80", None]).view(pa.string()), "string"),
    "text as time": (pa.array(["12:00", "25:00", "12:00:00.5"]), "time"),
    "text as number": (pa.array(["1", "x"]), "number"),
    "bytes": (pa.array([b"", b"\xff"]), "string"),
    "list": (pa.array([[1], [], None]), "string"),
    "record": (pa.array([{"a": 1}, None, {"a": None}]), "string"),
    "map": (pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int32())), "string"),
    "length": (pa.array([1, 2], pa.duration("us")), "string"),
    "nothing": (pa.nulls(2), "integer"),
}


def same(*texts: str | None) -> tuple[list[str | None], list[str | None]]:
    """Values that are read as they are written."""
    return list(texts), list(texts)


READ_MOMENTS: tuple[list[str | None], list[str | None]] = (
    [
        "1970-01-01 00:00:00",
        "1970-01-01 00:00:00.000001",
        "1969-12-31 23:59:59.999999",
        "1970-01-01 00:00:00.1",
        "1970-01-01 00:00:01.5",
        "2020-01-01 01:02:03.000004",
        "9999-12-31 23:59:59.999999",
        "+10000-01-01 00:00:00",
        "0000-01-01 00:00:00",
        "-0001-12-31 23:59:59.999999",
        "-0249-10-15 19:33:19.999999",
        "+11476-08-15 05:20:00.00012",
    ],
    [
        "1970-01-01 00:00:00",
        "1970-01-01 00:00:00.000001",
        "1969-12-31 23:59:59.999999",
        "1970-01-01 00:00:00.100000",
        "1970-01-01 00:00:01.500000",
        "2020-01-01 01:02:03.000004",
        "9999-12-31 23:59:59.999999",
        None,
        "0001-01-01 (BC) 00:00:00",
        None,
        None,
        None,
    ],
)
EXPECTED: dict[str, tuple[list[str | None], list[str | None]]] = {
    "whole": same("0", "-1", "9223372036854775807", "-9223372036854775808"),
    "short": (["0", "-128", "127"], ["0", "-128", "127"]),
    "unsigned": (["0", "18446744073709551615", "9223372036854775808"], ["0", None, None]),
    "unsigned number": (
        ["0", "18446744073709551615", "9223372036854775808"],
        ["0.0", "1.8446744073709552e+19", "9.223372036854776e+18"],
    ),
    "whole decimal": (
        ["10000000000000000000000000000000000000", "-5", "9223372036854775807", "9223372036854775808"],
        [None, "-5", "9223372036854775807", None],
    ),
    "whole as decimal": (
        ["0", "-1", "9223372036854775807"],
        ["0E-18", "-1.000000000000000000", "9223372036854775807.000000000000000000"],
    ),
    "whole as number": (
        ["0", "-1", "9223372036854775807", "9007199254740993"],
        ["0.0", "-1.0", "9.223372036854776e+18", "9007199254740992.0"],
    ),
    "cents": (["0.00", "-1.50", "99999999.99"], ["0E-18", "-1.500000000000000000", "99999999.990000000000000000"]),
    "cents as number": (["0.10", "-1.50", "99999999.99"], ["0.1", "-1.5", "99999999.99"]),
    "small": (
        [
            "0E-18",
            "1.000000000000000000",
            "-1.500000000000000000",
            "0.000001000000000000",
            "1.00000000000E-7",
            "-1.20000000000E-7",
            "1E-18",
            "12345678901234567890.123456789012345678",
        ],
        [
            "0E-18",
            "1.000000000000000000",
            "-1.500000000000000000",
            "0.000001000000000000",
            "1.00000000000E-7",
            "-1.20000000000E-7",
            "1E-18",
            "12345678901234567890.123456789012345678",
        ],
    ),
    "small as number": (
        [
            "0E-18",
            "1.000000000000000000",
            "-1.500000000000000000",
            "0.000001000000000000",
            "1.00000000000E-7",
            "-1.20000000000E-7",
            "1E-18",
            "12345678901234567890.123456789012345678",
        ],
        ["0.0", "1.0", "-1.5", "1e-06", "1e-07", "-1.2e-07", "1e-18", "1.2345678901234567e+19"],
    ),
    "fine": (
        ["1E-20", "0.50000000000000000000", "-1.00E-18", "0E-20"],
        [None, "0.500000000000000000", "-1E-18", "0E-18"],
    ),
    "wide": (
        ["100000000000000000000000000000000000.00", "0.50", "-10000000000000000000.00"],
        [None, "0.500000000000000000", "-10000000000000000000.000000000000000000"],
    ),
    "hundredths": (["0.50", "-0.25", "0.00"], ["0.500000000000000000", "-0.250000000000000000", "0E-18"]),
    "fraction": same(f"-0.{'9' * 38}", f"0.5{'0' * 37}", "0E-38"),
    "double": (
        [
            "0.0",
            "-0.0",
            "1.0",
            "0.1",
            "-1.5",
            "100.0",
            "0.001",
            "9.99E-4",
            "1.0E-5",
            "-1.25E-7",
            "123456.789",
            "9999999.0",
            "9999999.9",
            "1.0E7",
            "1.23456789E7",
            "1.5E10",
            "1.0E16",
            "1.0E20",
            "1.0E21",
            "1.7976931348623157E308",
            "2.2250738585072014E-308",
            "1.0E-300",
            "0.30000000000000004",
            "NaN",
            "Infinity",
            "-Infinity",
            "1.2345678901234568E17",
            "-3.0E-10",
        ],
        [
            "0.0",
            "0.0",
            "1.0",
            "0.1",
            "-1.5",
            "100.0",
            "0.001",
            "0.000999",
            "1e-05",
            "-1.25e-07",
            "123456.789",
            "9999999.0",
            "9999999.9",
            "10000000.0",
            "12345678.9",
            "15000000000.0",
            "1e+16",
            "1e+20",
            "1e+21",
            "1.7976931348623157e+308",
            "2.2250738585072014e-308",
            "1e-300",
            "0.30000000000000004",
            None,
            None,
            None,
            "1.2345678901234568e+17",
            "-3e-10",
        ],
    ),
    "float": (
        [
            "0.0",
            "-0.0",
            "0.1",
            "1.1",
            "3.4028235E38",
            "1.6777216E7",
            "1.0E10",
            "1.0E-5",
            "0.001",
            "9999999.0",
            "NaN",
            "-Infinity",
        ],
        [
            "0.0",
            "0.0",
            "0.1",
            "1.1",
            "3.4028235e+38",
            "16777216.0",
            "10000000000.0",
            "1e-05",
            "0.001",
            "9999999.0",
            None,
            None,
        ],
    ),
    "half": (["0.5", "-0.0", "65504.0", "0.099975586"], ["0.5", "0.0", "65504.0", "0.099975586"]),
    "boolean": (["true", "false", None], ["True", "False", None]),
    "day": (
        [
            "1970-01-01",
            "1969-12-31",
            "2000-02-29",
            "9999-12-31",
            "+10000-01-01",
            "0000-01-01",
            "-0001-12-31",
            "+10183-09-21",
            "-0221-09-04",
        ],
        ["1970-01-01", "1969-12-31", "2000-02-29", "9999-12-31", None, "0001-01-01 (BC)", None, None, None],
    ),
    "moment": READ_MOMENTS,
    "zoned": READ_MOMENTS,
    "nanos": same(
        "1970-01-01 00:00:00",
        "1969-12-31 23:59:59.999999",
        "1970-01-01 00:00:00",
        "1970-01-01 00:00:01",
        "2020-01-01 01:02:03.000004",
    ),
    "clock": (
        ["00:00:00.000000", "23:59:59.999999", "01:02:03.000004"],
        ["00:00:00.000000000", "23:59:59.999999000", "01:02:03.000004000"],
    ),
    "clock in nanos": same("00:00:00.000000000", "00:00:00.000000001", "01:02:03.000004005"),
    "text": same("", "a", "ção", "x\x00y", "'\\\n"),
    "no UTF-8": (["a�", "ok", "�", None], [None, "ok", None, None]),
    "text as time": (["12:00", "25:00", "12:00:00.5"], ["12:00:00.000000000", None, "12:00:00.500000000"]),
    "text as number": (["1", "x"], [None, None]),
    "bytes": (["bytes", "bytes"], [None, None]),
    "list": (["[...]", "[...]", None], [None, None, None]),
    "record": (["{...}", None, "{...}"], [None, None, None]),
    "map": (["{...}", None, "{...}"], [None, None, None]),
    "length": (["?", "?"], [None, None]),
    "nothing": ([None, None], [None, None]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_any_type_is_read_as_what_it_means(name: str, tmp_path: Path) -> None:
    """Text by text and value by value; what no text could write is not a value."""
    array, logical = COLUMNS[name]
    plan = replace(plan_of({"x": logical}), storage=Storage(Format.PARQUET))
    found = read(plan, tmp_path, as_parquet(pa.table({"x": pa.concat_arrays([array, pa.nulls(1, array.type)])})))
    values = [None if row["x"] is None else str(row["x"]) for row in found.values]

    assert ([row["x"] for row in found.texts], values) == tuple([*each, None] for each in EXPECTED[name])

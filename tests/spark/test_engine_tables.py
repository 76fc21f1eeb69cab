"""The engine reads texts and values of a file's own types as Spark does."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from contracts.model import Format, Storage
from tests.spark.delivery import plan_of, request_for
from tests.spark.written import as_parquet
from tests.unit.engine.read.opened import read

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
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


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_any_type_reads_as_spark_reads_it(name: str, spark: SparkSession, tmp_path: Path) -> None:
    """Text by text and value by value, nulls included."""
    from spark_jobs.read import open_delivery  # noqa: PLC0415 - Spark's settings must be made first

    array, logical = COLUMNS[name]
    content = as_parquet(
        pa.table({"x": pa.concat_arrays([array, pa.nulls(1, array.type)]), "n": range(len(array) + 1)})
    )
    plan = replace(plan_of({"x": logical, "n": "integer"}), storage=Storage(Format.PARQUET))
    delivery = open_delivery(spark, plan, request_for(plan, tmp_path, content))
    texts = delivery.frame.orderBy("vc1").selectExpr("decode(c0, 'UTF-8') AS t", "CAST(vc0 AS STRING) AS v").collect()
    found = read(plan, tmp_path, content)

    assert [row["t"] for row in texts] == [row["x"] for row in found.texts]
    assert [comparable(row["v"], logical) for row in texts] == [comparable(row["x"], logical) for row in found.values]


def comparable(value: Any, logical: str) -> Any:
    if value is None or logical in {"string", "time"}:
        return value
    if logical in {"number", "decimal"}:
        return float(value).hex() if logical == "number" else Decimal(value)
    written = str(value).lower()
    written = written.replace("0001", "0000").replace(" (bc)", "") if "(bc)" in written else written
    return written.rstrip("0").rstrip(".") if "." in written else written

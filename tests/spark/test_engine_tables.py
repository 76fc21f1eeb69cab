"""The engine's texts of a file's own types are those that Spark writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.deliveries.written import as_parquet
from tests.unit.engine.read.test_stored_columns import COLUMNS, EXPECTED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
READ_BY_SPARK = [
    *(
        "whole",
        "short",
        "whole decimal",
        "cents",
        "small",
        "fine",
        "wide",
        "hundredths",
        "fraction",
        "double",
        "float",
        "boolean",
        "day",
        "moment",
        "zoned",
    ),
    *("text", "no UTF-8"),
]


def test_texts_are_those_of_sparks_cast(spark: SparkSession, tmp_path: Path) -> None:
    """Of all types that Spark's own reader knows, odd values included."""
    found, path = {}, tmp_path / "x.parquet"
    for name in READ_BY_SPARK:
        path.write_bytes(as_parquet(pa.table({"x": COLUMNS[name][0]})))
        rows = spark.read.parquet(path.as_uri()).selectExpr("decode(CAST(x AS STRING), 'UTF-8') AS text").collect()
        found[name] = [row["text"] for row in rows]

    assert found == {name: EXPECTED[name][0] for name in READ_BY_SPARK}

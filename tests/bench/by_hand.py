"""A hand-written Spark program for the weather contract: one typed read, one aggregate, one group-by.

It has no contract, no reasons and no samples. It only computes the numbers behind the 46 rule checks, and prints them as one
JSON object: check id → failing rows. A file is read as CSV, or as Parquet where its name ends in `.parquet`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import reduce

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from tests.bench.weather import FIELDS, HOUR, LIMITS, RULES, STATES, TEXTS

DATE_FORMAT = "yyyy-MM-dd"
SCHEMA = ", ".join(f"{name} {'string' if name in TEXTS else 'int' if name == 'index' else 'double'}" for name in FIELDS)
SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def numbers(spark: SparkSession, path: str) -> dict[str, int]:
    """Failing rows of every rule check of the weather contract."""
    parquet = path.endswith(".parquet")
    frame = spark.read.parquet(path) if parquet else spark.read.csv(path, header=True, schema=SCHEMA)
    counted = [F.sum(F.when(failing, 1).otherwise(0)).alias(check) for check, failing in failures().items()]
    found = frame.agg(*counted).first()
    assert found is not None, "an aggregate has one row"
    keys = frame.where(F.col("index").isNotNull()).groupBy("index").count()
    repeats = keys.agg(F.sum(F.col("count") - 1).alias("unique_index_rule/index")).first()
    assert repeats is not None, "an aggregate has one row"
    return {check: value or 0 for check, value in (found.asDict() | repeats.asDict()).items()}


def failures() -> dict[str, Column]:
    """The condition under which a row fails each check that looks at one row at a time."""
    conditions: dict[str, Callable[[str], Column]] = {
        "not_null_indexing_fields_rule": F.isnull,
        "not_null_measurements_rule": F.isnull,
        "not_null_radiation_rule": F.isnull,
        "gt_zero_measurements_rule": lambda field: F.col(field) < 0,
        "max_percent_measurements_rule": lambda field: F.col(field) > LIMITS["max_percent_measurements_rule"],
        "max_degrees_measurements_rule": lambda field: F.col(field) > LIMITS["max_degrees_measurements_rule"],
        "allowed_states_rule": lambda field: ~F.col(field).isin(*STATES),
        "custom_date_rule": lambda field: F.col(field).isNotNull() & F.to_date(field, DATE_FORMAT).isNull(),
        "custom_time_rule": lambda field: ~F.col(field).rlike(HOUR),
    }
    return {f"{rule}/{field}": failing(field) for rule, failing in conditions.items() for field in RULES[rule]}


def main(path: str) -> None:
    """Print the numbers of the file at `path`."""
    builder = reduce(lambda b, pair: b.config(*pair), SETTINGS.items(), SparkSession.builder.master("local[*]"))
    spark = builder.getOrCreate()
    sys.stdout.write(f"{json.dumps(numbers(spark, path))}\n")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])

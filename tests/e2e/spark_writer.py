"""A producer's Spark job, for `spark-submit`: `spark_writer.py ADDRESS=FIRST-ID…` writes three part files to each address."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

ROWS, PARTS = 30, 3


def main(*targets: str) -> None:
    """Ids count from the first one. A negative one repeats the ids of the first part in every part."""
    spark = SparkSession.builder.appName("producer").getOrCreate()
    for target in targets:
        address, _, first = target.rpartition("=")
        number = int(first)
        ids = "id" if number >= 0 else f"id % {ROWS // PARTS} as id"
        rows = spark.range(abs(number), abs(number) + ROWS, 1, PARTS).selectExpr(
            ids, f"concat('row {number}-', id) as name"
        )
        rows.write.parquet(address)


if __name__ == "__main__":
    main(*sys.argv[1:])

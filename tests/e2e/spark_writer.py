"""A producer's Spark job: `python -m tests.e2e.spark_writer FOLDER ADDRESS=FIRST-ID…` writes three part files to each address."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from lakegate.infra.local.emr.spark_env import SHELL, SUBMIT, submit_arguments

ROWS, PARTS = 30, 3


def main(folder: str, *targets: str) -> None:
    """Ids count from the first one. A negative one repeats the ids of the first part in every part."""
    os.environ[SUBMIT] = shlex.join([*submit_arguments(Path(folder), "1g", {}, ()), SHELL])
    from pyspark.sql import SparkSession  # noqa: PLC0415 - reads the settings made above

    spark = SparkSession.builder.appName("producer").getOrCreate()
    for target in targets:
        address, _, first = target.rpartition("=")
        number = int(first)
        ids = "id" if number >= 0 else f"id % {ROWS // PARTS} as id"
        rows = spark.range(abs(number), abs(number) + ROWS, 1, PARTS).selectExpr(
            ids, f"concat('row {number}-', id) as name"
        )
        rows.write.parquet(address)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])

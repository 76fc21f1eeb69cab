"""The Spark session of the job: the settings that its correctness rests on, wherever it runs."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyspark import SparkContext
from pyspark.sql import SparkSession

from lakegate.spark_jobs.daemon import MODULE
from lakegate.spark_jobs.deequ import pydeequ
from lakegate.spark_jobs.jvm_cache import Names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SETTINGS = {
    "spark.sql.ansi.enabled": "false",  # a bad cast must be a null of ours, never an exception that carries the value
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.variable.substitute": "false",  # `${…}` in a contract's text is text
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.inMemoryColumnarStorage.compressed": "false",  # rows of keys are read once or twice: compression costs more
    "spark.task.reaper.enabled": "true",  # a cancelled query's task that does not end costs its executor, not the next query
    "spark.task.reaper.killTimeout": "60s",
    "spark.sql.execution.arrow.pyspark.enabled": "false",
    "spark.python.daemon.module": MODULE,
    **{  # days and moments of any age are those of the proleptic Gregorian calendar, as written; the default is an exception
        f"spark.sql.{name}RebaseModeIn{way}": "CORRECTED"
        for name in ("parquet.datetime", "parquet.int96", "avro.datetime")
        for way in ("Read", "Write")
    },
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # INT96, the default, is deprecated
}
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""For frames of few rows: compiling generated Java takes longer than evaluating the expressions."""
FEW_ROWS = INTERPRETED | {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "1"}
"""For small deliveries: also no second job that decides about the plan of the next, and no shuffle into several tasks."""


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """While inside, these settings of the session apply; afterwards those of before."""
    before: dict[str, str | None] = {name: spark.conf.get(name, None) for name in values}
    for name, value in values.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, known in before.items():
            if known is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, known)


def start() -> SparkSession:
    """The session, started or found. PyDeequ is imported while the JVM starts."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    warming = threading.Thread(target=pydeequ, args=("verification",))
    warming.start()
    builder = SparkSession.builder.appName("lakegate-validate")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    _cache_names(spark)
    warming.join()
    return spark


def _cache_names(spark: SparkSession) -> None:
    """Give PySpark and PyDeequ a view of the JVM that caches names."""
    if not isinstance(spark._jvm, Names):  # noqa: SLF001 - there is no other place
        SparkContext._jvm = spark._jvm = Names(spark._jvm)  # noqa: SLF001 - likewise

"""Session settings, JVM gateway, PyDeequ's start."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

import pyspark
from py4j.java_gateway import JavaClass, JavaPackage, JVMView
from pyspark import SparkContext
from pyspark.sql import SparkSession

from lakegate.spark.worker_daemon import MODULE

PROPERTIES: Final = "/META-INF/maven/com.amazon.deequ/deequ/pom.properties"
"""The text that Maven wrote into the jar of Deequ."""


def version(session: SparkSession) -> str:
    """The version of the jar that runs; PyDeequ knows only the one that it was made for."""
    jvm: Any = session._jvm  # noqa: SLF001 - PySpark has no other way to the JVM
    properties = jvm.java.util.Properties()
    properties.load(jvm.com.amazon.deequ.VerificationSuite().getClass().getResourceAsStream(PROPERTIES))
    return str(properties.getProperty("version"))


def pydeequ(module: str) -> Any:  # noqa: ANN401 - PyDeequ has no types
    """A module of PyDeequ, which reads SPARK_VERSION when it is imported, and takes a second (pandas)."""
    os.environ.setdefault("SPARK_VERSION", ".".join(pyspark.__version__.split(".")[:2]))
    return import_module(f"pydeequ.{module}")


# ---- A cache of names of Java ----
# Py4J resolves a name each time it is used, once for every dot, and Java then searches all jars of its class path. That took a
# fifth of the time of a small delivery.


_HOLDERS = (JavaPackage, JavaClass, JVMView)


class Names:
    """A package, a class or the whole JVM with a cache of its members: no class disappears while the JVM runs."""

    def __init__(self, named: Any) -> None:  # noqa: ANN401 - whatever Py4J has there
        self._named = named

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - likewise
        found = getattr(self._named, name)
        kept = Names(found) if isinstance(found, _HOLDERS) else found
        setattr(self, name, kept)
        return kept

    def __call__(self, *arguments: object) -> Any:  # noqa: ANN401 - likewise
        """An object of the class."""
        return self._named(*arguments)


# ---- Settings that correctness rests on ----


OUTPUT_TIMESTAMPS: Final = "spark.sql.parquet.outputTimestampType"
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
    OUTPUT_TIMESTAMPS: "TIMESTAMP_MICROS",  # INT96, the default, is deprecated
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

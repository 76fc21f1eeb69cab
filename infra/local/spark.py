"""Spark on this machine: the JVM's settings, handed over before PySpark starts it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from lakegate.infra.local.classes import archive
from lakegate.infra.local.jars import jars
from lakegate.infra.local.java import java_home

if TYPE_CHECKING:
    from collections.abc import Iterator

LOG = "spark.log"
JAVA_OPTIONS = "-XX:+UseParallelGC"
QUICK_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""For deliveries so small that compiling well costs more than it saves."""
SMALL = 512 << 20
"""Bytes up to which a delivery is small: its records are evaluated in Python workers, and only its keys pass through Java."""
LAUNCHER_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""For the short-lived JVM that only puts the command line of Spark together."""
_LOGGING = Path(__file__).with_name("log4j2.properties")


def use_local_spark(folder: Path, size: int, memory: str = "2g", recorded: Path | None = None) -> Path:
    """Make the next Spark session of this process a local one that writes only below `folder`; its log file is returned.

    `size` is that of the delivery in bytes: it chooses how Java compiles. `recorded`: where the JVM writes the archive of the
    classes that it loaded when it ends. SetUpError where Java or a jar is missing.
    """
    log, options = folder / LOG, QUICK_OPTIONS if size <= SMALL else JAVA_OPTIONS
    java = java_home()
    os.environ["JAVA_HOME"] = str(java)
    os.environ["SPARK_LAUNCHER_OPTS"] = LAUNCHER_OPTIONS
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["SPARK_LOCAL_DIRS"] = str(folder)
    os.environ["PYSPARK_SUBMIT_ARGS"] = shlex.join(
        [*_arguments(_settings(folder, log, f"{options} {_classes(java, recorded)}"), memory), "pyspark-shell"]
    )
    return log


def _classes(java: Path, recorded: Path | None) -> str:
    if recorded is not None:
        return f'"-XX:ArchiveClassesAtExit={recorded}" -Xlog:disable'
    found = archive(java)
    return f'"-XX:SharedArchiveFile={found}" -Xlog:disable' if found.is_file() else ""


def _arguments(settings: dict[str, str], memory: str) -> Iterator[str]:
    yield from ("--master", "local[*]", "--driver-memory", memory)
    yield from ("--driver-class-path", os.pathsep.join(map(str, jars())))
    for name, value in settings.items():
        yield from ("--conf", f"{name}={value}")


def _settings(folder: Path, log: Path, java: str) -> dict[str, str]:
    logging = f"-Dlog4j2.configurationFile={_LOGGING.as_uri()} -Dlakegate.log={log.as_posix()}"
    return {
        "spark.driver.extraJavaOptions": f"{java} {logging}",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }

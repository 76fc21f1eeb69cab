"""Fetches the pinned jars once, with the package resolver that Spark brings, and checks every byte of them.

1. Spark's resolver fetches the coordinates into a folder aside, everything they depend on excluded (Spark has it).
2. Each jar's SHA-256 is compared with its pin: a jar that was changed on its way is never put where Spark finds it.
3. All jars move to `.tools/jars` at once.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pyspark

from infra.setup.atomic_dir import atomic_dir
from infra.setup.trust import trust_options
from lakegate.base.errors import SetUpError
from lakegate.spark.local_spark import FOLDER, Jar, pinned_jars

PATIENCE_SECONDS = 300
RESOLVER = "org.apache.spark.deploy.SparkSubmit"

ALREADY_IN_SPARK = (
    "com.amazonaws:aws-java-sdk-bundle",
    "com.amazonaws:aws-java-sdk-kms",
    "com.amazonaws:jmespath-java",
    "com.fasterxml*:*",
    "commons*:*",
    "joda-time:*",
    "org.apache.http*:*",
    "org.apache.spark:spark-core_2.12",
    "org.apache.spark:spark-mllib_2.12",
    "org.apache.spark:spark-sql_2.12",
    "org.apache.spark:spark-tags_2.12",
    "org.scala-lang*:*",
    "org.scalanlp:*",
    "org.tukaani:*",
    "org.wildfly*:*",
    "software.amazon*:*",
)
"""Dependencies of the pins; Spark ships them, or nothing here uses them. A glob must not match a pin: it would go too."""


def sound(folder: Path, jars: tuple[Jar, ...]) -> bool:
    """Whether `folder` holds every jar, each with the digest of its pin."""
    return all((folder / jar.file).is_file() and not _altered(folder / jar.file, jar) for jar in jars)


def install_jars(tools: Path, java: Path, jars: tuple[Jar, ...] | None = None) -> None:
    """Fetch, check and put the pinned jars below `tools`, with the Java at home `java`; SetUpError if that fails."""
    wanted = pinned_jars() if jars is None else jars
    shutil.rmtree(tools / FOLDER, ignore_errors=True)  # an altered jar must not stay usable if fetching fails
    with atomic_dir(tools) as folder:
        fetched = _fetch(wanted, java, folder, tools / "jars.log")
        _checked(wanted, fetched, folder / FOLDER).rename(tools / FOLDER)


def _fetch(jars: tuple[Jar, ...], java: Path, folder: Path, log: Path) -> Path:
    program = folder / "nothing.py"
    program.touch()
    command = _submit(java, folder, [jar.coordinate for jar in jars], program)
    with log.open("wb") as output:
        run = partial(subprocess.run, check=True, timeout=PATIENCE_SECONDS, stdout=output, stderr=output)
        try:
            run(command, cwd=folder, env=_environment())
        except subprocess.SubprocessError as error:
            advice = "fix the network and run `make spark-tools` again"
            raise SetUpError(f"The jars could not be fetched (see {log}): {advice}.") from error
    log.unlink()
    return folder / "ivy" / "jars"


def _submit(java: Path, folder: Path, coordinates: list[str], program: Path) -> list[str]:
    options = ["-XX:-UsePerfData", f"-Djava.io.tmpdir={folder}", *trust_options(folder)]
    start = [str(java / "bin/java"), *options, "-cp", f"{pyspark.__path__[0]}/jars/*", RESOLVER]
    packages = ["--packages", ",".join(coordinates), "--exclude-packages", ",".join(ALREADY_IN_SPARK)]
    return [*start, "--master", "local", *packages, "--conf", f"spark.jars.ivy={folder / 'ivy'}", str(program)]


def _environment() -> dict[str, str]:
    """This process's variables without those of another Spark the user may have."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return own | {"PYSPARK_PYTHON": sys.executable}


def _checked(jars: tuple[Jar, ...], fetched: Path, made: Path) -> Path:
    made.mkdir()
    for jar in jars:
        group = jar.coordinate.split(":")[0]
        copy = Path(shutil.copyfile(fetched / f"{group}_{jar.file}", made / jar.file))
        if _altered(copy, jar):
            reason = "is not the one this project was tested with (its SHA-256 differs from lakegate/spark/jars.json)"
            raise SetUpError(f"The {jar.file} that was fetched {reason}: nothing was installed.")
    return made


def _altered(path: Path, jar: Jar) -> bool:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() != jar.sha256

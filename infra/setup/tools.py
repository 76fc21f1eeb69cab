"""First part of `make spark-tools`: a Java 17 and the pinned jars, all inside the clone. Run it again and it only looks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from infra.setup.jars import install_jars, sound
from infra.setup.java import install_java
from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import TOOLS
from lakegate.spark.local_spark import FOLDER, find_java, pinned_jars


def main(tools: Path = TOOLS) -> int:
    """Supply what is missing below `tools`; the exit code: 0, or 2 after one sentence on standard error."""
    try:
        java = _java(tools)
        _jars(tools, java)
    except SetUpError as error:
        _say(str(error))
        return 2
    return 0


def _java(tools: Path) -> Path:
    home = find_java(tools, os.environ)
    if home is None:
        _say("java: none of version 17 here, installing one into .tools/jdk (about 60 MB)")
        home = install_java(tools)
    _say(f"java: {home}")
    return home


def _jars(tools: Path, java: Path) -> None:
    jars = pinned_jars()
    if not sound(tools / FOLDER, jars):
        _say(f"jars: fetching {len(jars)} with Spark's package resolver (7 MB)")
        install_jars(tools, java, jars)
    _say(f"jars: {len(jars)} in {tools / FOLDER}, every checksum as pinned")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

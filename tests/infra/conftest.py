"""A fake Java: it prints its home and version as the real one does, and fetches jars as Spark's resolver does."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest

SCRIPT = """#!/bin/sh
case "$*" in
*-XshowSettings:properties*)
    echo "    java.home = {home}" >&2
    echo "    java.specification.version = {version}" >&2 ;;
*)
    for word in "$@"; do
        case "$word" in spark.jars.ivy=*) ivy="${{word#spark.jars.ivy=}}" ;; esac
    done
    echo "resolving" >&2
    [ "{online}" = True ] || exit 1
    mkdir -p "$ivy/jars"
    printf good > "$ivy/jars/org.example_good-1.0.jar" ;;
esac
"""


class MakeJava(Protocol):
    def __call__(self, home: Path, version: str = "17", *, online: bool = True) -> Path: ...


@pytest.fixture
def make_java() -> MakeJava:
    def make(home: Path, version: str = "17", *, online: bool = True) -> Path:
        launcher = home / "bin" / "java"
        launcher.parent.mkdir(parents=True)
        launcher.write_text(SCRIPT.format(home=home, version=version, online=online))
        launcher.chmod(0o755)
        return home

    return make

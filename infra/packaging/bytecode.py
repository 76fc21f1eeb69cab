"""Bytecode of a bundle's modules: without times, with the paths that they have in Lambda, the same in every process.

Lambda's code folder is read-only: every cold start would compile four hundred modules again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

OPTIONS = ("-q", "--invalidation-mode", "unchecked-hash", "-p", "/var/task")


KEPT_SECONDS = 30 * 86_400


def compile_all(packages: Path, interpreter: str) -> None:
    """Compile every module of a folder."""
    _compile(packages, interpreter, [str(packages)])


def compile_changed(packages: Path, kept: Path) -> None:
    """Likewise, by this Python, whose bytecode of earlier bundles is taken from a folder that keeps it for a month.

    A bundle differs from the one before in few modules, and those of libraries are in every bundle.
    """
    kept.mkdir(parents=True, exist_ok=True)
    places = {source: kept / f"{_key(packages, source)}.pyc" for source in packages.rglob("*.py")}
    missing = [source for source, place in places.items() if not place.is_file()]
    if missing:
        _compile(packages, sys.executable, ["-i", "-"], missing)
    for source, place in places.items():
        made = source.parent / "__pycache__" / f"{source.stem}.{sys.implementation.cache_tag}.pyc"
        if made.is_file():
            aside = place.with_suffix(".aside")  # what is interrupted is no bytecode of a later bundle
            shutil.copyfile(made, aside)
            aside.rename(place)
        else:
            made.parent.mkdir(exist_ok=True)
            shutil.copyfile(place, made)
            os.utime(place)
    for each in kept.iterdir():
        if time.time() - each.stat().st_mtime > KEPT_SECONDS:
            each.unlink()


def _key(packages: Path, source: Path) -> str:
    name = f"{sys.version}\0{source.relative_to(packages).as_posix()}\0"
    return hashlib.sha256(name.encode() + source.read_bytes()).hexdigest()


def _compile(packages: Path, interpreter: str, what: list[str], listed: Iterable[Path] = ()) -> None:
    subprocess.run(  # noqa: S603 - a Python
        [interpreter, "-m", "compileall", *OPTIONS, "-s", str(packages), *what],
        check=True,
        env={"PYTHONHASHSEED": "0"},
        input="\n".join(map(str, listed)),
        text=True,
    )

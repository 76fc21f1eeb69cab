"""What is deployed: the functions for Lambda, the judge function, the pull function, and the job for EMR Serverless.

::

    build/lambda/functions.zip  handlers, what they reach of lakegate/, and libraries, compiled: CodeUri in template.yaml
    build/judge/judge.zip       likewise of the two functions that read data, with the engine: CodeUri, too
    build/pull/pull.zip         likewise of the function that pulls, with the library for SFTP: CodeUri, too
    build/code/<release>/       for the lake bucket; the release is named after the contents of
      validate.py                 the entry point
      environment.tar.gz          a virtual environment: what the job reaches of lakegate/, and libraries
      deequ.jar, avro.jar         as `make setup` checked them
    build/release               the release's name: the parameter JobCode of template.yaml

A release never changes once it has its name, so that a deployment cannot change a run under way.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from infra.packaging.archives import LEVEL, QUICK, digest, tarred, zipped
from infra.packaging.bytecode import compile_all, compile_changed
from infra.packaging.contents import FUNCTIONS, JOB, JUDGE, PULL, fill
from infra.setup.atomic_dir import atomic_dir
from lakegate.spark.local_spark import jars

if TYPE_CHECKING:
    from collections.abc import Callable

    from infra.packaging.contents import Bundle

INTERPRETER = Path("/usr/bin/python3.11")
"""Where the images of EMR 7 have the Python that the job runs on."""


NEWER_PYTHON = "3.12"
"""The first one on Amazon Linux 2023 (Lambda developer guide, Lambda runtimes): that of 3.11 is too old
for pyarrow 26 and cryptography 50."""


RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"


SITE = Path("lib/python3.11/site-packages")


NAME_LENGTH = 16


JARS = ("deequ.jar", "avro.jar")
"""What the release carries of the pinned jars, in their order; the others stand for what EMR has."""


def bundle_functions(root: Path, tools: Path, build: Path, kept: Path | None = None) -> Path:
    """Make the functions' bundle; its path.

    `kept`, here and below: for the Python of this machine and packed quickly, with bytecode of earlier bundles from this folder.
    """
    return _zip(FUNCTIONS, "lambda/functions.zip", (root, tools, build), RUNNING, kept)


def bundle_judge(root: Path, tools: Path, build: Path, kept: Path | None = None) -> Path:
    """Make the judge function's bundle; its path."""
    return _zip(JUDGE, "judge/judge.zip", (root, tools, build), NEWER_PYTHON, kept)


def bundle_pull(root: Path, tools: Path, build: Path, kept: Path | None = None) -> Path:
    """Make the pull function's bundle; its path."""
    return _zip(PULL, "pull/pull.zip", (root, tools, build), NEWER_PYTHON, kept)


def bundle_job(root: Path, tools: Path, build: Path, interpreter: Path = INTERPRETER) -> Path:
    """Make the job's release; its folder. `interpreter`: where the machine that runs it has its Python 3.11."""

    def make(folder: Path) -> Path:
        environment, release = folder / "environment", folder / "release"
        release.mkdir()
        fill(environment / SITE, JOB, root, tools)
        _make_virtual(environment, interpreter)
        tarred(environment, release / "environment.tar.gz")
        shutil.copyfile(root / "spark_jobs/validate.py", release / "validate.py")
        for name, jar in zip(JARS, jars(tools), strict=False):
            shutil.copyfile(jar, release / name)
        return release

    def place(made: Path) -> Path:
        return build / "code" / digest(*sorted(made.iterdir()))[:NAME_LENGTH]

    release = _placed(make, build, place)
    (build / "release").write_text(release.name)
    return release


def _zip(bundle: Bundle, path: str, folders: tuple[Path, Path, Path], python: str, kept: Path | None) -> Path:
    """Make a bundle for Lambda; its path.

    Modules are compiled, for another Python than this one where it is on this machine's PATH; bytecode of another version is of
    no use.
    """
    root, tools, build = folders

    def make(folder: Path) -> Path:
        packages, made = folder / "packages", folder / Path(path).name
        fill(packages, bundle, root, tools, RUNNING if kept else python)
        if kept:
            compile_changed(packages, kept)
        elif interpreter := _interpreter(python):
            compile_all(packages, interpreter)
        zipped(packages, made, QUICK if kept else LEVEL)
        return made

    return _placed(make, build, lambda _: build / path)


def _placed(make: Callable[[Path], Path], build: Path, place: Callable[[Path], Path]) -> Path:
    """Make something aside and move it to its place; nothing else stays beside it."""
    with atomic_dir(build) as folder:
        made = make(folder)
        target = place(made)
        shutil.rmtree(target.parent, ignore_errors=True)
        target.parent.mkdir()
        return made.rename(target)


def _interpreter(python: str) -> str | None:
    """The program of a Python on this machine; None where there is at most its name, as the shims of version managers are."""
    found = sys.executable if python == RUNNING else shutil.which(f"python{python}")
    if found is None:
        return None
    ended = subprocess.run([found, "-c", ""], check=False, capture_output=True)  # noqa: S603 - a Python
    return None if ended.returncode else found


def _make_virtual(environment: Path, interpreter: Path) -> None:
    """What makes a folder of packages a virtual environment: a link to its interpreter, and where that one is at home."""
    (environment / "bin").mkdir()
    for name in ("python", "python3", "python3.11"):
        (environment / "bin" / name).symlink_to(interpreter)
    (environment / "pyvenv.cfg").write_text(f"home = {interpreter.parent}\ninclude-system-site-packages = false\n")

"""What is deployed: the functions for Lambda, the judge function, the pull function, and the job for EMR Serverless.

::

    build/lambda/functions.zip  lakegate/ with contracts/ and functions/, and their libraries, compiled: CodeUri in template.yaml
    build/judge/judge.zip       lakegate/ with contracts/, engine/ and an entry point, and their libraries: CodeUri, too
    build/pull/pull.zip         as functions.zip, with the library for SFTP: CodeUri of the one function that needs it
    build/code/<release>/       for the lake bucket; the release is named after the contents of
      validate.py                 the entry point
      environment.tar.gz          a virtual environment: lakegate/ with contracts/, engine/ and spark_jobs/, and their libraries
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

from lakegate.infra.local.jars import jars
from lakegate.infra.packaging.archives import LEVEL, digest, tarred, zipped
from lakegate.infra.packaging.contents import FUNCTIONS, JOB, JUDGE, PULL, fill
from lakegate.infra.setup.atomic_dir import atomic_dir

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.infra.packaging.contents import Bundle

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


def bundle_functions(root: Path, tools: Path, build: Path) -> Path:
    """Make the functions' bundle; its path."""
    return _zip(FUNCTIONS, "lambda/functions.zip", root, tools, build)


def bundle_judge(root: Path, tools: Path, build: Path, python: str = NEWER_PYTHON, level: int = LEVEL) -> Path:
    """Make the judge function's bundle for a version of Python; its path. `level`: how small, from 1 (quick) to 9."""
    return _zip(JUDGE, "judge/judge.zip", root, tools, build, python, level)


def bundle_pull(root: Path, tools: Path, build: Path, python: str = NEWER_PYTHON, level: int = LEVEL) -> Path:
    """Make the pull function's bundle, likewise."""
    return _zip(PULL, "pull/pull.zip", root, tools, build, python, level)


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


def _zip(  # noqa: PLR0913, PLR0917 - what it is made of, and for
    bundle: Bundle, path: str, root: Path, tools: Path, build: Path, python: str = RUNNING, level: int = LEVEL
) -> Path:
    """Make a bundle for Lambda; its path.

    Modules are compiled: Lambda's code folder is read-only, so every cold start would compile four hundred of them. For another
    Python than this one they are where it is on this machine's PATH; bytecode of another version is of no use.
    """

    def make(folder: Path) -> Path:
        packages, made = folder / "packages", folder / Path(path).name
        fill(packages, bundle, root, tools, python)
        interpreter = sys.executable if python == RUNNING else shutil.which(f"python{python}")
        if interpreter and _runs(interpreter):
            _compile(packages, interpreter)
        zipped(packages, made, level)
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


def _runs(interpreter: str) -> bool:
    """Whether a program is more than the name of one, as the shims of version managers are."""
    return not subprocess.run([interpreter, "-c", ""], check=False, capture_output=True).returncode  # noqa: S603 - a Python


def _compile(packages: Path, interpreter: str) -> None:
    """Bytecode without times, that tracebacks of Lambda can be read by; the same in every process."""
    options = ["-q", "--invalidation-mode", "unchecked-hash", "-s", str(packages), "-p", "/var/task", str(packages)]
    subprocess.run(  # noqa: S603 - a Python
        [interpreter, "-m", "compileall", *options], check=True, env={"PYTHONHASHSEED": "0"}
    )


def _make_virtual(environment: Path, interpreter: Path) -> None:
    """What makes a folder of packages a virtual environment: a link to its interpreter, and where that one is at home."""
    (environment / "bin").mkdir()
    for name in ("python", "python3", "python3.11"):
        (environment / "bin" / name).symlink_to(interpreter)
    (environment / "pyvenv.cfg").write_text(f"home = {interpreter.parent}\ninclude-system-site-packages = false\n")

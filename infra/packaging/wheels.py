"""The locked packages that are deployed, as wheels for the machines of AWS, whatever this machine is.

They are fetched once, into `.tools/wheels/<name>-<version of Python>`, with the hashes of the lock file. Later packaging needs
no network. None of them has an install step: unpacking is installing.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

from infra.setup.atomic_dir import alone, atomic_dir
from infra.setup.environments import LOCKS, MARK
from lakegate.errors import SetUpError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PATIENCE_SECONDS = 600


PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps", "--require-hashes")


TARGET = ("--only-binary=:all:", "--implementation=cp")


AL2023 = ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64")


MACHINES = {
    "lambda": ("manylinux2014_x86_64", "manylinux_2_17_x86_64"),  # Amazon Linux 2, where Lambda's Python 3.11 runs
    "job": AL2023,  # EMR 7
    "judge": AL2023,  # where Lambda's Python 3.12 runs
    "pull": AL2023,
}
"""By lock file: the C libraries that compiled packages may ask for."""


def wheels(name: str, tools: Path, locks: Path = LOCKS, python: str = "3.11") -> tuple[Path, ...]:
    """The wheels of a lock file for a version of Python, fetched if missing or changed; SetUpError if that fails."""
    store, lock = tools / "wheels" / f"{name}-{python}", locks / f"{name}.lock"
    mark = store / MARK
    with alone(store):
        if not mark.is_file() or mark.read_bytes() != lock.read_bytes():
            _fetch(name, lock, store, python)
    return tuple(sorted(store.glob("*.whl")))


def unpack(wheel: Path, folder: Path, wanted: Callable[[str], bool]) -> None:
    """Install those files of a wheel that are wanted, and none of its programs, into a folder of packages.

    Raises SetUpError for a wheel that is not installed by unpacking it.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".data/scripts/" not in name]
        if any(name.partition("/")[0].endswith(".data") for name in names):
            raise SetUpError(f"{wheel.name} has an install step: packaging only unpacks.")
        archive.extractall(folder, [name for name in names if wanted(name)])


def _fetch(name: str, lock: Path, store: Path, python: str) -> None:
    shutil.rmtree(store, ignore_errors=True)
    with atomic_dir(store.parent) as folder:
        made = folder / name
        platforms = [f"--platform={machine}" for machine in MACHINES[name]]
        target = (*TARGET, f"--python-version={python}", *platforms)
        command = [sys.executable, *PIP, *target, "--dest", str(made), "--requirement", str(lock)]
        try:
            subprocess.run(command, check=True, timeout=PATIENCE_SECONDS, capture_output=True)  # noqa: S603 - our own pip
        except subprocess.SubprocessError as error:
            advice = "fix the network and run `make package` again"
            raise SetUpError(f"The packages of {lock.name} could not be fetched as locked: {advice}.") from error
        shutil.copyfile(lock, made / MARK)
        made.rename(store)

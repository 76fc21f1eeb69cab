"""What runs a program: the port, and the simplest kind of it, a process of its own for each run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from infra.local.emr.stop import StoppedError
from lakegate.extension_points import ROOT
from lakegate.spark.local_spark import pinned_jars

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from infra.local.emr.parameters import Parameters
    from infra.local.emr.stop import Stop

KILLED: Final = -signal.SIGKILL


@dataclass(frozen=True, slots=True)
class JobAttempt:
    """One attempt of a run, all its files on this machine."""

    folder: Path
    """Empty but for its `stdout` and `stderr`, once it ran."""
    entry: Path
    arguments: tuple[str, ...]
    parameters: Parameters
    py_files: tuple[Path, ...] = ()
    jars: tuple[Path, ...] = ()


def added_jars(job: JobAttempt) -> tuple[str, ...]:
    """The job's jars but for those that every local Spark has, whatever they are called: `FileCache` keeps each by its digest."""
    pinned = {jar.sha256 for jar in pinned_jars()}
    return tuple(str(path) for path in job.jars if path.parent.name not in pinned)


class Executor(Protocol):
    """Runs jobs."""

    seats: int
    """How many at a time."""

    def start(self) -> None:
        """Make ready, without waiting for it."""
        ...

    def run(self, job: JobAttempt, stop: Stop) -> int:
        """The program's exit code; StoppedError when the run was stopped, and then nothing of it is left running."""
        ...

    def ready(self) -> bool:
        """Whether the next run begins at once."""
        ...

    def close(self) -> None:
        """Leave nothing running."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where programs run: the local AWS and who they are there."""

    endpoint: str
    region: str
    access_key: str
    secret_key: str

    def environment(self, job: JobAttempt | None = None) -> dict[str, str]:
        """The environment of a program."""
        path = os.pathsep.join([*map(_importable, job.py_files if job else ()), str(ROOT)])
        aws = {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_REGION": self.region,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
        }
        asked: Mapping[str, str] = job.parameters.environment if job else {}
        return {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", **aws, **asked}


def _importable(package: Path) -> str:
    """What Python searches for a package: an archive itself, the folder of a module."""
    return str(package.parent if package.suffix == ".py" else package)


class Processes:
    """Each run is a process (group) of its own: here plain Python, without Spark."""

    def __init__(self, surroundings: Surroundings, seats: int) -> None:
        self._surroundings = surroundings
        self.seats = seats

    def start(self) -> None:
        """See `Executor`: there is nothing to make ready."""

    def ready(self) -> bool:
        """See `Executor`."""
        return True

    def close(self) -> None:
        """See `Executor`: the caller stops the runs first, and no process outlives its run."""

    def run(self, job: JobAttempt, stop: Stop) -> int:
        """See `Executor`."""
        job.folder.mkdir(parents=True, exist_ok=True)
        with (job.folder / "stdout").open("wb") as out, (job.folder / "stderr").open("wb") as err:
            process = subprocess.Popen(  # noqa: S603 - running what it is given is the trade of this service
                self.command(job),
                env=self._surroundings.environment(job),
                cwd=job.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            try:
                with stop.calls(lambda: kill_group(process)):
                    code = process.wait()
            finally:
                kill_group(process)
        if stop.requested:
            raise StoppedError(stop.reason)
        return code

    def command(self, job: JobAttempt) -> list[str]:
        """What is run."""
        return [sys.executable, str(job.entry), *job.arguments]


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a group, with all that it started and left in the group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)

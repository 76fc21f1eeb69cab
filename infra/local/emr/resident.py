"""Warm Spark drivers that run program after program: what makes a small run a matter of a second.

A run that is stopped, or takes its driver down, costs that driver: it is killed with all it started, and the next one is
started at once. A run that needs settings, jars or packages other than the driver was started with gets a new driver too.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from infra.local.emr.executor import added_jars, kill_group
from infra.local.emr.stop import StoppedError
from lakegate.extension_points import ROOT
from lakegate.spark.local_spark import jars, java_home

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from infra.local.emr.executor import JobAttempt, Surroundings
    from infra.local.emr.stop import Stop

CODE: Final = ("lakegate", "spark_jobs")
"""Packages of this checkout that programs may import: when one changes, so must the driver."""


LOST: Final = 1
"""Exit code of a program whose driver died without one."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a driver must have been started with to run a job."""

    settings: Mapping[str, str]
    jars: tuple[str, ...]
    py_files: tuple[Path, ...]
    code: int

    @classmethod
    def of(cls, job: JobAttempt | None) -> Needs:
        """Of a job; of none, what most jobs need."""
        code = _newest()
        if job is None:
            return cls({}, (), (), code)
        return cls(dict(job.parameters.fixed), added_jars(job), job.py_files, code)


def _newest() -> int:
    return max(path.stat().st_mtime_ns for name in CODE for path in (ROOT / name).rglob("*.py"))


class Driver:
    """A driver process, and the line to it."""

    def __init__(
        self, surroundings: Surroundings, folder: Path, memory: str, needs: Needs, job: JobAttempt | None
    ) -> None:
        self.needs = needs
        self.ready = threading.Event()
        ours, theirs = socket.socketpair()
        startup = {"folder": str(folder), "memory": memory, "settings": dict(needs.settings), "jars": list(needs.jars)}
        with theirs, (folder / "driver.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", "infra.local.emr.driver", str(theirs.fileno()), json.dumps(startup)],
                env=surroundings.environment(job),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._line = ours
        self._received = ours.makefile("r", encoding="utf-8")
        self._awaited = threading.Thread(target=self._await_ready, daemon=True)
        self._awaited.start()

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def run(self, job: JobAttempt) -> int | None:
        """The program's exit code; None if the driver died before it had one."""
        self._awaited.join()
        request = {
            "entry": str(job.entry),
            "arguments": job.arguments,
            "settings": dict(job.parameters.live),
            "environment": dict(job.parameters.environment),
            "folder": str(job.folder),
        }
        try:
            self._line.sendall(json.dumps(request).encode() + b"\n")
        except OSError:
            return None
        answer = self._answer()
        return None if answer is None else int(answer["code"])

    def kill(self) -> None:
        """End the driver and all that it started."""
        kill_group(self._process)

    def gone(self) -> int:
        """Wait for the end of a killed driver, close its socket, and return its exit code."""
        code = self._process.wait()
        self.kill()
        self._awaited.join()
        self._received.close()
        self._line.close()
        return code

    def _await_ready(self) -> None:
        if self._answer() is not None:
            self.ready.set()

    def _answer(self) -> dict[str, Any] | None:
        try:
            line = self._received.readline()
        except OSError:
            return None
        answer: dict[str, Any] | None = json.loads(line) if line.endswith("\n") else None
        return answer


class Seat:
    """One driver after the other, one run at a time."""

    def __init__(self, surroundings: Surroundings, folder: Path, memory: str) -> None:
        self._surroundings = surroundings
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._memory = memory
        self._lock = threading.Lock()
        self._driver: Driver | None = None
        self._open = True

    def start(self) -> None:
        """Start a driver for what most jobs need."""
        self._replace(None)

    def ready(self) -> bool:
        """Whether the next run begins at once."""
        driver = self._driver
        return driver is not None and driver.alive and driver.ready.is_set()

    def run(self, job: JobAttempt, stop: Stop) -> int:
        """See `Executor`."""
        driver = self._fitting(job)
        with stop.calls(driver.kill):
            code = driver.run(job)
        if stop.requested or code is None:
            driver.kill()
            died = driver.gone()
            self._replace(None)
            if stop.requested:
                raise StoppedError(stop.reason)
            return died if died > 0 else LOST
        return code

    def fits(self, needs: Needs) -> bool:
        """Whether there is a driver that was started with these needs."""
        driver = self._driver
        return driver is not None and driver.alive and driver.needs == needs

    def close(self) -> None:
        """Leave nothing running, for good."""
        with self._lock:
            self._open = False
            if self._driver is not None:
                self._driver.kill()
                self._driver.gone()

    def _fitting(self, job: JobAttempt) -> Driver:
        driver = self._driver
        return driver if driver is not None and self.fits(Needs.of(job)) else self._replace(job)

    def _replace(self, job: JobAttempt | None) -> Driver:
        """Start a driver for a job's needs (None: for most jobs), once the one before is gone."""
        with self._lock:
            if not self._open:
                raise StoppedError("the service is going down")
            if self._driver is not None:
                self._driver.kill()
                self._driver.gone()
            needs = Needs.of(job)
            self._driver = Driver(self._surroundings, self._folder, self._memory, needs, job)
            return self._driver


class Resident:
    """Executor: a driver for each seat. The first one starts with the service, another one when runs have to wait for it."""

    def __init__(self, surroundings: Surroundings, seats: int, folder: Path, memory: str) -> None:
        self.seats = seats
        self._seats = [Seat(surroundings, folder / str(number), memory) for number in range(seats)]
        self._free = list(self._seats)
        self._lock = threading.Lock()

    def start(self) -> None:
        """See `Executor`; SetUpError where Java or a jar is missing."""
        java_home()
        jars()
        self._seats[0].start()

    def ready(self) -> bool:
        """See `Executor`."""
        return any(seat.ready() for seat in self._seats)

    def run(self, job: JobAttempt, stop: Stop) -> int:
        """See `Executor`; the caller admits no more runs than there are seats."""
        needs = Needs.of(job)
        with self._lock:
            seat = next((each for each in self._free if each.fits(needs)), self._free[0])
            self._free.remove(seat)
        try:
            return seat.run(job, stop)
        finally:
            with self._lock:
                self._free.insert(0, seat)

    def close(self) -> None:
        """See `Executor`."""
        for seat in self._seats:
            seat.close()

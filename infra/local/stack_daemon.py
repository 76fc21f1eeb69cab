"""A program that goes on when the command that started it has ended, and is found again by any later one.

Its lock file holds its process id, and the process holds the lock: as long as it lives, and not a moment longer, however it
ended. So a process id is never mistaken for another process that got the same number later.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lakegate.errors import SetUpError
from lakegate.extension_points import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

PATIENCE_SECONDS: Final = 60.0


GRACE_SECONDS: Final = 10.0
"""Between SIGTERM and SIGKILL."""


TICK_SECONDS: Final = 0.02


_CHILDREN: Final[dict[int, subprocess.Popen[bytes]]] = {}
"""What this very process started, so that it can bury them."""


@dataclass(frozen=True, slots=True)
class Daemon:
    """One program, by its name; what it writes lies in the folder."""

    name: str
    folder: Path

    @property
    def log(self) -> Path:
        """Its standard error."""
        return self.folder / f"{self.name}.log"

    @property
    def answers(self) -> Path:
        """Its standard output."""
        return self.folder / f"{self.name}.out"

    @property
    def lock(self) -> Path:
        """Held by the process, and holding its id."""
        return self.folder / f"{self.name}.lock"

    def start(self, command: Sequence[str], environment: Mapping[str, str], descriptors: Sequence[int] = ()) -> int:
        """Start it in a session of its own, out of reach of the terminal's Ctrl-C; its process id."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.lock.open("a") as held, self.log.open("ab") as log, self.answers.open("wb") as answers:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held.truncate(0)  # only now: until it is locked it is another process's
            process = subprocess.Popen(  # noqa: S603 - our own programs
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=answers,
                stderr=log,
                pass_fds=(held.fileno(), *descriptors),
                start_new_session=True,
            )
            held.write(str(process.pid))
        _CHILDREN[process.pid] = process
        return process.pid

    def pid(self) -> int | None:
        """The process id, or None where it does not run."""
        try:
            with self.lock.open() as file:
                if _is_free(file.fileno()):
                    return None
                return int(file.read() or 0) or None
        except FileNotFoundError:
            return None

    def wait(self, ready: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
        """Until it is ready; SetUpError where it ends before, or takes too long."""
        for _ in _ticks(seconds):
            if ready():
                return
            if self.pid() is None:
                _bury(int(self.lock.read_text()))
                raise SetUpError(f"the local {self.name} ended while it started: its log is {self.log}.")
        raise SetUpError(f"the local {self.name} was not ready after {seconds:.0f} seconds: its log is {self.log}.")

    def stop(self) -> bool:
        """End it, gently and then not; whether it ran."""
        process = self.pid()
        if process is None:
            return False
        for sent, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, GRACE_SECONDS)):
            _send(process, sent)
            if any(self.pid() is None for _ in _ticks(seconds)):
                _bury(process)
                return True
        raise SetUpError(f"the local {self.name} (process {process}) does not end.")


def _bury(process: int) -> None:
    child = _CHILDREN.pop(process, None)
    if child is not None:
        child.wait()


def _is_free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True


def _send(process: int, sent: signal.Signals) -> None:
    """To the process; the last signal also to what it left in its session."""
    try:
        (os.killpg if sent is signal.SIGKILL else os.kill)(process, sent)
    except ProcessLookupError:
        return


def _ticks(seconds: float) -> Iterator[None]:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        yield
        time.sleep(TICK_SECONDS)

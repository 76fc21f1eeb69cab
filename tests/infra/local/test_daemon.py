from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local import local_stack
from infra.local.local_stack import Daemon
from lakegate.base.errors import SetUpError

READY = "print('ready', flush=True); "
WAIT = "import signal; signal.pause()"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); "
WITH_CHILD = (
    "import subprocess, sys, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()']); print(child.pid, flush=True); "
)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    one = Daemon("thing", tmp_path)
    yield one
    one.stop()


def started(daemon: Daemon, program: str) -> int:
    process = daemon.start([sys.executable, "-c", program], dict(os.environ))
    daemon.wait(lambda: daemon.answers.read_text().endswith("\n"))
    return process


def test_a_program_goes_on_and_is_found_again(daemon: Daemon) -> None:
    """Any later command finds the process by its name and folder."""
    process = started(daemon, READY + WAIT)

    assert process == Daemon("thing", daemon.folder).pid()
    assert os.getsid(process) == process


def test_stopping_is_done_once(daemon: Daemon) -> None:
    """The first stop returns that it ran; a second finds nothing to stop."""
    started(daemon, READY + WAIT)

    assert (daemon.stop(), daemon.stop(), daemon.pid()) == (True, False, None)


def test_a_number_left_by_a_dead_process_is_nobodys(daemon: Daemon) -> None:
    """The id of a process that has ended may be another's by now: without the lock it is never signalled."""
    daemon.lock.write_text(str(os.getpid()))

    assert (daemon.pid(), daemon.stop()) == (None, False)


def test_a_program_that_does_not_listen_is_killed_with_all_it_started(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ignores SIGTERM gets SIGKILL, and so do the processes of its session."""
    monkeypatch.setattr(local_stack, "GRACE_SECONDS", 0.3)
    started(daemon, WITH_CHILD + WAIT)
    child = int(daemon.answers.read_text())
    daemon.stop()

    assert _ends(child)


def test_a_program_that_ends_while_it_starts_leads_to_its_log(daemon: Daemon) -> None:
    """The wait fails at once, and the error names the log."""
    daemon.start([sys.executable, "-c", "raise SystemExit('no port')"], dict(os.environ))

    with pytest.raises(SetUpError, match=r"^the local thing ended while it started: its log is .*thing\.log\.$"):
        daemon.wait(lambda: False)
    assert daemon.log.read_text() == "no port\n"


def test_waiting_has_an_end(daemon: Daemon) -> None:
    """A program that never becomes ready is reported after a time limit."""
    started(daemon, READY + WAIT)

    with pytest.raises(SetUpError, match="was not ready after 0 seconds"):
        daemon.wait(lambda: False, seconds=0.1)


def test_two_of_one_name_do_not_run_at_once(daemon: Daemon) -> None:
    """The lock lets one process of a name run."""
    process = started(daemon, READY + WAIT)

    with pytest.raises(BlockingIOError):
        daemon.start([sys.executable, "-c", WAIT], dict(os.environ))
    assert process == daemon.pid()


def _ends(process: int, seconds: float = 30.0) -> bool:
    """Whether it is soon gone: the kernel takes a killed process away in its own time."""
    limit = time.monotonic() + seconds
    while _runs(process) and time.monotonic() < limit:
        time.sleep(local_stack.TICK_SECONDS)
    return not _runs(process)


def _runs(process: int) -> bool:
    """Whether the process is more than a name that its parent has not buried yet."""
    try:
        with open(f"/proc/{process}/stat") as file:  # noqa: PTH123 - no file, but the kernel
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False

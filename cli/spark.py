"""The gate's own job in the command's process, with Spark and Deequ in a JVM beside it."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from lakegate.cli import terminal
from lakegate.cli.engine import STEPS
from lakegate.contracts.errors import SetUpError
from lakegate.infra.local.spark import LOG, use_local_spark
from lakegate.spark_jobs.store import Addresses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.status import Status

    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.request import Request
    from lakegate.contracts.plan.result import Result
    from lakegate.spark_jobs.store import Pin


def measure(request: Request, plan: Plan, folder: Path, samples: int, pins: Mapping[str, Pin]) -> Result:
    """See `lakegate.cli.engine.measure`."""
    use_local_spark(folder, sum(part.size for part in request.parts))
    try:
        with terminal.errors().status("starting Spark") as status, _interruptible(status, folder):
            from lakegate.spark_jobs.validate import validate  # noqa: PLC0415 - Spark's imports, under the spinner

            with ThreadPoolExecutor(1) as beside:
                watch = partial(_show, status)
                return beside.submit(validate, request, plan, watch, samples, Addresses(pins)).result()
    except (Py4JError, PySparkException) as error:
        kept = shutil.copy(folder / LOG, folder.with_suffix(".log"))
        raise SetUpError(f"Spark could not finish ({type(error).__name__}); its log is {kept}") from None


def _show(status: Status, step: str) -> None:
    status.update(STEPS[step])


@contextmanager
def _interruptible(status: Status, folder: Path) -> Iterator[None]:
    """Ctrl-C ends this process and its JVM at once, and removes what they wrote.

    Spark runs on another thread: on the main one it installs a handler of its own, which talks to the JVM in the middle of
    another call, and fails or hangs.
    """

    def end(*_: object) -> None:
        status.stop()
        terminal.say_interrupted()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # other threads print tracebacks when their JVM is gone
        for child in _descendants():
            with suppress(ProcessLookupError, ChildProcessError):  # no child of ours, or another thread waited for it
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(terminal.INTERRUPTED)

    before = signal.signal(signal.SIGINT, end)
    tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = None
        signal.signal(signal.SIGINT, before)


def _descendants(process: int | str = "self") -> list[int]:
    """Processes that one started, and theirs; where the system lists none, a JVM ends by itself when its standard input does."""
    with suppress(OSError):
        lists = Path(f"/proc/{process}/task").glob("*/children")
        own = [int(child) for each in lists for child in each.read_text().split()]
        return [each for child in own for each in (child, *_descendants(child))]
    return []

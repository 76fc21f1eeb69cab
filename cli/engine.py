"""The engines on this machine: a request and a plan in, a result out."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cli import terminal
from contracts.errors import SetUpError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.status import Status

    from contracts.plan import Plan
    from contracts.request import Request
    from contracts.result import Result

STEPS = {
    "start": "starting the engine",
    "open": "reading the header",
    "read": "reading every record",
    "measure": "measuring the checks",
    "explain": "looking up failing rows",
    "split": "splitting good rows from bad ones",
    "ask": "asking the contract's own queries",
}


class Engine(StrEnum):
    """What measures a delivery; both give the same results."""

    NATIVE = "native"
    """This process, without a JVM."""
    SPARK = "spark"
    """The gate's own job, with Spark and Deequ."""


def measure(engine: Engine, request: Request, plan: Plan, folder: Path, samples: int) -> Result:
    """Measure a delivery; the engine writes only below `folder`, and so many failing rows are named of each check at most.

    SetUpError where the engine cannot finish.
    """
    return _MEASURE[engine](request, plan, folder, samples)


def _native(request: Request, plan: Plan, folder: Path, samples: int) -> Result:
    import duckdb  # noqa: PLC0415 - start-up is paid by every command

    from engine.judge import measure  # noqa: PLC0415 - likewise
    from engine.read.local import LocalStore  # noqa: PLC0415 - likewise

    try:
        with terminal.errors().status(STEPS["start"]) as status:
            return measure(request, plan, LocalStore(), folder, lambda step: status.update(STEPS[step]), samples)
    except (duckdb.Error, MemoryError) as error:
        raise SetUpError(f"the engine could not finish ({type(error).__name__}): free memory and disk space") from None


def _spark(request: Request, plan: Plan, folder: Path, samples: int) -> Result:
    from infra.local.spark import LOG, use_local_spark  # noqa: PLC0415 - start-up is paid by every command

    use_local_spark(folder, sum(part.size for part in request.parts))
    try:
        with terminal.errors().status("starting Spark") as status, _interruptible(status, folder):
            from spark_jobs.validate import validate  # noqa: PLC0415 - Spark's imports, under the spinner

            with ThreadPoolExecutor(1) as beside:
                watch = partial(_show, status)
                return beside.submit(validate, request, plan, watch, samples).result()
    except _spark_failures() as error:
        kept = shutil.copy(folder / LOG, folder.with_suffix(".log"))
        raise SetUpError(f"Spark could not finish ({type(error).__name__}); its log is {kept}") from None


_MEASURE: dict[Engine, Callable[[Request, Plan, Path, int], Result]] = {Engine.NATIVE: _native, Engine.SPARK: _spark}


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
        for child in _children():
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        shutil.rmtree(folder, ignore_errors=True)
        terminal.say_interrupted()
        os._exit(terminal.INTERRUPTED)

    before = signal.signal(signal.SIGINT, end)
    tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = None
        signal.signal(signal.SIGINT, before)


def _children() -> list[int]:
    """Processes that this one started; where the system lists none, a JVM ends by itself when its standard input does."""
    with suppress(OSError):
        lists = Path("/proc/self/task").glob("*/children")
        return [int(child) for each in lists for child in each.read_text().split()]
    return []


def _spark_failures() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JError  # noqa: PLC0415 - start-up is paid by every command
    from pyspark.errors import PySparkException  # noqa: PLC0415 - likewise

    return Py4JError, PySparkException

"""The resident driver: a process that holds one Spark session and runs programs in it, one after the other.

Run by the service with a socket to it: a line of JSON in for each program, a line out when it ended. It lives as long as
that line: a service that dies takes its driver with it, whatever program is running.

Every program finds a session of its own on the one Spark context, so that no setting, view or cached table of one is seen
by the next; what it prints, and what Spark logs meanwhile, goes to its own log files.
"""

from __future__ import annotations

import json
import os
import runpy
import socket
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from local_emr.spark_processes import LOG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORPHANED: Final = 70
WITHOUT_JVM: Final = 71
CRASHED: Final = 1


def serve(line: socket.socket, folder: Path) -> None:
    """Start Spark, report that it is ready, and run each job received."""
    orders = listen(line)
    base = warm(folder)
    threading.Thread(target=end_with_jvm, args=(base,), daemon=True).start()
    say(line, {"ready": True})
    while True:
        order = orders.get()
        code = play(base, order, folder / LOG)
        base = afresh(base)
        say(line, {"code": code})


def listen(line: socket.socket) -> SimpleQueue[dict[str, Any]]:
    """Orders as they come; the end of the line is the end of this process."""
    orders: SimpleQueue[dict[str, Any]] = SimpleQueue()

    def receive() -> None:
        with line.makefile("r", encoding="utf-8") as sent:
            for text in sent:
                orders.put(json.loads(text))
        os._exit(ORPHANED)

    threading.Thread(target=receive, daemon=True).start()
    return orders


def end_with_jvm(base: SparkSession) -> None:
    """End this process as soon as its JVM has ended: the run under way fails at once, and no later one is given to it."""
    base.sparkContext._gateway.proc.wait()  # type: ignore[union-attr] # noqa: SLF001 - PySpark has no public way to its JVM
    os.write(2, b"The JVM of Spark ended\n")
    os._exit(WITHOUT_JVM)


def say(line: socket.socket, answer: Mapping[str, Any]) -> None:
    """Answer the service."""
    line.sendall(json.dumps(answer).encode() + b"\n")


def session() -> SparkSession:
    """The session of this process, started or found."""
    from pyspark.sql import SparkSession as Builder  # noqa: PLC0415 - reads the settings that `serve` makes

    return Builder.builder.appName("local-emr-serverless").getOrCreate()


def warm(folder: Path) -> SparkSession:
    """A session whose Python workers, readers and writers have run once: what a first run would wait for."""
    spark = session()
    source = folder / "warm.csv"
    source.write_text("a,b\n1,x\n")
    frame = spark.read.option("header", "true").csv(source.as_uri())
    frame.groupBy("b").count().collect()
    return spark


def play(base: SparkSession, order: Mapping[str, Any], log: Path) -> int:
    """Run one program as `python ENTRY ARGUMENTS…` would, in a session of its own; its exit code."""
    began = log.stat().st_size if log.exists() else 0
    folder = Path(order["folder"])
    with redirected(folder), surrounded(order):
        own_session(base, order["settings"])
        code = run_program(order["entry"])
    _append(log, began, folder / "stderr")
    return code


def run_program(entry: str) -> int:
    """The exit code that Python itself would end with."""
    try:
        runpy.run_path(entry, run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return CRASHED
    except BaseException:  # noqa: BLE001 - whatever a program dies of is its own failure, not the driver's
        traceback.print_exc()
        return CRASHED
    return 0


def own_session(base: SparkSession, settings: Mapping[str, str]) -> None:
    """Make a new session the one that the program finds; its settings are gone with it."""
    from pyspark.sql import SparkSession as Sessions  # noqa: PLC0415 - as above

    own = base.newSession()
    for name, value in settings.items():
        own.conf.set(name, value)
    jvm = base.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to choose the session that is found
    assert jvm is not None
    jvm.SparkSession.setDefaultSession(own._jsparkSession)  # noqa: SLF001 - as above
    jvm.SparkSession.setActiveSession(own._jsparkSession)  # noqa: SLF001 - as above
    Sessions._instantiatedSession = Sessions._activeSession = own  # noqa: SLF001 - as above


def afresh(base: SparkSession) -> SparkSession:
    """The start of the next program: the same context with nothing cached, or a new one where the program ended it."""
    from pyspark.sql import SparkSession as Sessions  # noqa: PLC0415 - as above

    if base.sparkContext._jsc is None:  # noqa: SLF001 - how PySpark itself knows a stopped context
        Sessions._instantiatedSession = Sessions._activeSession = None  # noqa: SLF001 - as in `own_session`
        return session()
    base.catalog.clearCache()
    return base


@contextmanager
def redirected(folder: Path) -> Iterator[None]:
    """While inside, this process and what it starts write to the run's own logs."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    for name, number in (("stdout", 1), ("stderr", 2)):
        with (folder / name).open("wb") as target:
            os.dup2(target.fileno(), number)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for saved, number in zip(kept, (1, 2), strict=True):
            os.dup2(saved, number)
            os.close(saved)


@contextmanager
def surrounded(order: Mapping[str, Any]) -> Iterator[None]:
    """While inside, arguments, search path, environment and folder are the run's; afterwards they are as before."""
    arguments, path, environment, folder = sys.argv, list(sys.path), dict(os.environ), Path.cwd()
    sys.argv = [order["entry"], *order["arguments"]]
    sys.path.insert(0, str(Path(order["entry"]).parent))
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    try:
        yield
    finally:
        sys.argv, sys.path[:] = arguments, path
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)


def _append(log: Path, began: int, target: Path) -> None:
    """Append to the run's log what Spark logged during the run, as on EMR Serverless."""
    if log.exists():
        with log.open("rb") as source, target.open("ab") as stderr:
            source.seek(began)
            stderr.write(source.read())


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as to_service:
        serve(to_service, Path(sys.argv[2]))

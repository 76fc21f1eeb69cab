"""Ctrl-C, SIGTERM or a closed terminal during a command that works in a folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from lakegate.cli import terminal

if TYPE_CHECKING:
    from collections.abc import Iterator


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends a command: the folder holds values of the data in clear text, so it never stays."""


@contextmanager
def interruptible_folder() -> Iterator[Path]:
    """An empty temporary folder; while it exists, these signals end this process and its children at once, and remove the folder.

    No exception could do that reliably: an extension module that is being imported turns KeyboardInterrupt into ImportError,
    DuckDB into RuntimeError, destructors lose it, and Spark's own handler talks to the JVM in the middle of another call.
    """
    folder = Path(tempfile.gettempdir(), f"lakegate-{token_hex(8)}")

    def end(sent: int, _frame: object) -> None:
        terminal.say_interrupted()
        # other threads print tracebacks when their JVM or their files are gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), terminal.STANDARD_ERROR)
        for child in _descendants():
            with suppress(ProcessLookupError, ChildProcessError):  # no child of ours, or another thread waited for it
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(terminal.INTERRUPTED - signal.SIGINT + sent)

    before = {each: signal.signal(each, end) for each in ENDING}
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for each, handler in before.items():
            signal.signal(each, handler)


def _descendants(process: int | str = "self") -> list[int]:
    """Processes that one started, and theirs; where the system lists none, a JVM ends by itself when its standard input does."""
    with suppress(OSError):
        lists = Path(f"/proc/{process}/task").glob("*/children")
        own = [int(child) for each in lists for child in each.read_text().split()]
        return [each for child in own for each in (child, *_descendants(child))]
    return []

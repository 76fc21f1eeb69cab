"""Where the command's words go: progress and tables to people, one JSON document to machines."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

INTERRUPTED = 130
"""The exit code after Ctrl-C."""
WIDE = 180
"""Columns of a table that is written into a file or a pipe."""


def errors() -> Console:
    """Standard error: progress, problems, everything that is no answer."""
    from rich.console import Console  # noqa: PLC0415 - start-up is paid by every command

    return Console(stderr=True, highlight=False, soft_wrap=True)


def answers() -> Console:
    """Standard output: the answer for people."""
    from rich.console import Console  # noqa: PLC0415 - start-up is paid by every command

    return Console(highlight=False)


def wide() -> Console:
    """Standard output for tables of many columns: as wide as the terminal, and wide enough where there is none."""
    from rich.console import Console  # noqa: PLC0415 - start-up is paid by every command

    console = answers()
    return console if console.is_terminal else Console(highlight=False, width=WIDE)


def say_interrupted() -> None:
    """What Ctrl-C ends with."""
    sys.stderr.write("lakegate: interrupted\n")
    sys.stderr.flush()


def print_json(document: object) -> None:
    """The answer for machines: one document, nothing else."""
    json.dump(document, sys.stdout, ensure_ascii=False, indent=2)
    sys.stdout.write("\n")


@contextmanager
def bytes_arriving(what: str, size: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error while bytes arrive, on a terminal only; yields who is to be told of them."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn  # noqa: PLC0415 - likewise

    console = errors()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=size)
        yield lambda count: progress.advance(task, count)

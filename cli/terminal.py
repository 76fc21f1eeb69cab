"""Where the command's words go: progress and tables to people, one JSON document to machines."""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from cli.seen import seen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

INTERRUPTED = 130
"""The exit code after Ctrl-C."""
WIDE = 1_500
"""Columns of a file or a pipe: more than a table has with the longest key, so that nothing is folded there."""
SECONDS_BETWEEN_LINES: Final = 10.0
"""Of progress, where there is no terminal."""


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
def working(what: str) -> Iterator[Callable[[str], None]]:
    """What is being done, on standard error: a spinner on a terminal, elsewhere a line every ten seconds.

    Yields who is to be told what is being done now; the text may hold names of producers.
    """
    from rich.text import Text  # noqa: PLC0415 - start-up is paid by every command

    console = errors()
    if not console.is_terminal:
        yield Lines()
        return
    with console.status(Text(seen(what))) as status:
        yield lambda text: status.update(Text(seen(text)))


class Lines:
    """A line on standard error whenever ten seconds have passed since the last one, or since the beginning."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, text: str) -> None:
        """Print the text, if it is time."""
        now = time.monotonic()
        if now - self._last >= SECONDS_BETWEEN_LINES:
            self._last = now
            sys.stderr.write(f"{seen(text)}\n")
            sys.stderr.flush()


@contextmanager
def bytes_arriving(what: str, size: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error while bytes arrive, elsewhere a line every ten seconds; yields who is to be told of them."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn  # noqa: PLC0415 - likewise

    console = errors()
    if not console.is_terminal:
        yield _arrived(what, size)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(seen(what), total=size)
        yield lambda count: progress.advance(task, count)


def _arrived(what: str, size: int) -> Callable[[int], None]:
    line, total = Lines(), 0

    def arrived(count: int) -> None:
        nonlocal total
        total += count
        line(f"{what}: {total:,} of {size:,} bytes ({total / max(size, 1):.0%})")

    return arrived

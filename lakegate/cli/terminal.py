"""Output of the command: progress and tables to people, one JSON document to machines."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import click

from lakegate.base.errors import ContractError
from lakegate.base.text import plural
from lakegate.base.text import printable as escaped

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID
    from rich.status import Status

    from lakegate.local_check.check_data import TaskProgress

STANDARD_ERROR = 2
INTERRUPTED = 130
"""The exit code after Ctrl-C."""
WIDE = 1_500
"""Columns of a file or a pipe: more than a table has with the longest key, so that nothing is folded there."""
SECONDS_BETWEEN_LINES: Final = 10.0
"""Of progress, where there is no terminal."""


def standard_error() -> Console:
    """Standard error: progress, problems, everything that is no result."""
    from rich.console import Console  # noqa: PLC0415 - not for --json

    return Console(stderr=True, highlight=False, soft_wrap=True)


def note(text: str, style: str = "") -> None:
    """Print a line on standard error: progress, a warning, an effect that is to be confirmed. It may have any text."""
    click.echo(style_text(text, style), err=True)


def style_text(text: str, style: str) -> str:
    """The text, escaped, in a style such as `bold red`; `click.echo` takes it off where there is no terminal.

    Tables and progress are rich's; it takes as long to load as a small contract to lint.
    """
    words = style.split()
    colour = next((word for word in words if word not in {"bold", "dim"}), None)
    return click.style(escaped(text), fg=colour, bold="bold" in words or None, dim="dim" in words or None)


def standard_output() -> Console:
    """Standard output, for people."""
    from rich.console import Console  # noqa: PLC0415 - not for --json

    return Console(highlight=False)


def wide() -> Console:
    """Standard output for tables of many columns: as wide as the terminal, and wide enough where there is none."""
    from rich.console import Console  # noqa: PLC0415 - not for --json

    console = standard_output()
    return console if console.is_terminal else Console(highlight=False, width=WIDE)


def is_read_by_a_person() -> bool:
    """Whether standard output is a terminal: neither a file nor another program keeps what is printed."""
    return sys.stdout.isatty()


def say_interrupted() -> None:
    """The one line of a command that Ctrl-C ended; a progress bar disappears, and the cursor is shown again."""
    clear = "\r\x1b[2K\x1b[?25h" if sys.stderr.isatty() else ""
    os.write(STANDARD_ERROR, f"{clear}lakegate: interrupted\n".encode())


def say_refused(error: ContractError) -> None:
    """Say on standard error why a contract is refused: a line for each problem, as `lakegate lint` has it."""
    say_problems(error)
    sys.stderr.write("lakegate: the contract is refused; `lakegate lint` shows its lines\n")


def say_problems(error: ContractError) -> None:
    """Say on standard error what is wrong with a document: a line for each problem."""
    for problem in error.problems:
        where = f"line {problem.line}: " if problem.line else ""
        sys.stderr.write(f"lakegate: {where}{problem.code}: {escaped(problem.message)} @ {escaped(problem.path)}\n")


def print_json(document: object) -> None:
    """Print the result for machines: one document, nothing else."""
    sys.stdout.write(json_text(document) + "\n")


def json_text(document: object) -> str:
    """The document with letters as they are, and what moves a cursor or turns the direction of writing as escapes."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    return "".join(each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text)


def json_words(document: object) -> Iterator[Word]:
    """The lines of the document, for a command whose words are one."""
    yield from json_text(document).split("\n")


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of texts."""

    columns: Iterable[str]
    rows: Iterable[Iterable[str | tuple[str, str]]]
    """Cells; of two texts, the second is the style of the first."""
    numbers: Collection[str] = ()
    """Columns of figures, to the right."""
    unbroken: Collection[str] = ()
    """Columns whose cells are not folded."""

    def print(self) -> None:
        """Print it on standard output."""
        from rich.table import Table  # noqa: PLC0415 - not for --json
        from rich.text import Text  # noqa: PLC0415 - likewise

        table = Table(box=None, header_style="bold", pad_edge=False)
        for name in self.columns:
            table.add_column(
                Text(escaped(name)),
                justify="right" if name in self.numbers else "left",
                overflow="fold",
                no_wrap=name in self.unbroken,
            )
        for row in self.rows:
            cells = (each if isinstance(each, tuple) else (each, "") for each in row)
            table.add_row(*(Text(escaped(text), style) for text, style in cells))
        wide().print(table)


Word: TypeAlias = "str | tuple[tuple[str, str], ...] | Grid | Callable[[Console], None]"
"""A line, a line of texts with their styles, a table, or what prints itself."""


def tell(words: Iterable[Word]) -> None:
    """Print a result for people."""
    for word in words:
        if isinstance(word, str):
            sys.stdout.write(f"{escaped(word)}\n")
        elif isinstance(word, tuple):
            click.echo("".join(style_text(text, style) for text, style in word))
        elif isinstance(word, Grid):
            word.print()
        else:
            word(standard_output())


def more(number: int, shown: int) -> Iterator[str]:
    """The line behind a list of which only so many entries are shown; none if that is all of them."""
    if number > shown:
        yield f"… and {number - shown:,} more: --json lists them all."


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """The current activity, on standard error: a spinner on a terminal, elsewhere a line every ten seconds.

    Yields a function that shows what is being done now; the text may hold names of producers.
    """
    from rich.text import Text  # noqa: PLC0415 - not for --json

    console = standard_error()
    if not console.is_terminal:
        yield ProgressLines()
        return
    with console.status(Text(escaped(what))) as status:
        yield lambda text: status.update(Text(escaped(text)))


class ProgressLines:
    """A line on standard error whenever ten seconds have passed since the last one, or since the beginning."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, text: str) -> None:
        """Print the text, if it is time."""
        now = time.monotonic()
        if now - self._last >= SECONDS_BETWEEN_LINES:
            self._last = now
            sys.stderr.write(f"{escaped(text)}\n")
            sys.stderr.flush()


@contextmanager
def bytes_arriving(what: str, size: int | None) -> Iterator[TaskProgress]:
    """A bar on standard error while bytes arrive, elsewhere a line every ten seconds; yields what they are reported to.

    Of an unknown number of bytes a spinner, and elsewhere nothing.
    """
    console = standard_error()
    if not console.is_terminal:
        yield _Counted(what, size or 0)
        return
    if size is None:
        with console.status(escaped(what)) as status:
            yield _Spinner(status)
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn  # noqa: PLC0415 - for a terminal alone

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Bar(progress, progress.add_task(escaped(what), total=size))


class _Bar:
    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task = progress, task

    def __call__(self, count: int) -> None:
        self._progress.advance(self._task, count)

    def during(self, what: str) -> None:
        self._progress.update(self._task, description=escaped(what))


class _Spinner:
    def __init__(self, status: Status) -> None:
        self._status = status

    def __call__(self, count: int) -> None:
        """Nothing: the number of bytes is not known."""

    def during(self, what: str) -> None:
        self._status.update(escaped(what))


class _Counted:
    def __init__(self, what: str, size: int) -> None:
        self._what, self._size, self._total, self._line = what, size, 0, ProgressLines()

    def __call__(self, count: int) -> None:
        self._total += count
        self._line(
            f"{self._what}: {self._total:,} of {plural(self._size, 'byte')} ({self._total / max(self._size, 1):.0%})"
        )

    def during(self, what: str) -> None:
        self._what = what

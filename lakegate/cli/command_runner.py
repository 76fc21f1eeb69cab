"""One runner: options, opened stack, confirmation, table or JSON."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from lakegate.cli import terminal
from lakegate.errors import InputError
from lakegate.text import printable as escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# ---- Effects that a person may not expect are confirmed before anything is written ---------------------------------


Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Confirm the effects beforehand, for scripts.")]


def confirm(effects: Iterable[str], *, yes: bool) -> None:
    """Return where there is no effect, or each one is confirmed: by `--yes`, or by a person at a terminal.

    Raises InputError otherwise: then nothing may be written.
    """
    found = tuple(effects)
    if yes or not found:
        return
    if not is_interactive():
        raise InputError(f"{'; '.join(found)}. Nothing was changed: confirm it with --yes")
    for each in found:
        terminal.errors().print(escaped(f"  {each}"), markup=False, soft_wrap=True)
    if not typer.confirm("Continue?", err=True):
        raise InputError("not confirmed: nothing was changed")


def is_interactive() -> bool:
    """Whether a person can read a question and answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


# ---- Options of several commands: which stack, and the form of the answer ------------------------------------------


StackName: TypeAlias = Annotated[
    str, typer.Option("--stack", envvar="LAKEGATE_STACK", help="The CloudFormation stack of Lakegate.")
]
Local: TypeAlias = Annotated[
    bool, typer.Option("--local", envvar="LAKEGATE_LOCAL", help="The stack that `lakegate local up` started.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
LINE = "<contract>/<dataset>_v<major>, or a part that only one line has: orders_v1, orders."
ApiUrl: TypeAlias = Annotated[
    str | None,
    typer.Option("--api", envvar="LAKEGATE_API", help="Through the HTTP API at this address.", show_default=False),
]
_DELIVERY = "A workload's id, the beginning of one, or a landing key."
Delivery: TypeAlias = Annotated[str, typer.Argument(help=_DELIVERY, show_default=False)]
OptionalDelivery: TypeAlias = Annotated[str | None, typer.Argument(help=_DELIVERY, show_default=False)]
ApiContract: TypeAlias = Annotated[
    str | None, typer.Option(help="With --api: its contract, for callers with rights to that.", show_default=False)
]
Line: TypeAlias = Annotated[str, typer.Argument(help=LINE, show_default=False)]
OptionalLine: TypeAlias = Annotated[str | None, typer.Argument(help=LINE, show_default=False)]


def refuse_options(**given: object) -> None:
    """Raise InputError for options that the API has nothing for."""
    if names := [f"--{name.replace('_', '-')}" for name, value in given.items() if value]:
        raise InputError(f"the HTTP API has nothing for {' and '.join(names)}: leave it out, or --api (LAKEGATE_API)")


def refuse_contract(contract: str | None) -> None:
    """Raise InputError for a contract beside a workload, where a command does not work through the API."""
    if contract is not None:
        raise InputError("--contract is for --api: here the workload alone names the delivery")


# ---- Files that a command writes because an option names them ------------------------------------------------------


def usable(option: str, path: Path, suffixes: tuple[str, ...], inputs: Iterable[Path]) -> None:
    """InputError where an option's file cannot be written, before any work is done for it; no input is overwritten."""
    if path.suffix not in suffixes:
        raise InputError(f"{option} {path}: name a file that ends in {' or '.join(suffixes)}")
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: the folder {path.parent} does not exist")
    if path.is_dir():
        raise InputError(f"{option} {path}: this is a folder")
    if path.exists() and any(each.exists() and each.samefile(path) for each in inputs):
        raise InputError(f"{option} {path}: this file is read by the command; name another one")


def write_text(option: str, path: Path, text: str) -> None:
    """Write the file. InputError where it cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{option} {path} cannot be written: {error.strerror}") from error


# ---- Ctrl-C, SIGTERM or a closed terminal during a command that works in a folder of its own -----------------------


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

"""One runner: options, opened stack, confirmation, table or JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from lakegate.cli import terminal
from lakegate.errors import InputError
from lakegate.text import printable as escaped

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

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

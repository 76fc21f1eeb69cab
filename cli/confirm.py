"""Effects that a person may not expect are confirmed before anything is written."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from lakegate.cli import terminal
from lakegate.cli.escape import escaped
from lakegate.contracts.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

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

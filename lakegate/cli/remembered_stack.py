"""The stack that a person works with, remembered by `lakegate use` in a file of that person.

Options and environment variables win over it. It is a person's own file, and none of a folder: a folder may be somebody else's,
and must not choose where a command acts. A command says which stack it asks where it is this one (`RememberedName`).
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource

from lakegate.aws.open_stack import DEFAULT_STACK, RememberedName
from lakegate.base.errors import InputError
from lakegate.base.json_codec import decode

ASKED: Final = frozenset({"stack", "local", "api"})
"""Options that say which stack a command asks."""


@dataclass(frozen=True, slots=True)
class RememberedStack:
    """The stack to ask."""

    stack: str
    local: bool


def place(environment: dict[str, str] | os._Environ[str] = os.environ) -> Path:
    """The file, in the folder that the platform has for settings of a person."""
    named = environment.get("XDG_CONFIG_HOME")
    folder = Path(named, "lakegate") if named else Path(click.get_app_dir("lakegate"))
    return folder / "stack.json"


def read() -> RememberedStack | None:
    """The remembered stack; None where there is none. InputError where the file is not one of `lakegate use`."""
    path = place()
    try:
        return decode(RememberedStack, json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, InputError):
        raise InputError(f"{path} cannot be read: `lakegate use none` removes it") from None


def write(wanted: RememberedStack | None) -> None:
    """Remember a stack, or none. InputError where the file cannot be written."""
    path = place()
    try:
        if wanted is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(f".{os.getpid()}")
        aside.write_text(json.dumps(asdict(wanted)) + "\n", encoding="utf-8")
        try:
            aside.replace(path)
        finally:
            with suppress(FileNotFoundError):
                aside.unlink()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None


def apply(context: click.Context) -> None:
    """Let a command that asks a stack ask the remembered one, unless an option or a variable names another.

    Commands that make or change a stack have no option `--stack` of this kind: they are always told.
    """
    asked = ASKED & context.params.keys()
    if not {"stack", "local"} <= asked or context.resilient_parsing:
        return
    if any(context.get_parameter_source(name) is not ParameterSource.DEFAULT for name in asked):
        return
    found = read()
    if found is not None:
        context.params |= {"stack": RememberedName(DEFAULT_STACK if found.local else found.stack), "local": found.local}

"""Files of new contracts: named after their dataset, never written over another file."""

from __future__ import annotations

from pathlib import Path

import typer

from lakegate.contracts.errors import InputError

SUFFIX = ".odcs.yaml"
STANDARD_OUTPUT = "-"


def writable(target: str) -> None:
    """InputError where the file exists, or cannot be written."""
    if target == STANDARD_OUTPUT:
        return
    path = Path(target)
    if path.exists():
        raise InputError(f"{target} exists and is not overwritten: name another file with --output")
    if not path.parent.is_dir():
        raise InputError(f"{target}: the folder {path.parent} does not exist")


def write_draft(target: str, text: str, *, as_json: bool) -> None:
    """Write a new file, or to standard output unless that has a JSON document; InputError where it cannot be written."""
    if target != STANDARD_OUTPUT:
        try:
            with Path(target).open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise InputError(f"{target} cannot be written: {error.strerror}") from error
    elif not as_json:
        typer.echo(text, nl=False)

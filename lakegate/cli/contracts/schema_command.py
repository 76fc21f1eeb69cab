"""`lakegate schema`: one JSON Schema of contract documents for editors, official and extension together."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import click

from lakegate.base.errors import InputError
from lakegate.base.json_schemas import EDITOR, for_editors
from lakegate.base.text import join_words
from lakegate.cli.click_commands import Argument, Option
from lakegate.cli.command_runner import CommandResult, command, usable, write_text

FORMAT = "The format of the documents, by default that of drafts: odcs-3.1.0."
OUTPUT = "The file to write, which ends in .json; one that exists is replaced. By default standard output."


@dataclass(frozen=True, slots=True)
class EditorSchema:
    """The schema of a format, or the file that has it."""

    format: str
    file: str | None
    schema: dict[str, Any] | None


@command
def schema(
    form: Annotated[str, Argument(metavar="[FORMAT]", help=FORMAT, show_default=False)] = "odcs-3.1.0",
    output: Annotated[Path | None, Option("--output", "-o", help=OUTPUT)] = None,
) -> CommandResult[EditorSchema]:
    """Write the JSON Schema by which an editor completes and checks contracts: the official one with the `lakegate` extension.

    The first lines of a draft name its file, and the command that writes it. No network is needed.

    Example: lakegate schema odcs-3.1.0 --output lakegate-odcs-3.1.0.schema.json
    """
    if form not in EDITOR:
        raise InputError(f"{form} is no format with a schema: name {join_words(EDITOR)}")
    if output is not None:
        usable("--output", output, (".json",), ())
    found = for_editors(form)
    text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    if output is not None:
        write_text("--output", output, text)
    name, whole = (None, found) if output is None else (str(output), None)
    words = [lambda _: click.echo(text, nl=False)] if output is None else []
    return CommandResult(EditorSchema(form, name, whole), words)

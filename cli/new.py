"""`lakegate new`: an example of a contract with comments, to be replaced by the author's own."""

from __future__ import annotations

import re
from importlib.resources import files
from shlex import quote
from typing import Annotated

import typer

from lakegate.cli import terminal
from lakegate.cli.drafts import STANDARD_OUTPUT, SUFFIX, writable, write_draft
from lakegate.cli.escape import escaped
from lakegate.cli.options import AsJson  # noqa: TC001 - typer reads the annotation

NAME = "The name of the contract and its dataset."
OWNER = "The team that answers for the data."
OUTPUT = "The file to write, by default NAME.odcs.yaml in this folder; - for standard output. No file is overwritten."


def new(
    name: Annotated[str, typer.Argument(help=NAME)] = "payments",
    owner: Annotated[str, typer.Option(help=OWNER)] = "my-team",
    output: Annotated[str | None, typer.Option("--output", "-o", help=OUTPUT, show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Write an example of a contract (ODCS 3.1) with every kind of promise, and comments.

    Example: lakegate new payments --owner finance
    """
    from lakegate.contracts.draft.document import dataset_name  # noqa: PLC0415 - yaml and more, for this command alone

    target = output if output is not None else f"{dataset_name(name)}{SUFFIX}"
    writable(target)
    text = example(name, owner)
    write_draft(target, text, as_json=as_json)
    if as_json:
        is_printed = target == STANDARD_OUTPUT
        terminal.print_json({"file": None if is_printed else target, "text": text if is_printed else None})
    elif target != STANDARD_OUTPUT:
        lines = (
            f"{target}: written",
            "Next: replace the example by your promises, then",
            f"    lakegate lint {quote(target)}",
        )
        for line in lines:
            terminal.answers().print(escaped(line), markup=False, soft_wrap=True)


def example(name: str, owner: str) -> str:
    """The example with a name and an owner, both escaped."""
    from lakegate.contracts.draft.document import VERSION, dataset_name, for_editors  # noqa: PLC0415 - likewise
    from lakegate.contracts.draft.yaml_text import comment, scalar  # noqa: PLC0415 - likewise

    text = (files("lakegate.cli.explanations") / "contract.odcs.yaml").read_text(encoding="utf-8")
    dataset = dataset_name(name)
    values = {
        "# @SCHEMA@": "\n".join(comment(each.text) for each in for_editors(VERSION)),
        "@ID@": scalar(dataset.replace("_", "-")),
        "@DATASET@": dataset,
        "@OWNER@": scalar(owner),
        "@NAME@": scalar(name),
    }
    return re.sub("|".join(values), lambda found: values[found[0]], text)

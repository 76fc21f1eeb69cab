"""`lakegate dataset watermark`: the watermark of a line with slices, set by a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from lakegate.cli import terminal
from lakegate.cli.aws import opened
from lakegate.contracts.lake.lifecycle import moment
from lakegate.functions.usecases.lines import line_named
from lakegate.functions.usecases.marking import set_watermark
from lakegate.functions.usecases.steps import run

if TYPE_CHECKING:
    from datetime import datetime


def mark(line: str, at: datetime, stack: str, *, local: bool, as_json: bool) -> None:
    """Set it, and print the one before."""
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        name = line_named(dependencies, line)
        before = run(set_watermark(dependencies, name, at), dependencies.clock)
    if as_json:
        terminal.print_json({"line": name, "watermark": moment(at), "before": before or None})
        return
    typer.echo(f"{name}: the watermark is {moment(at)} (before: {before or 'none'}).")

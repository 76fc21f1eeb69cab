"""`lakegate diff`: what changes between two versions of a contract, and which version number the changes need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import partial
from typing import Annotated

from lakegate.aws.open_stack import DEFAULT_STACK
from lakegate.base.text import markdown
from lakegate.base.text import printable as escaped
from lakegate.cli import terminal
from lakegate.cli.click_commands import Argument, Option
from lakegate.cli.command_runner import CommandResult, command
from lakegate.cli.options import DefinitionRoot, Local, StackName
from lakegate.diff.change_kinds import Change, VersionComparison
from lakegate.diff.diff_contracts import compare
from lakegate.library.contract_files import load_version

REFUSED = 1
COLOURS = {"major": "red", "minor": "yellow", "patch": "green"}
LONGEST_CELL = 200
"""The most characters of a value in a table."""


class DiffFormat(StrEnum):
    """The form of the output."""

    TEXT = "text"
    MARKDOWN = "markdown"


@command
def diff(  # noqa: PLR0913 - a command has these options
    old: Annotated[
        str,
        Argument(
            help="A file, CONTRACT for its version in use, CONTRACT@VERSION (or @latest), or REVISION:PATH of git."
        ),
    ],
    new: Annotated[str, Argument(help="The same, or - for standard input.")],
    *,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    root: DefinitionRoot = None,
    form: Annotated[
        DiffFormat, Option("--format", help="For a terminal, or for a comment on a pull request.")
    ] = DiffFormat.TEXT,
    enforce: Annotated[bool, Option(help="Exit with 1 if the new version number is too low for the changes.")] = False,
) -> CommandResult[VersionComparison]:
    """Compare two versions of a contract: every change, who is affected, and the version number that it needs.

    Example: lakegate diff HEAD~1:orders.yaml orders.yaml --enforce

    Exit code: 0 compared, 1 the new number is too low (with --enforce), 2 a version cannot be read.
    """
    load = partial(
        load_version, stack=stack, local=local, root=root, note=lambda text: terminal.note(f"lakegate: {text}")
    )
    comparison = compare(*map(load, (old, new)))
    is_refused = enforce and not comparison.ok
    return CommandResult(comparison, [lambda _: print_comparison(comparison, form)], REFUSED if is_refused else 0)


def print_comparison(comparison: VersionComparison, form: DiffFormat = DiffFormat.TEXT) -> None:
    """Print the changes and the verdict on the number."""
    lines = _markdown(comparison) if form is DiffFormat.MARKDOWN else _blocks(comparison.changes)
    console = terminal.standard_output()
    for line, style in lines:
        console.print(line, style=style, markup=False, soft_wrap=True)
    if form is DiffFormat.TEXT:
        console.print(escaped(verdict(comparison)), markup=False, soft_wrap=True)


def verdict(comparison: VersionComparison) -> str:
    """Whether the number is high enough, and which one would be, as a sentence."""
    needed, numbers = comparison.bump.value.upper(), f"{comparison.old} → {comparison.new}"
    if not comparison.changes:
        return f"No change ({numbers})."
    if comparison.ok:
        return f"The changes need {needed}, and {numbers} is enough."
    return f"The changes need {needed}, and {numbers} is not: use {comparison.sufficient} or higher."


def _blocks(changes: Iterable[Change]) -> Iterator[tuple[str, str | None]]:
    """Two lines for each change: what changes, and who is affected why."""
    for change in changes:
        line = f"{change.bump.value:<5}  {change.path}  {change.kind}: {_cut(change.before)} → {_cut(change.after)}"
        yield escaped(line), COLOURS[change.bump.value]
        yield escaped(f"       affects {change.affected.value}. {change.effect.because}"), None


def _markdown(comparison: VersionComparison) -> Iterator[tuple[str, str | None]]:
    """A table for a pull request. Text of a contract is escaped: it forms no link, no mention and no HTML."""
    yield f"**{markdown(verdict(comparison))}**", None
    if comparison.changes:
        yield "", None
        yield "| needs | path | change | before | after | affects | because |", None
        yield "| --- | --- | --- | --- | --- | --- | --- |", None
    for change in comparison.changes:
        texts = (
            change.bump.value,
            change.path,
            change.kind,
            _cut(change.before),
            _cut(change.after),
            change.affected.value,
        )
        yield f"| {' | '.join(map(markdown, (*texts, change.effect.because)))} |", None


def _cut(value: str | None) -> str:
    text = "none" if value is None else value
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}…"

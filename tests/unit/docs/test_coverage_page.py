"""docs/coverage.md names nothing that is not there: tests, commands and pages."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache

import click
import pytest

from lakegate.base.extension_points import ROOT
from lakegate.cli.main import app

STATES = {"works", "differs", "later", "part", "missing", "to show"}
LATER = {"tables", "derived datasets", "streams", "workflows"}


@dataclass(frozen=True)
class Requirement:
    """A row of the page."""

    number: str
    where: str
    asks: str
    state: str
    shown: str


ROWS = [
    Requirement(*(cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))))
    for line in (ROOT / "docs/coverage.md").read_text().splitlines()
    if re.match(r"\| [A-Z]{3}-\d", line)
]


@cache
def names_in(path: str) -> set[str]:
    """The names of the test functions of a file, and of its classes."""
    names = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, names)}


def test_rows_are_numbered_by_document() -> None:
    numbers: dict[str, list[int]] = {}
    for row in ROWS:
        document, number = row.number.split("-")
        numbers.setdefault(document, []).append(int(number))

    assert {document: found == [*range(1, len(found) + 1)] for document, found in numbers.items()} == dict.fromkeys(
        ("DCM", "EXE", "ADR", "ODF", "DCS"), True
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)
def test_a_row_names_what_shows_it(row: Requirement) -> None:
    """`works` has a test or a command, `differs` a page, `later` one of the four things that come later."""
    tests = re.findall(r"`(tests/[^`]+)`", row.shown)
    commands = re.findall(r"`lakegate ([^`]+)`", row.shown)
    pages = re.findall(r"\]\([\w/.-]+\.md(?:#[\w-]+)?\)", row.shown)

    assert row.state in STATES
    assert row.state != "works" or tests or commands
    assert row.state != "differs" or pages
    assert row.state != "later" or any(row.shown.startswith(name) for name in LATER)
    assert [name for name in tests if not _is_there(name)] == []
    assert [line for line in commands if not _is_a_command(line)] == []


def _is_there(test: str) -> bool:
    path, _, name = test.partition("::")
    return (ROOT / path).exists() and (not name or name in names_in(path))


def _is_a_command(line: str) -> bool:
    command: click.Command | None = app
    for word in line.split():
        if not isinstance(command, click.Group):
            break
        command = command.get_command(click.Context(command), word)
    return command is not None

"""`lakegate lint`: everything wrong with contract documents, each with its line, and how to fix it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.aws.open_stack import DEFAULT_STACK
from lakegate.cli.options import Local, StackName
from lakegate.contract_files import InputDocument, ParentPaths, ParentPlaces, sources
from lakegate.errors import ContractError, InputError, Problem
from lakegate.lints.linter import NOTHING, Unreadable, as_document
from lakegate.text import counted
from lakegate.text import printable as escaped

if TYPE_CHECKING:
    from lakegate.lints.linter import Examined


class LintFormat(Enum):
    """The form of problems."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


VALID, REFUSED, UNUSABLE = 0, 1, 2
LONGEST_LINE = 160
STYLES = {"error": "bold red", "warning": "yellow"}


def lint(  # noqa: PLR0913 - a command has these options
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Documents, folders of them, or - for standard input.")
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
    form: Annotated[
        LintFormat,
        typer.Option("--format", help="Text for people; json; sarif for code scanning; github for annotations."),
    ] = LintFormat.TEXT,
    parents: ParentPaths = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    only_contracts: Annotated[
        bool, typer.Option("--only-contracts", help="Skip files that declare no contract format.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse documents that have warnings too.")] = False,
) -> None:
    """Judge contract documents: syntax, the schema of their version, their meaning; every error at once, with its line.

    A rule that can never be measured is a warning; --strict refuses what has warnings. What a document inherits from is
    read from files, and what no file has from the registry of the stack; nothing else is asked of the stack.

    Example: lakegate lint contracts/examples/weather.dcm.yaml

    Every code is explained in docs/codes.md.

    Exit code: 0 valid (without --strict warnings are allowed), 1 refused, 2 a file that cannot be read.
    """
    judged, unreadable = _judge(files, ParentPlaces.of(parents, stack, local=local), only_contracts=only_contracts)
    WRITERS[LintFormat.JSON if as_json else form](judged, unreadable)
    for reason in unreadable.values():
        sys.stderr.write(f"lakegate: {escaped(reason)}\n")
    raise typer.Exit(_exit_code(judged, unreadable, strict=strict))


def _judge(files: list[str], places: ParentPlaces, *, only_contracts: bool) -> tuple[dict[str, Examined], Unreadable]:
    """The problems of each document, and why others could not be read."""
    from lakegate.contract.documents.document_formats import declares_format  # noqa: PLC0415 -- yaml, for this command alone
    from lakegate.inheritance import resolve  # noqa: PLC0415 -- as above

    judged: dict[str, Examined] = {}
    unreadable: dict[str, str] = {}
    found = _found(files, unreadable)
    products = _products(found)
    for each in found:
        try:
            text = each.read()
        except InputError as error:
            unreadable[each.name] = str(error)
            continue
        if each.name in products:
            judged[f"{each.name} (ports)"] = _of_ports(text)
        elif (each.found or only_contracts) and not declares_format(text):
            sys.stderr.write(f"lakegate: {escaped(each.name)} is not a contract, passed over\n")
        else:
            judged[each.name] = resolve(text, places.parents(each.name, text)).examined
    if not judged and not unreadable and not only_contracts:
        unreadable[", ".join(files)] = "No contract was found."
    return judged, unreadable


def _products(found: list[InputDocument]) -> set[str]:
    """The products in folders beside which no contract lies: their ports are judged as the contract they make."""
    from lakegate.contract.documents.data_products import ContractOrigin as Origin  # noqa: PLC0415 -- as above
    from lakegate.contract.documents.data_products import discover  # noqa: PLC0415 -- as above

    names = {str(PurePath(each.name)): each.name for each in found if each.found}
    return {names[each.name] for each in discover(names) if each.source is Origin.PORTS}


def _of_ports(text: bytes) -> Examined:
    from lakegate.contract.documents.data_products import generated  # noqa: PLC0415 -- as above
    from lakegate.lints.linter import Examined, examine  # noqa: PLC0415 -- as above

    try:
        return examine(generated(text))
    except ContractError as error:
        return Examined(error.problems, ())


def _found(files: list[str], unreadable: dict[str, str]) -> list[InputDocument]:
    found: list[InputDocument] = []
    for name in files:
        try:
            found += sources([name])
        except InputError as error:
            unreadable[name] = str(error)
    return found


def _exit_code(judged: dict[str, Examined], unreadable: Unreadable, *, strict: bool) -> int:
    if unreadable:
        return UNUSABLE
    is_good = all(each.valid and not (strict and each.warnings) for each in judged.values())
    return VALID if is_good else REFUSED


def _write_json(judged: dict[str, Examined], unreadable: Unreadable) -> None:
    sys.stdout.write(json.dumps(as_document(judged, unreadable), indent=2) + "\n")


def _write_sarif(judged: dict[str, Examined], unreadable: Unreadable) -> None:
    from importlib.metadata import version  # noqa: PLC0415 -- for this form alone

    from lakegate.report.sarif import sarif_problems  # noqa: PLC0415 -- likewise

    sys.stdout.write(json.dumps(sarif_problems(judged, unreadable, version("lakegate")), indent=2) + "\n")


def _write_github(judged: dict[str, Examined], unreadable: Unreadable) -> None:
    from lakegate.report.github_output import github_problems  # noqa: PLC0415 -- for this form alone

    sys.stdout.writelines(f"{line}\n" for line in github_problems(judged, unreadable))


def show(judged: dict[str, Examined], _unreadable: Unreadable = NOTHING) -> None:
    """Every problem with its line, for people; what cannot be read is reported on standard error."""
    for name, examined in judged.items():
        if examined.errors or examined.warnings:
            _show_problems(name, examined)
        sys.stdout.write(f"{escaped(name)}: {_summary(examined)}\n")


def _show_problems(name: str, examined: Examined) -> None:
    from rich.console import Console  # noqa: PLC0415 -- only where there are problems, and not for --json
    from rich.text import Text  # noqa: PLC0415 -- as above

    console = Console(soft_wrap=True, highlight=False)
    for level, problems in (("error", examined.errors), ("warning", examined.warnings)):
        for problem in problems:
            where = Text(f"{escaped(name)}:{problem.line}: ", style="dim")
            console.print(where.append(level, STYLES[level]).append(f" {problem.code}", "bold"))
            console.print(Text(f"    {escaped(problem.message)} @ {escaped(problem.path)}"))
            console.print(Text(_quoted(examined, problem), style="dim"), end="")


def _quoted(examined: Examined, problem: Problem) -> str:
    """The line of the document that has the problem."""
    lines = examined.lines[(problem.line or 0) - 1 : problem.line or 0]
    return "".join(f"    {problem.line} | {escaped(line[:LONGEST_LINE])}\n" for line in lines)


def _summary(examined: Examined) -> str:
    counts = [counted(len(examined.errors), "error"), counted(len(examined.warnings), "warning")]
    return f"{'valid' if examined.valid else 'refused'} ({', '.join(counts)})"


WRITERS: dict[LintFormat, Callable[[dict[str, Examined], Unreadable], None]] = {
    LintFormat.TEXT: show,
    LintFormat.JSON: _write_json,
    LintFormat.SARIF: _write_sarif,
    LintFormat.GITHUB: _write_github,
}

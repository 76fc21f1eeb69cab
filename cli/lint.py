"""`lakegate lint`: everything wrong with contract documents, each with its line, and how to mend it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.inputs import Source, sources
from cli.seen import seen
from contracts.errors import ContractError, InputError, Problem

if TYPE_CHECKING:
    from contracts.formats import Examined


class Form(Enum):
    """How problems are written."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


VALID, REFUSED, UNUSABLE = 0, 1, 2
LONGEST_LINE = 160
STYLES = {"error": "bold red", "warning": "yellow"}


def lint(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Documents, folders of them, or - for standard input.")
    ],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
    form: Annotated[
        Form, typer.Option("--format", help="Text for people; json; sarif for code scanning; github for annotations.")
    ] = Form.TEXT,
    only_contracts: Annotated[
        bool, typer.Option("--only-contracts", help="Pass over files that declare no contract format.")
    ] = False,
) -> None:
    """Judge contract documents: syntax, the schema of their version, their meaning; every error at once, with its line.

    Example: lakegate lint contracts/examples/weather.dcm.yaml

    Every code is explained in docs/codes.md.

    Exit code: 0 valid (warnings allowed), 1 refused, 2 a file that cannot be read.
    """
    judged, unreadable = _judge(files, only_contracts=only_contracts)
    WRITERS[Form.JSON if as_json else form](judged)
    for reason in unreadable:
        sys.stderr.write(f"lakegate: {seen(reason)}\n")
    raise typer.Exit(_exit_code(judged, unreadable))


def _judge(files: list[str], *, only_contracts: bool) -> tuple[dict[str, Examined], list[str]]:
    """What is to be said of each document, and why others could not be read."""
    from contracts.formats import declares_format, examine  # noqa: PLC0415 -- yaml, for this command alone

    judged: dict[str, Examined] = {}
    unreadable: list[str] = []
    found = _found(files, unreadable)
    products = _products(found)
    for each in found:
        try:
            text = each.read()
        except InputError as error:
            unreadable.append(str(error))
            continue
        if each.name in products:
            judged[f"{each.name} (ports)"] = _of_ports(text)
        elif (each.found or only_contracts) and not declares_format(text):
            sys.stderr.write(f"lakegate: {seen(each.name)} is no contract, passed over\n")
        else:
            judged[each.name] = examine(text)
    if not judged and not unreadable and not only_contracts:
        unreadable.append("No contract was found.")
    return judged, unreadable


def _products(found: list[Source]) -> set[str]:
    """The products in folders beside which no contract lies: their ports are judged as the contract they make."""
    from contracts.formats.discovery import Source as Origin  # noqa: PLC0415 -- as above
    from contracts.formats.discovery import discover  # noqa: PLC0415 -- as above

    names = {str(PurePath(each.name)): each.name for each in found if each.found}
    return {names[each.name] for each in discover(names) if each.source is Origin.PORTS}


def _of_ports(text: bytes) -> Examined:
    from contracts.formats import Examined, examine  # noqa: PLC0415 -- as above
    from contracts.formats.ports import generated  # noqa: PLC0415 -- as above

    try:
        return examine(generated(text))
    except ContractError as error:
        return Examined(error.problems, ())


def _found(files: list[str], unreadable: list[str]) -> list[Source]:
    found: list[Source] = []
    for name in files:
        try:
            found += sources([name])
        except InputError as error:
            unreadable.append(str(error))
    return found


def _exit_code(judged: dict[str, Examined], unreadable: list[str]) -> int:
    if unreadable:
        return UNUSABLE
    return VALID if all(each.valid for each in judged.values()) else REFUSED


def _write_json(judged: dict[str, Examined]) -> None:
    sys.stdout.write(json.dumps(as_document(judged), indent=2) + "\n")


def _write_sarif(judged: dict[str, Examined]) -> None:
    from importlib.metadata import version  # noqa: PLC0415 -- for this form alone

    from cli.annotations import sarif  # noqa: PLC0415 -- likewise

    sys.stdout.write(json.dumps(sarif(judged, version("lakegate")), indent=2) + "\n")


def _write_github(judged: dict[str, Examined]) -> None:
    from cli.annotations import github  # noqa: PLC0415 -- for this form alone

    sys.stdout.writelines(f"{line}\n" for line in github(judged))


def as_document(judged: dict[str, Examined]) -> dict[str, Any]:
    """One shape for one document and for many; of many, each problem also names its file."""
    several = len(judged) > 1
    return {
        "valid": all(each.valid for each in judged.values()),
        "errors": [_entry(p, name, several=several) for name, each in judged.items() for p in each.errors],
        "warnings": [_entry(p, name, several=several) for name, each in judged.items() for p in each.warnings],
    }


def _entry(problem: Problem, name: str, *, several: bool) -> dict[str, Any]:
    entry = asdict(problem)
    return {"file": name.encode("utf-8", "replace").decode(), **entry} if several else entry


def show(judged: dict[str, Examined]) -> None:
    """Every problem with its line, for people."""
    from rich.console import Console  # noqa: PLC0415 -- not for --json
    from rich.text import Text  # noqa: PLC0415 -- as above

    console = Console(soft_wrap=True, highlight=False)
    for name, examined in judged.items():
        for level, problems in (("error", examined.errors), ("warning", examined.warnings)):
            for problem in problems:
                where = Text(f"{seen(name)}:{problem.line}: ", style="dim")
                console.print(where.append(level, STYLES[level]).append(f" {problem.code}", "bold"))
                console.print(Text(f"    {seen(problem.message)} @ {seen(problem.path)}"))
                console.print(Text(_quoted(examined, problem), style="dim"), end="")
        console.print(Text(f"{seen(name)}: {_summary(examined)}"))


def _quoted(examined: Examined, problem: Problem) -> str:
    """The line of the document a problem speaks of."""
    lines = examined.lines[(problem.line or 0) - 1 : problem.line or 0]
    return "".join(f"    {problem.line} | {seen(line[:LONGEST_LINE])}\n" for line in lines)


def _summary(examined: Examined) -> str:
    counts = [_counted(len(examined.errors), "error"), _counted(len(examined.warnings), "warning")]
    return f"{'valid' if examined.valid else 'refused'} ({', '.join(counts)})"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


WRITERS = {Form.TEXT: show, Form.JSON: _write_json, Form.SARIF: _write_sarif, Form.GITHUB: _write_github}

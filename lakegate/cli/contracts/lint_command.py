"""`lakegate lint`: everything wrong with contract documents, each with its line, and how to fix it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import PurePath
from typing import Annotated

from lakegate.aws.open_stack import DEFAULT_STACK
from lakegate.base.errors import InputError
from lakegate.base.json_codec import encode
from lakegate.base.text import plural
from lakegate.base.text import printable as escaped
from lakegate.cli import terminal
from lakegate.cli.click_commands import Argument, Option
from lakegate.cli.command_runner import CommandResult, command
from lakegate.cli.options import DefinitionRoot, Local, ParentPaths, StackName
from lakegate.cli.terminal import Word
from lakegate.library.contract_files import InputDocument, ParentPlaces, sources
from lakegate.lints.linter import Examined, LintReport, Unreadable, lint_report


class LintFormat(Enum):
    """The form of problems."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


VALID, REFUSED, UNUSABLE = 0, 1, 2
LONGEST_LINE = 160
STYLES = {"error": "bold red", "warning": "yellow"}


@command
def lint(  # noqa: PLR0913 - a command has these options
    files: Annotated[list[str], Argument(metavar="FILE", help="Documents, folders of them, or - for standard input.")],
    *,
    form: Annotated[
        LintFormat,
        Option("--format", help="Text for people; json; sarif for code scanning; github for annotations."),
    ] = LintFormat.TEXT,
    parents: ParentPaths = None,
    root: DefinitionRoot = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    only_contracts: Annotated[bool, Option(help="Skip files that declare no contract format.")] = False,
    strict: Annotated[bool, Option(help="Refuse documents that have warnings too.")] = False,
    offline: Annotated[
        bool, Option(help="Ask no host and no stack: what a document refers to there is an error.")
    ] = False,
) -> CommandResult[LintReport]:
    """Judge contract documents: syntax, the schema of their version, their meaning; every error at once, with its line.

    A rule that can never be measured is a warning; --strict refuses what has warnings. What a document inherits from is
    read from files, and what no file has from the registry of the stack; nothing else is asked of the stack.

    Example: lakegate lint contracts/examples/weather.dcm.yaml

    Every code is explained in docs/codes.md.

    Exit code: 0 valid (without --strict warnings are allowed), 1 refused, 2 a file that cannot be read.
    """
    places = ParentPlaces.of(parents, stack, local=local, offline=offline, root=root)
    judged, unreadable = _judge(files, places, only_contracts=only_contracts)
    for reason in unreadable.values():
        sys.stderr.write(f"lakegate: {escaped(reason)}\n")
    exit_code = _exit_code(judged, unreadable, strict=strict)
    report = lint_report(judged, unreadable)
    return CommandResult(report, _written(form, judged, unreadable, report), exit_code)


def _judge(files: list[str], places: ParentPlaces, *, only_contracts: bool) -> tuple[dict[str, Examined], Unreadable]:
    """The problems of each document, and why others could not be read."""
    from lakegate.contract.documents.data_products import is_contract_name, is_product  # noqa: PLC0415 -- yaml, for this command alone
    from lakegate.contract.documents.document_formats import declares_format  # noqa: PLC0415 -- as above
    from lakegate.inheritance.inherited_documents import resolve  # noqa: PLC0415 -- as above
    from lakegate.lints.product_lints import examined_product  # noqa: PLC0415 -- as above

    judged: dict[str, Examined] = {}
    unreadable: dict[str, str] = {}
    products: dict[str, bytes] = {}
    documents = _found(files, places, unreadable)
    for document in documents:
        try:
            text = document.read()
        except InputError as error:
            unreadable[document.name] = str(error)
            continue
        if is_product(document.name, text):
            products[document.name] = text
        elif (document.found or only_contracts) and not declares_format(text) and not is_contract_name(document.name):
            sys.stderr.write(f"lakegate: {escaped(document.name)} is not a contract, passed over\n")
        else:
            judged[document.name] = resolve(text, places.parents(document.name, text)).examined
    known = {each.contract.id for each in judged.values() if each.contract is not None}
    with_document = {PurePath(name).parent for name in judged}
    for name, text in products.items():
        has_document = PurePath(name).parent in with_document
        examined = examined_product(text, known, has_document=has_document)
        if not has_document or examined.warnings or not examined.valid:
            judged[f"{name} (ports)"] = examined
    if not judged and not unreadable and not only_contracts:
        unreadable[", ".join(files)] = "No contract was found."
    return judged, unreadable


def _found(files: list[str], places: ParentPlaces, unreadable: dict[str, str]) -> list[InputDocument]:
    documents: list[InputDocument] = []
    for name in files:
        try:
            documents += sources([name], places.fetch, places.root)
        except InputError as error:
            unreadable[name] = str(error)
    return documents


def _exit_code(judged: dict[str, Examined], unreadable: Unreadable, *, strict: bool) -> int:
    if unreadable:
        return UNUSABLE
    is_good = all(each.valid and not (strict and each.warnings) for each in judged.values())
    return VALID if is_good else REFUSED


def _written(
    form: LintFormat, judged: dict[str, Examined], unreadable: Unreadable, report: LintReport
) -> Iterator[Word]:
    """Problems in a form; what cannot be read is reported on standard error, too."""
    match form:
        case LintFormat.TEXT:
            yield from problems_in_words(judged)
        case LintFormat.JSON:
            yield from terminal.json_words(encode(report))
        case LintFormat.SARIF:
            from importlib.metadata import version  # noqa: PLC0415 -- for this form alone

            from lakegate.report.sarif import sarif_problems  # noqa: PLC0415 -- likewise

            log = json.dumps(sarif_problems(judged, unreadable, version("lakegate")), indent=2)
            yield lambda _: sys.stdout.writelines([log, "\n"])
        case LintFormat.GITHUB:
            from lakegate.report.github_output import github_problems  # noqa: PLC0415 -- for this form alone

            yield lambda _: sys.stdout.writelines(f"{line}\n" for line in github_problems(judged, unreadable))


def problems_in_words(judged: dict[str, Examined]) -> Iterator[Word]:
    """Every problem with its line, and a summary of each document."""
    for name, examined in judged.items():
        for level, problems in (("error", examined.errors), ("warning", examined.warnings)):
            for problem in problems:
                yield (f"{name}:{problem.line}: ", "dim"), (level, STYLES[level]), (f" {problem.code}", "bold")
                yield f"    {problem.message} @ {problem.path}"
                for line in examined.lines[(problem.line or 0) - 1 : problem.line or 0]:
                    yield ((f"    {problem.line} | {line[:LONGEST_LINE]}", "dim"),)
        counts = f"{plural(len(examined.errors), 'error')}, {plural(len(examined.warnings), 'warning')}"
        yield f"{name}: {'valid' if examined.valid else 'refused'} ({counts})"

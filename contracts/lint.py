"""Judges what a contract means, which no schema can: each code is one small function, found in one table.

Then every rule is compiled, so that what the compiler refuses is told here, and what it can only name is warned of. Codes are
stable: tools may filter by them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from contracts.compile import compile_plan
from contracts.errors import ContractError, Problem
from contracts.linting.finding import MOST_OF_ONE, Level
from contracts.linting.table import LINTS
from contracts.nodes import steps_of
from contracts.parts import with_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from contracts.document import Document
    from contracts.model import Contract, Rule
    from contracts.plan import Plan

NOT_MEASURED = "not-measured"
"""The code of a warning: a rule compiles to a check that is only named."""
QUIET = ("text", "serviceLevel", "nested", "dateFormat")
"""Kinds that are never measured, or that their reader has warned of."""


@dataclass(frozen=True, slots=True)
class Report:
    """What the linter found."""

    errors: list[Problem]
    warnings: list[Problem]
    unmeasured: list[Problem]
    """The rules that can never be measured, each with its reason: their checks are skipped in every delivery."""


def lint(contract: Contract, document: Document, known: Iterable[Problem]) -> Report:
    """Everything about the meaning of a contract, beside the errors already `known` of its document."""
    found = list(_found(contract, document))
    blamed = {problem.path for problem in known}
    errors = [each for code, each in found if LINTS[code].level is Level.ERROR and each.path not in blamed]
    warnings = [each for code, each in found if LINTS[code].level is Level.WARNING]
    refused, named = _compiled(contract, document)
    errors += _unblamed([*known, *errors], refused)
    unmeasured = _unblamed([*known, *errors], named)
    return Report(errors, warnings + unmeasured, unmeasured)


def _found(contract: Contract, document: Document) -> Iterator[tuple[str, Problem]]:
    for code, each in LINTS.items():
        for path, message in islice(each.find(contract, document), MOST_OF_ONE):
            yield code, _located(document, code, path, message)


def _located(document: Document, code: str, path: str, message: str) -> Problem:
    """The problem at the part of its path that the document holds."""
    place = document.top
    for step in document.at(path).steps:
        if not place[step].present:
            break
        place = place[step]
    return Problem(code, place.path, place.mark.line, message)


def _unblamed(known: Iterable[Problem], found: Iterable[Problem]) -> list[Problem]:
    """What stands at a path that has not been blamed, nor any below it: the compiler speaks of whole rules."""
    steps = [steps_of(problem.path) for problem in known]
    blamed = {each[:length] for each in steps for length in range(len(each) + 1)}
    return [problem for problem in found if steps_of(problem.path) not in blamed]


def _compiled(contract: Contract, document: Document) -> tuple[list[Problem], list[Problem]]:
    """Rules that mean nothing, and rules that are only named."""
    refused: list[Problem] = []
    named: dict[Problem, None] = {}
    for dataset in contract.datasets:
        fields = {field.name: replace(field, parts=()) for field in with_parts(dataset.fields)}
        for rule in dataset.rules:
            own = () if rule.kind == "custom" else rule.fields
            concerned = tuple(fields[name] for name in own if name in fields) or dataset.fields
            try:
                plan = compile_plan(contract, replace(dataset, rules=(rule,), fields=concerned))
            except ContractError as error:
                refused += (
                    _located(document, each.code, each.path, _sentence(each.message)) for each in error.problems
                )
            else:
                named |= dict.fromkeys(_named(rule, plan))
    return refused, list(named)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."


def _named(rule: Rule, plan: Plan) -> Iterator[Problem]:
    for check in plan.checks:
        if check.skip is not None and rule.kind not in QUIET:
            message = f"The rule is named and not measured: {check.skip}."
            yield Problem(NOT_MEASURED, rule.origin.path, rule.origin.line, message)

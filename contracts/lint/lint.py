"""Checks the semantics of a contract, which a JSON Schema cannot: one function for each lint code, in one table.

Every rule is compiled too: refusals of the compiler are errors here, and skipped rules are warnings. Codes are stable: tools may
filter by them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from lakegate.contracts.compile.dataset import compile_rules
from lakegate.contracts.compile.rules.build import NEVER_MEASURED
from lakegate.contracts.compile.rules.nested_fields import NESTED_KIND, NO_PARTS, OF_WHOLE, with_parts
from lakegate.contracts.documents.nodes import steps_of
from lakegate.contracts.errors import Problem
from lakegate.contracts.lint.finding import MAX_FINDINGS, LintLevel
from lakegate.contracts.lint.table import LINTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.contracts.compile.dataset import Compiled
    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.documents.notes import Notes
    from lakegate.contracts.model.contract import Contract, Rule
    from lakegate.contracts.plan.check import Check

NOT_MEASURED = "not-measured"
"""The code of a warning: a rule compiles to a skipped check."""
QUIET = ("text", "serviceLevel")
"""Kinds that are never measured, or about which another check of this package warns."""
DATE_FORMAT = "date-format"
"""The code with which the reader warns about dates that it does not compare."""
OF_ONE_VALUE = ("unquoted-surprise",)
"""Warnings about a value that are redundant if the value is refused."""
DESCRIBING = (None, "distanceMetric", "embeddingModel")
"""Options of nested values that describe them; None is the kind itself, of values that the contract leaves open."""
OF_ALL_FIELDS = ("custom", "sql", "requiredMember")
"""Kinds that may read other fields than those they are attached to."""


def lint(contract: Contract, document: Document, notes: Notes) -> None:
    """Add semantic errors and warnings of a contract to `notes`."""
    found = list(_found(contract, document))
    blamed = {problem.path for problem in notes.errors}
    unknown = [
        each
        for code, each in found
        if each.path not in (blamed if LINTS[code].level is LintLevel.ERROR or code in OF_ONE_VALUE else ())
        and not (code in NEVER_MEASURED and notes.blames(document.at(each.path)))
    ]
    errors = [each for each in unknown if LINTS[each.code].level is LintLevel.ERROR]
    refused, named = _compiled(contract, document)
    notes.warnings.extend(each for each in unknown if LINTS[each.code].level is LintLevel.WARNING)
    notes.errors.extend(errors)
    notes.errors.extend(_unblamed(notes.errors, refused))
    never_measured = [each for each in notes.warnings if each.code in {*NEVER_MEASURED, DATE_FORMAT}]
    notes.warnings.extend(_unblamed([*notes.errors, *never_measured], named))


def _found(contract: Contract, document: Document) -> Iterator[tuple[str, Problem]]:
    for code, each in LINTS.items():
        for path, message in islice(each.find(contract, document), MAX_FINDINGS):
            yield code, _located(document, code, path, message)


def _located(document: Document, code: str, path: str, message: str) -> Problem:
    """The problem at the longest part of its path that exists in the document."""
    place = document.top
    for step in document.at(path).steps:
        if not place[step].present:
            break
        place = place[step]
    return Problem(code, place.path, place.mark.line, message)


def _unblamed(known: Iterable[Problem], found: Iterable[Problem]) -> list[Problem]:
    """The problems without another problem at their path or below it: the compiler reports whole rules."""
    steps = [steps_of(problem.path) for problem in known]
    blamed = {each[:length] for each in steps for length in range(len(each) + 1)}
    return [problem for problem in found if steps_of(problem.path) not in blamed]


def _compiled(contract: Contract, document: Document) -> tuple[list[Problem], list[Problem]]:
    """The errors of refused rules and the warnings of skipped ones."""
    refused: list[Problem] = []
    named: list[Problem] = []
    for dataset in contract.datasets:
        fields = {field.name: replace(field, parts=()) for field in with_parts(dataset.fields)}
        for rule in dataset.rules:
            own = () if rule.kind in OF_ALL_FIELDS else rule.fields
            concerned = tuple(fields[name] for name in own if name in fields) or dataset.fields
            compiled = compile_rules(contract, replace(dataset, rules=(rule,), fields=concerned))
            refused += compiled.refused
            named += () if compiled.refused else _named(rule, compiled)
    return [_as_sentence(document, each) for each in dict.fromkeys(refused)], [
        _as_sentence(document, each) for each in dict.fromkeys(named)
    ]


def _as_sentence(document: Document, problem: Problem) -> Problem:
    return _located(document, problem.code, problem.path, _sentence(problem.message))


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:].rstrip('.')}{'' if words.endswith('?') else '.'}"


def _is_quiet(rule: Rule, check: Check) -> bool:
    """Whether nothing is to be measured, or another warning says that nothing is (`nested-fields`: of a CSV file)."""
    if rule.kind == NESTED_KIND:
        return rule.arguments.get("option") in DESCRIBING
    return rule.kind in QUIET or (rule.kind in OF_WHOLE and check.skip == NO_PARTS)


def _named(rule: Rule, compiled: Compiled) -> Iterator[Problem]:
    """Why a rule is skipped: its own problem, or the reason of a check."""
    yield from compiled.unmeasured
    explained = {each.message.rstrip(".") for each in compiled.unmeasured}
    for check in compiled.checks:
        if check.skip is not None and check.skip not in explained and not _is_quiet(rule, check):
            message = f"The rule is named and not measured: {check.skip}."
            yield Problem(NOT_MEASURED, rule.origin.path, rule.origin.line, message)

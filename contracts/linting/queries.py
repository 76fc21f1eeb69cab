"""SQL of rules: what is no single query, names placeholders nobody fills, or stands where no engine takes it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contracts.linting.walk import rules_of
from contracts.placeholders import PLACEHOLDERS
from contracts.words import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contracts.document import Document
    from contracts.linting.finding import Finding
    from contracts.model import Contract, Rule

TOKEN = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\$?\{[^{}]*\}|[A-Za-z_][A-Za-z0-9_]*|[();]|['\"`]|/\*",
    re.DOTALL,
)
SILENT = ("--", "/*")
QUOTES = ("'", '"', "`", "/*")
AGGREGATES = frozenset(
    (
        *("avg", "count", "sum", "min", "max", "median", "any_value", "bool_and", "bool_or"),
        *("stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp"),
    )
)
OF_FIELD = ("field", "column", "property")


def window_in_aggregate(contract: Contract, _document: Document) -> Iterator[Finding]:
    """No aggregate is taken over a window function: every engine refuses that."""
    for rule, words in _queries(contract):
        opened: list[str] = []
        for before, word in zip(["", *words], words, strict=False):
            if word == "(":
                opened.append(before)
            elif word == ")" and opened:
                opened.pop()
            elif word == "select":
                opened = ["select" if at == len(opened) - 1 else each for at, each in enumerate(opened)]
            elif word == "over" and AGGREGATES & set(_since_query(opened)):
                yield (
                    f"{rule.origin.path}.query",
                    "An aggregate cannot hold a window function: compute that in an inner query.",
                )


def not_a_query(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A rule asks: its SQL is one SELECT."""
    for rule, words in _queries(contract):
        statements = [each for each in " ".join(words).split(";") if each.strip()]
        if len(statements) != 1 or statements[0].split()[0] not in {"select", "with", "("}:
            yield f"{rule.origin.path}.query", "A rule asks and changes nothing: write one SELECT."


def unbalanced(contract: Contract, _document: Document) -> Iterator[Finding]:
    """What is opened in a query is closed: brackets, quotes and comments."""
    for rule, words in _queries(contract):
        depth = least = 0
        for word in words:
            depth += (word == "(") - (word == ")")
            least = min(least, depth)
        if depth or least or set(words) & set(QUOTES):
            yield f"{rule.origin.path}.query", "A bracket, a quote or a comment of the query is not closed."


def unknown_placeholder(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A placeholder of a query is one that is filled."""
    for rule, words in _queries(contract):
        for name in _placeholders(words):
            if name not in PLACEHOLDERS:
                hint = did_you_mean(name, sorted(PLACEHOLDERS))
                yield f"{rule.origin.path}.query", f"Nothing is filled in for {shown(name)}.{hint}"


def placeholder_without_field(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A query of a whole dataset has no field to fill in."""
    for rule, words in _queries(contract):
        named = [name for name in _placeholders(words) if name in OF_FIELD]
        if named and not rule.fields:
            yield (
                f"{rule.origin.path}.query",
                f"The rule stands at no field, so there is nothing for {shown(named[0])}.",
            )


def without_operator(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A query is compared with something: alone it says nothing."""
    for rule in rules_of(contract):
        if rule.kind == "sql" and not any("mustBe" in key or "mustNotBe" in key for key in rule.arguments):
            yield rule.origin.path, "The answer of the query is compared with nothing: add an operator, e.g. `mustBe`."


def _queries(contract: Contract) -> Iterator[tuple[Rule, list[str]]]:
    """The words of each query in lower case, without comments and what stands in quotes."""
    for rule in rules_of(contract):
        if rule.kind == "sql":
            found = [each.lower() for each in TOKEN.findall(str(rule.arguments["query"]))]
            yield rule, [each for each in found if each in QUOTES or not each.startswith((*SILENT, "'", '"', "`"))]


def _placeholders(words: list[str]) -> list[str]:
    return [word.strip("${} ") for word in words if word.startswith(("{", "${"))]


def _since_query(opened: list[str]) -> list[str]:
    """The functions that are open, those outside of the innermost query left out."""
    last = max((at for at, each in enumerate(opened) if each == "select"), default=-1)
    return opened[last + 1 :]

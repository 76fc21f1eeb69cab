"""SQL of rules: unknown placeholders and missing operators. The query itself is checked by its compiler."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lakegate.base.text import did_you_mean, quote
from lakegate.contract.contract_model import PLACEHOLDERS, Contract, Rule
from lakegate.contract.documents.document_tree import Document
from lakegate.lints.findings import Finding, rules_of

TOKEN = re.compile(
    r"--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|(?P<named>\$?\{[^{}]*\})", re.DOTALL
)
OF_FIELD = ("field", "column", "property")


def unknown_placeholder(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A placeholder of a query is a known one."""
    for rule, names in _placeholders(contract):
        for name in names:
            if name not in PLACEHOLDERS:
                hint = did_you_mean(name, sorted(PLACEHOLDERS))
                yield f"{rule.origin.path}.query", f"Nothing is filled in for {quote(name)}.{hint}"


def placeholder_without_field(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A query of a dataset has no placeholder for a field."""
    for rule, names in _placeholders(contract):
        named = [name for name in names if name in OF_FIELD]
        if named and not rule.fields:
            message = f"The rule stands at no field, so there is nothing for {quote(named[0])}."
            yield f"{rule.origin.path}.query", message


def without_operator(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A query has an operator."""
    for rule in rules_of(contract):
        if rule.kind == "sql" and not any("mustBe" in key or "mustNotBe" in key for key in rule.arguments):
            yield rule.origin.path, "The answer of the query is compared with nothing: add an operator, e.g. `mustBe`."


def _placeholders(contract: Contract) -> Iterator[tuple[Rule, list[str]]]:
    """The placeholders of each query, without those in comments and quotes."""
    for rule in rules_of(contract):
        if rule.kind == "sql":
            matches = TOKEN.finditer(str(rule.arguments["query"]))
            yield rule, [match["named"].strip("${} ").lower() for match in matches if match["named"]]

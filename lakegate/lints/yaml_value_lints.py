"""Constants as written in YAML: unquoted words, repeated values, unread variables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from lakegate.base.text import quote
from lakegate.contract.contract_model import PLACEHOLDERS, VARIABLE, Contract
from lakegate.contract.documents.document_tree import Document, Node, Step, address
from lakegate.contract.documents.odcs import WITH_VARIABLES
from lakegate.lints.findings import Finding, rules_of


def unread_variable(contract: Contract, document: Document) -> Iterator[Finding]:
    """Variables stand in documents of a version that knows them: in others they are plain text."""
    if contract.format.removeprefix("ODCS ") in WITH_VARIABLES:
        return
    for place in (entry for key, places in document.places.items() if key != "query" for entry in places):
        match = VARIABLE.search(place.text or "")
        if match and match["name"] not in PLACEHOLDERS:
            yield place.path, f"{quote(match[0])} stays as it is: variables are replaced since ODCS 3.2."


LISTS = ("parameter", "values", "validValues", "missingValues")
SURPRISES = re.compile(r"(?i:yes|no|on|off)|0[0-9]+|0[xo][0-9a-fA-F]+|[0-9][0-9_]*_[0-9_]*|[0-9]+(?::[0-5]?[0-9])+")
"""Unquoted texts that YAML 1.1 reads as booleans, octal or sexagesimal numbers."""


def repeated_value(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A list contains each value once."""
    for rule in rules_of(contract):
        for key in LISTS:
            values = rule.arguments.get(key)
            listed = values if isinstance(values, tuple) else ()
            counts = Counter(value for value in listed if not isinstance(value, tuple | dict))
            for value in [value for value, count in counts.items() if count > 1]:
                yield rule.origin.path, f"The value {quote(value)} is listed twice: once is enough."


def surprising(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A text that YAML 1.1 reads as another type is quoted."""
    for steps, node in _scalars(document.root, ()):
        if node.bare and isinstance(node.content, str) and SURPRISES.fullmatch(node.written):
            yield address(steps), f"Other tools do not read {quote(node.written)} as text: put it in quotes."


def _scalars(node: Node, steps: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], Node]]:
    if isinstance(node.content, tuple):
        for index, entry in enumerate(node.content):
            yield from _scalars(entry, (*steps, index))
    elif isinstance(node.content, dict):
        for key, value in node.content.items():
            yield from _scalars(value, (*steps, key))
    else:
        yield steps, node

"""Patterns: constructs of other dialects, slow patterns, and patterns without anchors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lakegate.contracts.lint.linear import superlinear
from lakegate.contracts.lint.walk import rules_of
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.lint.finding import Finding
    from lakegate.contracts.model.contract import Contract, Rule

FOREIGN = (
    (re.compile(r"\(\?[a-zA-Z]+[:)]"), "flags (`(?i)`)", "write both cases, e.g. `[Aa]`"),
    (re.compile(r"\\[AZz]"), "`\\A`, `\\Z` and `\\z`", "write `^` and `$`"),
    (
        re.compile(r"(?<!\\)(?:\\\\)*(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\+"),
        "possessive quantifiers",
        "remove the second sign",
    ),
    (re.compile(r"\[\[:[a-z]+:\]"), "POSIX classes", "write the characters, e.g. `[A-Za-z]`"),
    (re.compile(r"\\[pP]\{"), "Unicode properties", "write the characters, e.g. `[A-Za-z]`"),
    (re.compile(r"\(\?P[<=]"), "Python's named groups", "write `(?:…)`"),
)
"""Constructs of other dialects, with their names and their portable equivalents."""
ESCAPED = re.compile(r"\\.")


def foreign(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A pattern uses the portable subset of ECMA-262."""
    for rule, pattern in _patterns(contract):
        for shape, words, remedy in FOREIGN:
            if shape.search(pattern):
                yield rule.origin.path, f"ECMA-262 as all engines read it has no {words}: {remedy}."


def not_linear(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A pattern is matched in linear time."""
    for rule, pattern in _patterns(contract):
        reason = superlinear(pattern)
        if reason is not None:
            yield rule.origin.path, f"The pattern {shown(pattern)} {reason}: some texts would take it very long."


def unanchored(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A pattern has `^` and `$`: without them it matches a part of the text."""
    for rule, pattern in _patterns(contract):
        bare = ESCAPED.sub("", pattern)
        if pattern and "^" not in re.sub(r"\[\^", "", bare) and "$" not in bare:
            yield rule.origin.path, f"{shown(pattern)} is content with a part of the text: write `^…$` for the whole."


def _patterns(contract: Contract) -> Iterator[tuple[Rule, str]]:
    for rule in rules_of(contract):
        called = rule.arguments.get("args")
        candidates = (rule.arguments.get("pattern"), called.get("regex") if isinstance(called, Mapping) else None)
        yield from ((rule, each) for each in candidates if isinstance(each, str))

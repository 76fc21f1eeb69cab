"""Patterns: foreign constructs, slow ones, missing anchors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import TypeGuard

from lakegate.base.text import quote
from lakegate.contract.contract_model import Contract, Rule
from lakegate.contract.documents.document_tree import Document
from lakegate.lints.findings import Finding, rules_of
from lakegate.patterns.ecma_patterns import rewritten
from lakegate.patterns.regex_tree import (
    Chars,
    Choice,
    Edge,
    End,
    Items,
    Lookahead,
    Node,
    Ranges,
    Repeat,
    Start,
    bodies,
    overlap,
    parse,
)

# ---- Patterns that are slow in backtracking engines ----
# Engines such as `java.util.regex` try every way to divide a text among the repeats of a pattern. Reported are ambiguous
# repeats: a repeat whose body may end with what it begins with (`(a+)+`, `(\w+\s?)*`), a repeat of alternatives that begin
# alike (`(foo|[a-g]oo)*`), two adjacent repeats that share a character (`\d+\d*`), and any pattern over 256 characters.
#
# This is a warning for authors. The limits that are enforced are stricter, and are in `lakegate.patterns`.


LONGEST_EXAMINED_PATTERN = 256
MANY = 10
"""A bounded repeat with at least this maximum counts as unbounded."""


@lru_cache(maxsize=1024)
def superlinear(pattern: str) -> str | None:
    """The reason why a pattern of ECMA-262 may be slow, as the end of a sentence; None if it is not slow, or is invalid."""
    if len(pattern) > LONGEST_EXAMINED_PATTERN:
        return f"has more than {LONGEST_EXAMINED_PATTERN} characters"
    try:
        items = parse(rewritten(pattern, is_strict=False))
    except ValueError:
        return None
    return _find_reason(items)


def _find_reason(items: Items) -> str | None:
    """The first reason in a sequence or its descendants."""
    for at, node in enumerate(items):
        inner = next(filter(None, map(_find_reason, bodies(node))), None)
        if inner is not None:
            return inner
        if _is_many(node):
            body = node.body
            if overlap(_open_end(body), _first(body)) or _is_blurred(body):
                return "repeats what already repeats"
            if _alike(body):
                return "repeats alternatives that begin alike"
            if overlap(_first(body), _next_repeat(items[at + 1 :])):
                return "has two repeats side by side that share a character"
    return None


def _is_many(node: Node) -> TypeGuard[Repeat]:
    return isinstance(node, Repeat) and (node.high is None or node.high >= MANY)


def _is_blurred(body: Items) -> bool:
    """Whether a repeat in a body may match the characters that follow it."""
    inner = ((node.body, body[at + 1 :]) for at, node in enumerate(body) if _is_many(node))
    return any(overlap(_first(entry), _first(rest)) for entry, rest in inner)


def _alike(body: Items) -> bool:
    """Whether a body is a choice of alternatives that may begin with the same character.

    The parser merges alternatives of single characters into one class, which may then contain a character twice.
    """
    match body:
        case (Chars(ranges),):
            ordered = sorted(ranges)
            return any(one[1] >= other[0] for one, other in pairwise(ordered))
        case (Choice(alternatives),):
            firsts: list[Ranges] = [_first(alternative) for alternative in alternatives]
        case _:
            return False
    return any(overlap(one, other) for at, one in enumerate(firsts) for other in firsts[at + 1 :])


def _nullable(node: Node) -> bool:
    """Whether a node may match nothing."""
    if isinstance(node, Lookahead | Start | End | Edge) or (isinstance(node, Repeat) and node.low == 0):
        return True
    return any(all(map(_nullable, body)) for body in bodies(node))


def _first(items: Items) -> Ranges:
    """The characters that a sequence may begin with."""
    ranges: Ranges = ()
    for node in items:
        if isinstance(node, Chars):
            ranges += node.ranges
        elif not isinstance(node, Lookahead):
            ranges += tuple(entry for body in bodies(node) for entry in _first(body))
        if not _nullable(node):
            break
    return ranges


def _open_end(items: Items) -> Ranges:
    """The characters that may continue a sequence where it may also end."""
    entries: Ranges = ()
    for node in reversed(items):
        if _is_many(node) or _nullable(node):
            entries += _first((node,))
        entries += tuple(entry for body in bodies(node) for entry in _open_end(body))
        if not _nullable(node):
            break
    return entries


def _next_repeat(items: Items) -> Ranges:
    """The characters of the repeats that may follow directly."""
    found: Ranges = ()
    for node in items:
        if _is_many(node):
            found += _first(node.body)
        if not _nullable(node):
            break
    return found


# ---- Lints of patterns ----


FOREIGN = (
    (re.compile(r"\(\?[a-zA-Z]+[:)]"), "flags (`(?i)`)", "write both cases, e.g. `[Aa]`"),
    (re.compile(r"\\[AZz]"), "`\\A`, `\\Z` and `\\z`", "write `^` and `$`"),
    (
        re.compile(r"(?<!\\)(?:\\\\)*(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\+"),
        "possessive quantifiers",
        "remove the second sign",
    ),
    (re.compile(r"\[\[:[a-z]+:\]"), "POSIX classes", "write the characters, e.g. `[A-Za-z]`"),
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
            yield rule.origin.path, f"The pattern {quote(pattern)} {reason}: some texts would take it very long."


def unanchored(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A pattern has `^` and `$`: without them it matches a part of the text."""
    for rule, pattern in _patterns(contract):
        bare = ESCAPED.sub("", pattern)
        if pattern and "^" not in re.sub(r"\[\^", "", bare) and "$" not in bare:
            yield rule.origin.path, f"{quote(pattern)} is content with a part of the text: write `^…$` for the whole."


def _patterns(contract: Contract) -> Iterator[tuple[Rule, str]]:
    for rule in rules_of(contract):
        called = rule.arguments.get("args")
        candidates = (rule.arguments.get("pattern"), called.get("regex") if isinstance(called, Mapping) else None)
        yield from ((rule, candidate) for candidate in candidates if isinstance(candidate, str))

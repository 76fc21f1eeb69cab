"""Renders a syntax tree as a pattern for Python's `re` or for RE2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lakegate.contracts.compile.regex.characters import ANY, Ranges, spelled
from lakegate.contracts.compile.regex.tree import (
    EDGE,
    INNER,
    Chars,
    Choice,
    Edge,
    Items,
    Lookahead,
    Node,
    Repeat,
    Start,
)


@dataclass(frozen=True, slots=True)
class RegexDialect:
    """The differences between the two engines: classes, word boundaries, and the end of the text."""

    chars: Callable[[Ranges], str]
    edges: dict[Edge, str]
    end: str


def render(items: Items, dialect: RegexDialect) -> str:
    """The pattern of a syntax tree in a dialect."""
    return "".join(_spelt(node, dialect) for node in items)


def _spelt(node: Node, dialect: RegexDialect) -> str:
    match node:
        case Chars(ranges):
            return dialect.chars(ranges)
        case Repeat(body, low, high):
            return f"(?:{render(body, dialect)}){{{low},{'' if high is None else high}}}"
        case Choice(alternatives):
            return f"(?:{'|'.join(render(each, dialect) for each in alternatives)})"
        case Lookahead(body, wanted, ahead):
            return f"(?{'' if ahead else '<'}{'=' if wanted else '!'}{render(body, dialect)})"
        case Edge():
            return dialect.edges[node]
        case _:
            return r"\A" if isinstance(node, Start) else dialect.end


def _python_chars(ranges: Ranges) -> str:
    return f"[{spelled(ranges)}]" if ranges else "(?!)"


def _re2_chars(ranges: Ranges) -> str:
    """RE2 accepts an empty class only as the complement of all characters."""
    inside = "".join(
        _re2_char(low) if low == high else f"{_re2_char(low)}-{_re2_char(high)}" for low, high in ranges or ANY
    )
    return f"[{'' if ranges else '^'}{inside}]"


def _re2_char(code: int) -> str:
    char = chr(code)
    return char if char.isascii() and char.isalnum() else f"\\x{{{code:X}}}"


PYTHON = RegexDialect(_python_chars, {Edge(inner=False): EDGE, Edge(inner=True): INNER}, r"\Z")
RE2 = RegexDialect(_re2_chars, {Edge(inner=False): r"\b", Edge(inner=True): r"\B"}, r"\z")

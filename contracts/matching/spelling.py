"""A tree written as a pattern again: for backtracking engines (the dialect of java.util.regex), and for RE2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contracts.matching.characters import ANY, Ranges, spelled
from contracts.matching.tree import EDGE, INNER, Chars, Choice, Edge, Items, Look, Node, Repeat, Start


@dataclass(frozen=True, slots=True)
class Dialect:
    """What the two engines write differently: classes, and the edges of words."""

    chars: Callable[[Ranges], str]
    edges: dict[Edge, str]


def spell(items: Items, dialect: Dialect) -> str:
    """The pattern of a tree in a dialect."""
    return "".join(_spelt(node, dialect) for node in items)


def _spelt(node: Node, dialect: Dialect) -> str:
    match node:
        case Chars(ranges):
            return dialect.chars(ranges)
        case Repeat(body, low, high):
            return f"(?:{spell(body, dialect)}){{{low},{'' if high is None else high}}}"
        case Choice(alternatives):
            return f"(?:{'|'.join(spell(each, dialect) for each in alternatives)})"
        case Look(body, wanted, ahead):
            return f"(?{'' if ahead else '<'}{'=' if wanted else '!'}{spell(body, dialect)})"
        case Edge():
            return dialect.edges[node]
        case _:
            return r"\A" if isinstance(node, Start) else r"\z"


def _java_chars(ranges: Ranges) -> str:
    return f"[{spelled(ranges)}]" if ranges else "(?!)"


def _re2_chars(ranges: Ranges) -> str:
    """RE2 has a class of nothing in the complement of all."""
    inside = "".join(
        _re2_char(low) if low == high else f"{_re2_char(low)}-{_re2_char(high)}" for low, high in ranges or ANY
    )
    return f"[{'' if ranges else '^'}{inside}]"


def _re2_char(code: int) -> str:
    char = chr(code)
    return char if char.isascii() and char.isalnum() else f"\\x{{{code:X}}}"


JAVA = Dialect(_java_chars, {Edge(inner=False): EDGE, Edge(inner=True): INNER})
RE2 = Dialect(_re2_chars, {Edge(inner=False): r"\b", Edge(inner=True): r"\B"})

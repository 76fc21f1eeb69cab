r"""Our own patterns for RE2: forms of text and formats of dates, which are written with atomic groups.

**Forms of text**: their inner atomic groups and possessive repeats only save time there. A character that such a group could
take never follows it, so that the same texts match without them.

**Formats of dates** (`\A(?>…)\z(?!…)`): the first reading counts, must reach the end of the text, and must not raise flags (empty
groups) that no calendar has together. RE2 finds the same first reading, because it prefers alternatives in the same order. Flags
become groups around what raises them, so that they are not empty where they took part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from re import _constants as op  # type: ignore[attr-defined]  # the parser of the standard library, whose tree this reads
from typing import Any

from lakegate.contracts.compile.regex.characters import Ranges, union
from lakegate.contracts.compile.regex.render import RE2, render
from lakegate.contracts.compile.regex.tree import (
    Chars,
    Items,
    Lookahead,
    Node,
    NoPatternError,
    Repeat,
    Start,
    holds,
    items_of,
    parsed,
)
from lakegate.engine.type.values import text_literal

OUR_OWN = "(?>"
"""An atomic group: no pattern of a contract can write one."""
_LOWER: Ranges = ((97, 122),)
_UPPER: Ranges = ((65, 90),)
_CASE = 32
"""The distance from an upper-case letter to its lower-case one."""


@dataclass(frozen=True, slots=True)
class FormPattern:
    """The first reading of a text reaches its end, and raises no flags that are refused."""

    pattern: str
    """In the dialect of RE2; its first group is the whole reading, the others are the flags."""
    whole: str
    """The same, up to the end of the text: what a good text matches in any case, and the faster search."""
    flags: int
    refused: str = ""
    """SQL that is true for flags that no calendar has together, with `{0}` for the groups; empty for none."""

    def sql(self, text: str) -> str:
        """The reading as SQL over the SQL of a text."""
        names = ", ".join(f"'g{number}'" for number in range(self.flags + 1))
        groups = f"regexp_extract({text}, {text_literal(self.pattern)}, [{names}])"
        refused = f" AND NOT {self.refused.format('g')}" if self.refused else ""
        # the lambda names the groups: DuckDB would search once for each time they are used
        first = f"list_transform([{groups}], lambda g: g.g0 = {text}{refused})[1]"
        return f"(regexp_matches({text}, {text_literal(self.whole)}) AND {first})"


def own_searches(pattern: str) -> tuple[list[Items], FormPattern | None]:
    """The trees to be searched, and the reading of a date; ValueError if it is not a generated pattern."""
    tree = list(parsed(pattern))
    reading = _reading(tree)
    if reading is not None:
        return [], reading
    looks = [(Start(), *items_of(argument[1])) for kind, argument in tree if kind is op.ASSERT]
    found = [*looks, items_of([each for each in tree if each[0] is not op.ASSERT])]
    if any(holds(items, lambda node: isinstance(node, Lookahead)) for items in found):
        raise NoPatternError
    return found, None


def _reading(tree: list[Any]) -> FormPattern | None:
    """The reading of a whole date; None for any other pattern."""
    match tree:
        case [(op.AT, op.AT_BEGINNING_STRING), group, (op.AT, op.AT_END_STRING), *refused] if len(refused) <= 1:
            body, is_folded = _atomic(group)
            if body is None:
                return None
            writer = _Writer(is_folded=is_folded)
            text = writer.written(body)
            words = "".join(_condition(body) for _, (_, body) in refused)
            return FormPattern(rf"\A({text})", rf"\A(?:{text})\z", writer.flags, words)
        case _:
            return None


def _atomic(node: Any) -> tuple[Any, bool]:  # noqa: ANN401 -- a node of the parser's tree
    """The body of an atomic group, and whether letters of either case are one."""
    kind, argument = node
    if kind is op.SUBPATTERN and argument[1] == re.IGNORECASE.value and len(argument[3]) == 1:
        return _atomic(argument[3][0])[0], True
    return (argument, False) if kind is op.ATOMIC_GROUP else (None, False)


class _Writer:
    """Writes the body of a reading for RE2, flags as groups around what raises them."""

    def __init__(self, *, is_folded: bool) -> None:
        self.is_folded = is_folded
        self.flags = 0

    def written(self, tree: Any) -> str:  # noqa: ANN401 -- as above
        text, before = "", self.flags
        for kind, argument in tree:
            if kind is op.SUBPATTERN and argument[0] is not None:
                if len(argument[3]) or not text or self.flags != before:
                    raise NoPatternError
                self.flags += 1
                text = f"({text})"
            elif kind is op.SUBPATTERN:
                text += f"(?:{self.written(argument[3])})"
            elif kind is op.BRANCH:
                text += f"(?:{'|'.join(self.written(each) for each in argument[1])})"
            else:
                text += render(self._leaf(kind, argument), RE2)
        return text

    def _leaf(self, kind: Any, argument: Any) -> Items:  # noqa: ANN401 -- as above
        return tuple(_folded(each) if self.is_folded else each for each in items_of([(kind, argument)]))


def _folded(node: Node) -> Node:
    """A node with both cases of its ASCII letters."""
    match node:
        case Chars(ranges):
            upper = _moved(ranges, _LOWER, -_CASE)
            return Chars(union(ranges, upper, _moved(ranges, _UPPER, _CASE)))
        case Repeat(body, low, high):
            return Repeat(tuple(map(_folded, body)), low, high)
        case _:
            return node


def _moved(ranges: Ranges, within: Ranges, by: int) -> Ranges:
    """The part of some characters that is within others, shifted."""
    inside = [(max(low, first), min(high, last)) for low, high in ranges for first, last in within]
    return tuple((low + by, high + by) for low, high in inside if low <= high)


def _condition(tree: Any) -> str:  # noqa: ANN401 -- as above
    """The condition of a look-ahead at empty groups: a reference is true if its group took part."""
    return "(" + " AND ".join(_term(kind, argument) for kind, argument in tree) + ")"


def _term(kind: Any, argument: Any) -> str:  # noqa: ANN401 -- as above
    match kind:
        case op.GROUPREF:
            return f"{{0}}.g{argument} <> ''"
        case op.SUBPATTERN:
            return _condition(argument[3])
        case op.BRANCH:
            return "(" + " OR ".join(map(_condition, argument[1])) + ")"
        case op.ASSERT_NOT:
            return f"NOT {_condition(argument[1])}"
        case _:
            raise NoPatternError

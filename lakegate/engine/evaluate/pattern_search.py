"""Patterns searched by RE2; our own forms of text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined]  # the parser of the standard library, whose tree this reads
from typing import Any, Final

import duckdb
import pyarrow as pa
from duckdb.func import ARROW

from lakegate.engine.evaluate.typed_values import text_literal
from lakegate.patterns.matching_cost import Part, is_anchored, parts_of, shortest, times
from lakegate.patterns.regex_tree import (
    ANY,
    PYTHON,
    RE2,
    Chars,
    Choice,
    Edge,
    End,
    Items,
    Lookahead,
    Node,
    NoPatternError,
    Ranges,
    Repeat,
    Start,
    bodies,
    holds,
    items_of,
    others,
    parse_pattern,
    render,
    union,
    width_of,
)

# ---- Our own patterns, written with atomic groups, for RE2 ----
# **Forms of text**: their inner atomic groups and possessive repeats only save time there. A character that such a group could
# take never follows it, so that the same texts match without them.
#
# **Formats of dates** (`\A(?>…)\z(?!…)`): the first reading counts, must reach the end of the text, and must not raise flags
# (empty groups) that no calendar has together. RE2 finds the same first reading, because it prefers alternatives in the same
# order. Flags become groups around what raises them, so that they are not empty where they took part.


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
    tree = list(parse_pattern(pattern))
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
                items = items_of([(kind, argument)])
                text += render(tuple(map(_folded, items)) if self.is_folded else items, RE2)
        return text


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


# ---- Patterns of a plan as SQL ----
# 1. Our own forms and date formats, the only patterns with atomic groups, are rewritten
#    (`lakegate.engine.evaluate.pattern_search`).
# 2. A look-ahead at a fixed number of characters after the start, or at the very end, becomes a search of its own.
# 3. A pattern that RE2 cannot express is searched by Python's `re`, as a function over Arrow vectors that `register` adds to a
#    connection: it still contains a look-ahead, counts over 1,000, or needs more memory than RE2 may have. The compiler has
#    proven a bound of its steps (`lakegate.patterns.matching_cost`); any other is refused.
#
# Patterns reach SQL in hexadecimal, so that no text of a contract is ever SQL text.


FUNCTION = "lakegate_found"
"""The function of `register`."""
_ANY_CHARS = Repeat((Chars(ANY),), 0, None)


@dataclass(frozen=True, slots=True)
class Search:
    """One search for a pattern anywhere in a text."""

    pattern: str
    """In the dialect of RE2; of Python where it `backtracks`."""
    wanted: bool = True
    """Whether the search must find something, or must find nothing."""
    backtracks: bool = False
    """Whether Python's `re` searches, within a proven bound of steps."""


@lru_cache(maxsize=1024)
def searches_of(pattern: str) -> tuple[Search | FormPattern, ...]:
    """The searches that together are equivalent to a pattern of a plan: all of them must have the wanted result.

    ValueError where no search has a bounded time (UnsearchableError), or where it is not a pattern.
    """
    if OUR_OWN in pattern:
        looks, reading = own_searches(pattern)
        return (*(_search(items, wanted=True) for items in looks), *([reading] if reading else []))
    return tuple(search for part in parts_of(pattern) for search in _of_part(part))


def sql(pattern: str, text: str) -> str:
    """Whether a pattern is found in a text, as SQL over the SQL of the text; NULL for NULL."""
    return f"({' AND '.join(_sql_of_search(search, text) for search in searches_of(pattern))})"


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Add the function that searches by Python's `re` to a new database."""
    connection.create_function(FUNCTION, _found, ["VARCHAR", "VARCHAR"], "BOOLEAN", type=ARROW)


def _sql_of_search(search: Search | FormPattern, text: str) -> str:
    if isinstance(search, FormPattern):
        return search.sql(text)
    name = FUNCTION if search.backtracks else "regexp_matches"
    return f"{'' if search.wanted else 'NOT '}{name}({text}, {text_literal(search.pattern)})"


def _found(texts: pa.ChunkedArray, patterns: pa.ChunkedArray) -> pa.Array:
    search = re.compile(patterns[0].as_py(), re.ASCII).search if len(patterns) else None
    return pa.array(
        [None if text is None or search is None else search(text) is not None for text in texts.to_pylist()], pa.bool_()
    )


def _of_part(part: Part) -> list[Search]:
    if not part.is_bounded:
        return [Search(render(part.items, RE2), part.wanted)]
    if not part.wanted:
        return [_search(part.items, wanted=False)]
    looks, rest = without_lookaheads(part.items)
    return [*(_search(look.body, wanted=look.wanted) for look in looks), _search(rest, wanted=True)]


def without_lookaheads(items: Items) -> tuple[list[Lookahead], Items]:
    """Look-aheads of a pattern that can be searches of their own, as they are searched for, and the pattern without them."""
    looks: list[Lookahead] = []
    kept: list[Node] = []
    is_fixed = items[:1] == (Start(),)
    for node in items:
        if is_fixed and isinstance(node, Lookahead) and node.ahead:
            looks.append(Lookahead((*kept, *node.body), node.wanted))
        else:
            kept.append(node)
            is_fixed = is_fixed and width_of((node,)) is not None
    return looks, tuple(kept)


def _search(items: Items, *, wanted: bool) -> Search:
    items = _without_last_look(shortest(items))
    if holds(items, lambda node: isinstance(node, Lookahead)) or not _is_for_re2(items):
        return Search(render(items, PYTHON), wanted, backtracks=True)
    if holds(items, lambda node: node == Edge(inner=True)) and not is_anchored(items):
        # RE2 looks for `\B` between bytes: the characters before it must be whole ones.
        items = (Start(), _ANY_CHARS, *items)
    return Search(render(items, RE2), wanted)


CERTAIN_SIZE: Final = 2_500
"""A size up to which RE2 takes every pattern: it counts up to 1,000, and a range of characters has at most 50 instructions."""


def _is_for_re2(items: Items) -> bool:
    """Whether RE2 takes a pattern without look-aheads: it is asked where that is not certain."""
    if _size(items) <= CERTAIN_SIZE:
        return True
    with duckdb.connect(config={"threads": 1}) as asked:
        try:
            asked.execute("SELECT regexp_matches('', ?)", [render(items, RE2)])
        except duckdb.InvalidInputException:
            return False
    return True


def _size(items: Items) -> int:
    """The ranges of characters of a pattern with unrolled repeats, and two for each place where one stands."""
    own = (len(node.ranges) + 2 if isinstance(node, Chars) else sum(map(_size, bodies(node))) for node in items)
    return sum(times(node) * each for node, each in zip(items, own, strict=True))


def _without_last_look(items: Items) -> Items:
    """A look-ahead at the very end of a pattern is what follows; one that must not be there, of one character, is another."""
    match items[-1:]:
        case (Lookahead(body, True, True),):
            return _without_last_look((*items[:-1], *body))
        case (Lookahead((Chars(ranges),), False, True),):
            return (*items[:-1], Choice(((Chars(others(ranges)),), (End(),))))
        case _:
            return items

r"""Patterns of a plan as boolean SQL of DuckDB: searched by RE2, whose time grows with the text alone.

1. Our own forms and date formats, the only patterns with atomic groups, are rewritten (`lakegate.engine.evaluate.forms`).
2. A look-ahead at a fixed number of characters after the start, or at the very end, becomes a search of its own.
3. A pattern that still contains a look-ahead is searched by Python's `re`, as a function over Arrow vectors that `register` adds
   to a connection. The compiler has proven a bound of its steps (`lakegate.contracts.compile.regex.search_cost`);
   any other is refused.

Patterns reach SQL in hexadecimal, so that no text of a contract is ever SQL text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa
from duckdb.func import ARROW

from lakegate.contracts.compile.regex.characters import ANY, others
from lakegate.contracts.compile.regex.engine import Part, parts_of
from lakegate.contracts.compile.regex.render import PYTHON, RE2, render
from lakegate.contracts.compile.regex.search_cost import anchored, shortest
from lakegate.contracts.compile.regex.tree import Chars, Choice, Edge, End, Items, Lookahead, Node, Repeat, Start, holds
from lakegate.engine.evaluate.forms import OUR_OWN, FormPattern, own_searches
from lakegate.engine.type.values import text_literal

if TYPE_CHECKING:
    import duckdb

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
    return tuple(each for part in parts_of(pattern) for each in _of_part(part))


def sql(pattern: str, text: str) -> str:
    """Whether a pattern is found in a text, as SQL over the SQL of the text; NULL for NULL."""
    return f"({' AND '.join(_sql(each, text) for each in searches_of(pattern))})"


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Add the function that searches by Python's `re` to a new database."""
    connection.create_function(FUNCTION, _found, ["VARCHAR", "VARCHAR"], "BOOLEAN", type=ARROW)


def _sql(search: Search | FormPattern, text: str) -> str:
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
    return [*(_search(each.body, wanted=each.wanted) for each in looks), _search(rest, wanted=True)]


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
            is_fixed = is_fixed and _width(node) is not None
    return looks, tuple(kept)


def _width(node: Node) -> int | None:
    """The number of characters that a node matches; None if it varies."""
    match node:
        case Chars():
            return 1
        case Repeat(body, low, high):
            one = _widths(body)
            return one * low if low == high and one is not None else None
        case Choice(alternatives):
            widths = {_widths(each) for each in alternatives}
            return widths.pop() if len(widths) == 1 else None
        case _:
            return 0


def _widths(items: Items) -> int | None:
    found = [_width(each) for each in items]
    return None if None in found else sum(each for each in found if each is not None)


def _search(items: Items, *, wanted: bool) -> Search:
    items = _without_last_look(shortest(items))
    if holds(items, lambda node: isinstance(node, Lookahead)):
        return Search(render(items, PYTHON), wanted, backtracks=True)
    if holds(items, lambda node: node == Edge(inner=True)) and not anchored(items):
        # RE2 looks for `\B` between bytes: the characters before it must be whole ones.
        items = (Start(), _ANY_CHARS, *items)
    return Search(render(items, RE2), wanted)


def _without_last_look(items: Items) -> Items:
    """A look-ahead at the very end of a pattern is what follows; one that must not be there, of one character, is another."""
    match items[-1:]:
        case (Lookahead(body, True, True),):
            return _without_last_look((*items[:-1], *body))
        case (Lookahead((Chars(ranges),), False, True),):
            return (*items[:-1], Choice(((Chars(others(ranges)),), (End(),))))
        case _:
            return items

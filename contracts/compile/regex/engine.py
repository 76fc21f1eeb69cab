"""Whether a pattern can be searched for in bounded time, for any text (P11).

Both the engine and the compiler use this module.

1. A *backtracking* engine (java.util.regex, Python's `re`) is used only if its number of steps per character has a proven bound.
   `lakegate.engine.evaluate.patterns` uses it only for patterns that RE2 cannot express.
2. RE2 searches for all others. Its time is linear in the text; the pattern's weight bounds the factor. RE2 has no look-ahead:
   look-aheads at the very start of an anchored pattern become separate searches, any other is refused.

The formats of texts and dates are not split here: RE2 searches for all of them (`lakegate.engine.evaluate.forms`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from lakegate.contracts.compile.regex.search_cost import search_cost, shortest
from lakegate.contracts.compile.regex.tree import (
    Chars,
    Edge,
    Items,
    Lookahead,
    Node,
    Repeat,
    Start,
    bodies,
    holds,
    parse,
)

MAX_STEPS = 200
"""The most steps of a backtracking engine per character: a value of 1 MiB takes less than a second."""
MAX_STEPS_OF_ALL = 50_000
"""The most steps that do not depend on the text's length."""
MAX_GROUPS = 100
"""The most open repeats of groups in a backtracking engine, which recurses for each; its stack allows many more."""
MAX_WEIGHT = 150
"""The most simultaneous states of RE2 for a pattern: a value of 1 MiB takes less than a second."""


@dataclass(frozen=True, slots=True)
class Part:
    """One search of a pattern."""

    items: Items
    wanted: bool
    """Whether the search must find a match, or must find none."""
    is_bounded: bool
    """Whether a backtracking engine has a proven bound of steps; else only RE2 has one."""


class UnsearchableError(ValueError):
    """No engine can search for the pattern in bounded time; the message is the reason."""


@lru_cache(maxsize=1024)
def parts_of(pattern: str) -> tuple[Part, ...]:
    """The searches that are equivalent to a pattern of a plan: it matches if each search has its wanted result.

    ValueError if no searches have bounded time (UnsearchableError), or if the pattern is invalid.
    """
    items = parse(pattern)
    looks, rest = ([], items) if _is_cheap(items) else _split(items)
    return (*(_part((Start(), *look.body), wanted=look.wanted) for look in looks), _part(rest, wanted=True))


def _split(items: Items) -> tuple[list[Lookahead], Items]:
    """The look-aheads right after the start of a pattern, and the pattern without them."""
    looks: list[Lookahead] = []
    if items[:1] == (Start(),):
        while len(items) > 1 and isinstance(look := items[1], Lookahead) and look.ahead:
            looks.append(look)
            items = (items[0], *items[2:])
    return looks, items


def _part(items: Items, *, wanted: bool) -> Part:
    if _is_cheap(items):
        return Part(shortest(items), wanted, is_bounded=True)
    if holds(items, _is_beyond_re2):
        raise UnsearchableError(
            r"a look-ahead or \B stands where it could take very long: put look-aheads right after ^, or write without"
        )
    if _weight(items) > MAX_WEIGHT:
        raise UnsearchableError(
            f"it could be at more than {MAX_WEIGHT} places at once: count less, or anchor it with ^ and $"
        )
    return Part(items, wanted, is_bounded=False)


def _is_cheap(items: Items) -> bool:
    """Whether a backtracking engine may be used."""
    if _groups(items) > MAX_GROUPS:
        return False
    cost = search_cost(items)
    return cost.fixed <= MAX_STEPS_OF_ALL and cost.each <= MAX_STEPS


def _is_beyond_re2(node: Node) -> bool:
    r"""Whether RE2 cannot express the pattern: it has no look-ahead, and its `\B` also matches inside non-ASCII characters."""
    return isinstance(node, Lookahead) or node == Edge(inner=True)


def _weight(items: Items) -> int:
    """The number of states of a pattern with unrolled repeats."""
    return sum(_times(node) * (isinstance(node, Chars) + sum(map(_weight, bodies(node)))) for node in items)


def _groups(items: Items) -> int:
    """The number of groups of a pattern with unrolled repeats: a backtracking engine recurses for each."""
    return sum(_times(node) * (1 + sum(map(_groups, bodies(node)))) for node in items if _is_group(node))


def _is_group(node: Node) -> bool:
    return any(len(body) != 1 or not isinstance(body[0], Chars) for body in bodies(node))


def _times(node: Node) -> int:
    return max(1, node.high or node.low) if isinstance(node, Repeat) else 1

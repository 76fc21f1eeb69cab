"""Whether a pattern can be searched for in bounded time, so that no text can hang it (P11).

The engine and the compiler both ask here.

1. A *backtracking* engine (of the kind of java.util.regex and Python's `re`) may search where a bound of its steps is proven: a
   few for each character of the text. `engine.evaluate.patterns` gives it only what RE2 cannot express.
2. RE2 searches for all others. Its time grows with the text alone; the pattern's weight bounds how fast. RE2 has no look-ahead:
   those at the very start of an anchored pattern are searches of their own, any other is refused.

Our own forms and date formats, the only patterns with atomic groups, are of the first kind by construction: they begin at the
start of the text, and what an atomic group took is not tried again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from contracts.matching.cost import search_cost, shortest
from contracts.matching.spelling import JAVA, RE2, spell
from contracts.matching.tree import Chars, Edge, Items, Look, Node, Repeat, Start, bodies, parse

MOST_STEPS = 200
"""Steps of a backtracking engine for each character: a value of 1 MiB takes less than a second."""
MOST_STEPS_OF_ALL = 50_000
"""Steps that do not depend on the text's length."""
MOST_GROUPS = 100
"""Repeats of groups that a backtracking engine may have open: it calls itself for each, and its stack bears many more."""
MOST_WEIGHT = 150
"""Places of a pattern that RE2 may be at together: a value of 1 MiB takes less than a second."""


OUR_OWN = "(?>"
"""An atomic group: no pattern of a contract can write one."""
_INNER = Edge(inner=True)


class Engine(Enum):
    """What may search."""

    JAVA = "java.util.regex"
    RE2 = "RE2"


@dataclass(frozen=True, slots=True)
class Part:
    """One search of a pattern."""

    engine: Engine
    pattern: str
    """In the engine's own dialect."""
    wanted: bool = True
    """Whether the search must find something, or must find nothing."""


class UnsearchableError(ValueError):
    """No engine searches for a pattern in bounded time; says why."""


@lru_cache(maxsize=1024)
def parts_of(pattern: str) -> tuple[Part, ...]:
    """The searches that together say what a pattern of a plan says: all of them must come out as wanted.

    ValueError where there are none whose time is bounded (UnsearchableError), or it is no pattern.
    """
    if OUR_OWN in pattern:
        return (Part(Engine.JAVA, pattern),)
    items = parse(pattern)
    if _is_cheap(items):
        return (Part(Engine.JAVA, spell(shortest(items), JAVA)),)
    looks, rest = _split(items)
    return (*(_part((Start(), *look.body), wanted=look.wanted) for look in looks), _part(rest, wanted=True))


def _split(items: Items) -> tuple[list[Look], Items]:
    """The look-aheads right after the start of a pattern, and the pattern without them."""
    looks: list[Look] = []
    if items[:1] == (Start(),):
        while len(items) > 1 and isinstance(look := items[1], Look) and look.ahead:
            looks.append(look)
            items = (items[0], *items[2:])
    return looks, items


def _part(items: Items, *, wanted: bool) -> Part:
    if _is_cheap(items):
        return Part(Engine.JAVA, spell(shortest(items), JAVA), wanted)
    if _is_beyond_re2(items):
        raise UnsearchableError(
            r"a look-ahead or \B stands where it could take very long: put look-aheads right after ^, or write without"
        )
    if _weight(items) > MOST_WEIGHT:
        raise UnsearchableError(
            f"it could be at more than {MOST_WEIGHT} places at once: count less, or anchor it with ^ and $"
        )
    return Part(Engine.RE2, spell(items, RE2), wanted)


def _is_cheap(items: Items) -> bool:
    """Whether a backtracking engine may search for it."""
    if _groups(items) > MOST_GROUPS:
        return False
    cost = search_cost(items)
    return cost.fixed <= MOST_STEPS_OF_ALL and cost.each <= MOST_STEPS


def _is_beyond_re2(items: Items) -> bool:
    r"""Whether RE2 cannot say it: it has no look-ahead, and finds its `\B` inside of characters beyond ASCII too."""
    return any(isinstance(node, Look) or node == _INNER or any(map(_is_beyond_re2, bodies(node))) for node in items)


def _weight(items: Items) -> int:
    """Places in a pattern whose counted repeats are written out."""
    return sum(_times(node) * (isinstance(node, Chars) + sum(map(_weight, bodies(node)))) for node in items)


def _groups(items: Items) -> int:
    """Groups in a pattern whose counted repeats are written out: each is a call of a backtracking engine to itself."""
    return sum(_times(node) * (1 + sum(map(_groups, bodies(node)))) for node in items if _is_group(node))


def _is_group(node: Node) -> bool:
    return any(len(body) != 1 or not isinstance(body[0], Chars) for body in bodies(node))


def _times(node: Node) -> int:
    return max(1, node.high or node.low) if isinstance(node, Repeat) else 1

r"""A pattern of a plan as a tree of frozen nodes: what it says, without how it was written.

Read are the patterns that `contracts.rules` makes: what java.util.regex and Python read alike, but for `\z`. Greedy and lazy
repeats are one, and groups are written out: a search only asks whether there is a match.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined]  # the parser of the standard library, whose tree this reads
from re import _parser  # type: ignore[attr-defined]  # likewise
from typing import Any

from contracts.matching.characters import Ranges, others


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set; of an empty set, nothing ever."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Repeat:
    """The body as often as counted; without end where `high` is None."""

    body: Items
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several sequences."""

    alternatives: tuple[Items, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """What stands ahead (or behind), or must not; it takes no character."""

    body: Items
    wanted: bool
    ahead: bool = True


@dataclass(frozen=True, slots=True)
class Start:
    """The very start of the text."""


@dataclass(frozen=True, slots=True)
class End:
    """The very end of the text."""


@dataclass(frozen=True, slots=True)
class Edge:
    r"""The edge of a word (`\b`), or a place that is none (`\B`); words are of ASCII."""

    inner: bool


Node = Chars | Repeat | Choice | Look | Start | End | Edge
Items = tuple[Node, ...]
"""A sequence."""
NEVER = Chars(())
_WORD = "A-Za-z0-9_"
EDGE = f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))"
INNER = f"(?:(?<=[{_WORD}])(?=[{_WORD}])|(?<![{_WORD}])(?![{_WORD}]))"
r"""How plans write `\b` and `\B`."""


@lru_cache(maxsize=1024)
def parse(pattern: str) -> Items:
    """The tree of a pattern; ValueError for what is no pattern of this dialect."""
    try:
        return _items(_parser.parse(pattern.replace(r"\z", r"\Z")))
    except (re.error, KeyError, OverflowError, RecursionError) as error:
        raise ValueError("it is no pattern of this dialect") from error


def bodies(node: Node) -> tuple[Items, ...]:
    """The sequences inside a node."""
    match node:
        case Repeat(body) | Look(body):
            return (body,)
        case Choice(alternatives):
            return alternatives
        case _:
            return ()


def _items(tree: Any) -> Items:  # noqa: ANN401 -- nodes of the parser's tree
    found: list[Node] = []
    for kind, said in tree:
        found += _items(said[3]) if kind is op.SUBPATTERN and not said[1] and not said[2] else [_node(kind, said)]
    return tuple(found)


def _node(kind: Any, said: Any) -> Node:  # noqa: ANN401 -- as above
    return _NODES[kind](said)


def _repeat(said: Any) -> Node:  # noqa: ANN401 -- as above
    return Repeat(_items(said[2]), said[0], None if said[1] is op.MAXREPEAT else said[1])


def _choice(said: Any) -> Node:  # noqa: ANN401 -- as above
    choice = Choice(tuple(map(_items, said[1])))
    return _EDGES.get(choice, choice)


def _look(said: Any, *, wanted: bool) -> Node:  # noqa: ANN401 -- as above
    direction, body = said[0], _items(said[1])
    return Look(body, wanted, ahead=direction > 0) if body or wanted else NEVER


def _members(said: Any) -> Ranges:  # noqa: ANN401 -- as above
    ranges = tuple(each[1] if each[0] is op.RANGE else (each[1], each[1]) for each in said if each[0] is not op.NEGATE)
    return others(ranges) if said[0][0] is op.NEGATE else ranges


_PLACES: dict[Any, Node] = {op.AT_BEGINNING: Start(), op.AT_BEGINNING_STRING: Start(), op.AT_END_STRING: End()}
_NODES: dict[Any, Callable[[Any], Node]] = {
    op.LITERAL: lambda said: Chars(((said, said),)),
    op.NOT_LITERAL: lambda said: Chars(others(((said, said),))),
    op.IN: lambda said: Chars(_members(said)),
    op.MAX_REPEAT: _repeat,
    op.MIN_REPEAT: _repeat,
    op.BRANCH: _choice,
    op.ASSERT: lambda said: _look(said, wanted=True),
    op.ASSERT_NOT: lambda said: _look(said, wanted=False),
    op.AT: lambda said: _PLACES[said],
}
_EDGES: dict[Node, Node] = {}
_EDGES |= {parse(EDGE)[0]: Edge(inner=False), parse(INNER)[0]: Edge(inner=True)}
parse.cache_clear()

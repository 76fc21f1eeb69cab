"""Worst cost of a match: linear, polynomial, refused."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce

from lakegate.patterns.regex_tree import (
    ANY,
    Chars,
    Choice,
    Edge,
    Items,
    Lookahead,
    Node,
    Ranges,
    Repeat,
    Start,
    bodies,
    holds,
    overlap,
    parse,
    union,
    width_of,
)

# ---- An upper bound of the steps of a backtracking search ----
# Backtracking engines, such as Python's `re`, try alternatives one after the other. A **choice** is cheap if the next character
# decides it (`a*b`): the wrong alternative fails at once. If not (`a*ab`), the rest of the pattern is tried for each
# alternative, and costs multiply. The bound is computed from the end of the pattern to its start.
#
# Unbounded repeats of groups have no bound: the engine recurses for each repeat, and a long text exhausts its stack.


BEYOND = float("inf")


@dataclass(frozen=True, slots=True)
class Cost:
    """Steps for a text of n characters: `fixed` + `each` * n; infinite if that is not a bound."""

    fixed: float
    each: float = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.fixed + other.fixed, self.each + other.each)

    def __mul__(self, other: Cost) -> Cost:
        if (self.each and other.each) or BEYOND in {self.fixed, other.fixed}:
            return ENDLESS
        return Cost(self.fixed * other.fixed, self.fixed * other.each + self.each * other.fixed)

    def worse(self, other: Cost) -> Cost:
        """A bound of both."""
        return Cost(max(self.fixed, other.fixed), max(self.each, other.each))


MAX_COUNTED = 1_000
"""A run of at most so many characters is bounded by that number, a longer one by the length of the text."""
ENDLESS = Cost(BEYOND, BEYOND)
ONE = Cost(1)
LENGTH = Cost(1, 1)


@dataclass(frozen=True, slots=True)
class _Tail:
    """The rest of a pattern from some node on."""

    cost: Cost
    first: Ranges
    """The characters that it may begin with."""
    fan: int
    """Steps until it fails if the next character is none of these."""


_NOTHING = _Tail(ONE, (), 1)


def search_cost(pattern: Items) -> Cost:
    """Steps to find a match of a pattern anywhere in a text, or to find that there is none.

    Counted repeats of groups are unrolled: the caller limits their number.
    """
    items = shortest(pattern)
    tail = _tail(items, _NOTHING)
    tries = Cost(tail.fan) if is_anchored(items) else tail.cost + Cost(tail.fan)
    return tail.cost + LENGTH * tries


def is_anchored(items: Items) -> bool:
    """Whether a match can begin at the start of the text only."""
    match items[:1]:
        case (Start(),):
            return True
        case (Choice(alternatives),):
            return all(map(is_anchored, alternatives))
        case _:
            return False


def shortest(items: Items) -> Items:
    """An equivalent search with fewer alternatives.

    Repeats at either end of a pattern, or at the end of a look-ahead, are reduced to their minimum.
    """
    return _cut(_cut(tuple(map(_lean, items)))[::-1])[::-1]


def _lean(node: Node) -> Node:
    match node:
        case Lookahead(body, wanted, True):
            return Lookahead(_cut(tuple(map(_lean, body))), wanted)
        case Repeat(body, low, high):
            return Repeat(tuple(map(_lean, body)), low, high)
        case Choice(alternatives):
            return Choice(tuple(tuple(map(_lean, alternative)) for alternative in alternatives))
        case _:
            return node


def _cut(items: Items) -> Items:
    """The sequence with its last repeats reduced to their minimum."""
    while items and isinstance(last := items[-1], Repeat) and last.high != last.low:
        items = items[:-1] + ((Repeat(last.body, last.low, last.low),) if last.low else ())
    return items


def _tail(items: Items, then: _Tail) -> _Tail:
    return reduce(lambda tail, node: _before(node, tail), reversed(items), then)


def _before(node: Node, then: _Tail) -> _Tail:
    """The tail that begins one node earlier."""
    match node:
        case Chars(ranges):
            return _Tail(ONE + then.cost, ranges, 1)
        case Choice(alternatives):
            return _either([_tail(alternative, then) for alternative in alternatives])
        case Repeat((Chars() as one,), low, high):
            return _run(one, low, high, then)
        case Repeat(body, low, high):
            return _groups(body, low, high, then)
        case Lookahead(body, _, ahead):
            looked = _tail(body, _NOTHING).cost if ahead or width_of(body) is not None else ENDLESS
            return _Tail(looked + then.cost, ANY, 1 + then.fan)
        case _:
            return _Tail(Cost(4) + then.cost, then.first, 4 + then.fan)


def _either(ways: list[_Tail]) -> _Tail:
    """One of several tails: if the next character decides between them, only one is searched to its end."""
    fan = sum(way.fan for way in ways)
    costs = [way.cost for way in ways]
    meet = any(overlap(one.first, other.first) for at, one in enumerate(ways) for other in ways[at + 1 :])
    whole = reduce(Cost.__add__ if meet else Cost.worse, costs) if costs else ONE
    return _Tail(whole + Cost(fan), union(*(way.first for way in ways)), fan)


def _run(one: Chars, low: int, high: int | None, then: _Tail) -> _Tail:
    """A repeat of single characters, then the tail: tried at each possible end of the run, or only where the run must end."""
    length = LENGTH if high is None or high > MAX_COUNTED else Cost(high)
    if low == high:
        return _Tail(length + then.cost, one.ranges if low else then.first, 1 + (0 if low else then.fan))
    first = one.ranges if low else union(one.ranges, then.first)
    ends = length * (then.cost if overlap(one.ranges, then.first) else Cost(then.fan))
    return _Tail(length + ends + then.cost, first, 1 + then.fan)


def _groups(body: Items, low: int, high: int | None, then: _Tail) -> _Tail:
    """An unrolled repeat of a group, in which the repetitions beyond the minimum are optional."""
    if high is None:
        return _Tail(ENDLESS, ANY, then.fan)
    tail = then
    for left in range(high):
        longer = _tail(body, tail)
        tail = _either([longer, then]) if left < high - low else longer
    return tail


# ---- Whether a pattern is searched in bounded time (P11) ----
# Both the engine and the compiler use this module.
#
# 1. A *backtracking* engine (java.util.regex, Python's `re`) is used only if its number of steps per character has a proven
#    bound. `lakegate.engine.evaluate.pattern_search` uses it only for patterns that RE2 cannot express.
# 2. RE2 searches for all others. Its time is linear in the text; the pattern's weight bounds the factor. RE2 has no look-ahead:
#    look-aheads at the very start of an anchored pattern become separate searches, any other is refused.
#
# The formats of texts and dates are not split here: RE2 searches for all of them (`lakegate.engine.evaluate.pattern_search`).


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
    if holds(items, _is_open_behind):
        raise UnsearchableError("a look-behind is of one length: write it without `*`, `+`, `?` and `{1,2}`")
    if holds(items, _is_beyond_re2):
        raise UnsearchableError(
            r"a look-around or \B stands where it could take very long: put look-aheads right after ^, or write without"
        )
    if _weight(items) > MAX_WEIGHT:
        raise UnsearchableError(
            f"it could be at more than {MAX_WEIGHT} places at once: count less, or anchor it with ^ and $"
        )
    return Part(items, wanted, is_bounded=False)


def _is_cheap(items: Items) -> bool:
    """Whether a backtracking engine may be used."""
    if _group_count(items) > MAX_GROUPS:
        return False
    cost = search_cost(items)
    return cost.fixed <= MAX_STEPS_OF_ALL and cost.each <= MAX_STEPS


def _is_beyond_re2(node: Node) -> bool:
    r"""Whether RE2 cannot express the pattern: it has no look-ahead, and its `\B` also matches inside non-ASCII characters."""
    return isinstance(node, Lookahead) or node == Edge(inner=True)


def _is_open_behind(node: Node) -> bool:
    """Whether a node is a look-behind of a length that varies."""
    return isinstance(node, Lookahead) and not node.ahead and width_of(node.body) is None


def _weight(items: Items) -> int:
    """The number of states of a pattern with unrolled repeats."""
    return sum(times(node) * (isinstance(node, Chars) + sum(map(_weight, bodies(node)))) for node in items)


def _group_count(items: Items) -> int:
    """The number of groups of a pattern with unrolled repeats: a backtracking engine recurses for each."""
    return sum(times(node) * (1 + sum(map(_group_count, bodies(node)))) for node in items if _is_group(node))


def _is_group(node: Node) -> bool:
    return any(len(body) != 1 or not isinstance(body[0], Chars) for body in bodies(node))


def times(node: Node) -> int:
    """How often a node stands in a pattern with unrolled repeats, at most; an unbounded one as often as it must."""
    return max(1, node.high or node.low) if isinstance(node, Repeat) else 1

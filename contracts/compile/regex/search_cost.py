r"""The cost of a search by a backtracking engine: an upper bound of its steps, as a polynomial of the text's length.

Backtracking engines, such as Python's `re`, try alternatives one after the other. A **choice** is cheap if the next character
decides it (`a*b`): the wrong alternative fails at once. If not (`a*ab`), the rest of the pattern is tried for each alternative,
and costs multiply. The bound is computed from the end of the pattern to its start.

Unbounded repeats of groups have no bound: the engine recurses for each repeat, and a long text exhausts its stack.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from lakegate.contracts.compile.regex.characters import ANY, Ranges, overlap, union
from lakegate.contracts.compile.regex.tree import Chars, Choice, Items, Lookahead, Node, Repeat, Start

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
    tries = Cost(tail.fan) if anchored(items) else tail.cost + Cost(tail.fan)
    return tail.cost + LENGTH * tries


def anchored(items: Items) -> bool:
    """Whether a match can begin at the start of the text only."""
    match items[:1]:
        case (Start(),):
            return True
        case (Choice(alternatives),):
            return all(map(anchored, alternatives))
        case _:
            return False


def shortest(items: Items) -> Items:
    """An equivalent search with fewer alternatives.

    Repeats at either end of a pattern, or at the end of a look-ahead, are reduced to their minimum.
    """
    return _cut(_cut(tuple(map(_lean, items)))[::-1])[::-1]


def _lean(node: Node) -> Node:
    match node:
        case Lookahead(body, wanted, ahead):
            return Lookahead(_cut(tuple(map(_lean, body))), wanted, ahead)
        case Repeat(body, low, high):
            return Repeat(tuple(map(_lean, body)), low, high)
        case Choice(alternatives):
            return Choice(tuple(tuple(map(_lean, each)) for each in alternatives))
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
            return _either([_tail(each, then) for each in alternatives])
        case Repeat((Chars() as one,), low, high):
            return _run(one, low, high, then)
        case Repeat(body, low, high):
            return _groups(body, low, high, then)
        case Lookahead(body, _, ahead):
            looked = _tail(body, _NOTHING).cost if ahead else ENDLESS
            return _Tail(looked + then.cost, ANY, 1 + then.fan)
        case _:
            return _Tail(Cost(4) + then.cost, then.first, 4 + then.fan)


def _either(ways: list[_Tail]) -> _Tail:
    """One of several tails: if the next character decides between them, only one is searched to its end."""
    fan = sum(way.fan for way in ways)
    costs = [way.cost for way in ways]
    whole = reduce(Cost.worse if _apart(ways) else Cost.__add__, costs) if costs else ONE
    return _Tail(whole + Cost(fan), union(*(way.first for way in ways)), fan)


def _apart(ways: list[_Tail]) -> bool:
    return not any(overlap(one.first, other.first) for at, one in enumerate(ways) for other in ways[at + 1 :])


def _run(one: Chars, low: int, high: int | None, then: _Tail) -> _Tail:
    """A repeat of single characters, then the tail: tried at each possible end of the run, or only where the run must end."""
    length = LENGTH if high is None else Cost(high)
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

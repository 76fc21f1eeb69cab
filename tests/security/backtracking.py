"""An engine that matches as java.util.regex does, counting its steps: each way to match is tried before the next one."""

from __future__ import annotations

from collections.abc import Callable

from lakegate.patterns.regex_tree import Chars, Choice, Edge, End, Items, Lookahead, Node, Repeat, Start

Then = Callable[[int], bool]
MOST = 200_000
"""Steps after which a search is given up."""


class TooLongError(Exception):
    """The search took more than MOST steps."""


class Search:
    """One search of a pattern in a text; `steps` are those it took."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.steps = 0

    def found(self, items: Items) -> bool:
        return any(self._sequence(items, at, lambda _: True) for at in range(len(self.text) + 1))

    def _sequence(self, items: Items, at: int, then: Then) -> bool:
        if not items:
            return then(at)
        return self._node(items[0], at, lambda end: self._sequence(items[1:], end, then))

    def _node(self, node: Node, at: int, then: Then) -> bool:
        self.steps += 1
        if self.steps > MOST:
            raise TooLongError
        match node:
            case Chars(ranges):
                is_one = at < len(self.text) and any(low <= ord(self.text[at]) <= high for low, high in ranges)
                return is_one and then(at + 1)
            case Repeat(body, low, high):
                return self._repeat(body, low, high, at, then)
            case Choice(alternatives):
                return any(self._sequence(each, at, then) for each in alternatives)
            case Lookahead(body, wanted):
                return self._sequence(body, at, lambda _: True) is wanted and then(at)
            case _:
                return self._stands(node, at) and then(at)

    def _repeat(self, body: Items, low: int, high: int | None, at: int, then: Then) -> bool:
        if high != 0:
            left = None if high is None else high - 1

            def again(end: int) -> bool:
                return (end > at or low > 0) and self._repeat(body, max(low - 1, 0), left, end, then)

            if self._sequence(body, at, again):
                return True
        return low == 0 and then(at)

    def _stands(self, node: Node, at: int) -> bool:
        """Whether a place is the start, the end, or an edge."""
        match node:
            case Start():
                return at == 0
            case End():
                return at == len(self.text)
            case Edge(inner):
                return (self._is_word(at - 1) is self._is_word(at)) is inner
        raise AssertionError(node)

    def _is_word(self, at: int) -> bool:
        within = 0 <= at < len(self.text)
        return within and self.text[at].isascii() and (self.text[at].isalnum() or self.text[at] == "_")

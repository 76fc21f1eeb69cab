"""The tokens of a query's text, read one after the other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lakegate.engine.query.value import refuse

if TYPE_CHECKING:
    from collections.abc import Callable

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?:BD|L|D)?\b)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<bound>:(?:now|t[0-9]{1,4})\b)|(?P<text>'[^'\\]*')|(?P<sign><=>|<>|<=|>=|[=<>+*/%(),.-]))"
)
_SETS = ("UNION", "INTERSECT", "EXCEPT")


class Tokens:
    """A place in a text."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            found = _TOKEN.match(text, at)
            if found is None:
                raise refuse(repr(text[at : at + 20]))
            self._tokens.append(found[0].strip())
            at = found.end()
        self._at = 0
        self._closing = _closing(self._tokens)

    @property
    def place(self) -> int:
        """The position of the next token, for `back`."""
        return self._at

    def back(self, place: int) -> None:
        """Continue at another position."""
        self._at = place

    def peek(self, ahead: int = 0) -> str:
        """The next token, or one after it; empty after the last one."""
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ""

    def take(self, *wanted: str) -> str:
        """The next token, which is one of these, if any are named."""
        found = self.peek()
        if wanted and found not in wanted:
            raise refuse(f"{found[:20]!r} instead of {wanted[0]!r}")
        self._at += 1
        return found

    def follow(self, *words: str) -> bool:
        """Whether these tokens follow; they are then taken."""
        if tuple(map(self.peek, range(len(words)))) != words:
            return False
        self._at += len(words)
        return True

    def match(self, form: re.Pattern[str]) -> str:
        """The next token, which has this form."""
        found = self.take()
        if not form.fullmatch(found):
            raise refuse(repr(found[:20]))
        return found

    def each(self, read: Callable[[], str]) -> str:
        """Parts with commas between them."""
        found = [read()]
        while self.follow(","):
            found.append(read())
        return ", ".join(found)

    def holds_query(self) -> bool:
        """Whether the bracket that opens here contains a query, not a value."""
        if self.peek() != "(":
            return False
        if self.peek(1) in {"SELECT", "WITH"}:
            return True
        return self.peek(1) == "(" and self._after_bracket(self._at + 1) in _SETS

    def _after_bracket(self, opening: int) -> str:
        """The token behind the bracket that opens at a position; empty where none closes it, or none follows."""
        after = self._closing.get(opening, len(self._tokens)) + 1
        return self._tokens[after] if after < len(self._tokens) else ""


def _closing(tokens: list[str]) -> dict[int, int]:
    """The position of each bracket that opens, with that of the one that closes it."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for at, each in enumerate(tokens):
        if each == "(":
            opened.append(at)
        elif each == ")" and opened:
            found[opened.pop()] = at
    return found

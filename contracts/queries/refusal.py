"""Why a query is not measured: refused for good, or only not translated."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot.expressions import Expr


class RefusedError(Exception):
    """The query cannot be used by anyone here: an error of the document with a code of its own."""

    def __init__(self, code: str, message: str, place: tuple[int, int] | None = None) -> None:
        super().__init__(code)
        self.code = code
        where = f" (line {place[0]}, column {place[1]} of the query)" if place else ""
        self.message = message + where


class UntranslatedError(Exception):
    """The query is harmless, and this version cannot say it in the engine's words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def place_of(node: Expr) -> tuple[int, int] | None:
    """Line and column of a node in its query, from 1, as far as the parser remembers one of it or of what it holds."""
    for each in node.walk():
        if "line" in each.meta:
            return int(each.meta["line"]), int(each.meta["col"]) - len(str(each.name)) + 1
    return None

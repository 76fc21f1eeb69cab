"""Exceptions of the translation: a query is refused, or this version cannot translate it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot.expressions import Expr


class RefusedError(Exception):
    """The query must not be executed: an error of the contract document, with a lint code."""

    def __init__(self, code: str, message: str, place: tuple[int, int] | None = None) -> None:
        super().__init__(code)
        self.code = code
        where = f" (line {place[0]}, column {place[1]} of the query)" if place else ""
        self.message = message + where


class UntranslatedError(Exception):
    """The query is harmless, but this version cannot translate it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def place_of(node: Expr) -> tuple[int, int] | None:
    """Line and column of a node in its query, from 1; None if the parser recorded none for it or its descendants."""
    for each in node.walk():
        if "line" in each.meta:
            return int(each.meta["line"]), int(each.meta["col"]) - len(str(each.name)) + 1
    return None

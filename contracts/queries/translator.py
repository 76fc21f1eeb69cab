"""The translator: one tree, one dialect, and the tables in which every node is looked up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from contracts.queries.refusal import UntranslatedError
from contracts.queries.said import Said
from contracts.queries.scope import Asked, Names, Scope

SILENT = frozenset(
    {"big_int", "typed", "safe", "nested", "quoted", "coalesce", "is_null", "date_part_boundary", "zone"}
)
"""Notes of the parser about the dialect: those that change an answer are read where they do."""


@dataclass(frozen=True, slots=True)
class Form:
    """How one kind of node is said. A node with any other part than these has no form."""

    say: Callable[[Translator, Any, Scope], Said]
    parts: frozenset[str]


def form(say: Callable[[Translator, Any, Scope], Said], *parts: str) -> Form:
    """A form of nodes with these parts."""
    return Form(say, frozenset(parts))


class Translator:
    """Says the expressions of one query."""

    def __init__(self, dialect: str, names: Names, forms: Mapping[type, Form], query: QueryForm) -> None:
        self.dialect = dialect
        self.names = names
        self._forms = forms
        self._query = query

    def say(self, node: exp.Expr | None, scope: Scope) -> Said:
        """An expression; RefusedError or UntranslatedError where it has no form."""
        found = self._forms.get(type(node))
        if node is None or found is None:
            raise without_form(node)
        only(node, found.parts)
        return found.say(self, node, scope)

    def say_all(self, nodes: list[exp.Expr], scope: Scope) -> list[Said]:
        """Several expressions."""
        return [self.say(each, scope) for each in nodes]

    def ask(self, node: exp.Expr, scope: Scope) -> Asked:
        """A query inside the query."""
        return self._query(self, node, scope)


QueryForm = Callable[[Translator, exp.Expr, Scope], Asked]


def only(node: exp.Expr, parts: frozenset[str]) -> None:
    """Refuse a node that says more than its form knows: left out, it would change the answer."""
    for name, said in node.args.items():
        if said and name not in parts and name not in SILENT:
            raise UntranslatedError(f"{word_of(node)} with {name.strip('_')} is not translated by this version")


def without_form(node: exp.Expr | None) -> UntranslatedError:
    """Why a harmless node is not said."""
    return UntranslatedError(
        f"{word_of(node) if node is not None else 'an empty part'} is not translated by this version"
    )


def word_of(node: exp.Expr) -> str:
    """What a person calls a node."""
    return str(node.sql_name()) if isinstance(node, exp.Func) else node.key.upper()

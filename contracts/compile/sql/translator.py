"""The translator: looks up each node of an AST in the tables of forms, for one dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from lakegate.contracts.compile.sql.names import QueryNames
from lakegate.contracts.compile.sql.refusal import UntranslatedError
from lakegate.contracts.compile.sql.scope import Scope, TypedQuery
from lakegate.contracts.compile.sql.typed_sql import SqlKind, TypedSql, combine

IGNORED_PARTS = frozenset(
    (
        *("big_int", "nested", "quoted", "is_nvl", "is_null", "coalesce", "safe", "typed", "date_part_boundary"),
        *("zero_on_all_null", "casts_non_integer_decimals", "negative_length_returns_empty", "zero_start"),
        *("input_type_preserved", "default_date", "unabbreviate", "null_on_text_overflow", "probe_date_format"),
        "requires_string",
    )
)
"""Parts in which the parser notes the dialect, for texts in other dialects. They change no result here, or a form reads them:
the position 0 of a text, negative lengths and fractions of digits are not translated, and a count of no rows is 0."""


@dataclass(frozen=True, slots=True)
class NodeForm:
    """How nodes of one class are translated. A node with a part that is not in `parts` is not translated."""

    translate: Callable[[Translator, Any, Scope], TypedSql]
    parts: frozenset[str]


def form(translate: Callable[[Translator, Any, Scope], TypedSql], *parts: str) -> NodeForm:
    """A form for nodes with these parts."""
    return NodeForm(translate, frozenset(parts))


def plain(template: str, kind: SqlKind | None, **parts: Callable[[TypedSql], TypedSql]) -> NodeForm:
    """A form that converts each part to the needed kind and inserts the results into a template.

    `kind` is the kind of the result; None means the kind of the first part.
    """

    def translate(t: Translator, node: exp.Expr, scope: Scope) -> TypedSql:
        found = [turn(t.translate(node.args.get(name), scope)) for name, turn in parts.items()]
        return combine(template.format(*(each.text for each in found)), kind or found[0].kind, *found)

    return form(translate, *parts)


class Translator:
    """Translates the expressions of one query."""

    def __init__(self, dialect: str, names: QueryNames, forms: Mapping[type, NodeForm], query: QueryForm) -> None:
        self.dialect = dialect
        self.names = names
        self._forms = forms
        self._query = query

    def translate(self, node: exp.Expr | None, scope: Scope) -> TypedSql:
        """Translate an expression; RefusedError or UntranslatedError if that is not possible."""
        found = self._forms.get(type(node))
        if node is None or found is None:
            raise without_form(node)
        only(node, found.parts)
        return found.translate(self, node, scope)

    def translate_all(self, nodes: list[exp.Expr], scope: Scope) -> list[TypedSql]:
        """Translate several expressions."""
        return [self.translate(each, scope) for each in nodes]

    def translate_query(self, node: exp.Expr, scope: Scope) -> TypedQuery:
        """Translate a query or subquery."""
        return self._query(self, node, scope)


QueryForm = Callable[[Translator, exp.Expr, Scope], TypedQuery]


def only(node: exp.Expr, parts: frozenset[str]) -> None:
    """Raise UntranslatedError if a node has a part that its form does not translate: dropping it would change the result."""
    for name, sql in node.args.items():
        if sql and name not in parts and name not in IGNORED_PARTS:
            raise UntranslatedError(f"{word_of(node)} with {name.strip('_')} is not translated by this version")


def without_form(node: exp.Expr | None) -> UntranslatedError:
    """The error for a node without a form."""
    return UntranslatedError(
        f"{word_of(node) if node is not None else 'an empty part'} is not translated by this version"
    )


def word_of(node: exp.Expr) -> str:
    """The SQL name of a node, for messages."""
    return str(node.sql_name()) if isinstance(node, exp.Func) else node.key.upper()

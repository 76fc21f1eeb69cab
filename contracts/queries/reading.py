"""What a SELECT reads: datasets, queries in brackets, and how they are joined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from contracts.queries.parse import one_word
from contracts.queries.refusal import RefusedError, UntranslatedError, place_of
from contracts.queries.said import Kind, wanted
from contracts.queries.scope import Scope, Source
from contracts.queries.translator import Translator, only, without_form

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_TABLES = 6
JOINS = {"": "JOIN", "INNER": "JOIN", "LEFT": "LEFT JOIN", "RIGHT": "RIGHT JOIN", "FULL": "FULL JOIN"}
CROSS = "CROSS JOIN"


@dataclass(slots=True)
class Outline:
    """What is known of a SELECT while it is said."""

    scope: Scope
    tables: list[str]
    outer: bool = False


def read_tables(t: Translator, node: exp.Select, outline: Outline) -> None:
    """Say what stands in the FROM of a SELECT, and know it by its names from then on."""
    part = node.args.get("from_")
    if part is None:
        return
    only(part, frozenset({"this"}))
    joins = node.args.get("joins") or []
    if len(joins) >= MOST_TABLES:
        raise RefusedError("query-too-large", f"A SELECT reads at most {MOST_TABLES} tables.", place_of(joins[-1]))
    source, text = _table(t, part.this, outline.scope)
    outline.tables.append(text)
    many = [] if source.one_row else [source]
    for join in joins:
        joined, text = _table(t, join.this, outline.scope)
        word, condition = _joined(t, join, joined, outline.scope, many=bool(many))
        outline.tables.append(f"{word} {text}{condition}")
        many += [] if joined.one_row else [joined]


def _table(t: Translator, node: exp.Expr, scope: Scope) -> tuple[Source, str]:
    if isinstance(node, exp.Subquery):
        only(node, frozenset({"this", "alias", "with_"}))
        asked = t.ask(node, _not_lateral(scope))
        alias = t.names.fresh()
        source = Source(alias, asked.columns, one_row=asked.one_row)
        scope.add(_alias(node) or alias, source, place_of(node))
        return source, f"({asked.text}) AS {alias}"
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        raise _no_table(node)
    only(node, frozenset({"this", "alias", "db", "catalog"}))
    return _named_table(t, node, scope)


def _no_table(node: exp.Expr) -> Exception:
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Func):
        return RefusedError(
            "query-unknown-table", "A query reads the datasets of its contract, no function's rows.", place_of(node)
        )
    return without_form(node)


def _named_table(t: Translator, node: exp.Table, scope: Scope) -> tuple[Source, str]:
    name, alias, place = one_word(node.this), t.names.fresh(), place_of(node)
    qualifiers = [one_word(node.args[key]) for key in ("db", "catalog") if node.args.get(key)]
    query = scope.query_called(name) if not qualifiers else None
    if query is not None:
        text, columns, one_row = query
        source = Source(alias, columns, one_row=one_row)
    else:
        if not all(t.names.may_qualify(each) for each in qualifiers):
            message = "A query reads the datasets of its own contract, and names them without a place."
            raise RefusedError("query-unknown-table", message, place)
        dataset = t.names.dataset_called(name, place)
        text = t.names.relation(dataset.name)
        source = Source(alias, (), dataset)
    scope.add(_alias(node) or name, source, place)
    return source, f"{text} AS {alias}"


def _alias(node: exp.Expr) -> str | None:
    alias = node.args.get("alias")
    if alias is None:
        return None
    only(alias, frozenset({"this"}))
    return one_word(alias.this) if alias.this is not None else None


def _not_lateral(scope: Scope) -> Scope:
    """A query in a FROM sees no other table of that FROM."""
    return Scope(scope.names, scope.queries, scope.outer, is_bridge=True)


def _joined(t: Translator, node: exp.Join, source: Source, scope: Scope, *, many: bool) -> tuple[str, str]:
    """The words before and behind the table that is joined."""
    only(node, frozenset({"this", "side", "kind", "on", "using"}))
    side, kind = (str(node.args.get(key) or "").upper() for key in ("side", "kind"))
    condition = _on(t, node, scope)
    if condition is None:
        if kind not in {"", "CROSS", "INNER"} or side or (many and not source.one_row):
            raise explodes(node)
        return CROSS, ""
    word = JOINS.get(side or kind) if kind in {"", "INNER", "OUTER"} else None
    if word is None:
        raise UntranslatedError(f"a join of the kind {kind or side} is not translated by this version")
    if condition.asks or condition.aggregates or condition.windows:
        raise UntranslatedError("a join in it asks more than whether two rows belong together")
    if many and not source.one_row and not _binds(condition.equalities, source.alias):
        raise explodes(node)
    return word, f" ON {condition.text}"


def explodes(node: exp.Expr) -> RefusedError:
    """Why two tables are not put beside each other."""
    message = "Every row would meet every row of another table: join them on a column that is equal."
    return RefusedError("query-cross-join", message, place_of(node))


@dataclass(frozen=True, slots=True)
class _On:
    """The condition of a join, and the columns of each equality in it."""

    text: str
    equalities: tuple[tuple[frozenset[str], frozenset[str]], ...]
    asks: bool = False
    aggregates: bool = False
    windows: bool = False


def _on(t: Translator, node: exp.Join, scope: Scope) -> _On | None:
    if node.args.get("using"):
        raise UntranslatedError("a join in it names its columns by USING: say ON which columns are equal")
    on = node.args.get("on")
    if on is None:
        return None
    said = wanted(t.say(on, scope), Kind.BOOLEAN)
    pairs = tuple(
        (t.say(each.this, scope).bare, t.say(each.expression, scope).bare)
        for each in conjuncts(on)
        if isinstance(each, exp.EQ)
    )
    return _On(said.text, pairs, said.asks, said.aggregates, said.windows)


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that all must hold."""
    if isinstance(node, exp.And):
        yield from conjuncts(node.this)
        yield from conjuncts(node.expression)
    elif isinstance(node, exp.Paren):
        yield from conjuncts(node.this)
    else:
        yield node


def _binds(equalities: tuple[tuple[frozenset[str], frozenset[str]], ...], alias: str) -> bool:
    """Whether an equality has columns of one table on one side, and of others on the other side."""
    return any(
        _is_of(one, alias) and _is_of_others(other, alias) for pair in equalities for one, other in (pair, pair[::-1])
    )


def _is_of(columns: frozenset[str], alias: str) -> bool:
    return bool(columns) and all(each.startswith(f"{alias}.") for each in columns)


def _is_of_others(columns: frozenset[str], alias: str) -> bool:
    return bool(columns) and not any(each.startswith(f"{alias}.") for each in columns)

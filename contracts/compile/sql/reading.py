"""Forms of FROM clauses: datasets, subqueries and joins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from lakegate.contracts.compile.sql.parse import one_word
from lakegate.contracts.compile.sql.refusal import RefusedError, UntranslatedError, place_of
from lakegate.contracts.compile.sql.scope import FromItem, Scope, TypedQuery
from lakegate.contracts.compile.sql.translator import Translator, only, without_form
from lakegate.contracts.compile.sql.typed_sql import MAX_GROWTH, SqlKind, TypedSql, expect_kind

if TYPE_CHECKING:
    from collections.abc import Iterator

Equalities = list[tuple[frozenset[str], frozenset[str]]]
MAX_TABLES = 6
JOINS = {"": "JOIN", "INNER": "JOIN", "LEFT": "LEFT JOIN", "RIGHT": "RIGHT JOIN", "FULL": "FULL JOIN"}
CROSS = "CROSS JOIN"


@dataclass(slots=True)
class Outline:
    """The state of a SELECT while it is translated."""

    scope: Scope
    tables: list[str]
    outer: bool = False
    joins: int = 0
    """Joins that may duplicate rows."""
    rows: int = 0
    """The most rows of its tables, as a multiple of the rows of a dataset."""


def read_tables(t: Translator, node: exp.Select, outline: Outline) -> None:
    """Translate the FROM clause of a SELECT and add its tables to the scope."""
    part = node.args.get("from_")
    if part is None:
        return
    only(part, frozenset({"this"}))
    joins = node.args.get("joins") or []
    if len(joins) >= MAX_TABLES:
        raise RefusedError("query-too-large", f"A SELECT reads at most {MAX_TABLES} tables.", place_of(joins[-1]))
    source, text = _table(t, part.this, outline.scope)
    outline.tables.append(text)
    many = [] if source.one_row else [source]
    outline.rows = source.rows
    for join in joins:
        joined, text = _table(t, join.this, outline.scope)
        repeating = outline.joins
        outline.tables.append(_joined(t, join, joined, outline, many=bool(many)).format(text))
        many += [] if joined.one_row else [joined]
        rows = outline.rows * joined.rows if outline.joins > repeating else outline.rows + joined.rows
        outline.rows = outline.rows if joined.one_row else bounded(rows, join)
    outline.joins += sum(each.joins for each in outline.scope.sources.values())
    if outline.joins > 1:
        raise UntranslatedError(
            "it joins several tables on columns that are no declared key: its rows could be past counting"
        )


def _table(t: Translator, node: exp.Expr, scope: Scope) -> tuple[FromItem, str]:
    if isinstance(node, exp.Subquery):
        only(node, frozenset({"this", "alias", "with_"}))
        subquery = t.translate_query(node, _not_lateral(scope))
        alias = t.names.fresh()
        source = _of_query(alias, subquery)
        scope.add(_alias(node) or alias, source, place_of(node))
        return source, f"({subquery.text}) AS {alias}"
    if not isinstance(node, exp.Table):
        raise without_form(node)
    named = _named_table(t, node, scope)
    only(node, frozenset({"this", "alias", "db", "catalog"}))
    return named


def _named_table(t: Translator, node: exp.Table, scope: Scope) -> tuple[FromItem, str]:
    name, alias, place = one_word(node.this), t.names.fresh(), place_of(node)
    qualifiers = [one_word(node.args[key]) for key in ("db", "catalog") if node.args.get(key)]
    query = scope.find_query(name) if not qualifiers else None
    if query is not None:
        text, subquery = query
        source = _of_query(alias, subquery)
    else:
        if not all(t.names.may_qualify(each) for each in qualifiers):
            message = "A query reads the datasets of its own contract, and names them without a place."
            raise RefusedError("query-unknown-table", message, place)
        dataset = t.names.find_dataset(name, place)
        text = t.names.relation(dataset.name)
        source = FromItem(alias, (), dataset)
    scope.add(_alias(node) or name, source, place)
    return source, f"{text} AS {alias}"


def _of_query(alias: str, query: TypedQuery) -> FromItem:
    return FromItem(alias, query.columns, None, query.one_row, query.joins, query.key, query.rows)


def bounded(rows: int, node: exp.Expr) -> int:
    """A number of rows as a multiple of those of a dataset; RefusedError if a query multiplies them too often."""
    if rows > MAX_GROWTH:
        message = f"The query reads rows more than {MAX_GROWTH} times: read them once."
        raise RefusedError("query-too-large", message, place_of(node))
    return rows


def _alias(node: exp.Expr) -> str | None:
    alias = node.args.get("alias")
    if alias is None:
        return None
    only(alias, frozenset({"this"}))
    return one_word(alias.this) if alias.this is not None else None


def _not_lateral(scope: Scope) -> Scope:
    """A subquery in a FROM clause cannot read the other tables of that clause."""
    return Scope(scope.names, scope.queries, scope.outer, is_bridge=True)


def _joined(t: Translator, node: exp.Join, source: FromItem, outline: Outline, *, many: bool) -> str:
    """The JOIN clause, as a template for the joined table."""
    only(node, frozenset({"this", "side", "kind", "on", "using"}))
    side, kind = (str(node.args.get(key) or "").upper() for key in ("side", "kind"))
    found = _on(t, node, outline.scope)
    if found is None:
        if kind not in {"", "CROSS", "INNER"} or side or (many and not source.one_row):
            raise cross_join_error(node)
        return f"{CROSS} {{}}"
    condition, equalities = found
    word = JOINS.get(side or kind) if kind in {"", "INNER", "OUTER"} else None
    if word is None:
        raise UntranslatedError(f"a join of the kind {kind or side} is not translated by this version")
    if condition.has_subquery or condition.aggregates or condition.windows:
        raise UntranslatedError("a join in it asks more than whether two rows belong together")
    if many and not source.one_row:
        bound = _bound(equalities, source.alias)
        if not bound:
            raise cross_join_error(node)
        outline.joins += not any(key <= bound for key in source.keys(t.names))
    return f"{word} {{}} ON {condition.text}"


def cross_join_error(node: exp.Expr) -> RefusedError:
    """The error for a join without an equality condition."""
    message = "Every row would meet every row of another table: join them on a column that is equal."
    return RefusedError("query-cross-join", message, place_of(node))


def _on(t: Translator, node: exp.Join, scope: Scope) -> tuple[TypedSql, Equalities] | None:
    """The condition of a join, and the columns on both sides of each equality; None without a condition."""
    if node.args.get("using"):
        raise UntranslatedError("a join in it names its columns by USING: say ON which columns are equal")
    on = node.args.get("on")
    if on is None:
        return None
    sql = expect_kind(t.translate(on, scope), SqlKind.BOOLEAN)
    pairs = [
        (t.translate(each.this, scope).bare, t.translate(each.expression, scope).bare)
        for each in conjuncts(on)
        if isinstance(each, exp.EQ)
    ]
    return sql, pairs


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The operands of a conjunction, flattened."""
    if isinstance(node, exp.And):
        yield from conjuncts(node.this)
        yield from conjuncts(node.expression)
    elif isinstance(node, exp.Paren):
        yield from conjuncts(node.this)
    else:
        yield node


def _bound(equalities: Equalities, alias: str) -> frozenset[str]:
    """The columns of a table that an equality compares with other tables."""
    sides = (side for pair in equalities for side in (pair, pair[::-1]))
    return frozenset().union(*(one for one, other in sides if _is_of(one, alias) and _is_of_others(other, alias)))


def _is_of(columns: frozenset[str], alias: str) -> bool:
    return bool(columns) and all(each.startswith(f"{alias}.") for each in columns)


def _is_of_others(columns: frozenset[str], alias: str) -> bool:
    return bool(columns) and not any(each.startswith(f"{alias}.") for each in columns)

"""Forms of queries: SELECT, WITH, and set operations."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from lakegate.contracts.compile.sql.names import find_by_name
from lakegate.contracts.compile.sql.parse import one_word
from lakegate.contracts.compile.sql.reading import Outline, bounded, conjuncts, cross_join_error, read_tables
from lakegate.contracts.compile.sql.refusal import RefusedError, UntranslatedError, place_of
from lakegate.contracts.compile.sql.scope import OutputColumn, Scope, TypedQuery
from lakegate.contracts.compile.sql.translator import Translator, only, without_form
from lakegate.contracts.compile.sql.typed_sql import MAX_TEXT_LENGTH, WHOLE, SqlKind, TypedSql, expect_kind

SELECT_PARTS = frozenset(
    (
        "with_",
        "expressions",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "order",
        "limit",
        "distinct",
        "kind",
    )
)


def translate_query(t: Translator, node: exp.Expr, scope: Scope) -> TypedQuery:
    """Translate a query of any form, given the scope of the enclosing query."""
    if isinstance(node, exp.Subquery):
        only(node, frozenset({"this", "alias", "with_"}))
        return _named_parts(t, node, node.this, scope)
    if isinstance(node, exp.Select):
        only(node, SELECT_PARTS)
        return _named_parts(t, node, node, scope)
    if isinstance(node, exp.SetOperation):
        only(node, frozenset({"this", "expression", "distinct", "with_", "order", "limit"}))
        return _set_operation(t, node, scope)
    raise without_form(node)


def _named_parts(t: Translator, owner: exp.Expr, node: exp.Expr, scope: Scope) -> TypedQuery:
    """A query after its WITH clause."""
    words, inner = _with(t, owner, scope)
    subquery = (
        _select(t, node, inner) if isinstance(node, exp.Select) and node is owner else translate_query(t, node, inner)
    )
    return replace(subquery, text=checked(f"{words}{subquery.text}"))


def checked(text: str) -> str:
    """The text of a query that is being built; RefusedError if it is too long."""
    if len(text) > MAX_TEXT_LENGTH:
        raise RefusedError("query-too-large", "The query is too long: move its repeated parts into a WITH.")
    return text


def _with(t: Translator, node: exp.Expr, scope: Scope) -> tuple[str, Scope]:
    """The SQL of a WITH clause, and a scope that contains its queries."""
    inner, sql = Scope(t.names, {}, scope, is_bridge=True), list[str]()
    part = node.args.get("with_")
    if part is None:
        return "", inner
    if part.args.get("recursive"):
        raise RefusedError(
            "query-too-large", "A WITH that repeats itself may never end: write it without RECURSIVE.", place_of(part)
        )
    only(part, frozenset({"expressions"}))
    for each in part.expressions:
        only(each, frozenset({"this", "alias"}))
        if each.args["alias"].args.get("columns"):
            raise UntranslatedError("its WITH names columns beside its queries")
        subquery = t.translate_query(each.this, inner)
        name = t.names.fresh()
        sql.append(f"{name} AS ({subquery.text})")
        inner.queries[one_word(each.args["alias"].this)] = (name, subquery)
    return f"WITH {', '.join(sql)} ", inner


def _set_operation(t: Translator, node: exp.SetOperation, scope: Scope) -> TypedQuery:
    words, inner = _with(t, node, scope)
    if node.args.get("limit"):
        raise UntranslatedError("it cuts queries that were put together")
    left, right = t.translate_query(node.this, inner), t.translate_query(node.expression, inner)
    if [each.kind for each in left.columns] != [each.kind for each in right.columns] or left.outer or right.outer:
        raise UntranslatedError("the queries it puts together have columns of other kinds")
    word = {"union": "UNION", "intersect": "INTERSECT", "except": "EXCEPT"}[node.key]
    how = "" if node.args.get("distinct") else " ALL"
    rows = bounded(left.rows + right.rows if node.key == "union" else left.rows, node)
    return TypedQuery(
        checked(f"{words}({left.text}) {word}{how} ({right.text})"),
        tuple(
            one._replace(growth=max(one.growth, other.growth))
            for one, other in zip(left.columns, right.columns, strict=True)
        ),
        one_row=False,
        outer=False,
        joins=max(left.joins, right.joins),
        rows=rows,
    )


def _select(t: Translator, node: exp.Select, around: Scope) -> TypedQuery:
    outline = Outline(Scope(t.names, {}, around), [])
    read_tables(t, node, outline)
    where = _condition(t, node.args.get("where"), outline)
    columns = _columns(t, node, outline.scope)
    groups = _groups(t, node, columns, outline.scope)
    having = _condition(t, node.args.get("having"), outline)
    held = [sql for _, sql in columns] + ([having] if having else [])
    aggregated = bool(groups) or any(each.aggregates for each in held)
    _check_groups(held, groups, aggregated=aggregated)
    if where is not None and (where.aggregates or where.windows):
        raise UntranslatedError("its WHERE holds an aggregate or a window")
    if any(each.has_subquery for _, each in columns):
        raise UntranslatedError("it asks in its columns whether something is in another query")
    one_row = (aggregated and not groups and having is None) or not outline.tables
    select_list = ", ".join(f"{sql.text} AS k{at}" for at, (_, sql) in enumerate(columns))
    parts = [
        f"SELECT {'DISTINCT ' if _is_distinct(node) else ''}{select_list}",
        *([f"FROM {' '.join(outline.tables)}"] if outline.tables else []),
        *([f"WHERE {where.text}"] if where else []),
        *([f"GROUP BY {', '.join(groups)}"] if groups else []),
        *([f"HAVING {having.text}"] if having else []),
        *_cut(t, node, outline.scope, columns, one_row=one_row),
    ]
    made = tuple(OutputColumn(name, sql.kind, sql.growth) for name, sql in columns)
    outer = outline.outer or any(sql.outer for _, sql in columns)
    texts = [sql.text for _, sql in columns]
    key = tuple(texts.index(each) for each in groups) if set(groups) <= set(texts) else ()
    rows = 1 if one_row else outline.rows
    return TypedQuery(checked(" ".join(parts)), made, one_row, outer, outline.joins, key, rows)


def _condition(t: Translator, node: exp.Expr | None, outline: Outline) -> TypedSql | None:
    if node is None:
        return None
    only(node, frozenset({"this"}))
    sql = expect_kind(t.translate(node.this, outline.scope), SqlKind.BOOLEAN)
    if sql.outer:
        sides = (
            (t.translate(each.this, outline.scope), t.translate(each.expression, outline.scope))
            for each in conjuncts(node.this)
            if isinstance(each, exp.EQ)
        )
        if not any(
            one.outer and not one.bare and other.bare and not other.outer
            for pair in sides
            for one, other in (pair, pair[::-1])
        ):
            raise cross_join_error(node)
        outline.outer = True
    return sql


def _columns(t: Translator, node: exp.Select, scope: Scope) -> list[tuple[str, TypedSql]]:
    found: list[tuple[str, TypedSql]] = []
    for each in node.expressions:
        inner = each.this if isinstance(each, exp.Alias) else each
        if _is_star(inner):
            star = inner if isinstance(inner, exp.Star) else inner.this
            only(star, frozenset())
            table = inner.args.get("table") if isinstance(inner, exp.Column) else None
            found += scope.every_column(one_word(table) if table else None, place_of(each))
        else:
            name = one_word(each.args["alias"]) if isinstance(each, exp.Alias) else each.output_name
            found.append((name, t.translate(inner, scope)))
    if not found:
        raise UntranslatedError("a SELECT in it has no columns")
    return found


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def _groups(t: Translator, node: exp.Select, columns: list[tuple[str, TypedSql]], scope: Scope) -> list[str]:
    part = node.args.get("group")
    if part is None:
        return []
    only(part, frozenset({"expressions"}))
    sql = [_key(t, each, columns, scope) for each in part.expressions]
    if any(each.aggregates or each.windows or each.has_subquery for each in sql):
        raise UntranslatedError("it groups by an aggregate, a window or a query")
    return [each.text for each in sql]


def _key(t: Translator, node: exp.Expr, columns: list[tuple[str, TypedSql]], scope: Scope) -> TypedSql:
    """A key of GROUP BY or ORDER BY: the output column of this number, else a column, else the output column of this name."""
    if isinstance(node, exp.Literal) and not node.is_string and WHOLE.fullmatch(str(node.this)):
        at = int(node.this)
        if not 1 <= at <= len(columns):
            raise UntranslatedError("it groups or sorts by a column that it has not")
        return columns[at - 1][1]
    try:
        return t.translate(node, scope)
    except RefusedError:
        named = {name: sql for name, sql in columns if name}
        found = find_by_name(named, node.name) if isinstance(node, exp.Column) and not node.args.get("table") else None
        if found is None:
            raise
        return found


def _check_groups(held: list[TypedSql], groups: list[str], *, aggregated: bool) -> None:
    """Outside of aggregate functions, a grouped SELECT may read only the columns that it groups by."""
    if not aggregated:
        return
    keys = frozenset(groups)
    if any(each.windows for each in held):
        raise UntranslatedError("a window over groups is not translated by this version")
    if any(each.text not in keys and each.bare - keys for each in held):
        raise UntranslatedError("beside its aggregates it reads a column that it does not group by")


def _is_distinct(node: exp.Select) -> bool:
    part = node.args.get("distinct")
    if part is not None:
        only(part, frozenset())
    return part is not None


def _cut(
    t: Translator, node: exp.Select, scope: Scope, columns: list[tuple[str, TypedSql]], *, one_row: bool
) -> list[str]:
    """ORDER BY and LIMIT. ORDER BY without LIMIT is dropped; LIMIT without ORDER BY has no fixed result and is not translated."""
    limit, order = node.args.get("limit"), node.args.get("order")
    if limit is None:
        return []
    only(limit, frozenset({"expression"}))
    if not isinstance(limit.expression, exp.Literal) or not WHOLE.fullmatch(str(limit.expression.this)):
        raise UntranslatedError("its LIMIT is not a constant")
    if one_row and int(limit.expression.this) > 0:
        return []
    is_grouped = node.args.get("group") is not None or any(sql.aggregates for _, sql in columns)
    if order is None or is_grouped or _is_distinct(node):
        raise UntranslatedError("its LIMIT takes rows that depend on the order in which they lie")
    keys = []
    for each in order.expressions:
        sql = _key(t, each.this, columns, scope)
        if not sql.bare and not sql.windows:
            raise UntranslatedError("it sorts by a constant")
        nulls = "FIRST" if each.args.get("nulls_first") else "LAST"
        keys.append(f"{sql.text} {'DESC' if each.args.get('desc') else 'ASC'} NULLS {nulls}")
    return [f"ORDER BY {', '.join(keys)}", f"LIMIT {int(limit.expression.this)}"]

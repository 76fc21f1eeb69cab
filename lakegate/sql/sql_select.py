"""Whole queries: SELECT, FROM, joins, set operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from lakegate.base.text import plural
from lakegate.contract.contract_model import Contract, Dataset, Origin, Rule
from lakegate.contract.field_paths import column_name
from lakegate.plan.check import Query
from lakegate.sql import sql_casts, sql_dates, sql_functions, sql_operators
from lakegate.sql.sql_names import (
    FromItem,
    OutputColumn,
    QueryNames,
    Scope,
    Translator,
    TypedQuery,
    find_by_name,
    only,
    without_form,
)
from lakegate.sql.sql_parser import DIALECTS, dialect_of, one_word, parse, refuse_hazards
from lakegate.sql.typed_sql import (
    MAX_DUCKDB_LENGTH,
    MAX_GROWTH,
    MAX_TEXT_LENGTH,
    WHOLE,
    RefusedError,
    SqlKind,
    Texts,
    TypedSql,
    UntranslatedError,
    expect_kind,
    fill,
    join,
    long,
    place_of,
    same,
)

# ---- FROM: datasets, subqueries and joins ----


Equalities = list[tuple[frozenset[str], frozenset[str]]]
MAX_TABLES = 6
JOINS = {"": "JOIN", "INNER": "JOIN", "LEFT": "LEFT JOIN", "RIGHT": "RIGHT JOIN", "FULL": "FULL JOIN"}
CROSS = "CROSS JOIN"


@dataclass(slots=True)
class Outline:
    """The state of a SELECT while it is translated."""

    scope: Scope
    tables: list[Texts]
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
    only(part, "this")
    joins = node.args.get("joins") or []
    if len(joins) >= MAX_TABLES:
        raise RefusedError("query-too-large", f"A SELECT reads at most {MAX_TABLES} tables.", place_of(joins[-1]))
    source, text = _table(t, part.this, outline.scope)
    outline.tables.append(text)
    many = [] if source.one_row else [source]
    outline.rows = source.rows
    for clause in joins:
        joined, text = _table(t, clause.this, outline.scope)
        repeating = outline.joins
        outline.tables.append(_joined(t, clause, joined, text, outline, many=bool(many)))
        many += [] if joined.one_row else [joined]
        rows = outline.rows * joined.rows if outline.joins > repeating else outline.rows + joined.rows
        outline.rows = outline.rows if joined.one_row else multiply_rows(rows, clause)
    outline.joins += sum(source.joins for source in outline.scope.sources.values())
    if outline.joins > 1:
        raise UntranslatedError(
            "it joins several tables on columns that are no declared key: its rows could be past counting"
        )


def _table(t: Translator, node: exp.Expr, scope: Scope) -> tuple[FromItem, Texts]:
    if isinstance(node, exp.Subquery):
        only(node, "this", "alias", "with_")
        # a subquery in a FROM clause cannot read the other tables of that clause
        subquery = t.translate_query(node, Scope(scope.names, scope.queries, scope.outer, is_bridge=True))
        alias = t.names.fresh()
        source = _of_query(alias, subquery)
        scope.add(_alias(node) or alias, source, place_of(node))
        return source, fill(f"({{}}) AS {alias}", subquery.text)
    if not isinstance(node, exp.Table):
        raise without_form(node)
    named = _named_table(t, node, scope)
    only(node, "this", "alias", "db", "catalog")
    return named


def _named_table(t: Translator, node: exp.Table, scope: Scope) -> tuple[FromItem, Texts]:
    name, alias, place = one_word(node.this), t.names.fresh(), place_of(node)
    qualifiers = [one_word(node.args[key]) for key in ("db", "catalog") if node.args.get(key)]
    query = scope.find_query(name) if not qualifiers else None
    if query is not None:
        text, subquery = query
        source = _of_query(alias, subquery)
    else:
        if not all(t.names.may_qualify(qualifier) for qualifier in qualifiers):
            message = "A query reads the datasets of its own contract, and names them without a place."
            raise RefusedError("query-unknown-table", message, place)
        dataset = t.names.find_dataset(name, place)
        text = t.names.relation(dataset.name)
        source = FromItem(alias, (), dataset)
    scope.add(_alias(node) or name, source, place)
    return source, same(f"{text} AS {alias}")


def _of_query(alias: str, query: TypedQuery) -> FromItem:
    return FromItem(alias, query.columns, None, query.one_row, query.joins, query.key, query.rows)


def multiply_rows(rows: int, node: exp.Expr) -> int:
    """A number of rows as a multiple of those of a dataset; RefusedError if a query multiplies them too often."""
    if rows > MAX_GROWTH:
        message = f"The query reads rows more than {MAX_GROWTH} times: read them once."
        raise RefusedError("query-too-large", message, place_of(node))
    return rows


def _alias(node: exp.Expr) -> str | None:
    alias = node.args.get("alias")
    if alias is None:
        return None
    only(alias, "this")
    return one_word(alias.this) if alias.this is not None else None


def _joined(  # noqa: PLR0913 - a table with what stands before it
    t: Translator, node: exp.Join, source: FromItem, text: Texts, outline: Outline, *, many: bool
) -> Texts:
    """The JOIN clause of a table."""
    only(node, "this", "side", "kind", "on", "using")
    side, kind = (str(node.args.get(key) or "").upper() for key in ("side", "kind"))
    found = _on(t, node, outline.scope)
    if found is None:
        if kind not in {"", "CROSS", "INNER"} or side or (many and not source.one_row):
            raise cross_join_error(node)
        return fill(f"{CROSS} {{}}", text)
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
    return fill(f"{word} {{}} ON {{}}", text, condition)


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
    return sql, [(one.bare, other.bare) for one, other in _equalities(t, on, scope)]


def _equalities(t: Translator, node: exp.Expr, scope: Scope) -> Iterator[tuple[TypedSql, TypedSql]]:
    """Both sides of each equality in a conjunction."""
    return (t.operands(conjunct, scope) for conjunct in conjuncts(node) if isinstance(conjunct, exp.EQ))


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
    return bool(columns) and all(column.startswith(f"{alias}.") for column in columns)


def _is_of_others(columns: frozenset[str], alias: str) -> bool:
    return bool(columns) and not any(column.startswith(f"{alias}.") for column in columns)


# ---- SELECT, WITH and set operations ----


def translate_query(t: Translator, node: exp.Expr, scope: Scope) -> TypedQuery:
    """Translate a query of any form, given the scope of the enclosing query."""
    if isinstance(node, exp.Subquery):
        only(node, "this", "alias", "with_")
        return _named_parts(t, node, node.this, scope)
    if isinstance(node, exp.Select):
        only(
            node,
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
        return _named_parts(t, node, node, scope)
    if isinstance(node, exp.SetOperation):
        only(node, "this", "expression", "distinct", "with_", "order", "limit")
        return _set_operation(t, node, scope)
    raise without_form(node)


def _named_parts(t: Translator, owner: exp.Expr, node: exp.Expr, scope: Scope) -> TypedQuery:
    """A query after its WITH clause."""
    words, inner = _with(t, owner, scope)
    subquery = (
        _select(t, node, inner) if isinstance(node, exp.Select) and node is owner else translate_query(t, node, inner)
    )
    return replace(subquery, text=check_length(fill("{}{}", words, subquery.text)))


def check_length(text: Texts) -> Texts:
    """The text of a query that is being built; RefusedError if it is too long."""
    if len(text.spark) > MAX_TEXT_LENGTH or len(text.duckdb) > MAX_DUCKDB_LENGTH:
        raise RefusedError("query-too-large", "The query is too long: move its repeated parts into a WITH.")
    return text


def _with(t: Translator, node: exp.Expr, scope: Scope) -> tuple[Texts, Scope]:
    """The SQL of a WITH clause, and a scope that contains its queries."""
    inner, sql = Scope(t.names, {}, scope, is_bridge=True), list[Texts]()
    part = node.args.get("with_")
    if part is None:
        return same(""), inner
    if part.args.get("recursive"):
        raise RefusedError(
            "query-too-large", "A WITH that repeats itself may never end: write it without RECURSIVE.", place_of(part)
        )
    only(part, "expressions")
    for expression in part.expressions:
        only(expression, "this", "alias")
        if expression.args["alias"].args.get("columns"):
            raise UntranslatedError("its WITH names columns beside its queries")
        subquery = t.translate_query(expression.this, inner)
        name = t.names.fresh()
        sql.append(fill(f"{name} AS ({{}})", subquery.text))
        inner.queries[one_word(expression.args["alias"].this)] = (name, subquery)
    return fill("WITH {} ", join(", ", sql)), inner


def _set_operation(t: Translator, node: exp.SetOperation, scope: Scope) -> TypedQuery:
    words, inner = _with(t, node, scope)
    if node.args.get("limit"):
        raise UntranslatedError("it cuts queries that were put together")
    left, right = t.translate_query(node.this, inner), t.translate_query(node.expression, inner)
    kinds = [[(column.kind, column.scale) for column in side.columns] for side in (left, right)]
    if kinds[0] != kinds[1] or left.outer or right.outer:
        raise UntranslatedError("the queries it puts together have columns of other kinds")
    word = {"union": "UNION", "intersect": "INTERSECT", "except": "EXCEPT"}[node.key]
    how = "" if node.args.get("distinct") else " ALL"
    rows = multiply_rows(left.rows + right.rows if node.key == "union" else left.rows, node)
    return TypedQuery(
        check_length(fill(f"{{}}({{}}) {word}{how} ({{}})", words, left.text, right.text)),
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
    aggregated = bool(groups) or any(sql.aggregates for sql in held)
    _check_groups(held, groups, aggregated=aggregated)
    if where is not None and (where.aggregates or where.windows):
        raise UntranslatedError("its WHERE holds an aggregate or a window")
    if any(column.has_subquery for _, column in columns):
        raise UntranslatedError("it asks in its columns whether something is in another query")
    one_row = (aggregated and not groups and having is None) or not outline.tables
    select_list = join(", ", (fill(f"{{}} AS k{at}", sql) for at, (_, sql) in enumerate(columns)))
    parts = [
        fill(f"SELECT {'DISTINCT ' if _is_distinct(node) else ''}{{}}", select_list),
        *([fill("FROM {}", join(" ", outline.tables))] if outline.tables else []),
        *([fill("WHERE {}", where)] if where else []),
        *([fill("GROUP BY {}", join(", ", groups))] if groups else []),
        *([fill("HAVING {}", having)] if having else []),
        *_cut(t, node, outline.scope, columns, one_row=one_row),
    ]
    made = tuple(OutputColumn(name, sql.kind, sql.growth, sql.scale) for name, sql in columns)
    outer = outline.outer or any(sql.outer for _, sql in columns)
    texts = [sql.text for _, sql in columns]
    key = tuple(texts.index(group) for group in groups) if set(groups) <= set(texts) else ()
    rows = 1 if one_row else outline.rows
    return TypedQuery(check_length(join(" ", parts)), made, one_row, outer, outline.joins, key, rows)


def _condition(t: Translator, node: exp.Expr | None, outline: Outline) -> TypedSql | None:
    if node is None:
        return None
    only(node, "this")
    sql = expect_kind(t.translate(node.this, outline.scope), SqlKind.BOOLEAN)
    if sql.outer:
        if not any(
            one.outer and not one.bare and other.bare and not other.outer
            for pair in _equalities(t, node.this, outline.scope)
            for one, other in (pair, pair[::-1])
        ):
            raise cross_join_error(node)
        outline.outer = True
    return sql


def _columns(t: Translator, node: exp.Select, scope: Scope) -> list[tuple[str, TypedSql]]:
    columns: list[tuple[str, TypedSql]] = []
    for expression in node.expressions:
        inner = expression.this if isinstance(expression, exp.Alias) else expression
        if _is_star(inner):
            star = inner if isinstance(inner, exp.Star) else inner.this
            only(star)
            table = inner.args.get("table") if isinstance(inner, exp.Column) else None
            columns += scope.every_column(one_word(table) if table else None, place_of(expression))
        else:
            name = one_word(expression.args["alias"]) if isinstance(expression, exp.Alias) else expression.output_name
            columns.append((t.names.in_full(name), t.translate(inner, scope)))
    if not columns:
        raise UntranslatedError("a SELECT in it has no columns")
    return columns


def _is_star(node: exp.Expr) -> bool:
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def _groups(t: Translator, node: exp.Select, columns: list[tuple[str, TypedSql]], scope: Scope) -> list[Texts]:
    part = node.args.get("group")
    if part is None:
        return []
    only(part, "expressions")
    sql = [_key(t, expression, columns, scope) for expression in part.expressions]
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
        key = (
            find_by_name(named, t.names.in_full(node.name))
            if isinstance(node, exp.Column) and not node.args.get("table")
            else None
        )
        if key is None:
            raise
        return key


def _check_groups(held: list[TypedSql], groups: list[Texts], *, aggregated: bool) -> None:
    """Outside of aggregate functions, a grouped SELECT may read only the columns that it groups by."""
    if not aggregated:
        return
    keys = frozenset(group.spark for group in groups)
    if any(sql.windows for sql in held):
        raise UntranslatedError("a window over groups is not translated by this version")
    if any(sql.text.spark not in keys and sql.bare - keys for sql in held):
        raise UntranslatedError("beside its aggregates it reads a column that it does not group by")


def _is_distinct(node: exp.Select) -> bool:
    part = node.args.get("distinct")
    if part is not None:
        only(part)
    return part is not None


def _cut(
    t: Translator, node: exp.Select, scope: Scope, columns: list[tuple[str, TypedSql]], *, one_row: bool
) -> list[Texts]:
    """ORDER BY and LIMIT. ORDER BY without LIMIT is dropped; LIMIT without ORDER BY has no fixed result and is not translated."""
    limit, order = node.args.get("limit"), node.args.get("order")
    if limit is None:
        return []
    only(limit, "expression")
    if not isinstance(limit.expression, exp.Literal) or not WHOLE.fullmatch(str(limit.expression.this)):
        raise UntranslatedError("its LIMIT is not a constant")
    if one_row and int(limit.expression.this) > 0:
        return []
    is_grouped = node.args.get("group") is not None or any(sql.aggregates for _, sql in columns)
    if order is None or is_grouped or _is_distinct(node):
        raise UntranslatedError("its LIMIT takes rows that depend on the order in which they lie")
    keys = []
    for expression in order.expressions:
        sql = _key(t, expression.this, columns, scope)
        if not sql.bare and not sql.windows:
            raise UntranslatedError("it sorts by a constant")
        nulls = "FIRST" if expression.args.get("nulls_first") else "LAST"
        keys.append(fill(f"{{}} {'DESC' if expression.args.get('desc') else 'ASC'} NULLS {nulls}", sql))
    return [fill("ORDER BY {}", join(", ", keys)), same(f"LIMIT {int(limit.expression.this)}")]


# ---- From the SQL of a rule to a query of a plan ----


FORMS = {
    form: sql
    for each in (
        sql_operators.OPERATORS,
        sql_operators.ARITHMETIC,
        sql_functions.CHOICES,
        sql_casts.FORMS,
        sql_dates.FORMS,
        sql_functions.DIALECT_FUNCTIONS,
        sql_functions.AGGREGATES,
    )
    for form, sql in each.items()
}
"""All expressions that can be translated: the allow-list."""
FUNCTIONS = sorted({name.lower() for form in FORMS if issubclass(form, exp.Func) for name in form.sql_names()})
"""The names of the functions among them."""


def translate(contract: Contract, dataset: Dataset, rule: Rule) -> tuple[Query, tuple[str, ...]]:
    """The query of a rule, and the fields of the rule's dataset that it names. Of an answer, true is 1 and false is 0.

    Raises RefusedError if the query must not be executed, UntranslatedError if this version cannot translate it.
    """
    dialect = dialect_of(contract, rule)
    tree = _parsed(str(rule.arguments.get("query", "")), dialect)
    if not set(rule.fields) <= {field.name for field in dataset.fields}:
        raise UntranslatedError("it stands at a part of a value")
    names = QueryNames(contract, dataset, column_name(rule.fields[0]) if len(rule.fields) == 1 else None)
    subquery = _translated(tree, dialect, names)
    kinds = [column.kind for column in subquery.columns]
    if kinds == [SqlKind.BOOLEAN]:
        alias = names.fresh()
        truth = f"CASE WHEN {alias}.k0 THEN {{}} WHEN (NOT {alias}.k0) THEN {{}} ELSE NULL END"
        text = fill(f"SELECT ({truth}) AS k0 FROM ({{}}) AS {alias}", long(1), long(0), subquery.text)  # noqa: S608 - generated names
        subquery, kinds = replace(subquery, text=text), [SqlKind.INTEGER]
    if len(kinds) != 1 or not (kinds[0].numeric or kinds[0] in {SqlKind.NULL, SqlKind.WIDE}):
        found = plural(len(kinds), "column") if len(kinds) != 1 else kinds[0].value
        raise RefusedError(
            "query-not-a-number", f"The query answers with {found}: let it answer with one number.", place_of(tree)
        )
    if not names.relations():
        raise UntranslatedError("it reads no dataset")
    return Query(*subquery.text, tuple(names.texts), names.relations()), tuple(sorted(names.named))


def translate_rows(inputs: Contract, text: str, dialect: str) -> tuple[Query, tuple[OutputColumn, ...]]:
    """A query whose rows are wanted, over the accepted data of the datasets of a contract, and its columns `k0`, `k1`, ….

    Raises as `translate`, and RefusedError for one that returns other rows at another time.
    """
    known = DIALECTS.get(dialect.strip().lower())
    if known is None:
        raise UntranslatedError("its dialect is not known to this version")
    tree = _parsed(text, known)
    nothing = Dataset("", (), (), Origin("$"))
    names = QueryNames(inputs, nothing, None)
    subquery = _translated(tree, known, names)
    query = Query(*subquery.text, tuple(names.texts), names.relations())
    if any(relation.delivered for relation in query.relations):
        message = "It stands for what is delivered, and a derived dataset has no delivery: name an input."
        raise RefusedError("query-unknown-table", message)
    if ":now" in query.text:
        message = "The query depends on the time at which it runs: compare with a column, or with a constant."
        raise RefusedError("query-forbidden", message)
    if not query.relations:
        raise UntranslatedError("it reads no dataset")
    return query, subquery.columns


def _parsed(text: str, dialect: str) -> exp.Query:
    tree = parse(text, dialect)
    refuse_hazards(tree, FUNCTIONS)
    _check_windows(tree)
    return tree


def _translated(tree: exp.Query, dialect: str, names: QueryNames) -> TypedQuery:
    translator = Translator(dialect, names, FORMS, translate_query)
    try:
        return translator.translate_query(tree, Scope(names, {}))
    except RecursionError:
        raise RefusedError("query-too-large", "The query has too many levels.") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # the parser builds trees without parts that a node must have, or with others, from hostile texts
        raise UntranslatedError("a part of it has a form that is not known") from None


def _check_windows(tree: exp.Query) -> None:
    for window in tree.find_all(exp.Window):
        above = window.parent
        while above is not None and not isinstance(above, exp.Query | exp.AggFunc):
            above = above.parent
        if isinstance(above, exp.AggFunc):
            message = "An aggregate cannot hold a window function: compute that in an inner query."
            raise RefusedError("query-window-in-aggregate", message, place_of(window))

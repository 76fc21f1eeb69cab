"""Functions: CASE and its kin, numbers, texts, aggregates, windows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from lakegate.contract.logical_types import SCALE
from lakegate.sql.sql_names import NodeForm, Scope, Translate, Translator, form, only, plain
from lakegate.sql.sql_operators import comparable, once
from lakegate.sql.sql_parser import FILES, MEANS_ARE_WHOLE, word_of
from lakegate.sql.typed_sql import (
    WHOLE,
    SqlKind,
    Texts,
    TypedSql,
    UntranslatedError,
    combine,
    double,
    expect_kind,
    fill,
    floating,
    join,
    number,
    same,
    to_common_kind,
    typed_null,
)

# ---- Scalar functions ----


MAX_DIGITS = 18


def _round(t: Translator, node: exp.Round, scope: Scope) -> TypedSql:
    inner, digits = _number(t.translate(node.this, scope)), node.args.get("decimals")
    places = 0 if digits is None else constant_number(digits)
    if places > MAX_DIGITS:
        raise UntranslatedError("it rounds to more digits than can be compared")
    text = round_half_up(inner, places)
    if inner.kind is SqlKind.DECIMAL:
        text = fill("CAST({} AS DECIMAL(38,18))", text)
    return combine(text, inner.kind, inner)


LAST_WHOLE = 10**18
"""From here on floats have no fractions."""
_EXACT_TYPES = {SqlKind.INTEGER: "BIGINT", SqlKind.SUM: "DECIMAL(38,0)", SqlKind.DECIMAL: "DECIMAL(38,18)"}


def round_half_up(sql: TypedSql, places: int) -> Texts:
    """A number rounded half up, a float by the digits that it is written with."""
    duckdb = f"CAST(round({{}}, {places}) AS {_EXACT_TYPES.get(sql.kind)})"
    if sql.kind not in _EXACT_TYPES:
        exact = f"CAST(round(CAST(CAST(p AS VARCHAR) AS DECIMAL(38,18)), {places}) AS DOUBLE)"
        duckdb = once("{}", f"CASE WHEN abs(p) < {LAST_WHOLE} THEN {exact} ELSE p END")
    return fill(f"round({{}}, {places})", sql, duckdb=duckdb)


def _number(sql: TypedSql) -> TypedSql:
    return typed_null(number(sql), "DOUBLE")


def _edge(name: str) -> Translate:
    def translate(t: Translator, node: exp.Func, scope: Scope) -> TypedSql:
        inner = _number(t.translate(node.this, scope))
        if inner.kind is SqlKind.INTEGER:
            return inner
        return combine(f"CAST({name}({{}}) AS DOUBLE)", SqlKind.DOUBLE, inner)

    return translate


def constant_number(node: exp.Expr | None) -> int:
    """The value of a constant non-negative integer; UntranslatedError for anything else."""
    if isinstance(node, exp.Literal) and not node.is_string and WHOLE.fullmatch(str(node.this)):
        return int(node.this)
    raise UntranslatedError("it needs a constant whole number")


def text(t: Translator, node: exp.Expr, scope: Scope) -> TypedSql:
    """Translate an expression that must be a text."""
    return _typed_text(t.translate(node, scope))


def _typed_text(sql: TypedSql) -> TypedSql:
    return typed_null(expect_kind(sql, SqlKind.TEXT), "VARCHAR")


def _length(t: Translator, node: exp.Length, scope: Scope) -> TypedSql:
    inner = text(t, node.this, scope)
    if t.dialect == "mysql" and node.args.get("binary"):  # LENGTH counts bytes, CHAR_LENGTH characters
        return combine("CAST(octet_length({}) AS BIGINT)", SqlKind.INTEGER, inner, duckdb="CAST(strlen({}) AS BIGINT)")
    if t.dialect == "sqlserver":  # without the spaces at the end; those at the begin stand behind another character
        without, duckdb = (f"CAST((length(trim({each})) - 1) AS BIGINT)" for each in ("concat({}, {})", "({} || {})"))
        return combine(fill(without, t.names.text("."), inner, duckdb=duckdb), SqlKind.INTEGER, inner)
    return combine("CAST(length({}) AS BIGINT)", SqlKind.INTEGER, inner)


def _trimmed(t: Translator, node: exp.Trim, scope: Scope) -> TypedSql:
    if str(node.args.get("position") or "BOTH").upper() != "BOTH":
        raise UntranslatedError("TRIM of one end alone is not translated by this version")
    return combine("trim({})", SqlKind.TEXT, text(t, node.this, scope))


def _substring(t: Translator, node: exp.Substring, scope: Scope) -> TypedSql:
    inner, start = text(t, node.this, scope), constant_number(node.args.get("start"))
    if start == 0:
        raise UntranslatedError("the characters of a text are counted from 1")
    length = node.args.get("length")
    until = f", {constant_number(length)}" if length is not None else ""
    return combine(f"substring({{}}, {start}{until})", SqlKind.TEXT, inner)


def _end(name: str) -> Translate:
    def translate(t: Translator, node: exp.Func, scope: Scope) -> TypedSql:
        return combine(f"{name}({{}}, {constant_number(node.expression)})", SqlKind.TEXT, text(t, node.this, scope))

    return translate


def _joined(t: Translator, node: exp.DPipe, scope: Scope) -> TypedSql:
    parts = [text(t, each, scope) for each in (node.this, node.expression)]
    return _concatenated(parts, parts)


def _concat(t: Translator, node: exp.Concat, scope: Scope) -> TypedSql:
    """A null operand is an empty text in some dialects; in the others the result is null, as in Redshift, too."""
    parts = [text(t, expression, scope) for expression in node.expressions]
    is_empty = node.args.get("coalesce") and t.dialect != "redshift"
    return _concatenated([fill("coalesce({}, '')", part) for part in parts] if is_empty else parts, parts)


def _concatenated(texts: Sequence[Texts | TypedSql], parts: list[TypedSql]) -> TypedSql:
    text = Texts(f"concat({join(', ', texts).spark})", f"({join(' || ', texts).duckdb})")
    return combine(text, SqlKind.TEXT, *parts, growth=sum(part.growth for part in parts))


def _replaced(t: Translator, node: exp.Replace, scope: Scope) -> TypedSql:
    inner, old, new = (text(t, each, scope) for each in (node.this, node.expression, node.args["replacement"]))
    if not old.constant or new.constant is None or len(new.constant) > len(old.constant):
        raise UntranslatedError("it replaces by what may be longer than what it replaces")
    return combine(fill("replace({}, {}, {})", inner, old, new), SqlKind.TEXT, inner)


DIALECT_FUNCTIONS: dict[type, NodeForm] = {
    exp.Abs: plain("abs({})", None, this=_number),
    exp.Round: form(_round, "this", "decimals"),
    exp.Floor: form(_edge("floor"), "this"),
    exp.Ceil: form(_edge("ceil"), "this"),
    exp.Sqrt: plain("sqrt({})", SqlKind.DOUBLE, this=double),
    exp.Pow: plain("power({}, {})", SqlKind.DOUBLE, duckdb="pow({}, {})", this=double, expression=double),
    exp.Lower: plain("lower({})", SqlKind.TEXT, this=_typed_text),
    exp.Upper: plain("upper({})", SqlKind.TEXT, duckdb="upper(replace({}, chr(223), 'ss'))", this=_typed_text),
    exp.Trim: form(_trimmed, "this", "position"),
    exp.Length: form(_length, "this", "binary"),
    exp.Substring: form(_substring, "this", "start", "length"),
    exp.Left: form(_end("left"), "this", "expression"),
    exp.Right: form(_end("right"), "this", "expression"),
    exp.DPipe: form(_joined, "this", "expression"),
    exp.Concat: form(_concat, "expressions"),
    exp.Replace: form(_replaced, "this", "expression", "replacement"),
    exp.StartsWith: plain(
        "startswith({}, {})", SqlKind.BOOLEAN, duckdb="starts_with({}, {})", this=_typed_text, expression=_typed_text
    ),
    exp.EndsWith: plain(
        "endswith({}, {})", SqlKind.BOOLEAN, duckdb="suffix({}, {})", this=_typed_text, expression=_typed_text
    ),
    exp.Contains: plain("contains({}, {})", SqlKind.BOOLEAN, this=_typed_text, expression=_typed_text),
}


# ---- Aggregates and windows ----


ORDERED = (
    *((SqlKind.INTEGER, SqlKind.SUM, SqlKind.DECIMAL, SqlKind.WIDE, SqlKind.DOUBLE)),
    SqlKind.TEXT,
    SqlKind.DATE,
    SqlKind.TIMESTAMP,
    SqlKind.DURATION,
)

MAX_ROW_OFFSET = 1_000


def aggregate(text: Texts | str, kind: SqlKind, inner: TypedSql | None = None, duckdb: str | None = None) -> TypedSql:
    """An aggregate function; the columns that it reads need not be grouped by."""
    if inner is not None and (inner.aggregates or inner.has_subquery or inner.outer):
        raise UntranslatedError("an aggregate in it holds another, or a query")
    combined = combine(text, kind, *([inner] if inner else []), duckdb=duckdb)
    return replace(combined, bare=frozenset(), aggregates=True)


def _inner(t: Translator, node: exp.Expr, scope: Scope) -> tuple[str, TypedSql]:
    """The argument of an aggregate function, and `DISTINCT ` or nothing."""
    if isinstance(node, exp.Distinct):
        only(node, "expressions")
        if len(node.expressions) != 1:
            raise UntranslatedError("it counts distinct values of several columns at once")
        return "DISTINCT ", t.translate(node.expressions[0], scope)
    return "", t.translate(node, scope)


def _count(t: Translator, node: exp.Count, scope: Scope) -> TypedSql:
    if isinstance(node.this, exp.Star):
        only(node.this)
        return aggregate("count(1)", SqlKind.INTEGER)
    word, inner = _inner(t, node.this, scope)
    return aggregate(f"count({word}{{}})", SqlKind.INTEGER, inner)


def _count_if(t: Translator, node: exp.CountIf, scope: Scope) -> TypedSql:
    inner = expect_kind(t.translate(node.this, scope), SqlKind.BOOLEAN)
    return aggregate("count_if({})", SqlKind.INTEGER, inner, "count(CASE WHEN {} THEN 1 END)")


def _sum(t: Translator, node: exp.Sum, scope: Scope) -> TypedSql:
    """Sums of integers do not overflow at 64 bits."""
    word, inner = _inner(t, node.this, scope)
    if inner.kind is SqlKind.DURATION:
        return aggregate(f"sum({word}{{}})", SqlKind.DURATION, inner, f"CAST(sum({word}{{}}) AS BIGINT)")
    if inner.kind is SqlKind.WIDE:
        return aggregate(f"sum({word}{{}})", inner.kind, inner)
    if number(inner).kind in {SqlKind.INTEGER, SqlKind.SUM, SqlKind.NULL}:
        return aggregate(f"sum({word}CAST({{}} AS DECIMAL(38,0)))", SqlKind.SUM, inner)
    return aggregate(f"sum({word}{{}})", inner.kind, inner)


def _mean(t: Translator, node: exp.Avg, scope: Scope) -> TypedSql:
    word, inner = _inner(t, node.this, scope)
    if inner.kind is SqlKind.DURATION:
        duckdb = f"CAST(trunc(avg({word}{{}})) AS BIGINT)"
        return aggregate(f"CAST(avg({word}{{}}) AS BIGINT)", SqlKind.DURATION, inner, duckdb)
    mean = aggregate(fill(f"avg({word}{{}})", double(inner)), SqlKind.DOUBLE, inner)
    if inner.kind is not SqlKind.INTEGER or t.dialect not in MEANS_ARE_WHOLE:
        return mean
    whole_part = fill("CAST({} AS BIGINT)", mean, duckdb="CAST(trunc({}) AS BIGINT)")
    return replace(mean, text=whole_part, kind=SqlKind.INTEGER)


def _extreme(name: str) -> Translate:
    def translate(t: Translator, node: exp.Func, scope: Scope) -> TypedSql:
        word, inner = _inner(t, node.this, scope)
        return aggregate(f"{name}({word}{{}})", inner.kind, expect_kind(inner, *ORDERED))

    return translate


def _of_floats(template: str, duckdb: str | None = None) -> Translate:
    def translate(t: Translator, node: exp.Func, scope: Scope) -> TypedSql:
        inner = double(t.translate(node.this, scope))
        return aggregate(template, SqlKind.DOUBLE, inner, duckdb)

    return translate


def _quantile(t: Translator, node: exp.PercentileCont, scope: Scope) -> TypedSql:
    if node.args.get("expression") is None:
        raise UntranslatedError("its percentile has no order")
    return _percentile(t, node, node.this, node.args["expression"], scope)


def _quantile_of_dialect(t: Translator, node: exp.Quantile, scope: Scope) -> TypedSql:
    """`quantile` of DuckDB returns one of the values; `percentile` of Spark interpolates."""
    kind = exp.PercentileDisc if t.dialect == FILES else exp.PercentileCont
    return _percentile(t, kind(), node.this, node.args["quantile"], scope)


def _within(t: Translator, node: exp.WithinGroup, scope: Scope) -> TypedSql:
    inner, order = node.this, node.expression
    if not isinstance(inner, exp.PercentileCont | exp.PercentileDisc) or inner.args.get("expression"):
        raise UntranslatedError(f"{word_of(inner)} within a group is not translated by this version")
    only(inner, "this")
    if len(order.expressions) != 1 or order.expressions[0].args.get("desc"):
        raise UntranslatedError("its percentile is taken of several columns, or from above")
    return _percentile(t, inner, order.expressions[0].this, inner.this, scope)


def _percentile(t: Translator, node: exp.Expr, of: exp.Expr, share: exp.Expr, scope: Scope) -> TypedSql:
    at = t.translate(share, scope)
    if (
        not isinstance(share, exp.Literal)
        or at.kind not in {SqlKind.DECIMAL, SqlKind.INTEGER}
        or Decimal(str(share.this)) > 1
    ):
        raise UntranslatedError("its percentile is not a constant from 0 to 1")
    inner = t.translate(of, scope)
    value, number_at = double(inner), floating(float(Decimal(str(share.this))))
    if isinstance(node, exp.PercentileCont):
        text = fill("percentile({}, {})", value, number_at, duckdb="quantile_cont({}, {})")
    else:
        discrete = "percentile_disc({1}) WITHIN GROUP (ORDER BY {0})"
        text = fill(discrete, value, number_at, duckdb="quantile_disc({}, {})")
    return aggregate(text, SqlKind.DOUBLE, inner)


def _filtered(t: Translator, node: exp.Filter, scope: Scope) -> TypedSql:
    inner = t.translate(node.this, scope)
    condition = expect_kind(t.translate(node.expression.this, scope), SqlKind.BOOLEAN)
    if not inner.aggregates or condition.has_subquery or condition.outer:
        raise UntranslatedError("its FILTER stands at no aggregate, or asks a query")
    text = _followed(inner.text, fill("FILTER (WHERE {})", condition))
    if not inner.text.spark.startswith(PLAIN):
        raise UntranslatedError("its FILTER stands at an aggregate that is computed in several steps")
    return replace(aggregate(text, inner.kind, condition), growth=inner.growth, scale=inner.scale)


def _followed(aggregated: Texts, words: Texts) -> Texts:
    """An aggregate before the words that belong to it: in DuckDB a cast of its result is around both."""
    cast = _OF_SUM.fullmatch(aggregated.duckdb)
    duckdb = f"CAST({cast[1]} {words.duckdb} AS BIGINT)" if cast else f"{aggregated.duckdb} {words.duckdb}"
    return Texts(f"{aggregated.spark} {words.spark}", duckdb)


_OF_SUM = re.compile(r"CAST\((sum\(.*\)) AS BIGINT\)", re.DOTALL)
PLAIN = ("count(", "count_if(", "sum(", "avg(", "min(", "max(", "percentile(", "stddev_", "var_")


def _window(t: Translator, node: exp.Window, scope: Scope) -> TypedSql:
    if isinstance(node.this, exp.Filter):
        raise UntranslatedError("a window over a FILTER is not translated by this version")
    order = node.args.get("order")
    inner = _numbered(t, node.this, scope)
    keys = t.translate_all(node.args.get("partition_by") or [], scope)
    sorted_by = [_ordered(t, expression, scope) for expression in (order.expressions if order else [])]
    held = (*keys, *(sql for sql, _ in sorted_by), *([inner.sql] if inner.sql else []))
    if any(each.windows or each.has_subquery for each in held):
        raise UntranslatedError("a window in it holds another, or a query")
    if inner.needs_order and not sorted_by:
        raise UntranslatedError("a window in it depends on an order that it does not specify")
    parts = [
        *([fill("PARTITION BY {}", join(", ", keys))] if keys else []),
        *([fill("ORDER BY {}", join(", ", (words for _, words in sorted_by)))] if sorted_by else []),
        *([same(_frame(node.args["spec"]))] if node.args.get("spec") else []),
    ]
    sql = combine(fill("({})", _followed(inner.text, fill("OVER ({})", join(" ", parts)))), inner.kind, *held)
    return replace(sql, windows=True, scale=inner.sql.scale if inner.sql and inner.kind is inner.sql.kind else SCALE)


class _Windowed:
    """A function with an OVER clause, before that clause is added."""

    def __init__(self, text: Texts, kind: SqlKind, sql: TypedSql | None, *, needs_order: bool) -> None:
        self.text, self.kind, self.sql, self.needs_order = text, kind, sql, needs_order


def _numbered(t: Translator, node: exp.Expr, scope: Scope) -> _Windowed:
    ranking = RANKING.get(type(node))
    if ranking:
        only(node)
        return _Windowed(same(f"{ranking}()"), SqlKind.INTEGER, None, needs_order=True)
    if isinstance(node, exp.Lag | exp.Lead):
        only(node, "this", "offset")
        inner = t.translate(node.this, scope)
        offset = constant_number(node.args["offset"]) if node.args.get("offset") else 1
        if offset > MAX_ROW_OFFSET:
            raise UntranslatedError(f"it looks farther than {MAX_ROW_OFFSET} rows away")
        return _Windowed(fill(f"{node.key}({{}}, {offset})", inner), inner.kind, inner, needs_order=True)
    if not isinstance(node, OVER_WINDOWS):
        raise UntranslatedError(f"{word_of(node)} over a window is not translated by this version")
    sql = t.translate(node, scope)
    value = node.this if not isinstance(node.this, exp.Star) else None
    if isinstance(value, exp.Distinct):
        raise UntranslatedError("distinct values over a window are not translated by this version")
    return _Windowed(sql.text, sql.kind, t.translate(value, scope) if value is not None else None, needs_order=False)


RANKING: dict[type, str] = {exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank"}
OVER_WINDOWS = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)


def _ordered(t: Translator, node: exp.Expr, scope: Scope) -> tuple[TypedSql, Texts]:
    """A sort key and its ORDER BY term. The position of nulls is always explicit."""
    only(node, "this", "desc", "nulls_first")
    sql = expect_kind(t.translate(node.this, scope), *ORDERED, SqlKind.BOOLEAN)
    nulls = "FIRST" if node.args.get("nulls_first") else "LAST"
    return sql, fill(f"{{}} {'DESC' if node.args.get('desc') else 'ASC'} NULLS {nulls}", sql)


def _frame(spec: exp.WindowSpec) -> str:
    only(spec, "kind", "start", "start_side", "end", "end_side")
    if str(spec.args.get("kind")).upper() != "ROWS":
        raise UntranslatedError("a window in it has a frame of values, not of rows")
    return f"ROWS BETWEEN {_side(spec, 'start')} AND {_side(spec, 'end') if spec.args.get('end') else 'CURRENT ROW'}"


def _side(spec: exp.WindowSpec, end: str) -> str:
    sql = spec.args[end]
    side = "FOLLOWING" if str(spec.args.get(f"{end}_side")).upper() == "FOLLOWING" else "PRECEDING"
    if sql == "CURRENT ROW":
        return "CURRENT ROW"
    if sql == "UNBOUNDED":
        return f"UNBOUNDED {side}"
    count = constant_number(sql)
    if count > MAX_ROW_OFFSET:
        raise UntranslatedError(f"it looks farther than {MAX_ROW_OFFSET} rows away")
    return f"{count} {side}"


AGGREGATES: dict[type, NodeForm] = {
    exp.Count: form(_count, "this"),
    exp.CountIf: form(_count_if, "this"),
    exp.Sum: form(_sum, "this"),
    exp.Avg: form(_mean, "this"),
    exp.Min: form(_extreme("min"), "this"),
    exp.Max: form(_extreme("max"), "this"),
    exp.Stddev: form(_of_floats("stddev_samp({})"), "this"),
    exp.StddevSamp: form(_of_floats("stddev_samp({})"), "this"),
    exp.StddevPop: form(_of_floats("stddev_pop({})"), "this"),
    exp.Variance: form(_of_floats("var_samp({})"), "this"),
    exp.VariancePop: form(_of_floats("var_pop({})"), "this"),
    exp.Median: form(_of_floats("percentile({}, 0.5D)", "quantile_cont({}, CAST('0.5' AS DOUBLE))"), "this"),
    **dict.fromkeys((exp.PercentileCont, exp.PercentileDisc), form(_quantile, "this", "expression")),
    exp.Quantile: form(_quantile_of_dialect, "this", "quantile"),
    exp.WithinGroup: form(_within, "this", "expression"),
    exp.Filter: form(_filtered, "this", "expression"),
    exp.Window: form(_window, "this", "partition_by", "order", "spec", "over"),
}


# ---- Functions that choose among values ----


def _case(t: Translator, node: exp.Case, scope: Scope) -> TypedSql:
    subject = node.args.get("this")
    conditions: list[TypedSql] = []
    for arg in node.args["ifs"]:
        if subject is None:
            conditions.append(expect_kind(t.translate(arg.this, scope), SqlKind.BOOLEAN))
        else:
            left, right = comparable(t, t.translate(subject, scope), t.translate(arg.this, scope))
            conditions.append(combine("({} = {})", SqlKind.BOOLEAN, left, right))
    values = [t.translate(arg.args["true"], scope) for arg in node.args["ifs"]]
    return _chosen(conditions, values, _or_null(t, node.args.get("default"), scope))


def _if(t: Translator, node: exp.If, scope: Scope) -> TypedSql:
    condition = expect_kind(t.translate(node.this, scope), SqlKind.BOOLEAN)
    return _chosen([condition], [t.translate(node.args["true"], scope)], _or_null(t, node.args.get("false"), scope))


def _or_null(t: Translator, node: exp.Expr | None, scope: Scope) -> TypedSql:
    return t.translate(node, scope) if node is not None else TypedSql(same("NULL"), SqlKind.NULL)


def _chosen(conditions: list[TypedSql], values: list[TypedSql], other: TypedSql) -> TypedSql:
    kind, (*alike, default) = to_common_kind(*values, other)
    whens = join(" ", (fill("WHEN {} THEN {}", *each) for each in zip(conditions, alike, strict=True)))
    return combine(fill("(CASE {} ELSE {} END)", whens, default), kind, *conditions, *alike, default)


def _nullif(t: Translator, node: exp.Nullif, scope: Scope) -> TypedSql:
    left, right = t.operands(node, scope)
    one, other = comparable(t, left, right)
    text = fill("(CASE WHEN ({} = {}) THEN NULL ELSE {} END)", one, other, left)
    return combine(text, left.kind, left, right)


def _extreme_of_several(name: str) -> Translate:
    def translate(t: Translator, node: exp.Func, scope: Scope) -> TypedSql:
        parts = t.translate_all([node.this, *node.expressions], scope)
        sql = _same_kind(name, parts)
        if node.args.get("ignore_nulls") or len(parts) == 1:
            return sql
        is_null = join(" OR ", (fill("({} IS NULL)", part) for part in parts))
        return combine(fill("(CASE WHEN ({}) THEN NULL ELSE {} END)", is_null, sql), sql.kind, sql)

    return translate


def _same_kind(name: str, parts: list[TypedSql]) -> TypedSql:
    kind, alike = to_common_kind(*parts)
    if len(alike) == 1:
        return alike[0]
    return combine(fill(f"{name}({{}})", join(", ", alike)), kind, *alike)


CHOICES: dict[type, NodeForm] = {
    exp.Case: form(_case, "this", "ifs", "default"),
    exp.If: form(_if, "this", "true", "false"),
    exp.Coalesce: form(
        lambda t, node, scope: _same_kind("coalesce", t.translate_all([node.this, *node.expressions], scope)),
        "this",
        "expressions",
    ),
    exp.Nullif: form(_nullif, "this", "expression"),
    exp.Least: form(_extreme_of_several("least"), "this", "expressions", "ignore_nulls"),
    exp.Greatest: form(_extreme_of_several("greatest"), "this", "expressions", "ignore_nulls"),
}

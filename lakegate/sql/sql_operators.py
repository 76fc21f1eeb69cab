"""Constants, comparison, arithmetic."""

from __future__ import annotations

import re
from dataclasses import replace

from sqlglot import exp

from lakegate.base.text import quote
from lakegate.sql.sql_dates import minus, plus, typed_constant
from lakegate.sql.sql_names import NodeForm, Scope, Translate, Translator, form, only, plain
from lakegate.sql.sql_parser import BITS_ARE_TRUTHS, TEXTS_IGNORE_CASE, ZERO_DIVIDES, one_word
from lakegate.sql.typed_sql import (
    LONG_CONSTANT,
    MAX_GROWTH,
    WHOLE,
    Collation,
    RefusedError,
    SqlKind,
    Texts,
    TypedSql,
    UntranslatedError,
    combine,
    double,
    exact,
    expect_kind,
    fill,
    floating,
    join,
    long,
    number,
    place_of,
    same,
    to_common_kind,
    typed_null,
)


def once(value: str, template: str) -> str:
    """SQL of DuckDB that reads a value several times, as `p`, and computes it once."""
    return f"list_transform([{value}], lambda p: {template})[1]"


ZERO = "a division by zero"
"""The message of the error that a query raises; it is not shown."""
DIVISOR = once("{}", f"CASE WHEN p = 0 THEN CAST(error('{ZERO}') AS DOUBLE) ELSE p END")
"""A float that must not be zero, in DuckDB."""
NOT_ZERO = "(CASE WHEN ({0} = 0) THEN NULL ELSE {0} END)"
"""A number, or null for zero, in Spark."""


# ---- Arithmetic ----


def _added(t: Translator, node: exp.Add, scope: Scope) -> TypedSql:
    left, right = t.operands(node, scope)
    return plus(t.dialect, left, right) or _arithmetic("+", left, right)


def _subtracted(t: Translator, node: exp.Sub, scope: Scope) -> TypedSql:
    left, right = t.operands(node, scope)
    return minus(t.dialect, left, right) or _arithmetic("-", left, right)


def _arithmetic(sign: str, left: TypedSql, right: TypedSql) -> TypedSql:
    """Integers give an integer (an overflow is an error), decimals a decimal unless multiplied; anything else gives a float."""
    kinds = {number(left).kind, number(right).kind} - {SqlKind.NULL}
    if kinds <= {SqlKind.INTEGER}:
        return combine(f"({{}} {sign} {{}})", SqlKind.INTEGER, left, right)
    if SqlKind.DOUBLE in kinds or sign == "*":
        return combine(f"({{}} {sign} {{}})", SqlKind.DOUBLE, double(left), double(right))
    spark, duckdb = f"try_cast(({{}} {sign} {{}}) AS DECIMAL(38,18))", f"TRY_CAST({_EXACTLY[sign]} AS DECIMAL(38,18))"
    return combine(spark, SqlKind.DECIMAL, exact(left), exact(right), duckdb=duckdb)


def _exactly(sign: str) -> str:
    """The sum of exact numbers in DuckDB; NULL beyond 20 digits before the point, where DuckDB has an error."""
    other, largest = "p['b']" if sign == "+" else "(- p['b'])", f"CAST('{'9' * 20}.{'9' * 18}' AS DECIMAL(38,18))"
    too_large = f"p['a'] > 0 AND {other} > {largest} - p['a']"
    too_small = f"p['a'] < 0 AND {other} < - {largest} - p['a']"
    added = f"CASE WHEN ({too_large}) OR ({too_small}) THEN NULL ELSE p['a'] + {other} END"
    return once("struct_pack(a := {}, b := {})", added)


_EXACTLY = {sign: _exactly(sign) for sign in "+-"}


def _divided(t: Translator, node: exp.Div, scope: Scope) -> TypedSql:
    """Integer division where the dialect defines it; division by zero is null or an error, as in the dialect."""
    left, right = map(number, t.operands(node, scope))
    by = _divisor(right, t.dialect)
    if node.args.get("typed") and {left.kind, right.kind} <= {SqlKind.INTEGER, SqlKind.SUM}:
        if SqlKind.SUM in {left.kind, right.kind}:
            raise UntranslatedError("it divides a sum of whole numbers by one: say the type of the sum by a cast")
        return combine(fill("({} div {})", left, by, duckdb="({} // {})"), SqlKind.INTEGER, left, right)
    return combine(quotient(double(left).text, double(replace(right, text=by)).text), SqlKind.DOUBLE, left, right)


def quotient(left: Texts, right: Texts) -> Texts:
    """Floats divided; in DuckDB a division by zero is an error that has to be raised."""
    constant = re.match("CAST\\('([^']*)' AS DOUBLE", right.duckdb)
    by = "{}" if constant and float(constant[1]) else DIVISOR
    return fill("({} / {})", left, right, duckdb=f"({{}} / {by})")


def _whole_quotient(t: Translator, node: exp.IntDiv, scope: Scope) -> TypedSql:
    left, right = (expect_kind(side, SqlKind.INTEGER) for side in t.operands(node, scope))
    text = fill("({} div {})", left, _divisor(right, t.dialect), duckdb="({} // {})")
    return combine(text, SqlKind.INTEGER, left, right)


def _remainder(t: Translator, node: exp.Mod, scope: Scope) -> TypedSql:
    kind, (left, right) = to_common_kind(*map(number, t.operands(node, scope)))
    if kind is SqlKind.DECIMAL:
        kind, left, right = SqlKind.DOUBLE, double(left), double(right)
    by = DIVISOR if kind is SqlKind.DOUBLE else "{}"
    return combine(fill("({} % {})", left, _divisor(right, t.dialect), duckdb=f"({{}} % {by})"), kind, left, right)


def _divisor(right: TypedSql, dialect: str) -> Texts:
    return fill(NOT_ZERO, right, duckdb="nullif({}, 0)") if dialect in ZERO_DIVIDES else right.text


BINARY = ("this", "expression")
ARITHMETIC: dict[type, NodeForm] = {
    exp.Add: form(_added, *BINARY),
    exp.Sub: form(_subtracted, *BINARY),
    exp.Mul: form(lambda t, node, scope: _arithmetic("*", *t.operands(node, scope)), *BINARY),
    exp.Div: form(_divided, *BINARY),
    exp.IntDiv: form(_whole_quotient, *BINARY),
    exp.Mod: form(_remainder, *BINARY),
    exp.SafeDivide: plain(
        f"({{0}} / {NOT_ZERO.replace('{0}', '{1}')})",
        SqlKind.DOUBLE,
        duckdb=f"({{}} / {DIVISOR.format('nullif({}, 0)')})",
        this=double,
        expression=double,
    ),
    exp.Neg: plain("(- {})", None, this=number),
}


# ---- Constants, columns and operators ----


DECIMAL = re.compile(r"[0-9]{0,19}\.[0-9]{0,18}")
FLOAT = re.compile(r"[0-9]{1,19}(?:\.[0-9]{0,18})?[eE][-+]?[0-9]{1,2}")
WILD = 2
"""The most `%` before the last part of a pattern, unless `contains` can match it: matching time grows with their number."""


def _literal(t: Translator, node: exp.Literal, _scope: Scope) -> TypedSql:
    text = str(node.this)
    if node.is_string:
        growth = min(MAX_GROWTH, 1 + len(text) // LONG_CONSTANT)
        return TypedSql(t.names.text(text), SqlKind.TEXT, growth=growth, constant=text)
    if WHOLE.fullmatch(text):
        return TypedSql(long(int(text)), SqlKind.INTEGER)
    if DECIMAL.fullmatch(text) and text != ".":
        written = text.strip(".") if text.endswith(".") else text
        return TypedSql(Texts(f"{written}BD", f"CAST('{written}' AS DECIMAL(38,18))"), SqlKind.DECIMAL)
    if FLOAT.fullmatch(text):
        return TypedSql(floating(float(text)), SqlKind.DOUBLE)
    raise UntranslatedError("it writes a number with more digits than can be compared")


def _column(_t: Translator, node: exp.Column, scope: Scope) -> TypedSql:
    if node.args.get("db"):
        raise UntranslatedError("it names a column by three words")
    table = node.args.get("table")
    return scope.column(one_word(node.this), one_word(table) if table else None, place_of(node))


def _truth(sql: TypedSql) -> TypedSql:
    return expect_kind(sql, SqlKind.BOOLEAN)


BITS = {f"{bit}L": TypedSql(same(str(bool(bit))), SqlKind.BOOLEAN) for bit in (0, 1)}
"""The constants 0 and 1 as truth values."""


def comparable(t: Translator, *parts: TypedSql, is_ordered: bool = False) -> list[TypedSql]:
    """Operands converted to one kind. A constant text compared with a date or timestamp is parsed as one.

    `is_ordered`: they are compared by their order, not as equal or unequal.
    """
    if t.dialect in BITS_ARE_TRUTHS and any(part.kind is SqlKind.BOOLEAN for part in parts):
        parts = tuple(BITS.get(part.text.spark, part) for part in parts)
    temporal = next((part.kind for part in parts if part.kind.temporal), None)
    if temporal:
        parts = tuple(typed_constant(part) if part.constant is not None else part for part in parts)
    if {SqlKind.DECIMAL, SqlKind.SUM} <= {part.kind for part in parts}:
        parts = tuple(double(part) if part.kind.numeric else part for part in parts)
    kinds = {part.kind for part in parts} - {SqlKind.NULL}
    if kinds == {SqlKind.TEXT}:
        parts = _by_code_points(t, parts, is_ordered=is_ordered)
    if kinds and all(kind.numeric for kind in kinds):
        return list(parts)
    return to_common_kind(*parts)[1]


def _by_code_points(t: Translator, parts: tuple[TypedSql, ...], *, is_ordered: bool = False) -> tuple[TypedSql, ...]:
    """Texts as they are compared by code points; UntranslatedError where the dialect compares them otherwise."""
    if t.dialect not in TEXTS_IGNORE_CASE:
        return parts
    found = {part.collation for part in parts if part.collation}
    collation = found.pop() if len(found) == 1 else None
    if collation is None:
        raise UntranslatedError(
            f"comparisons and LIKE of texts ignore case in {t.dialect}, and never here: compare by "
            f"`COLLATE {TEXTS_IGNORE_CASE[t.dialect]}`, or by `dialect: duckdb`"
        )
    if is_ordered and collation is Collation.PADDED:
        exact = (
            "`COLLATE utf8mb4_0900_bin` counts them" if t.dialect == "mysql" else "write EXISTS with `=` instead of IN"
        )
        raise UntranslatedError(
            f"order and IN of a query do not count spaces at the end of texts by this collation in {t.dialect}, and always "
            f"here: {exact}, or `dialect: duckdb`"
        )
    return parts if collation is Collation.EXACT else tuple(_without_padding(t, part) for part in parts)


def _without_padding(t: Translator, text: TypedSql) -> TypedSql:
    """A text without the spaces at its end; those at its begin stand behind another character."""
    return combine(fill("trim(concat({}, {}))", t.names.text("."), text, duckdb="trim(({} || {}))"), SqlKind.TEXT, text)


_BINARY = {
    "mysql": {Collation.EXACT: r"utf8mb4_0900_bin", Collation.PADDED: r"[a-z0-9]+_bin"},
    "sqlserver": {Collation.PADDED: r"[A-Z0-9_]+_BIN2?(?:_UTF8)?"},
}
"""The names of collations by code points; their order is that of code points where they are exact."""


def _collate(t: Translator, node: exp.Collate, scope: Scope) -> TypedSql:
    inner, name = expect_kind(t.translate(node.this, scope), SqlKind.TEXT), node.expression.name
    for collation, pattern in _BINARY.get(t.dialect, {}).items():
        if re.fullmatch(pattern, name, re.IGNORECASE):
            return replace(inner, collation=collation)
    known = f": `COLLATE {TEXTS_IGNORE_CASE[t.dialect]}` is" if t.dialect in TEXTS_IGNORE_CASE else ""
    raise UntranslatedError(f"the collation {quote(name)} is not translated from {t.dialect}{known}")


def _compared(sign: str) -> Translate:
    def translate(t: Translator, node: exp.Binary, scope: Scope) -> TypedSql:
        left, right = comparable(t, *t.operands(node, scope), is_ordered=sign in {"<", "<=", ">", ">="})
        duckdb = f"({{}} {'IS NOT DISTINCT FROM' if sign == '<=>' else sign} {{}})"
        return combine(f"({{}} {sign} {{}})", SqlKind.BOOLEAN, left, right, duckdb=duckdb)

    return translate


def _equal(sign: str, quantifier: type[exp.Expr], template: str) -> Translate:
    """`=` and `<>`; `= ANY (SELECT …)` is IN, and `<> ALL (SELECT …)` is NOT IN."""
    compared = _compared(sign)

    def translate(t: Translator, node: exp.Binary, scope: Scope) -> TypedSql:
        among = node.expression
        if not isinstance(among, quantifier) or not isinstance(among.this, exp.Query):
            return compared(t, node, scope)
        only(among, "this")
        sql = _in_query(t, t.translate(node.this, scope), among.this, scope)
        return replace(sql, text=fill(template, sql))

    return translate


def _distinct_from(t: Translator, node: exp.NullSafeNEQ, scope: Scope) -> TypedSql:
    equal = _compared("<=>")(t, node, scope)
    return replace(equal, text=fill("(NOT {})", equal))


def _between(t: Translator, node: exp.Between, scope: Scope) -> TypedSql:
    parts = (t.translate(node.args[key], scope) for key in ("this", "low", "high"))
    value, low, high = comparable(t, *parts, is_ordered=True)
    return combine("({} BETWEEN {} AND {})", SqlKind.BOOLEAN, value, low, high)


def _in(t: Translator, node: exp.In, scope: Scope) -> TypedSql:
    value = t.translate(node.this, scope)
    subquery = node.args.get("query")
    if subquery is None:
        if not node.expressions:
            raise RefusedError("query-syntax", "IN needs at least one value.", place_of(node))
        value, *items = comparable(t, value, *t.translate_all(node.expressions, scope))
        return combine(fill("({} IN ({}))", value, join(", ", items)), SqlKind.BOOLEAN, value, *items)
    return _in_query(t, value, subquery, scope)


def _in_query(t: Translator, value: TypedSql, subquery: exp.Expr, scope: Scope) -> TypedSql:
    query = t.translate_query(subquery, scope)
    if query.outer or [(column.kind, column.scale) for column in query.columns] != [(value.kind, value.scale)]:
        raise UntranslatedError("its IN asks for other values than those it compares")
    if value.kind is SqlKind.TEXT:
        _by_code_points(t, (value,), is_ordered=True)
    return replace(combine(fill("({} IN ({}))", value, query.text), SqlKind.BOOLEAN, value), has_subquery=True)


def _exists(t: Translator, node: exp.Exists, scope: Scope) -> TypedSql:
    query = t.translate_query(node.this, scope)
    return TypedSql(fill("(EXISTS ({}))", query.text), SqlKind.BOOLEAN, has_subquery=True)


def _scalar(t: Translator, node: exp.Subquery, scope: Scope) -> TypedSql:
    query = t.translate_query(node, scope)
    if query.outer or not query.one_row or len(query.columns) != 1:
        raise UntranslatedError("a query inside it does not give one value by itself")
    (column,) = query.columns
    return TypedSql(fill("({})", query.text), column.kind, growth=column.growth, scale=column.scale)


def _is(t: Translator, node: exp.Is, scope: Scope) -> TypedSql:
    value = t.translate(node.this, scope)
    match node.expression:
        case exp.Null():
            sql = combine("({} IS NULL)", SqlKind.BOOLEAN, value)
        case exp.Boolean() as truth:
            value, word = expect_kind(value, SqlKind.BOOLEAN), bool(truth.this)
            duckdb = f"({{}} IS NOT DISTINCT FROM {word})"
            sql = combine(f"({{}} <=> {word})", SqlKind.BOOLEAN, value, duckdb=duckdb)
        case _:
            raise UntranslatedError("its IS compares with something other than null, true or false")
    return _turned(node, sql)


def _like(t: Translator, node: exp.Like, scope: Scope) -> TypedSql:
    value, pattern = t.operands(node, scope)
    return _turned(node, _matched(expect_kind(value, SqlKind.TEXT), t, pattern))


def _ilike(t: Translator, node: exp.ILike, scope: Scope) -> TypedSql:
    value, pattern = t.operands(node, scope)
    lowered = combine("lower({})", SqlKind.TEXT, expect_kind(value, SqlKind.TEXT))
    return _turned(node, _matched(lowered, t, replace(pattern, constant=pattern.constant and pattern.constant.lower())))


def _turned(node: exp.Expr, sql: TypedSql) -> TypedSql:
    return replace(sql, text=fill("(NOT {})", sql)) if node.args.get("negate") else sql


def _matched(value: TypedSql, t: Translator, pattern: TypedSql) -> TypedSql:
    """LIKE as `=`, `startswith`, `contains` and `endswith` where the pattern allows it: these need no regular expression."""
    written = pattern.constant
    _by_code_points(t, (value, pattern))
    if written is None or "\\" in written or (t.dialect == "sqlserver" and "[" in written):
        raise UntranslatedError("its LIKE is not a plain pattern")
    if t.dialect == "sqlserver" and not written.endswith("%"):
        raise UntranslatedError(
            "whether LIKE counts spaces at the end depends on the type of the column in sqlserver: let the pattern end with %, "
            "or compare the end by RIGHT"
        )
    if "_" not in written:
        first, *middle, last = written.split("%") if "%" in written else ("", written)
        if "%" not in written:
            return combine(fill("({} = {})", value, t.names.text(written)), SqlKind.BOOLEAN, value)
        middle = [each for each in middle if each]
        if not middle or (len(middle) == 1 and not first and not last):
            return _ends(value, t, first, middle, last)
    if written.rstrip("%").count("%") > WILD:
        raise UntranslatedError(f"its LIKE has more than {WILD} % before the last part")
    return combine(fill("({} LIKE {})", value, t.names.text(written)), SqlKind.BOOLEAN, value)


def _ends(value: TypedSql, t: Translator, first: str, middle: list[str], last: str) -> TypedSql:
    parts = [fill("({} IS NOT NULL)", value)] if not (first or middle or last) else []
    value = typed_null(value, "VARCHAR")
    parts += [fill("startswith({}, {})", value, t.names.text(first), duckdb="starts_with({}, {})")] if first else []
    parts += [fill("contains({}, {})", value, t.names.text(each)) for each in middle]
    parts += [fill("endswith({}, {})", value, t.names.text(last), duckdb="suffix({}, {})")] if last else []
    if first and last:
        parts.append(fill(f"(length({{}}) >= {len(first) + len(last)})", value))
    return combine(fill("({})", join(" AND ", parts)), SqlKind.BOOLEAN, value)


OPERATORS: dict[type, NodeForm] = {
    exp.Literal: form(_literal, "this", "is_string"),
    exp.Boolean: form(lambda _t, node, _s: TypedSql(same(str(bool(node.this))), SqlKind.BOOLEAN), "this"),
    exp.Null: form(lambda _t, _n, _s: TypedSql(same("NULL"), SqlKind.NULL)),
    exp.Column: form(_column, "this", "table", "db", "catalog"),
    exp.Paren: form(lambda t, node, scope: t.translate(node.this, scope), "this"),
    exp.And: plain("({} AND {})", SqlKind.BOOLEAN, this=_truth, expression=_truth),
    exp.Or: plain("({} OR {})", SqlKind.BOOLEAN, this=_truth, expression=_truth),
    exp.Not: plain("(NOT {})", SqlKind.BOOLEAN, this=_truth),
    exp.EQ: form(_equal("=", exp.Any, "{}"), *BINARY),
    exp.NEQ: form(_equal("<>", exp.All, "(NOT {})"), *BINARY),
    exp.LT: form(_compared("<"), *BINARY),
    exp.LTE: form(_compared("<="), *BINARY),
    exp.GT: form(_compared(">"), *BINARY),
    exp.GTE: form(_compared(">="), *BINARY),
    exp.NullSafeEQ: form(_compared("<=>"), *BINARY),
    exp.NullSafeNEQ: form(_distinct_from, *BINARY),
    exp.Between: form(_between, "this", "low", "high"),
    exp.Collate: form(_collate, *BINARY),
    exp.In: form(_in, "this", "expressions", "query"),
    exp.Exists: form(_exists, "this"),
    exp.Subquery: form(_scalar, "this"),
    exp.Is: form(_is, *BINARY, "negate"),
    exp.Like: form(_like, *BINARY, "negate"),
    exp.ILike: form(_ilike, *BINARY, "negate"),
}

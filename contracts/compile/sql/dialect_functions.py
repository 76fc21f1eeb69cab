"""Forms of scalar functions of numbers and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from lakegate.contracts.compile.sql.refusal import UntranslatedError
from lakegate.contracts.compile.sql.translator import NodeForm, Translator, form, plain
from lakegate.contracts.compile.sql.typed_sql import WHOLE, SqlKind, TypedSql, combine, double, expect_kind, number

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.compile.sql.scope import Scope

MAX_DIGITS = 18
# --- numbers


def _round(t: Translator, node: exp.Round, scope: Scope) -> TypedSql:
    inner, digits = number(t.translate(node.this, scope)), node.args.get("decimals")
    places = 0 if digits is None else whole(digits)
    if places > MAX_DIGITS:
        raise UntranslatedError("it rounds to more digits than can be compared")
    return combine(_widened(f"round({inner.text}, {places})", inner.kind), inner.kind, inner)


def _edge(name: str) -> Callable[[Translator, exp.Func, Scope], TypedSql]:
    def translate(t: Translator, node: exp.Func, scope: Scope) -> TypedSql:
        inner = number(t.translate(node.this, scope))
        if inner.kind is SqlKind.INTEGER:
            return inner
        return combine(f"CAST({name}({inner.text}) AS DOUBLE)", SqlKind.DOUBLE, inner)

    return translate


def _widened(text: str, kind: SqlKind) -> str:
    """A decimal in the common precision and scale; other kinds unchanged."""
    return f"CAST({text} AS DECIMAL(38,18))" if kind is SqlKind.DECIMAL else text


def whole(node: exp.Expr | None) -> int:
    """The value of a constant non-negative integer; UntranslatedError for anything else."""
    if isinstance(node, exp.Literal) and not node.is_string and WHOLE.fullmatch(str(node.this)):
        return int(node.this)
    raise UntranslatedError("it needs a constant whole number")


# --- texts


def text(t: Translator, node: exp.Expr, scope: Scope) -> TypedSql:
    """Translate an expression that must be a text."""
    return _text(t.translate(node, scope))


def _text(sql: TypedSql) -> TypedSql:
    return expect_kind(sql, SqlKind.TEXT)


def _length(t: Translator, node: exp.Length, scope: Scope) -> TypedSql:
    if t.dialect == "mysql" and node.args.get("binary"):
        raise UntranslatedError("LENGTH counts bytes in mysql: CHAR_LENGTH counts characters")
    inner = text(t, node.this, scope)
    if t.dialect == "tsql":  # without the spaces at the end; those at the begin stand behind another character
        without = f"(length(trim(concat({t.names.text('.')}, {inner.text}))) - 1)"
        return combine(f"CAST({without} AS BIGINT)", SqlKind.INTEGER, inner)
    return combine(f"CAST(length({inner.text}) AS BIGINT)", SqlKind.INTEGER, inner)


def _trimmed(t: Translator, node: exp.Trim, scope: Scope) -> TypedSql:
    if str(node.args.get("position") or "BOTH").upper() != "BOTH":
        raise UntranslatedError("TRIM of one end alone is not translated by this version")
    inner = text(t, node.this, scope)
    return combine(f"trim({inner.text})", SqlKind.TEXT, inner)


def _substring(t: Translator, node: exp.Substring, scope: Scope) -> TypedSql:
    inner, start = text(t, node.this, scope), whole(node.args.get("start"))
    if start == 0:
        raise UntranslatedError("the characters of a text are counted from 1")
    length = node.args.get("length")
    until = f", {whole(length)}" if length is not None else ""
    return combine(f"substring({inner.text}, {start}{until})", SqlKind.TEXT, inner)


def _end(name: str) -> Callable[[Translator, exp.Func, Scope], TypedSql]:
    def translate(t: Translator, node: exp.Func, scope: Scope) -> TypedSql:
        inner = text(t, node.this, scope)
        return combine(f"{name}({inner.text}, {whole(node.expression)})", SqlKind.TEXT, inner)

    return translate


def _joined(t: Translator, node: exp.DPipe, scope: Scope) -> TypedSql:
    parts = [text(t, each, scope) for each in (node.this, node.expression)]
    return combine(
        f"concat({parts[0].text}, {parts[1].text})", SqlKind.TEXT, *parts, growth=sum(each.growth for each in parts)
    )


def _concat(t: Translator, node: exp.Concat, scope: Scope) -> TypedSql:
    """A null operand is an empty text in some dialects; in the others the result is null, as in Redshift, too."""
    parts = [text(t, each, scope) for each in node.expressions]
    is_empty = node.args.get("coalesce") and t.dialect != "redshift"
    texts = [f"coalesce({each.text}, '')" if is_empty else each.text for each in parts]
    return combine(f"concat({', '.join(texts)})", SqlKind.TEXT, *parts, growth=sum(each.growth for each in parts))


def _replaced(t: Translator, node: exp.Replace, scope: Scope) -> TypedSql:
    inner, old, new = (text(t, each, scope) for each in (node.this, node.expression, node.args["replacement"]))
    if not old.constant or new.constant is None or len(new.constant) > len(old.constant):
        raise UntranslatedError("it replaces by what may be longer than what it replaces")
    return combine(f"replace({inner.text}, {old.text}, {new.text})", SqlKind.TEXT, inner)


FORMS: dict[type, NodeForm] = {
    exp.Abs: plain("abs({})", None, this=number),
    exp.Round: form(_round, "this", "decimals"),
    exp.Floor: form(_edge("floor"), "this"),
    exp.Ceil: form(_edge("ceil"), "this"),
    exp.Sqrt: plain("sqrt({})", SqlKind.DOUBLE, this=double),
    exp.Pow: plain("power({}, {})", SqlKind.DOUBLE, this=double, expression=double),
    exp.Lower: plain("lower({})", SqlKind.TEXT, this=_text),
    exp.Upper: plain("upper({})", SqlKind.TEXT, this=_text),
    exp.Trim: form(_trimmed, "this", "position"),
    exp.Length: form(_length, "this", "binary"),
    exp.Substring: form(_substring, "this", "start", "length"),
    exp.Left: form(_end("left"), "this", "expression"),
    exp.Right: form(_end("right"), "this", "expression"),
    exp.DPipe: form(_joined, "this", "expression"),
    exp.Concat: form(_concat, "expressions"),
    exp.Replace: form(_replaced, "this", "expression", "replacement"),
    exp.StartsWith: plain("startswith({}, {})", SqlKind.BOOLEAN, this=_text, expression=_text),
    exp.EndsWith: plain("endswith({}, {})", SqlKind.BOOLEAN, this=_text, expression=_text),
    exp.Contains: plain("contains({}, {})", SqlKind.BOOLEAN, this=_text, expression=_text),
}

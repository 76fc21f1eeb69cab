"""Forms of arithmetic operators."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from lakegate.contracts.compile.sql.dialects import ZERO_DIVIDES
from lakegate.contracts.compile.sql.moments import minus, plus
from lakegate.contracts.compile.sql.refusal import UntranslatedError
from lakegate.contracts.compile.sql.translator import NodeForm, Translator, form, plain
from lakegate.contracts.compile.sql.typed_sql import (
    SqlKind,
    TypedSql,
    combine,
    double,
    exact,
    expect_kind,
    number,
    to_common_kind,
)

if TYPE_CHECKING:
    from lakegate.contracts.compile.sql.scope import Scope


def _added(t: Translator, node: exp.Add, scope: Scope) -> TypedSql:
    left, right = t.translate(node.this, scope), t.translate(node.expression, scope)
    return plus(t.dialect, left, right) or _arithmetic("+", left, right)


def _subtracted(t: Translator, node: exp.Sub, scope: Scope) -> TypedSql:
    left, right = t.translate(node.this, scope), t.translate(node.expression, scope)
    return minus(t.dialect, left, right) or _arithmetic("-", left, right)


def _multiplied(t: Translator, node: exp.Mul, scope: Scope) -> TypedSql:
    return _arithmetic("*", t.translate(node.this, scope), t.translate(node.expression, scope))


def _arithmetic(sign: str, left: TypedSql, right: TypedSql) -> TypedSql:
    """Integers give an integer (an overflow is an error), decimals a decimal unless multiplied; anything else gives a float."""
    kinds = {number(left).kind, number(right).kind} - {SqlKind.NULL}
    if kinds <= {SqlKind.INTEGER}:
        return combine(f"({left.text} {sign} {right.text})", SqlKind.INTEGER, left, right)
    if SqlKind.DOUBLE in kinds or sign == "*":
        left, right = double(left), double(right)
        return combine(f"({left.text} {sign} {right.text})", SqlKind.DOUBLE, left, right)
    left, right = exact(left), exact(right)
    return combine(f"try_cast(({left.text} {sign} {right.text}) AS DECIMAL(38,18))", SqlKind.DECIMAL, left, right)


def _divided(t: Translator, node: exp.Div, scope: Scope) -> TypedSql:
    """Integer division where the dialect defines it; division by zero is null or an error, as in the dialect."""
    left, right = number(t.translate(node.this, scope)), number(t.translate(node.expression, scope))
    by = _divisor(right, t.dialect)
    if node.args.get("typed") and {left.kind, right.kind} <= {SqlKind.INTEGER, SqlKind.SUM}:
        if SqlKind.SUM in {left.kind, right.kind}:
            raise UntranslatedError("it divides a sum of whole numbers by one: say the type of the sum by a cast")
        return combine(f"({left.text} div {by})", SqlKind.INTEGER, left, right)
    right = replace(right, text=by)
    return combine(f"({double(left).text} / {double(right).text})", SqlKind.DOUBLE, left, right)


def _whole_quotient(t: Translator, node: exp.IntDiv, scope: Scope) -> TypedSql:
    left, right = (expect_kind(t.translate(each, scope), SqlKind.INTEGER) for each in (node.this, node.expression))
    return combine(f"({left.text} div {_divisor(right, t.dialect)})", SqlKind.INTEGER, left, right)


def _remainder(t: Translator, node: exp.Mod, scope: Scope) -> TypedSql:
    kind, (left, right) = to_common_kind(
        number(t.translate(node.this, scope)), number(t.translate(node.expression, scope))
    )
    if kind is SqlKind.DECIMAL:
        kind, left, right = SqlKind.DOUBLE, double(left), double(right)
    return combine(f"({left.text} % {_divisor(right, t.dialect)})", kind, left, right)


def _divisor(right: TypedSql, dialect: str) -> str:
    return f"nullif({right.text}, 0)" if dialect in ZERO_DIVIDES else right.text


BINARY = ("this", "expression")
FORMS: dict[type, NodeForm] = {
    exp.Add: form(_added, *BINARY),
    exp.Sub: form(_subtracted, *BINARY),
    exp.Mul: form(_multiplied, *BINARY),
    exp.Div: form(_divided, *BINARY),
    exp.IntDiv: form(_whole_quotient, *BINARY),
    exp.Mod: form(_remainder, *BINARY),
    exp.SafeDivide: plain("({} / nullif({}, 0))", SqlKind.DOUBLE, this=double, expression=double),
    exp.Neg: plain("(- {})", None, this=number),
}

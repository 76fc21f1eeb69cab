"""Forms of arithmetic: what stays whole, what stays exact, and what divides."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from contracts.queries.dialects import ZERO_DIVIDES
from contracts.queries.moments import minus, plus
from contracts.queries.refusal import UntranslatedError
from contracts.queries.said import Kind, Said, double, exact, made, number, of_one_kind, wanted
from contracts.queries.translator import Form, Translator, form

if TYPE_CHECKING:
    from contracts.queries.scope import Scope


def _added(t: Translator, node: exp.Add, scope: Scope) -> Said:
    left, right = t.say(node.this, scope), t.say(node.expression, scope)
    return plus(t.dialect, left, right) or _reckoned("+", left, right)


def _subtracted(t: Translator, node: exp.Sub, scope: Scope) -> Said:
    left, right = t.say(node.this, scope), t.say(node.expression, scope)
    return minus(t.dialect, left, right) or _reckoned("-", left, right)


def _multiplied(t: Translator, node: exp.Mul, scope: Scope) -> Said:
    return _reckoned("*", t.say(node.this, scope), t.say(node.expression, scope))


def _reckoned(sign: str, left: Said, right: Said) -> Said:
    """Whole numbers stay whole (too large a one is an error), exact ones exact but when multiplied; the rest are floats."""
    kinds = {number(left).kind, number(right).kind} - {Kind.NULL}
    if kinds <= {Kind.INTEGER}:
        return made(f"({left.text} {sign} {right.text})", Kind.INTEGER, left, right)
    if Kind.DOUBLE in kinds or sign == "*":
        left, right = double(left), double(right)
        return made(f"({left.text} {sign} {right.text})", Kind.DOUBLE, left, right)
    left, right = exact(left), exact(right)
    return made(f"try_cast(({left.text} {sign} {right.text}) AS DECIMAL(38,18))", Kind.DECIMAL, left, right)


def _divided(t: Translator, node: exp.Div, scope: Scope) -> Said:
    """Whole by whole is whole where the dialect says so; by zero it is null where the dialect says so, else an error."""
    left, right = number(t.say(node.this, scope)), number(t.say(node.expression, scope))
    by = _divisor(right, forgiving=t.dialect in ZERO_DIVIDES)
    if node.args.get("typed") and {left.kind, right.kind} <= {Kind.INTEGER, Kind.SUM}:
        if Kind.SUM in {left.kind, right.kind}:
            raise UntranslatedError("it divides a sum of whole numbers by one: say the type of the sum by a cast")
        return made(f"({left.text} div {by})", Kind.INTEGER, left, right)
    right = replace(right, text=by)
    return made(f"({double(left).text} / {double(right).text})", Kind.DOUBLE, left, right)


def _whole_quotient(t: Translator, node: exp.IntDiv, scope: Scope) -> Said:
    left, right = (wanted(t.say(each, scope), Kind.INTEGER) for each in (node.this, node.expression))
    return made(f"({left.text} div {_divisor(right, forgiving=t.dialect in ZERO_DIVIDES)})", Kind.INTEGER, left, right)


def _remainder(t: Translator, node: exp.Mod, scope: Scope) -> Said:
    kind, (left, right) = of_one_kind(number(t.say(node.this, scope)), number(t.say(node.expression, scope)))
    if kind is Kind.DECIMAL:
        kind, left, right = Kind.DOUBLE, double(left), double(right)
    return made(f"({left.text} % {_divisor(right, forgiving=t.dialect in ZERO_DIVIDES)})", kind, left, right)


def _divisor(right: Said, *, forgiving: bool) -> str:
    return f"nullif({right.text}, 0)" if forgiving else right.text


def _safely_divided(t: Translator, node: exp.SafeDivide, scope: Scope) -> Said:
    left, right = double(t.say(node.this, scope)), double(t.say(node.expression, scope))
    return made(f"({left.text} / {_divisor(right, forgiving=True)})", Kind.DOUBLE, left, right)


def _negative(t: Translator, node: exp.Neg, scope: Scope) -> Said:
    inner = number(t.say(node.this, scope))
    return made(f"(- {inner.text})", inner.kind, inner)


BINARY = ("this", "expression")
FORMS: dict[type, Form] = {
    exp.Add: form(_added, *BINARY),
    exp.Sub: form(_subtracted, *BINARY),
    exp.Mul: form(_multiplied, *BINARY),
    exp.Div: form(_divided, *BINARY),
    exp.IntDiv: form(_whole_quotient, *BINARY),
    exp.Mod: form(_remainder, *BINARY),
    exp.SafeDivide: form(_safely_divided, *BINARY),
    exp.Neg: form(_negative, "this"),
}

"""Constants and operators of queries in DuckDB's SQL."""

from __future__ import annotations

import re

from lakegate.engine.query.duckdb_functions import divisor, quotient
from lakegate.engine.query.value import Type, Value, common, once, refuse

_LITERAL = re.compile(
    r"(?P<whole>[0-9]{1,18})L?|(?P<exact>[0-9]{0,20}\.?[0-9]{0,18})BD|(?P<float>[0-9.]+(?:[eE][-+]?[0-9]+)?)D"
)
_COMPARISONS = {"=": "=", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "IS NOT DISTINCT FROM"}
_NUMBERS = frozenset({Type.INTEGER, Type.SUM, Type.DECIMAL, Type.DOUBLE, Type.NULL})
_LARGEST = f"CAST('{'9' * 20}.{'9' * 18}' AS DECIMAL(38,18))"


def literal(token: str) -> Value:
    """A constant number: `7` as such, `7L` of 64 bits, `7.5BD` exact, `7.5D` a float."""
    found = _LITERAL.fullmatch(token)
    if found is None:
        raise refuse(f"the number {token[:20]}")
    if found["whole"]:
        return Value(f"CAST({token[:-1]} AS BIGINT)" if token.endswith("L") else token, Type.INTEGER)
    if found["exact"]:
        return Value(f"CAST('{found['exact']}' AS DECIMAL(38,18))", Type.DECIMAL)
    return Value(f"CAST('{float(found['float'])!r}' AS DOUBLE)", Type.DOUBLE)


def negated(value: Value) -> Value:
    """A number with the other sign."""
    if value.type not in _NUMBERS:
        raise refuse(f"the negative of {value.type.name}")
    return Value(f"(- {value.text})", value.type)


def binary(sign: str, left: Value, right: Value) -> Value:
    """An operator between two values."""
    types = {left.type, right.type}
    if sign in {"AND", "OR"}:
        return Value(f"({left.text} {sign} {right.text})", Type.BOOLEAN)
    if sign in _COMPARISONS:
        return Value(f"({left.text} {_COMPARISONS[sign]} {right.text})", Type.BOOLEAN)
    if sign == "LIKE" and right.text.startswith("$t"):
        return Value(f"({left.text} LIKE {right.text})", Type.BOOLEAN)
    if sign in {"+", "-"} and types == {Type.TIMESTAMP, Type.MONTHS}:
        return Value(f"({left.text} {sign} {right.text})", Type.TIMESTAMP)
    if not types <= _NUMBERS:
        raise refuse(f"{sign[:10]!r} between {left.type.name} and {right.type.name}")
    return _reckoned(sign, left, right)


def _reckoned(sign: str, left: Value, right: Value) -> Value:
    kind = common(left, right)
    if sign == "/":
        return quotient(left, right)
    if sign == "div":
        return Value(f"({left.text} // {right.text})", Type.INTEGER)
    if sign == "%":
        by = divisor(right) if kind is Type.DOUBLE else right.text
        return Value(f"({left.text} % {by})", kind)
    if sign in {"+", "-"} and kind is Type.DECIMAL:
        return Value(_exactly(sign, left.text, right.text), kind)
    if sign in {"+", "-", "*"}:
        return Value(f"({left.text} {sign} {right.text})", kind)
    raise refuse(f"the operator {sign[:10]!r}")


def _exactly(sign: str, left: str, right: str) -> str:
    """The sum of exact numbers; NULL beyond 20 digits before the point."""
    other = "p['b']" if sign == "+" else "(- p['b'])"
    too_large = f"p['a'] > 0 AND {other} > {_LARGEST} - p['a']"
    too_small = f"p['a'] < 0 AND {other} < - {_LARGEST} - p['a']"
    added = f"CASE WHEN ({too_large}) OR ({too_small}) THEN NULL ELSE p['a'] + {other} END"
    return once(f"struct_pack(a := {left}, b := {right})", added)

"""Forms of constants, columns and operators."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from contracts.queries.dialects import TEXTS_IGNORE_CASE
from contracts.queries.moments import typed_constant
from contracts.queries.parse import one_word
from contracts.queries.refusal import UntranslatedError, place_of
from contracts.queries.said import Kind, Said, double, made, of_one_kind, wanted
from contracts.queries.translator import Form, Translator, form

if TYPE_CHECKING:
    from collections.abc import Callable

    from contracts.queries.scope import Scope

WHOLE = re.compile(r"[0-9]{1,18}")
DECIMAL = re.compile(r"[0-9]{0,19}\.[0-9]{0,18}")
FLOAT = re.compile(r"[0-9]{1,19}(?:\.[0-9]{0,18})?[eE][-+]?[0-9]{1,2}")
WILD = 2
"""`%` in a pattern beside characters of any kind (`_`): more could take a text very long."""


def _literal(t: Translator, node: exp.Literal, _scope: Scope) -> Said:
    text = str(node.this)
    if node.is_string:
        return Said(t.names.text(text), Kind.TEXT, constant=text)
    if WHOLE.fullmatch(text):
        return Said(f"{int(text)}L", Kind.INTEGER)
    if DECIMAL.fullmatch(text) and text != ".":
        return Said(f"{text.strip('.') if text.endswith('.') else text}BD", Kind.DECIMAL)
    if FLOAT.fullmatch(text):
        return Said(f"{float(text)!r}D", Kind.DOUBLE)
    raise UntranslatedError("it writes a number with more digits than can be compared")


def _column(_t: Translator, node: exp.Column, scope: Scope) -> Said:
    if node.args.get("db"):
        raise UntranslatedError("it names a column by three words")
    table = node.args.get("table")
    return scope.column(one_word(node.this), one_word(table) if table else None, place_of(node))


def _paren(t: Translator, node: exp.Paren, scope: Scope) -> Said:
    return t.say(node.this, scope)


def _both(sign: str) -> Callable[[Translator, exp.Binary, Scope], Said]:
    def say(t: Translator, node: exp.Binary, scope: Scope) -> Said:
        left, right = (wanted(t.say(each, scope), Kind.BOOLEAN) for each in (node.this, node.expression))
        return made(f"({left.text} {sign} {right.text})", Kind.BOOLEAN, left, right)

    return say


def _not(t: Translator, node: exp.Not, scope: Scope) -> Said:
    inner = wanted(t.say(node.this, scope), Kind.BOOLEAN)
    return made(f"(NOT {inner.text})", Kind.BOOLEAN, inner)


def comparable(t: Translator, *parts: Said) -> list[Said]:
    """Expressions that can be compared: of one kind; constant texts beside moments are read as moments."""
    temporal = next((each.kind for each in parts if each.kind.temporal), None)
    if temporal:
        parts = tuple(typed_constant(each) if each.constant is not None else each for each in parts)
    if {Kind.DECIMAL, Kind.SUM} <= {each.kind for each in parts}:
        parts = tuple(double(each) if each.kind.numeric else each for each in parts)
    kinds = {each.kind for each in parts} - {Kind.NULL}
    if kinds == {Kind.TEXT} and t.dialect in TEXTS_IGNORE_CASE:
        raise UntranslatedError(f"texts that differ in case are equal in {t.dialect}, and never here")
    if kinds and all(each.numeric for each in kinds):
        return list(parts)
    return of_one_kind(*parts)[1]


def _compared(sign: str) -> Callable[[Translator, exp.Binary, Scope], Said]:
    def say(t: Translator, node: exp.Binary, scope: Scope) -> Said:
        left, right = comparable(t, t.say(node.this, scope), t.say(node.expression, scope))
        return made(f"({left.text} {sign} {right.text})", Kind.BOOLEAN, left, right)

    return say


def _distinct_from(t: Translator, node: exp.NullSafeNEQ, scope: Scope) -> Said:
    same = _compared("<=>")(t, node, scope)
    return replace(same, text=f"(NOT {same.text})")


def _between(t: Translator, node: exp.Between, scope: Scope) -> Said:
    value, low, high = comparable(t, *(t.say(node.args[key], scope) for key in ("this", "low", "high")))
    return made(f"({value.text} BETWEEN {low.text} AND {high.text})", Kind.BOOLEAN, value, low, high)


def _in(t: Translator, node: exp.In, scope: Scope) -> Said:
    value = t.say(node.this, scope)
    asked = node.args.get("query")
    if asked is None:
        value, *items = comparable(t, value, *t.say_all(node.expressions, scope))
        return made(f"({value.text} IN ({', '.join(each.text for each in items)}))", Kind.BOOLEAN, value, *items)
    found = t.ask(asked, scope)
    if found.outer or [kind for _, kind in found.columns] != [value.kind]:
        raise UntranslatedError("its IN asks for other values than those it compares")
    return replace(made(f"({value.text} IN ({found.text}))", Kind.BOOLEAN, value), asks=True)


def _exists(t: Translator, node: exp.Exists, scope: Scope) -> Said:
    found = t.ask(node.this, scope)
    return Said(f"(EXISTS ({found.text}))", Kind.BOOLEAN, asks=True)


def _scalar(t: Translator, node: exp.Subquery, scope: Scope) -> Said:
    found = t.ask(node, scope)
    if found.outer or not found.one_row or len(found.columns) != 1:
        raise UntranslatedError("a query inside it does not give one value by itself")
    return Said(f"({found.text})", found.columns[0][1], growth=found.growth)


def _is(t: Translator, node: exp.Is, scope: Scope) -> Said:
    value = t.say(node.this, scope)
    match node.expression:
        case exp.Null():
            return made(f"({value.text} IS NULL)", Kind.BOOLEAN, value)
        case exp.Boolean() as truth:
            return made(f"({wanted(value, Kind.BOOLEAN).text} <=> {bool(truth.this)})", Kind.BOOLEAN, value)
        case _:
            raise UntranslatedError("it compares with IS what is neither null nor a truth")


def _like(t: Translator, node: exp.Like, scope: Scope) -> Said:
    return _turned(node, _matched(wanted(t.say(node.this, scope), Kind.TEXT), t, t.say(node.expression, scope)))


def _ilike(t: Translator, node: exp.ILike, scope: Scope) -> Said:
    value, pattern = wanted(t.say(node.this, scope), Kind.TEXT), t.say(node.expression, scope)
    lowered = made(f"lower({value.text})", Kind.TEXT, value)
    return _turned(node, _matched(lowered, t, replace(pattern, constant=pattern.constant and pattern.constant.lower())))


def _turned(node: exp.Expr, said: Said) -> Said:
    return replace(said, text=f"(NOT {said.text})") if node.args.get("negate") else said


def _matched(value: Said, t: Translator, pattern: Said) -> Said:
    """Without any regular expression where the pattern's ends alone are open."""
    written = pattern.constant
    if written is None or "\\" in written or t.dialect in TEXTS_IGNORE_CASE:
        raise UntranslatedError("its LIKE is not a plain pattern")
    if "_" not in written:
        first, *middle, last = written.split("%") if "%" in written else ("", written)
        if "%" not in written:
            return made(f"({value.text} = {t.names.text(written)})", Kind.BOOLEAN, value)
        middle = [each for each in middle if each]
        if not middle or (len(middle) == 1 and not first and not last):
            return _ends(value, t, first, middle, last)
    if written.count("%") > WILD:
        raise UntranslatedError("its LIKE has more wild parts than are matched in a bearable time")
    return made(f"({value.text} LIKE {t.names.text(written)})", Kind.BOOLEAN, value)


def _ends(value: Said, t: Translator, first: str, middle: list[str], last: str) -> Said:
    parts = [f"({value.text} IS NOT NULL)"] if not (first or middle or last) else []
    parts += [f"startswith({value.text}, {t.names.text(first)})"] if first else []
    parts += [f"contains({value.text}, {t.names.text(each)})" for each in middle]
    parts += [f"endswith({value.text}, {t.names.text(last)})"] if last else []
    if first and last:
        parts.append(f"(length({value.text}) >= {len(first) + len(last)})")
    return made(f"({' AND '.join(parts)})", Kind.BOOLEAN, value)


BINARY = ("this", "expression")
FORMS: dict[type, Form] = {
    exp.Literal: form(_literal, "this", "is_string"),
    exp.Boolean: form(lambda _t, node, _s: Said(str(bool(node.this)), Kind.BOOLEAN), "this"),
    exp.Null: form(lambda _t, _n, _s: Said("NULL", Kind.NULL)),
    exp.Column: form(_column, "this", "table", "db", "catalog"),
    exp.Paren: form(_paren, "this"),
    exp.And: form(_both("AND"), *BINARY),
    exp.Or: form(_both("OR"), *BINARY),
    exp.Not: form(_not, "this"),
    exp.EQ: form(_compared("="), *BINARY),
    exp.NEQ: form(_compared("<>"), *BINARY),
    exp.LT: form(_compared("<"), *BINARY),
    exp.LTE: form(_compared("<="), *BINARY),
    exp.GT: form(_compared(">"), *BINARY),
    exp.GTE: form(_compared(">="), *BINARY),
    exp.NullSafeEQ: form(_compared("<=>"), *BINARY),
    exp.NullSafeNEQ: form(_distinct_from, *BINARY),
    exp.Between: form(_between, "this", "low", "high"),
    exp.In: form(_in, "this", "expressions", "query"),
    exp.Exists: form(_exists, "this"),
    exp.Subquery: form(_scalar, "this"),
    exp.Is: form(_is, *BINARY),
    exp.Like: form(_like, *BINARY, "negate"),
    exp.ILike: form(_ilike, *BINARY, "negate"),
}

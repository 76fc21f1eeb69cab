"""Forms of functions of one row: of numbers, of texts, and from one kind to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from contracts.queries.refusal import UntranslatedError
from contracts.queries.said import Kind, Said, double, made, number, wanted
from contracts.queries.translator import Form, Translator, form

if TYPE_CHECKING:
    from collections.abc import Callable

    from contracts.queries.scope import Scope

MOST_DIGITS = 18
# --- numbers


def _absolute(t: Translator, node: exp.Abs, scope: Scope) -> Said:
    inner = number(t.say(node.this, scope))
    return made(f"abs({inner.text})", inner.kind, inner)


def _round(t: Translator, node: exp.Round, scope: Scope) -> Said:
    inner, digits = number(t.say(node.this, scope)), node.args.get("decimals")
    places = 0 if digits is None else whole(digits)
    if places > MOST_DIGITS:
        raise UntranslatedError("it rounds to more digits than can be compared")
    return made(_again(f"round({inner.text}, {places})", inner.kind), inner.kind, inner)


def _edge(name: str) -> Callable[[Translator, exp.Func, Scope], Said]:
    def say(t: Translator, node: exp.Func, scope: Scope) -> Said:
        inner = number(t.say(node.this, scope))
        if inner.kind is Kind.INTEGER:
            return inner
        return made(f"CAST({name}({inner.text}) AS DOUBLE)", Kind.DOUBLE, inner)

    return say


def _again(text: str, kind: Kind) -> str:
    """An exact number in the one width that all of them have."""
    return f"CAST({text} AS DECIMAL(38,18))" if kind is Kind.DECIMAL else text


def _root(t: Translator, node: exp.Sqrt, scope: Scope) -> Said:
    inner = double(t.say(node.this, scope))
    return made(f"sqrt({inner.text})", Kind.DOUBLE, inner)


def _power(t: Translator, node: exp.Pow, scope: Scope) -> Said:
    one, other = double(t.say(node.this, scope)), double(t.say(node.expression, scope))
    return made(f"power({one.text}, {other.text})", Kind.DOUBLE, one, other)


def whole(node: exp.Expr | None) -> int:
    """A constant whole number from 0."""
    if (
        isinstance(node, exp.Literal)
        and not node.is_string
        and str(node.this).isdigit()
        and len(str(node.this)) <= MOST_DIGITS
    ):
        return int(node.this)
    raise UntranslatedError("it needs a constant whole number")


# --- texts


def text(t: Translator, node: exp.Expr, scope: Scope) -> Said:
    """An expression that is a text."""
    return wanted(t.say(node, scope), Kind.TEXT)


def _of_text(name: str, kind: Kind = Kind.TEXT) -> Callable[[Translator, exp.Func, Scope], Said]:
    def say(t: Translator, node: exp.Func, scope: Scope) -> Said:
        inner = text(t, node.this, scope)
        return made(f"{name}({inner.text})", kind, inner)

    return say


def _length(t: Translator, node: exp.Length, scope: Scope) -> Said:
    if t.dialect == "tsql":
        raise UntranslatedError("LEN does not count spaces at the end in tsql")
    inner = text(t, node.this, scope)
    return made(f"CAST(length({inner.text}) AS BIGINT)", Kind.INTEGER, inner)


def _substring(t: Translator, node: exp.Substring, scope: Scope) -> Said:
    inner, start = text(t, node.this, scope), whole(node.args.get("start"))
    if start == 0:
        raise UntranslatedError("the characters of a text are counted from 1")
    length = node.args.get("length")
    until = f", {whole(length)}" if length is not None else ""
    return made(f"substring({inner.text}, {start}{until})", Kind.TEXT, inner)


def _end(name: str) -> Callable[[Translator, exp.Func, Scope], Said]:
    def say(t: Translator, node: exp.Func, scope: Scope) -> Said:
        inner = text(t, node.this, scope)
        return made(f"{name}({inner.text}, {whole(node.expression)})", Kind.TEXT, inner)

    return say


def _joined(t: Translator, node: exp.DPipe, scope: Scope) -> Said:
    parts = [text(t, each, scope) for each in (node.this, node.expression)]
    return made(
        f"concat({parts[0].text}, {parts[1].text})", Kind.TEXT, *parts, growth=sum(each.growth for each in parts)
    )


def _concat(t: Translator, node: exp.Concat, scope: Scope) -> Said:
    """Null is nothing where the dialect says so, else the whole is null."""
    parts = [text(t, each, scope) for each in node.expressions]
    texts = [f"coalesce({each.text}, '')" if node.args.get("coalesce") else each.text for each in parts]
    return made(f"concat({', '.join(texts)})", Kind.TEXT, *parts, growth=sum(each.growth for each in parts))


def _replaced(t: Translator, node: exp.Replace, scope: Scope) -> Said:
    inner, old, new = (text(t, each, scope) for each in (node.this, node.expression, node.args["replacement"]))
    if not old.constant or new.constant is None or len(new.constant) > len(old.constant):
        raise UntranslatedError("it replaces by what may be longer than what it replaces")
    return made(f"replace({inner.text}, {old.text}, {new.text})", Kind.TEXT, inner)


def _found(name: str) -> Callable[[Translator, exp.Func, Scope], Said]:
    def say(t: Translator, node: exp.Func, scope: Scope) -> Said:
        inner, part = text(t, node.this, scope), text(t, node.expression, scope)
        return made(f"{name}({inner.text}, {part.text})", Kind.BOOLEAN, inner, part)

    return say


FORMS: dict[type, Form] = {
    exp.Abs: form(_absolute, "this"),
    exp.Round: form(_round, "this", "decimals"),
    exp.Floor: form(_edge("floor"), "this"),
    exp.Ceil: form(_edge("ceil"), "this"),
    exp.Sqrt: form(_root, "this"),
    exp.Pow: form(_power, "this", "expression"),
    exp.Lower: form(_of_text("lower"), "this"),
    exp.Upper: form(_of_text("upper"), "this"),
    exp.Trim: form(_of_text("trim"), "this"),
    exp.Length: form(_length, "this"),
    exp.Substring: form(_substring, "this", "start", "length"),
    exp.Left: form(_end("left"), "this", "expression"),
    exp.Right: form(_end("right"), "this", "expression"),
    exp.DPipe: form(_joined, "this", "expression"),
    exp.Concat: form(_concat, "expressions"),
    exp.Replace: form(_replaced, "this", "expression", "replacement"),
    exp.StartsWith: form(_found("startswith"), "this", "expression"),
    exp.EndsWith: form(_found("endswith"), "this", "expression"),
    exp.Contains: form(_found("contains"), "this", "expression"),
}

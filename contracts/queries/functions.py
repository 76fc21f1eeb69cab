"""Forms of functions of one row: of numbers, of texts, and from one kind to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from contracts.queries.dialects import CASTS_ROUND_HALF_EVEN, CASTS_TRUNCATE
from contracts.queries.moments import as_date, typed_constant
from contracts.queries.refusal import UntranslatedError
from contracts.queries.said import Kind, Said, double, exact, made, moment, number, wanted
from contracts.queries.translator import Form, Translator, form
from contracts.types import LogicalType

if TYPE_CHECKING:
    from collections.abc import Callable

    from contracts.queries.scope import Scope

MOST_DIGITS = 18
UNREADABLE = "a text of the data is not of the type the query casts it to"
TYPES = {
    **dict.fromkeys(("INT", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT"), Kind.INTEGER),
    **dict.fromkeys(("DOUBLE", "FLOAT"), Kind.DOUBLE),
    **dict.fromkeys(("DECIMAL", "BIGDECIMAL"), Kind.DECIMAL),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR", "NVARCHAR", "NCHAR"), Kind.TEXT),
    "BOOLEAN": Kind.BOOLEAN,
    "DATE": Kind.DATE,
    **dict.fromkeys(
        ("TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPTZ", "TIMESTAMPLTZ", "DATETIME", "DATETIME2"), Kind.TIMESTAMP
    ),
}
SPARK = {
    Kind.INTEGER: "BIGINT",
    Kind.DOUBLE: "DOUBLE",
    Kind.DECIMAL: "DECIMAL(38,18)",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}


def _cast(t: Translator, node: exp.Cast, scope: Scope) -> Said:
    said = t.say(node.this, scope)
    to = TYPES.get(node.to.this.name)
    if to is None:
        raise UntranslatedError(f"a cast to {node.to.this.name[:30]} is not translated by this version")
    if said.kind is Kind.NULL:
        return Said("NULL", to)
    return _CASTS[to](t, said, node)


def _to_integer(t: Translator, said: Said, node: exp.Cast) -> Said:
    if said.kind is Kind.TEXT:
        return _read(said, Kind.INTEGER, node)
    inner = number(said)
    if inner.kind is Kind.INTEGER:
        return inner
    return made(f"CAST({_rounded(t, inner)} AS BIGINT)", Kind.INTEGER, inner)


def _rounded(t: Translator, said: Said) -> str:
    """A number without its fraction, as the dialect casts it."""
    if t.dialect in CASTS_TRUNCATE:
        return said.text
    is_even = said.kind is Kind.DOUBLE and t.dialect in CASTS_ROUND_HALF_EVEN
    return f"rint({said.text})" if is_even else f"round({said.text}, 0)"


def _to_double(_t: Translator, said: Said, node: exp.Cast) -> Said:
    return _read(said, Kind.DOUBLE, node) if said.kind is Kind.TEXT else double(said)


def _to_decimal(_t: Translator, said: Said, node: exp.Cast) -> Said:
    """Rounded where the type names a scale."""
    inner = _read(said, Kind.DECIMAL, node) if said.kind is Kind.TEXT else exact(said)
    sizes = [each.this for each in node.to.expressions]
    if not sizes:
        return inner
    scale = int(sizes[1].this) if len(sizes) > 1 else 0
    if not 0 <= scale <= MOST_DIGITS:
        raise UntranslatedError("it casts to more digits than can be compared")
    return made(f"CAST(round({inner.text}, {scale}) AS DECIMAL(38,18))", Kind.DECIMAL, inner)


def _to_text(_t: Translator, said: Said, node: exp.Cast) -> Said:
    if said.kind is Kind.INTEGER:
        return made(f"CAST({said.text} AS STRING)", Kind.TEXT, said)
    if node.to.expressions:
        raise UntranslatedError("it cuts a text by a cast")
    return wanted(said, Kind.TEXT)


def _to_boolean(_t: Translator, said: Said, _node: exp.Cast) -> Said:
    return wanted(said, Kind.BOOLEAN)


def _to_date(_t: Translator, said: Said, node: exp.Cast) -> Said:
    if said.constant is not None:
        return as_date(
            typed_constant(
                said, LogicalType.DATE if len(said.constant.strip()) <= len("2000-01-01") else LogicalType.TIMESTAMP
            )
        )
    return _read(said, Kind.DATE, node) if said.kind is Kind.TEXT else as_date(wanted(said, Kind.DATE, Kind.TIMESTAMP))


def _to_timestamp(_t: Translator, said: Said, node: exp.Cast) -> Said:
    if said.constant is not None:
        return typed_constant(said)
    return _read(said, Kind.TIMESTAMP, node) if said.kind is Kind.TEXT else moment(said)


def _read(said: Said, kind: Kind, node: exp.Cast) -> Said:
    """A text as a value: null where a forgiving cast says so, else an error that does not tell the text."""
    value = f"try_cast({said.text} AS {SPARK[kind]})"
    if isinstance(node, exp.TryCast):
        return made(value, kind, said)
    bad = f"(({said.text} IS NOT NULL) AND ({value} IS NULL))"
    return made(
        f"(CASE WHEN {bad} THEN CAST(raise_error('{UNREADABLE}') AS {SPARK[kind]}) ELSE {value} END)", kind, said
    )


_CASTS: dict[Kind, Callable[[Translator, Said, exp.Cast], Said]] = {
    Kind.INTEGER: _to_integer,
    Kind.DOUBLE: _to_double,
    Kind.DECIMAL: _to_decimal,
    Kind.TEXT: _to_text,
    Kind.BOOLEAN: _to_boolean,
    Kind.DATE: _to_date,
    Kind.TIMESTAMP: _to_timestamp,
}


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


def whole(node: exp.Expression | None) -> int:
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


def text(t: Translator, node: exp.Expression, scope: Scope) -> Said:
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
    **dict.fromkeys((exp.Cast, exp.TryCast), form(_cast, "this", "to", "requires_string")),
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

"""Forms of casts: as each dialect rounds, and never with a value of the data in an error."""

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


FORMS: dict[type, Form] = {
    **dict.fromkeys((exp.Cast, exp.TryCast), form(_cast, "this", "to", "requires_string")),
}

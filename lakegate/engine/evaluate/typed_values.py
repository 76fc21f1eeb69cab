"""From text to values: the type's grammar applied to text, then a cast from a closed list, in SQL of DuckDB.

SQL is made of generated names, our own patterns and literals whose characters are written in hexadecimal: no text of a contract
becomes SQL. The grammar is that of docs/types.md; where a whole column of a chunk is known to consist of the *plain alphabet* of
its type (`PLAIN`), the cast alone decides, because it accepts no other text of these characters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal

from lakegate.contract import logical_types
from lakegate.contract.file_formats import Csv
from lakegate.contract.logical_types import GRAMMARS, PRECISION, SCALE, Cast, LogicalType, grammar
from lakegate.plan.check import QueryColumn
from lakegate.plan.plan import PlanField

_SQL_TYPES = {
    Cast.TEXT: "VARCHAR",
    Cast.LONG: "BIGINT",
    Cast.DOUBLE: "DOUBLE",
    Cast.BOOLEAN: "BOOLEAN",
    Cast.DATE: "DATE",
    Cast.TIMESTAMP: "TIMESTAMP",
}

PLAIN = {Cast.LONG: b"+-0123456789", Cast.DOUBLE: b"+-.0123456789"}
"""Characters of which the cast of a type accepts just what the type's grammar does, up to `LONGEST_PLAIN` of them."""
LONGEST_PLAIN = 200
_WHOLE_CLOCK = "00:00:00.000000000"
"""Completes a shorter time of day, so that times compare as their texts do."""
_LONG_END = 2**63


def exact_type(scale: int) -> str:
    """The type of decimals of a scale, in the SQL of both engines."""
    return f"DECIMAL({PRECISION},{scale})"


def sql_type(of: PlanField | QueryColumn) -> str:
    """The type of the values of a field in SQL of DuckDB."""
    cast = GRAMMARS[of.type].cast
    return exact_type(of.scale) if cast is Cast.DECIMAL else _SQL_TYPES[cast]


def rescale_decimal(value: str, scale: int, to: int) -> str:
    """A decimal of one scale as one of another, in the SQL of both engines; NULL if it has more digits than that."""
    found = f"try_cast({value} AS {exact_type(to)})"
    return found if to >= scale else f"CASE WHEN try_cast({found} AS {exact_type(scale)}) = {value} THEN {found} END"


def value_name(alias: str) -> str:
    """The column of a field's typed value; `alias` is that of its text."""
    return f"v{alias}"


def present_name(alias: str) -> str:
    """The column of whether a field has a value."""
    return f"p{alias}"


def size_name(alias: str) -> str:
    """The column of the number of elements, entries or members of a field's value."""
    return f"z{alias}"


def repeats_name(alias: str) -> str:
    """The column of whether two elements of a field's list are equal."""
    return f"d{alias}"


def typed_value(field: PlanField, text: str, *, plain: bool = False) -> str:
    """The value of the text in an SQL expression; NULL if the text is not a value of the field's type.

    `plain` states that the text consists of the type's plain alphabet.
    """
    known, special = grammar(field.type, field.scale), _CASTS.get(field.type)
    if plain and known.cast in PLAIN:
        return f"try_cast({text} AS {sql_type(field)})"
    value = special(text) if special else f"try_cast({text} AS {sql_type(field)})"
    if known.pattern is None:
        return value
    return f"CASE WHEN regexp_full_match({text}, '{known.pattern}') THEN {value} END"


def plain_number(text: str, csv: Csv) -> str:
    """A number as the grammars of types have it, of a text with the separators of a contract; NULL if it is written otherwise."""
    decimal, thousands = (
        f"\\x{{{ord(each):X}}}" if each else "" for each in (csv.decimal_separator, csv.thousands_separator)
    )
    groups = f"|[0-9]{{1,3}}(?:{thousands}[0-9]{{3}})+" if thousands else ""
    pattern = f"[-+]?(?:[0-9]*{groups})(?:{decimal}[0-9]*)?(?:[eE][-+]?[0-9]*)?"
    number = f"replace({text}, {text_literal(csv.thousands_separator)}, '')" if thousands else text
    point = f"replace({number}, {text_literal(csv.decimal_separator)}, '.')"
    return f"CASE WHEN regexp_full_match({text}, '{pattern}') THEN {point} END"


def literal(field: PlanField, text: str) -> str:
    """A constant of a contract as a value of the field's type, in SQL; ValueError or ArithmeticError if it is not one."""
    if field.type is LogicalType.TIME:
        return text_literal(text + _WHOLE_CLOCK[len(text) :])
    if field.type is LogicalType.DECIMAL:
        if logical_types.literal(field.type, text, field.scale) is None:
            raise ValueError  # a cast would round it
        return exact_literal(text, field.scale)
    return _LITERALS[GRAMMARS[field.type].cast](text)


def text_literal(text: str) -> str:
    """Any text as a constant, its bytes in hexadecimal: nothing in it can be SQL."""
    return f"decode(unhex('{text.encode().hex()}'))"


def _moment(text: str) -> str:
    """DuckDB's cast ignores the offset: it is subtracted. One beyond 18:00 is invalid."""
    sign, offset = f"substr({text}, -6, 1)", f"substr({text}, -5)"
    minutes = f"({sign} || '1')::BIGINT * (left({offset}, 2)::BIGINT * 60 + right({offset}, 2)::BIGINT)"
    moment = f"try_cast({text} AS TIMESTAMP)"
    shifted = f"WHEN {sign} IN ('+', '-') THEN CASE WHEN {offset} <= '18:00' THEN {moment} - to_minutes({minutes}) END"
    return f"CASE {shifted} ELSE {moment} END"


def _double(text: str) -> str:
    """A number beyond the range of doubles is no value: neither an infinity nor, of other digits than 0, a zero."""
    number = f"try_cast({text} AS DOUBLE)"
    is_zero = f"regexp_full_match({text}, '[-+.0]*(?:[eE].*)?')"
    return f"CASE WHEN isfinite({number}) AND ({number} <> 0 OR {is_zero}) THEN {number} END"


_CASTS: dict[LogicalType, Callable[[str], str]] = {
    LogicalType.STRING: lambda text: text,
    LogicalType.NUMBER: _double,
    LogicalType.BOOLEAN: lambda text: f"lower({text}) = 'true'",
    LogicalType.TIME: lambda text: f"concat({text}, substr('{_WHOLE_CLOCK}', length({text}) + 1))",
    LogicalType.TIMESTAMP: _moment,
}


def _whole(text: str) -> str:
    """A bound of whole numbers may lie beyond 64 bits, or be a fraction: that compares with them as the half above its floor."""
    number = Decimal(text)
    floor = max(min(math.floor(number), _LONG_END), -_LONG_END - 1)
    return f"{floor}::HUGEINT" if number == math.floor(number) else f"({floor}::DECIMAL(38,1) + 0.5)"


def exact_literal(text: str, scale: int = SCALE) -> str:
    """An exact number of a contract, in SQL."""
    return f"'{Decimal(text):f}'::{exact_type(scale)}"


def _instant(text: str) -> str:
    moment = datetime.fromisoformat(text)
    utc = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).replace(tzinfo=None)
    return f"TIMESTAMP '{utc.isoformat(sep=' ')}'"


_LITERALS: dict[Cast, Callable[[str], str]] = {
    Cast.TEXT: text_literal,
    Cast.LONG: _whole,
    Cast.DOUBLE: lambda text: f"'{float(text)!r}'::DOUBLE",
    Cast.BOOLEAN: lambda text: "true" if text.lower() == "true" else "false",
    Cast.DATE: lambda text: f"DATE '{date.fromisoformat(text).isoformat()}'",
    Cast.TIMESTAMP: _instant,
}

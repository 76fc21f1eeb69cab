"""Columns of a file's own types as texts and values of a plan's fields, in SQL made of generated names alone (docs/data.md).

A value of its column's own type is a value of the declared one where the two agree (`lakegate.engine.type.physical`),
but for those that a text could not write: `NaN` and the infinities are no numbers, days before the year 0 or after
9999 are no dates, and a number beyond the digits of its declared type is none of it. `-0` is 0. A 32-bit float means
its shortest decimal.

Texts are written as Spark's `CAST(… AS STRING)` writes them, so that samples, lengths and patterns mean the same in both engines.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.model.types import GRAMMARS, LogicalType
from lakegate.contracts.plan.plan import Shape
from lakegate.engine.read.chunk import Expression
from lakegate.engine.type.physical import Kind, Physical, holds
from lakegate.engine.type.values import SQL_TYPES, repeats_name, size_name, typed_value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from lakegate.contracts.plan.plan import PlanField

_EXACT_DIGITS, _EXACT_SCALE = 15, 22
"""Of a decimal whose digits and whose power of ten are both 64-bit floats: their quotient is rounded once."""
_VALUE_SCALE = 18
_PLAIN_SCALE = 6
"""Decimals of more digits after the point are written with an exponent where they are small."""
_DAYS = "BETWEEN DATE '0000-01-01' AND DATE '9999-12-31'"
_MOMENTS = "BETWEEN TIMESTAMP '0000-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59.999999'"
_KNOWN_MOMENTS = "BETWEEN TIMESTAMP '-290000-01-01 00:00:00' AND TIMESTAMP '294000-01-01 00:00:00'"
"""Moments that DuckDB can write; it fails at the very first ones that 64 bits hold."""
_BEYOND = "'beyond all calendars'"


def raw_name(alias: str) -> str:
    """The column of a field's unchanged value."""
    return f"r{alias}"


def valid_name(alias: str) -> str:
    """The column of a text of the file, NULL if its bytes are not UTF-8."""
    return f"u{alias}"


def counted_expression(
    field: PlanField, physical: Physical | None, sized: Collection[str], compared: Collection[str]
) -> Expression:
    """A field as `expression` has it, with what rules about a whole list, map or record read."""
    found, alias = expression(field, physical), field.alias
    if physical is None or field.shape is Shape.VALUE or not holds(physical, field) or physical.kind is Kind.NOTHING:
        return found
    found = replace(found, size=size_name(alias)) if alias in sized else found
    return replace(found, repeats=repeats_name(alias)) if alias in compared else found


def expression(field: PlanField, physical: Physical | None) -> Expression:
    """A field as text and as value; both are NULL where the file has nothing in its place."""
    nothing = f"CAST(NULL AS {SQL_TYPES[GRAMMARS[field.type].cast]})"
    if physical is None or physical.kind is Kind.NOTHING:
        return Expression("CAST(NULL AS VARCHAR)", nothing)
    raw = raw_name(field.alias)
    if is_binary(field, physical):
        return Expression(raw, raw, raw, column=raw)
    text = _TEXTS[physical.kind](raw, physical)
    value = _value(field, physical, raw, text) if holds(physical, field) else nothing
    return Expression(text, value, raw, column=raw)


def is_binary(field: PlanField, physical: Physical) -> bool:
    """Whether a field's column contains bytes, as texts with one character (0 to 255) for each."""
    return field.type is LogicalType.BINARY and field.shape is Shape.VALUE and holds(physical, field)


def _value(field: PlanField, physical: Physical, raw: str, text: str) -> str:
    return text if field.shape is not Shape.VALUE else _VALUES[field.type](field, physical, raw)


# --- texts: one small function for each kind


def _shown(word: str) -> Callable[[str, Physical], str]:
    """Of values that have no text, the column is true where one is there, and NULL elsewhere."""
    return lambda raw, _: f"CASE WHEN {raw} THEN '{word}' END"


def _cast(raw: str, _: Physical) -> str:
    return f"CAST({raw} AS VARCHAR)"


def _exact(raw: str, physical: Physical) -> str:
    scale = physical.digits[1]
    if scale <= _PLAIN_SCALE:
        return f"CAST({raw} AS VARCHAR)"
    digits = f"regexp_replace(CAST({raw} AS VARCHAR), '^-?0?\\.?0*(.)', '\\1')"
    small = _scientific(f"{raw} < 0", digits, f"length({digits}) - 1 - {scale}", point="")
    return f"CASE WHEN abs({raw}) >= 0.000001 THEN CAST({raw} AS VARCHAR) WHEN {raw} IS NOT NULL THEN {small} END"


def _float(raw: str, _: Physical) -> str:
    """Java writes numbers below 0.001, and from ten millions on, with an exponent, and always a digit after the point."""
    text = f"CAST(abs({raw}) AS VARCHAR)"
    whole = f"replace(regexp_extract({text}, '^[^e]*'), '.', '')"
    digits = f"coalesce(nullif(regexp_replace(ltrim({whole}, '0'), '0+$', ''), ''), '0')"
    zeros, whole_digits = f"regexp_extract({text}, '^0\\.(0*)', 1)", f"regexp_extract({text}, '^[0-9]+')"
    before = f"CASE WHEN {text} LIKE '0.%' THEN -length({zeros}) ELSE length({whole_digits}) END"
    exponent = f"{before} - 1 + coalesce(try_cast(regexp_extract({text}, 'e(.*)$', 1) AS INTEGER), 0)"
    return (
        f"CASE WHEN isnan({raw}) THEN 'NaN' WHEN isinf({raw}) THEN CASE WHEN {raw} > 0 THEN 'Infinity' ELSE '-Infinity' END "
        f"WHEN {raw} = 0 OR (abs({raw}) >= 0.001 AND abs({raw}) < 10000000) THEN CAST({raw} AS VARCHAR) "
        f"WHEN {raw} IS NOT NULL THEN {_scientific(f'{raw} < 0', digits, exponent, point='.0')} END"
    )


def _scientific(is_negative: str, digits: str, exponent: str, point: str) -> str:
    """Digits with a point behind the first one, and an exponent; `point` follows a single digit."""
    rest = f"CASE WHEN length({digits}) > 1 THEN '.' || substr({digits}, 2) ELSE '{point}' END"
    return f"concat(CASE WHEN {is_negative} THEN '-' ELSE '' END, substr({digits}, 1, 1), {rest}, 'E', {exponent})"


def _day(raw: str, _: Physical) -> str:
    near = f"WHEN {raw} {_DAYS} THEN strftime({raw}, '%Y-%m-%d')"
    return f"CASE {near} WHEN isfinite({raw}) THEN {_far_day(raw)} WHEN {raw} IS NOT NULL THEN {_BEYOND} END"


def _moment(raw: str, _: Physical) -> str:
    near = f"WHEN {raw} {_MOMENTS} THEN concat(strftime({raw}, '%Y-%m-%d'), {_clock(raw)})"
    far = f"WHEN {raw} {_KNOWN_MOMENTS} THEN concat({_far_day(raw)}, {_clock(raw)})"
    return f"CASE {near} {far} WHEN {raw} IS NOT NULL THEN {_BEYOND} END"


def _far_day(raw: str) -> str:
    sign = f"CASE WHEN year({raw}) < 0 THEN '-' WHEN year({raw}) > 9999 THEN '+' ELSE '' END"
    return f"concat({sign}, printf('%04d-%02d-%02d', abs(year({raw})), month({raw}), day({raw})))"


def _clock(raw: str) -> str:
    return f"regexp_replace(strftime({raw}, ' %H:%M:%S.%f'), '\\.?0*$', '')"


_TEXTS: dict[Kind, Callable[[str, Physical], str]] = {
    Kind.TEXT: lambda raw, _: raw,
    Kind.TIME: lambda raw, _: raw,
    Kind.BYTES: _shown("bytes"),
    Kind.RECORD: _shown("{...}"),
    Kind.LIST: _shown("[...]"),
    Kind.MAP: _shown("{...}"),
    Kind.OTHER: _shown("?"),
    Kind.WHOLE: _cast,
    Kind.BOOLEAN: _cast,
    Kind.EXACT: _exact,
    Kind.FLOAT: _float,
    Kind.DOUBLE: _float,
    Kind.DATE: _day,
    Kind.MOMENT: _moment,
}


# --- values: one small function for each declared type


def _number(_: PlanField, physical: Physical, raw: str) -> str:
    match physical.kind:
        case Kind.FLOAT:
            return f"CASE WHEN isfinite({raw}) THEN CAST(CAST({raw} AS VARCHAR) AS DOUBLE) + 0.0::DOUBLE END"
        case Kind.DOUBLE:
            return f"CASE WHEN isfinite({raw}) THEN {raw} + 0.0::DOUBLE END"
        case Kind.EXACT if physical.digits[0] > _EXACT_DIGITS or physical.digits[1] > _EXACT_SCALE:
            return f"CAST(CAST({raw} AS VARCHAR) AS DOUBLE)"
        case _:
            return f"CAST({raw} AS DOUBLE)"


def _decimal(_: PlanField, physical: Physical, raw: str) -> str:
    exact = f"try_cast({raw} AS DECIMAL(38,18))"
    if physical.digits[1] <= _VALUE_SCALE:
        return exact
    again = f"try_cast({exact} AS DECIMAL({physical.digits[0]},{physical.digits[1]}))"
    return f"CASE WHEN {again} = {raw} THEN {exact} END"


_VALUES: dict[LogicalType, Callable[[PlanField, Physical, str], str]] = {
    LogicalType.STRING: lambda field, _, __: valid_name(field.alias),
    LogicalType.INTEGER: lambda _, __, raw: f"try_cast({raw} AS BIGINT)",
    LogicalType.NUMBER: _number,
    LogicalType.DECIMAL: _decimal,
    LogicalType.BOOLEAN: lambda _, __, raw: raw,
    LogicalType.DATE: lambda _, __, raw: f"CASE WHEN {raw} {_DAYS} THEN {raw} END",
    LogicalType.TIME: lambda field, _, raw: typed_value(field, raw),
    LogicalType.TIMESTAMP: lambda _, __, raw: f"CASE WHEN {raw} {_MOMENTS} THEN {raw} END",
}

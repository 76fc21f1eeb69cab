r"""Casts as in the Spark job: texts are read by Spark's grammars, floats lose their fraction, exact numbers stay exact.

DuckDB reads other texts than Spark (`1_000`, `0x10`, `1.5` as a whole number): the part that both read is extracted first. A text
without such a part becomes the empty text, which is not a value of any type.
"""

from __future__ import annotations

from lakegate.engine.query.value import Type, Value, once, refuse

_EDGE = r"[\x{0}-\x{20}]*"
_DIGITS = r"[0-9]+\.?[0-9]*|\.[0-9]+"
_SIGN = "[-+]?"
_DATE = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_TIME = r"[0-9]{1,2}:[0-9]{1,2}(?::[0-9]{1,2}(?:\.[0-9]{1,9})?)?"
_ZONE = r"Z|UTC|GMT|[-+][0-9]{1,2}(?::[0-9]{2})?"
_TEXTS = {
    Type.INTEGER: f"({_SIGN}[0-9]+)",
    Type.DOUBLE: f"({_SIGN}(?:{_DIGITS})(?:[eE]{_SIGN}[0-9]+)?|(?i:{_SIGN}inf(?:inity)?|nan))[fFdD]?",
    Type.DECIMAL: f"({_SIGN}(?:{_DIGITS})(?:[eE]{_SIGN}[0-9]+)?)",
    Type.DATE: f"({_DATE})(?:[ T].*)?",
    Type.TIMESTAMP: f"({_DATE}(?:[ T]{_TIME} ?(?:{_ZONE})?)?)",
}
"""The part of a text that is read, as the first group."""
_SHORT_DATES = ((f"([0-9]{{4}}){_EDGE}", r"\1-01-01"), (f"([0-9]{{4}}-[0-9]{{1,2}}){_EDGE}", r"\1-01"))
"""A year alone is its first day, a month too."""
_LAST_WHOLE = 10**18
"""From here on floats have no fractions."""


def cast(value: Value, to: Type) -> Value:
    """A cast that fails for values that the type does not have."""
    if value.type in {to, Type.NULL}:
        return Value(f"CAST({value.text} AS {to.value})", to)
    match value.type, to:
        case ((Type.DOUBLE | Type.DECIMAL), Type.INTEGER):
            return Value(f"CAST(trunc({value.text}) AS {to.value})", to)
        case Type.DOUBLE, Type.DECIMAL:
            return Value(f"CAST(CAST({value.text} AS VARCHAR) AS {to.value})", to)
        case Type.TEXT, _:
            raise refuse("a cast of a text that may fail")
        case _:
            return Value(f"CAST({value.text} AS {to.value})", to)


def try_cast(value: Value, to: Type) -> Value:
    """A cast that is NULL for values that the type does not have."""
    match value.type, to:
        case Type.TEXT, _:
            return Value(_read(value.text, to), to)
        case Type.DOUBLE, Type.DECIMAL:
            return Value(f"TRY_CAST(CAST({value.text} AS VARCHAR) AS {to.value})", to)
        case ((Type.INTEGER | Type.SUM | Type.DECIMAL | Type.NULL), Type.DECIMAL):
            return Value(f"TRY_CAST({value.text} AS {to.value})", to)
        case _:
            raise refuse(f"a cast of {value.type.name} to {to.name}")


def rounded(value: Value, places: int) -> Value:
    """A number rounded half up, a float by the digits that it is written with."""
    if value.type is Type.DOUBLE:
        exact = f"CAST(round(CAST(CAST(p AS VARCHAR) AS DECIMAL(38,18)), {places}) AS DOUBLE)"
        return Value(once(value.text, f"CASE WHEN abs(p) < {_LAST_WHOLE} THEN {exact} ELSE p END"), value.type)
    return Value(f"CAST(round({value.text}, {places}) AS {value.type.value})", value.type)


def _read(text: str, to: Type) -> str:
    grammar = _TEXTS.get(to)
    if grammar is None:
        raise refuse(f"a cast of a text to {to.name}")
    if to in {Type.DATE, Type.TIMESTAMP}:
        for short, longer in _SHORT_DATES:
            text = rf"regexp_replace({text}, '\A{_EDGE}{short}\z', '{longer}')"
    part = rf"regexp_extract({text}, '\A{_EDGE}{grammar}{_EDGE}\z', 1)"
    if to is Type.TIMESTAMP:
        # A cast to TIMESTAMP would leave an offset out.
        return f"CAST(TRY_CAST({part} AS TIMESTAMPTZ) AS TIMESTAMP)"
    return f"TRY_CAST({part} AS {to.value})"

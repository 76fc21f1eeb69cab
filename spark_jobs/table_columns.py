"""Columns of a file's own types, as texts and values of a plan's fields, in SQL made of generated names alone.

A value of its column's own type is a value of the declared one where the two agree (`spark_jobs.physical`), but for those that a
text could not write: `NaN` and the infinities are no numbers, days before the year 0 or after 9999 are no dates, and a number
beyond the digits of its declared type is none of it. `-0` is 0. A 32-bit float means its shortest decimal. The text of bytes has
one character for each byte, so that their length is the number of bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.plan import Shape
from contracts.types import GRAMMARS, LogicalType
from spark_jobs.limits import LONGEST_RECORD
from spark_jobs.physical import Kind, Physical, holds
from spark_jobs.typed import SQL_TYPES, typed_value, value_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import Column, DataFrame

    from contracts.plan import PlanField

    Found = tuple[PlanField, Physical | None]
    """A field, and what the file has in its place; None where it has nothing there."""

_LONG_DIGITS = 18
_DAYS = "BETWEEN DATE'0000-01-01' AND DATE'9999-12-31'"
_MOMENTS = "BETWEEN TIMESTAMP'0000-01-01 00:00:00Z' AND TIMESTAMP'9999-12-31 23:59:59.999999Z'"


def raw_name(alias: str) -> str:
    """The column that holds a field's value as the file has it."""
    return f"r{alias}"


def member(column: Column, physical: Physical, step: str) -> Column:
    """The part of a record that a step leads to."""
    names = [name for name, _ in physical.parts]
    return column.getField(f"f{names.index(step[1:])}")


def with_values(frame: DataFrame, kept: Iterable[str], found: Iterable[Found]) -> DataFrame:
    """A text and a value for each field, from its raw column; nulls where the file has none."""
    pairs = [(field, physical) for field, physical in found]
    texts = [f"{_text(field, physical)} AS {field.alias}" for field, physical in pairs]
    raw = [raw_name(field.alias) for field, physical in pairs if physical is not None]
    with_texts = frame.selectExpr(*kept, *raw, *texts)
    values = [f"{_value(field, physical)} AS {value_name(field.alias)}" for field, physical in pairs]
    return with_texts.selectExpr(*kept, *(field.alias for field, _ in pairs), *values)


def too_long(found: Iterable[Found]) -> Column:
    """The reason why a record is malformed: a text that would sit in memory as one value."""
    texts = [
        raw_name(field.alias) for field, physical in found if physical and physical.kind in {Kind.TEXT, Kind.BYTES}
    ]
    longest = F.greatest(F.lit(0), F.lit(0), *(F.octet_length(name) for name in texts))
    return F.when(longest > LONGEST_RECORD, F.lit("too_long"))


def _text(field: PlanField, physical: Physical | None) -> str:
    if physical is None:
        return "string(NULL)"
    raw = raw_name(field.alias)
    if field.type is LogicalType.BINARY and holds(physical, field) and field.shape is Shape.VALUE:
        return f"decode(CAST({raw} AS BINARY), 'ISO-8859-1')"
    shown = _SHOWN.get(physical.kind)
    return f"CAST({raw} AS STRING)" if shown is None else f"IF({raw} IS NULL, NULL, '{shown}')"


def _value(field: PlanField, physical: Physical | None) -> str:
    nothing = f"CAST(NULL AS {SQL_TYPES[GRAMMARS[field.type].cast]})"
    if physical is None or not holds(physical, field) or physical.kind is Kind.NOTHING:
        return nothing
    if field.shape is not Shape.VALUE:
        return field.alias
    return _VALUES[field.type](field, physical, raw_name(field.alias))


_SHOWN = {
    Kind.RECORD: "{...}",
    Kind.LIST: "[...]",
    Kind.MAP: "{...}",
    Kind.BYTES: "bytes",
    Kind.OTHER: "?",
}
"""How values that have no text are shown."""


# --- values: one small function for each declared type


def _string(field: PlanField, _: Physical, raw: str) -> str:
    return f"IF(decode(CAST({raw} AS BINARY), 'UTF-8') = {raw}, {field.alias}, NULL)"


def _binary(field: PlanField, _: Physical, __: str) -> str:
    return field.alias


def _integer(_: PlanField, physical: Physical, raw: str) -> str:
    is_short = physical.kind is Kind.WHOLE or physical.digits[0] <= _LONG_DIGITS
    return f"CAST({raw} AS BIGINT)" if is_short else f"try_cast(CAST({raw} AS STRING) AS BIGINT)"


def _number(_: PlanField, physical: Physical, raw: str) -> str:
    number = f"try_cast(CAST({raw} AS STRING) AS DOUBLE)" if physical.kind is Kind.FLOAT else f"CAST({raw} AS DOUBLE)"
    if physical.kind not in {Kind.FLOAT, Kind.DOUBLE}:
        return number
    return f"IF(isnan({raw}) OR abs({raw}) = double('Infinity'), NULL, {number} + 0.0D)"


def _decimal(_: PlanField, __: Physical, raw: str) -> str:
    exact = f"try_cast({raw} AS DECIMAL(38,18))"
    return f"IF({exact} = {raw}, {exact}, NULL)"


def _plain(_: PlanField, __: Physical, raw: str) -> str:
    return raw


def _date(_: PlanField, __: Physical, raw: str) -> str:
    return f"IF({raw} {_DAYS}, {raw}, NULL)"


def _moment(_: PlanField, __: Physical, raw: str) -> str:
    return f"IF({raw} {_MOMENTS}, {raw}, NULL)"


def _time(field: PlanField, _: Physical, __: str) -> str:
    return typed_value(field, field.alias)


_VALUES: dict[LogicalType, Callable[[PlanField, Physical, str], str]] = {
    LogicalType.STRING: _string,
    LogicalType.INTEGER: _integer,
    LogicalType.NUMBER: _number,
    LogicalType.DECIMAL: _decimal,
    LogicalType.BOOLEAN: _plain,
    LogicalType.DATE: _date,
    LogicalType.TIME: _time,
    LogicalType.TIMESTAMP: _moment,
    LogicalType.BINARY: _binary,
}

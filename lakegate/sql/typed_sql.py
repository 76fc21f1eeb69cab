"""Typed expressions with their text in Spark SQL and DuckDB SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from lakegate.contract.logical_types import PRECISION, SCALE, LogicalType, literal

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

# ---- Errors of the translation ----


class RefusedError(Exception):
    """The query must not be executed: an error of the contract document, with a lint code."""

    def __init__(self, code: str, message: str, place: tuple[int, int] | None = None) -> None:
        super().__init__(code)
        self.code = code
        where = f" (line {place[0]}, column {place[1]} of the query)" if place else ""
        self.message = message + where


class UntranslatedError(Exception):
    """The query is harmless, but this version cannot translate it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def place_of(node: Expr) -> tuple[int, int] | None:
    """Line and column of a node in its query, from 1; None if the parser recorded none for it or its descendants."""
    for expression in node.walk():
        if "line" in expression.meta:
            return int(expression.meta["line"]), int(expression.meta["col"]) - len(str(expression.name)) + 1
    return None


# ---- Typed SQL expressions ----


MAX_GROWTH = 64
"""The longest text that an expression may build from one of the data, and the most rows that a query may build from one row."""
LONG_CONSTANT = 64
"""Characters of a constant text that count as a text of the data."""
MAX_TEXT_LENGTH = 32_768
MAX_DUCKDB_LENGTH = 16 * MAX_TEXT_LENGTH
"""DuckDB's form of some casts and quotients is longer."""
MAX_COLUMNS = 2_000
WHOLE = re.compile("[0-9]{1,18}")
"""A constant whole number, in ASCII: other digits, such as `²`, are none."""
GROWS = "The query builds values that grow: keep them as long as they are."


class SqlKind(Enum):
    """Kinds of values that need different SQL. The values of the members are used in messages."""

    INTEGER = "a whole number"
    SUM = "a sum of whole numbers"
    DECIMAL = "an exact number"
    WIDE = "a decimal of another scale"
    """An exact number whose field declares other digits than `DECIMAL` has: it is compared and added up, not computed with."""
    DOUBLE = "a number"
    TEXT = "a text"
    BOOLEAN = "true or false"
    DATE = "a date"
    TIMESTAMP = "a moment"
    DURATION = "a stretch of time"
    """Microseconds, as a whole number."""
    MONTHS = "a number of months"
    NULL = "null"

    @property
    def numeric(self) -> bool:
        """Whether values are numbers."""
        return self in NUMBERS

    @property
    def temporal(self) -> bool:
        """Whether values are dates or timestamps."""
        return self in {SqlKind.DATE, SqlKind.TIMESTAMP}


NUMBERS = (SqlKind.INTEGER, SqlKind.SUM, SqlKind.DECIMAL, SqlKind.DOUBLE)
KINDS = {
    LogicalType.STRING: SqlKind.TEXT,
    LogicalType.INTEGER: SqlKind.INTEGER,
    LogicalType.NUMBER: SqlKind.DOUBLE,
    LogicalType.DECIMAL: SqlKind.DECIMAL,
    LogicalType.BOOLEAN: SqlKind.BOOLEAN,
    LogicalType.DATE: SqlKind.DATE,
    LogicalType.TIMESTAMP: SqlKind.TIMESTAMP,
    LogicalType.BINARY: SqlKind.TEXT,
}


class Collation(Enum):
    """A collation by code points."""

    EXACT = "exact"
    PADDED = "padded"
    """Spaces at the end do not count."""


class Texts(NamedTuple):
    """An expression, or a part of a query, in the SQL of each engine."""

    spark: str
    duckdb: str


def same(text: str) -> Texts:
    """SQL that both engines read alike."""
    return Texts(text, text)


def long(number: int) -> Texts:
    """A constant whole number of 64 bits."""
    return Texts(f"{number}L", f"CAST({number} AS BIGINT)")


def floating(number: float) -> Texts:
    """A constant float."""
    return Texts(f"{number!r}D", f"CAST('{number!r}' AS DOUBLE)")


def fill(template: str, *parts: Texts | TypedSql, duckdb: str | None = None) -> Texts:
    """A template with these parts in both dialects; `duckdb` is another one for DuckDB."""
    texts = [part.text if isinstance(part, TypedSql) else part for part in parts]
    return Texts(
        template.format(*(text.spark for text in texts)), (duckdb or template).format(*(text.duckdb for text in texts))
    )


def join(separator: str, parts: Iterable[Texts | TypedSql]) -> Texts:
    """Parts one after the other."""
    texts = [part.text if isinstance(part, TypedSql) else part for part in parts]
    return Texts(separator.join(text.spark for text in texts), separator.join(text.duckdb for text in texts))


@dataclass(frozen=True, slots=True)
class TypedSql:
    """An SQL expression with its kind. It needs no further parentheses wherever it is inserted."""

    text: Texts
    kind: SqlKind
    bare: frozenset[str] = frozenset()
    """Columns of its own SELECT that it reads outside of aggregate functions."""
    growth: int = 1
    aggregates: bool = False
    windows: bool = False
    has_subquery: bool = False
    """Whether it contains a subquery."""
    outer: bool = False
    """Whether it reads a column of the enclosing query."""
    constant: str | None = None
    """The value of a constant text, else None."""
    collation: Collation | None = None
    """Of a text with a COLLATE by which letters of another case differ."""
    scale: int = SCALE
    """Of decimals."""


def combine(
    text: Texts | str, kind: SqlKind, *parts: TypedSql, growth: int | None = None, duckdb: str | None = None
) -> TypedSql:
    """An expression that combines `parts`; RefusedError if its text or its values may grow beyond the limits.

    A text is a template for the parts; `duckdb` is another one for DuckDB.
    """
    made = fill(text, *parts, duckdb=duckdb) if isinstance(text, str) else text
    size = max((part.growth for part in parts), default=1) if growth is None else growth
    if size > MAX_GROWTH or max(map(len, made)) > MAX_DUCKDB_LENGTH or len(made.spark) > MAX_TEXT_LENGTH:
        raise RefusedError("query-too-large", GROWS)
    scale = next((part.scale for part in parts if part.kind is SqlKind.WIDE), SCALE) if kind is SqlKind.WIDE else SCALE
    return TypedSql(
        made,
        kind,
        frozenset().union(*(part.bare for part in parts)),
        size,
        any(part.aggregates for part in parts),
        any(part.windows for part in parts),
        any(part.has_subquery for part in parts),
        any(part.outer for part in parts),
        scale=scale,
    )


def expect_kind(sql: TypedSql, *kinds: SqlKind) -> TypedSql:
    """The expression, if it is of one of these kinds (null is of every kind); else UntranslatedError."""
    if sql.kind in kinds or sql.kind is SqlKind.NULL:
        return sql
    if sql.kind is SqlKind.WIDE:
        raise UntranslatedError(
            f"it computes with a decimal of {sql.scale} digits after the point: cast it to DOUBLE, or declare at most "
            f"{PRECISION - SCALE} digits before and {SCALE} after the point"
        )
    raise UntranslatedError(f"it uses {sql.kind.value} where {kinds[0].value} is needed")


def number(sql: TypedSql) -> TypedSql:
    """The expression, if it is a number; else UntranslatedError."""
    return expect_kind(sql, *NUMBERS)


def double(sql: TypedSql) -> TypedSql:
    """A number converted to a float."""
    if sql.kind is SqlKind.DOUBLE:
        return sql
    exactly = sql if sql.kind is SqlKind.WIDE else number(sql)
    return replace(exactly, text=fill("CAST({} AS DOUBLE)", sql), kind=SqlKind.DOUBLE, scale=SCALE)


CONSTANT = re.compile(r"(\(- )?([0-9]*\.?[0-9]*)(?:L|BD)\)?")
"""A constant exact number, in Spark SQL."""


def _wide(sql: TypedSql, scale: int) -> TypedSql:
    """A decimal of this scale, or a constant as one; UntranslatedError for another number."""
    match = CONSTANT.fullmatch(sql.text.spark)
    if sql.kind is SqlKind.WIDE and sql.scale == scale:
        return sql
    value = literal(LogicalType.DECIMAL, f"{'-' if match[1] else ''}{match[2]}", scale) if match else None
    if value is None:
        raise UntranslatedError(
            f"it compares a decimal of {scale} digits after the point with a number of others: declare both columns with the "
            "same precision and scale, write constants of as many digits, or cast both to DOUBLE"
        )
    return replace(sql, text=same(f"CAST('{value}' AS DECIMAL({PRECISION},{scale}))"), kind=SqlKind.WIDE, scale=scale)


def exact(sql: TypedSql) -> TypedSql:
    """A number converted to a decimal; null if it has more than 20 digits before the point."""
    if sql.kind is SqlKind.DECIMAL:
        return sql
    value = "CAST({} AS VARCHAR)" if sql.kind is SqlKind.DOUBLE else "{}"
    text = fill("try_cast({} AS DECIMAL(38,18))", number(sql), duckdb=f"TRY_CAST({value} AS DECIMAL(38,18))")
    return replace(sql, text=text, kind=SqlKind.DECIMAL)


def moment(sql: TypedSql) -> TypedSql:
    """A date or timestamp as a timestamp; a date becomes its midnight."""
    if sql.kind is SqlKind.DATE:
        return replace(sql, text=fill("CAST({} AS TIMESTAMP)", sql), kind=SqlKind.TIMESTAMP)
    return expect_kind(sql, SqlKind.TIMESTAMP)


def micros(sql: TypedSql) -> Texts:
    """A date or timestamp as microseconds since 1970."""
    return fill("unix_micros({})", typed_null(moment(sql), "TIMESTAMP"), duckdb="epoch_us({})")


def typed_null(sql: TypedSql, duckdb_type: str) -> TypedSql:
    """An argument of a function, whose null has a type in DuckDB."""
    if sql.kind is not SqlKind.NULL:
        return sql
    return replace(sql, text=Texts(sql.text.spark, f"CAST({sql.text.duckdb} AS {duckdb_type})"))


def to_common_kind(*parts: TypedSql) -> tuple[SqlKind, list[TypedSql]]:
    """The common kind of the expressions, and the expressions converted to it; null fits any kind."""
    kinds = {part.kind for part in parts} - {SqlKind.NULL}
    if SqlKind.WIDE in kinds and kinds <= {SqlKind.WIDE, *NUMBERS}:
        scale = next(part.scale for part in parts if part.kind is SqlKind.WIDE)
        return SqlKind.WIDE, [part if part.kind is SqlKind.NULL else _wide(part, scale) for part in parts]
    if len(kinds) <= 1:
        return next(iter(kinds), SqlKind.NULL), list(parts)
    for common, family, turn in _FAMILIES:
        if kinds <= family:
            return common, [part if part.kind is SqlKind.NULL else turn(part) for part in parts]
    words = " with ".join(sorted(kind.value for kind in kinds))
    raise UntranslatedError(f"it mixes {words}")


_FAMILIES = (
    (SqlKind.DECIMAL, {SqlKind.INTEGER, SqlKind.DECIMAL}, exact),
    (SqlKind.DOUBLE, set(NUMBERS), double),
    (SqlKind.TIMESTAMP, {SqlKind.DATE, SqlKind.TIMESTAMP}, moment),
)

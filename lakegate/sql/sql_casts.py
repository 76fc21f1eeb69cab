"""Forms of casts. They round as the dialect does, and their errors never contain a value of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from lakegate.contract.logical_types import LogicalType
from lakegate.sql.sql_dates import as_date, typed_constant
from lakegate.sql.sql_functions import whole
from lakegate.sql.sql_names import NodeForm, Translator, form
from lakegate.sql.sql_operators import BITS
from lakegate.sql.sql_parser import CASTS_ROUND_HALF_EVEN, CASTS_TRUNCATE
from lakegate.sql.typed_sql import (
    SqlKind,
    TypedSql,
    UntranslatedError,
    combine,
    double,
    exact,
    expect_kind,
    moment,
    number,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.sql.sql_names import Scope

MAX_DIGITS = 18
CAST_ERROR = "a text of the data is not of the type the query casts it to"
TYPES = {
    **dict.fromkeys(("INT", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT"), SqlKind.INTEGER),
    **dict.fromkeys(("DOUBLE", "FLOAT"), SqlKind.DOUBLE),
    **dict.fromkeys(("DECIMAL", "BIGDECIMAL"), SqlKind.DECIMAL),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR", "NVARCHAR", "NCHAR"), SqlKind.TEXT),
    **dict.fromkeys(("BOOLEAN", "BIT"), SqlKind.BOOLEAN),
    "DATE": SqlKind.DATE,
    **dict.fromkeys(
        ("TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPTZ", "TIMESTAMPLTZ", "DATETIME", "DATETIME2"), SqlKind.TIMESTAMP
    ),
}

SPARK = {
    SqlKind.INTEGER: "BIGINT",
    SqlKind.DOUBLE: "DOUBLE",
    SqlKind.DECIMAL: "DECIMAL(38,18)",
    SqlKind.DATE: "DATE",
    SqlKind.TIMESTAMP: "TIMESTAMP",
}


def _cast(t: Translator, node: exp.Cast, scope: Scope) -> TypedSql:
    sql = t.translate(node.this, scope)
    to = TYPES.get(node.to.this.name)
    if to is None:
        raise UntranslatedError(f"a cast to {node.to.this.name[:30]} is not translated by this version")
    if sql.kind is SqlKind.NULL:
        return TypedSql("NULL", to)
    return _CASTS[to](t, sql, node)


def _to_integer(t: Translator, sql: TypedSql, node: exp.Cast) -> TypedSql:
    if sql.kind is SqlKind.TEXT:
        return _read(sql, SqlKind.INTEGER, node)
    inner = number(sql)
    if inner.kind is SqlKind.INTEGER:
        return inner
    return combine(f"CAST({_rounded(t, inner)} AS BIGINT)", SqlKind.INTEGER, inner)


def _rounded(t: Translator, sql: TypedSql) -> str:
    """A number truncated or rounded to an integer, as a cast of the dialect does."""
    if t.dialect in CASTS_TRUNCATE:
        return sql.text
    is_even = sql.kind is SqlKind.DOUBLE and t.dialect in CASTS_ROUND_HALF_EVEN
    return f"rint({sql.text})" if is_even else f"round({sql.text}, 0)"


def _to_double(_t: Translator, sql: TypedSql, node: exp.Cast) -> TypedSql:
    return _read(sql, SqlKind.DOUBLE, node) if sql.kind is SqlKind.TEXT else double(sql)


def _to_decimal(_t: Translator, sql: TypedSql, node: exp.Cast) -> TypedSql:
    """Rounds if the type has a scale."""
    inner = _read(sql, SqlKind.DECIMAL, node) if sql.kind is SqlKind.TEXT else exact(sql)
    sizes = [each.this for each in node.to.expressions]
    if not sizes:
        return inner
    scale = whole(sizes[1]) if len(sizes) > 1 else 0
    if scale > MAX_DIGITS:
        raise UntranslatedError("it casts to more digits than can be compared")
    return combine(f"CAST(round({inner.text}, {scale}) AS DECIMAL(38,18))", SqlKind.DECIMAL, inner)


def _to_text(_t: Translator, sql: TypedSql, node: exp.Cast) -> TypedSql:
    if sql.kind is SqlKind.INTEGER:
        return combine(f"CAST({sql.text} AS STRING)", SqlKind.TEXT, sql)
    if node.to.expressions:
        raise UntranslatedError("it cuts a text by a cast")
    return expect_kind(sql, SqlKind.TEXT)


def _to_boolean(_t: Translator, sql: TypedSql, _node: exp.Cast) -> TypedSql:
    return expect_kind(BITS.get(sql.text, sql), SqlKind.BOOLEAN)


def _to_date(_t: Translator, sql: TypedSql, node: exp.Cast) -> TypedSql:
    if sql.constant is not None:
        return as_date(
            typed_constant(
                sql, LogicalType.DATE if len(sql.constant.strip()) <= len("2000-01-01") else LogicalType.TIMESTAMP
            )
        )
    return (
        _read(sql, SqlKind.DATE, node)
        if sql.kind is SqlKind.TEXT
        else as_date(expect_kind(sql, SqlKind.DATE, SqlKind.TIMESTAMP))
    )


def _to_timestamp(_t: Translator, sql: TypedSql, node: exp.Cast) -> TypedSql:
    if sql.constant is not None:
        return typed_constant(sql)
    return _read(sql, SqlKind.TIMESTAMP, node) if sql.kind is SqlKind.TEXT else moment(sql)


def _read(sql: TypedSql, kind: SqlKind, node: exp.Cast) -> TypedSql:
    """A text parsed as a value. Unreadable text is null in TRY_CAST, else an error that does not contain the text."""
    value = f"try_cast({sql.text} AS {SPARK[kind]})"
    if isinstance(node, exp.TryCast):
        return combine(value, kind, sql)
    bad = f"(({sql.text} IS NOT NULL) AND ({value} IS NULL))"
    return combine(
        f"(CASE WHEN {bad} THEN CAST(raise_error('{CAST_ERROR}') AS {SPARK[kind]}) ELSE {value} END)", kind, sql
    )


_CASTS: dict[SqlKind, Callable[[Translator, TypedSql, exp.Cast], TypedSql]] = {
    SqlKind.INTEGER: _to_integer,
    SqlKind.DOUBLE: _to_double,
    SqlKind.DECIMAL: _to_decimal,
    SqlKind.TEXT: _to_text,
    SqlKind.BOOLEAN: _to_boolean,
    SqlKind.DATE: _to_date,
    SqlKind.TIMESTAMP: _to_timestamp,
}

FORMS: dict[type, NodeForm] = {
    **dict.fromkeys((exp.Cast, exp.TryCast), form(_cast, "this", "to")),
}

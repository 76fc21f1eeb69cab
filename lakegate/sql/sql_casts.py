"""Forms of casts. They round as the dialect does, and their errors never contain a value of the data."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from lakegate.contract.logical_types import LogicalType
from lakegate.sql.sql_dates import as_date, typed_constant
from lakegate.sql.sql_functions import constant_number, round_half_up
from lakegate.sql.sql_names import NodeForm, Scope, Translator, form
from lakegate.sql.sql_operators import BITS
from lakegate.sql.sql_parser import CASTS_ROUND_HALF_EVEN, CASTS_TRUNCATE
from lakegate.sql.typed_sql import (
    SqlKind,
    Texts,
    TypedSql,
    UntranslatedError,
    combine,
    double,
    exact,
    expect_kind,
    fill,
    moment,
    number,
)

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


# ---- Texts as Spark reads them ----
# DuckDB reads other texts than Spark (`1_000`, `0x10`, `1.5` as a whole number): the part that both read is extracted first. A
# text without such a part becomes the empty text, which is not a value of any type.

_EDGE = r"[\x{0}-\x{20}]*"
_DIGITS = r"[0-9]+\.?[0-9]*|\.[0-9]+"
_SIGN = "[-+]?"
_DATE = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_TIME = r"[0-9]{1,2}:[0-9]{1,2}(?::[0-9]{1,2}(?:\.[0-9]{1,9})?)?"
_ZONE = r"Z|UTC|GMT|[-+][0-9]{1,2}(?::[0-9]{2})?"
_TEXTS = {
    SqlKind.INTEGER: f"({_SIGN}[0-9]+)",
    SqlKind.DOUBLE: f"({_SIGN}(?:{_DIGITS})(?:[eE]{_SIGN}[0-9]+)?|(?i:{_SIGN}inf(?:inity)?|nan))[fFdD]?",
    SqlKind.DECIMAL: f"({_SIGN}(?:{_DIGITS})(?:[eE]{_SIGN}[0-9]+)?)",
    SqlKind.DATE: f"({_DATE})(?:[ T].*)?",
    SqlKind.TIMESTAMP: f"({_DATE}(?:[ T]{_TIME} ?(?:{_ZONE})?)?)",
}
"""The part of a text that is read, as the first group."""
_SHORT_DATES = ((f"([0-9]{{4}}){_EDGE}", r"\1-01-01"), (f"([0-9]{{4}}-[0-9]{{1,2}}){_EDGE}", r"\1-01"))
"""A year alone is its first day, a month too."""


def read_as_spark(text: str, to: SqlKind) -> str:
    """A text of DuckDB's SQL as a value; NULL where Spark reads none."""
    if to.temporal:
        for short, longer in _SHORT_DATES:
            text = rf"regexp_replace({text}, '\A{_EDGE}{short}\z', '{longer}')"
    part = rf"regexp_extract({text}, '\A{_EDGE}{_TEXTS[to]}{_EDGE}\z', 1)"
    if to is SqlKind.TIMESTAMP:  # a cast to TIMESTAMP would leave an offset out
        return f"CAST(TRY_CAST({part} AS TIMESTAMPTZ) AS TIMESTAMP)"
    return f"TRY_CAST({part} AS {SPARK[to]})"


# ---- Casts ----


def _cast(t: Translator, node: exp.Cast, scope: Scope) -> TypedSql:
    sql = t.translate(node.this, scope)
    to = TYPES.get(node.to.this.name)
    if to is None:
        raise UntranslatedError(f"a cast to {node.to.this.name[:30]} is not translated by this version")
    if sql.kind is SqlKind.NULL:
        duckdb = "VARCHAR" if to is SqlKind.TEXT else SPARK.get(to)
        return TypedSql(Texts("NULL", f"CAST(NULL AS {duckdb})" if duckdb else "NULL"), to)
    return _CASTS[to](t, sql, node)


def _to_integer(t: Translator, sql: TypedSql, node: exp.Cast) -> TypedSql:
    if sql.kind is SqlKind.TEXT:
        return _read(sql, SqlKind.INTEGER, node)
    inner = number(sql)
    if inner.kind is SqlKind.INTEGER:
        return inner
    whole_part = "{}" if inner.kind is SqlKind.SUM else "trunc({})"
    text = fill("CAST({} AS BIGINT)", _rounded(t, inner), duckdb=f"CAST({whole_part} AS BIGINT)")
    return combine(text, SqlKind.INTEGER, inner)


def _rounded(t: Translator, sql: TypedSql) -> Texts:
    """A number truncated or rounded to an integer, as a cast of the dialect does."""
    if t.dialect in CASTS_TRUNCATE:
        return sql.text
    is_even = sql.kind is SqlKind.DOUBLE and t.dialect in CASTS_ROUND_HALF_EVEN
    return fill("rint({})", sql, duckdb="round_even({}, 0)") if is_even else round_half_up(sql, 0)


def _to_double(_t: Translator, sql: TypedSql, node: exp.Cast) -> TypedSql:
    return _read(sql, SqlKind.DOUBLE, node) if sql.kind is SqlKind.TEXT else double(sql)


def _to_decimal(_t: Translator, sql: TypedSql, node: exp.Cast) -> TypedSql:
    """Rounds if the type has a scale."""
    inner = _read(sql, SqlKind.DECIMAL, node) if sql.kind is SqlKind.TEXT else exact(sql)
    sizes = [expression.this for expression in node.to.expressions]
    if not sizes:
        return inner
    scale = constant_number(sizes[1]) if len(sizes) > 1 else 0
    if scale > MAX_DIGITS:
        raise UntranslatedError("it casts to more digits than can be compared")
    return combine(fill("CAST({} AS DECIMAL(38,18))", round_half_up(inner, scale)), SqlKind.DECIMAL, inner)


def _to_text(_t: Translator, sql: TypedSql, node: exp.Cast) -> TypedSql:
    if sql.kind is SqlKind.INTEGER:
        return combine("CAST({} AS STRING)", SqlKind.TEXT, sql, duckdb="CAST({} AS VARCHAR)")
    if node.to.expressions:
        raise UntranslatedError("it cuts a text by a cast")
    return expect_kind(sql, SqlKind.TEXT)


def _to_boolean(_t: Translator, sql: TypedSql, _node: exp.Cast) -> TypedSql:
    return expect_kind(BITS.get(sql.text.spark, sql), SqlKind.BOOLEAN)


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
    value = Texts(f"try_cast({sql.text.spark} AS {SPARK[kind]})", read_as_spark(sql.text.duckdb, kind))
    if isinstance(node, exp.TryCast):
        return combine(value, kind, sql)
    failed = f"THEN CAST({{}}('{CAST_ERROR}') AS {SPARK[kind]})"
    choice = "(CASE WHEN (({{0}} IS NOT NULL) AND ({{1}} IS NULL)) {} ELSE {{1}} END)"
    spark, duckdb = (choice.format(failed.format(name)) for name in ("raise_error", "error"))
    return combine(fill(spark, sql, value, duckdb=duckdb), kind, sql)


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

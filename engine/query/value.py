"""An expression of a query in DuckDB's SQL: its text and its type."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from lakegate.contracts.model.types import LogicalType


class Type(Enum):
    """Types of values in a query, as far as the engines treat them differently."""

    INTEGER = "BIGINT"
    SUM = "DECIMAL(38,0)"
    DECIMAL = "DECIMAL(38,18)"
    DOUBLE = "DOUBLE"
    TEXT = "VARCHAR"
    BOOLEAN = "BOOLEAN"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    MONTHS = "INTERVAL"
    NULL = "NULL"


TYPES = {
    LogicalType.STRING: Type.TEXT,
    LogicalType.INTEGER: Type.INTEGER,
    LogicalType.NUMBER: Type.DOUBLE,
    LogicalType.DECIMAL: Type.DECIMAL,
    LogicalType.BOOLEAN: Type.BOOLEAN,
    LogicalType.DATE: Type.DATE,
    LogicalType.TIME: Type.TEXT,
    LogicalType.TIMESTAMP: Type.TIMESTAMP,
    LogicalType.BINARY: Type.TEXT,
}
"""Of the columns of relations."""


class UnreadError(Exception):
    """`lakegate.contracts.compile.sql` does not generate such a query."""


@dataclass(frozen=True, slots=True)
class Value:
    """An expression that needs no brackets around it."""

    text: str
    type: Type


def common(*values: Value) -> Type:
    """The common type of alternative values; NULL takes any."""
    return next((each.type for each in values if each.type is not Type.NULL), Type.NULL)


def once(value: str, template: str) -> str:
    """SQL that reads a value several times, as `p`, and computes it once."""
    return f"list_transform([{value}], lambda p: {template})[1]"


def refuse(what: str) -> UnreadError:
    """The error for a text that is not generated."""
    return UnreadError(f"{what} is not part of a query of a plan")

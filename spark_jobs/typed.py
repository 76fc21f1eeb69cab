"""From text to values: the type's grammar applied to text, then a cast from a closed list. No contract text becomes SQL."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.types import GRAMMARS, Cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

    from contracts.plan import PlanField

SQL_TYPES = {
    Cast.TEXT: "STRING",
    Cast.LONG: "BIGINT",
    Cast.DOUBLE: "DOUBLE",
    Cast.DECIMAL: "DECIMAL(38,18)",
    Cast.BOOLEAN: "BOOLEAN",
    Cast.DATE: "DATE",
    Cast.TIMESTAMP: "TIMESTAMP",
}


def value_name(alias: str) -> str:
    """The column that holds a field's typed value, beside its text in `alias`."""
    return f"v{alias}"


def typed_value(field: PlanField) -> str:
    """The field's value, in SQL made of generated names and our own patterns; null where its text is none of its type.

    The text of a `plain` record was matched already, with those of its neighbours.
    """
    grammar = GRAMMARS[field.type]
    value = f"try_cast({field.alias} AS {SQL_TYPES[grammar.cast]})"
    if grammar.pattern is None:
        return value
    pattern = grammar.pattern.replace("\\", "\\\\")
    return f"CASE WHEN plain OR {field.alias} RLIKE '\\\\A(?:{pattern})\\\\z' THEN {value} END"


def literal(field: PlanField, text: str) -> Column:
    """A constant of a contract as a value of the field's type; ValueError where it is none."""
    return _LITERALS[GRAMMARS[field.type].cast](text)


def _whole(text: str) -> Column:
    """A bound of whole numbers may be no whole number itself, or lie beyond 64 bits."""
    number = Decimal(text)
    return F.lit(int(number)) if number == int(number) and abs(number) < _LONG_END else F.lit(number)


def _moment(text: str) -> Column:
    moment = datetime.fromisoformat(text)
    return F.lit(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


_LONG_END = 2**63
_LITERALS: dict[Cast, Callable[[str], Column]] = {
    Cast.TEXT: F.lit,
    Cast.LONG: _whole,
    Cast.DOUBLE: lambda text: F.lit(float(text)),
    Cast.DECIMAL: lambda text: F.lit(Decimal(text)),
    Cast.BOOLEAN: lambda text: F.lit(text.lower() == "true"),
    Cast.DATE: lambda text: F.lit(date.fromisoformat(text)),
    Cast.TIMESTAMP: _moment,
}

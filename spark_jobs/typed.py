"""From text to values: the type's grammar applied to text, then a cast from a closed list. No contract text becomes SQL."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.types import GRAMMARS, Cast, LogicalType

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
_WHOLE_CLOCK = "00:00:00.000000000"
"""What a shorter time of day leaves out: spelt whole, times compare as their texts do."""


def value_name(alias: str) -> str:
    """The column that holds a field's typed value, beside its text in `alias`."""
    return f"v{alias}"


def odd_name(alias: str) -> str:
    """The column that holds a number's text where its record is not plain."""
    return f"o{alias}"


def typed_value(field: PlanField, text: str) -> str:
    """The value of the text in that column, in SQL made of generated names and our own patterns; null where it is none.

    The text of a `plain` record was matched already, with those of its neighbours.
    """
    grammar = GRAMMARS[field.type]
    written = _WHOLE[field.type](text) if field.type in _WHOLE else text
    value = f"try_cast({written} AS {SQL_TYPES[grammar.cast]})"
    if grammar.pattern is None:
        return value
    pattern = grammar.pattern.replace("\\", "\\\\")
    return f"CASE WHEN plain OR {text} RLIKE '\\\\A(?:{pattern})\\\\z' THEN {value} END"


def literal(field: PlanField, text: str) -> Column:
    """A constant of a contract as a value of the field's type; ValueError where it is none."""
    if field.type is LogicalType.TIME:
        return F.lit(text + _WHOLE_CLOCK[len(text) :])
    return _LITERALS[GRAMMARS[field.type].cast](text)


def _whole(text: str) -> Column:
    """A bound of whole numbers may be no whole number itself, or lie beyond 64 bits."""
    number = Decimal(text)
    return F.lit(int(number)) if number == int(number) and abs(number) < _LONG_END else F.lit(number)


def _day(text: str) -> Column:
    """By its text: Java's own dates change the calendar in 1582."""
    return F.lit(date.fromisoformat(text).isoformat()).cast("date")


def _moment(text: str) -> Column:
    """By its text, as above."""
    moment = datetime.fromisoformat(text)
    return F.lit((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()).cast(
        "timestamp"
    )


def _whole_time(alias: str) -> str:
    return f"concat({alias}, substr('{_WHOLE_CLOCK}', length({alias}) + 1))"


def _whole_moment(alias: str) -> str:
    """Spark reads an offset only after seconds."""
    zone = f"substr({alias}, 17, 1) IN ('Z', '+', '-')"
    return f"IF({zone}, concat(substr({alias}, 1, 16), ':00', substr({alias}, 17)), {alias})"


_WHOLE = {LogicalType.TIME: _whole_time, LogicalType.TIMESTAMP: _whole_moment}
"""How a value's text is spelt whole before it is compared or cast, in SQL made of its alias."""


_LONG_END = 2**63
_LITERALS: dict[Cast, Callable[[str], Column]] = {
    Cast.TEXT: F.lit,
    Cast.LONG: _whole,
    Cast.DOUBLE: lambda text: F.lit(float(text)),
    Cast.DECIMAL: lambda text: F.lit(Decimal(text)),
    Cast.BOOLEAN: lambda text: F.lit(text.lower() == "true"),
    Cast.DATE: _day,
    Cast.TIMESTAMP: _moment,
}

"""Evaluates a predicate on one literal as the engines do: for examples and listed values that violate their own field."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from lakegate.contracts.model.contract import Field
from lakegate.contracts.model.literals import literal
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.predicate import All, Length, Matches, MultipleOf, Not, OneOf, Predicate, Typed, Within

LONGEST_JUDGED = 200
"""The most characters of a value that a pattern is matched with."""


def holds(predicate: Predicate, field: Field, written: str) -> bool:
    """Whether a literal satisfies a predicate; True if that cannot be decided here."""
    match predicate:
        case Not(inner):
            return not holds(inner, field, written)
        case All(inner):
            return all(holds(each, field, written) for each in inner)
        case Length(_, low, high):
            return (low is None or low <= len(written)) and (high is None or len(written) <= high)
        case Matches(_, pattern):
            return len(written) > LONGEST_JUDGED or re.search(pattern.replace(r"\z", r"\Z"), written) is not None
        case _:
            value = literal(field.type, written)
            return not isinstance(predicate, Typed) if value is None else _compared(predicate, field, value)


def _compared(predicate: Predicate, field: Field, value: str) -> bool:
    match predicate:
        case OneOf(_, values):
            return any(_key(field, each) == _key(field, value) for each in values)
        case MultipleOf(_, factor):
            return Fraction(value) % Fraction(factor) == 0
        case Within():
            return _within(predicate, field, value)
        case _:
            return True


def _within(bounds: Within, field: Field, value: str) -> bool:
    key: Any = _key(field, value)
    low, high = (None if end is None else _key(field, end) for end in (bounds.low, bounds.high))
    if low is not None and (key < low or (bounds.low_open and key == low)):
        return False
    return high is None or key < high or (not bounds.high_open and key == high)


def _key(field: Field, value: str) -> Any:  # noqa: ANN401 -- all values of one field have keys of one type
    """The sort key of a field's values: numbers by value, timestamps in UTC, others as text."""
    if field.type.numeric:
        return Decimal(value)
    if field.type is LogicalType.TIMESTAMP:
        moment = datetime.fromisoformat(value)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return value

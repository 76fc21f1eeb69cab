"""Evaluates a predicate on one literal as the engines do.

Examples and listed values that violate their own field are found so, and minima and maxima of a data summary are judged.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from lakegate.contracts.model.literals import literal
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.predicate import All, Length, Matches, MultipleOf, Not, OneOf, Predicate, Typed, Within

LONGEST_JUDGED = 200
"""The most characters of a value that a pattern is matched with."""


def holds(predicate: Predicate, logical: LogicalType, written: str) -> bool:
    """Whether a literal satisfies a predicate; True if that cannot be decided here."""
    match predicate:
        case Not(inner):
            return not holds(inner, logical, written)
        case All(inner):
            return all(holds(each, logical, written) for each in inner)
        case Length(_, low, high):
            return (low is None or low <= len(written)) and (high is None or len(written) <= high)
        case Matches(_, pattern):
            return len(written) > LONGEST_JUDGED or re.search(pattern.replace(r"\z", r"\Z"), written) is not None
        case _:
            value = literal(logical, written)
            return not isinstance(predicate, Typed) if value is None else _compared(predicate, logical, value)


def _compared(predicate: Predicate, logical: LogicalType, value: str) -> bool:
    match predicate:
        case OneOf(_, values):
            return any(sort_key(logical, each) == sort_key(logical, value) for each in values)
        case MultipleOf(_, factor):
            return Fraction(value) % Fraction(factor) == 0
        case Within():
            return _within(predicate, logical, value)
        case _:
            return True


def _within(bounds: Within, logical: LogicalType, value: str) -> bool:
    key: Any = sort_key(logical, value)
    low, high = (None if end is None else sort_key(logical, end) for end in (bounds.low, bounds.high))
    if low is not None and (key < low or (bounds.low_open and key == low)):
        return False
    return high is None or key < high or (not bounds.high_open and key == high)


def sort_key(logical: LogicalType, value: str) -> Any:  # noqa: ANN401 -- all values of one type have keys of one type
    """The sort key of a value of a type, in the form of plans: numbers by value, timestamps in UTC, others as text."""
    if logical is LogicalType.NUMBER:
        return float(value)
    if logical.numeric:
        return Decimal(value)
    if logical is LogicalType.TIMESTAMP:
        moment = datetime.fromisoformat(value)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return value

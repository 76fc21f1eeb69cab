"""Whether a row meets a predicate, in plain Python: True, False, or None where the row gives the predicate nothing to judge."""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from jsonschema import Draft202012Validator

from lakegate.contract.contract_model import Shape
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.predicates import (
    All,
    Compare,
    JsonForm,
    Length,
    Matches,
    MultipleOf,
    NoRepeats,
    Not,
    OneOf,
    Predicate,
    Present,
    Relation,
    Size,
    Typed,
    Within,
)
from tests.reference.lexical import parse

Record = dict[str, str | None]


def holds(plan: Plan, predicate: Predicate, record: Record) -> bool:
    """Whether a row meets a predicate; an unknown result does not break it."""
    return truth(plan, predicate, record) is not False


def truth(plan: Plan, predicate: Predicate, record: Record) -> bool | None:
    match predicate:
        case Not(inner):
            found = truth(plan, inner, record)
            return None if found is None else not found
        case All(inner):
            truths = [truth(plan, each, record) for each in inner]
            return False if False in truths else None if None in truths else True
        case Present(name):
            return record[name] is not None
        case Compare(name, relation, other):
            first, second = (_parsed(plan.field(each), record[each]) for each in (name, other))
            return None if first is None or second is None else _RELATIONS[relation](*_alike(first, second))
        case Size() | NoRepeats():
            return _of_parts(
                predicate, plan.field(predicate.field).shape, json.loads(record[predicate.field] or "null")
            )
    text = record[predicate.field]
    return None if text is None else _leaf(predicate, plan.field(predicate.field), text)


def _parsed(field: PlanField, text: str | None) -> Any:
    return parse(field.type, text, field.scale)


def _of_parts(predicate: Size | NoRepeats, shape: Shape, value: Any) -> bool | None:
    if isinstance(predicate, NoRepeats):
        return unrepeated(value)
    count = size(shape, value)
    return (
        None
        if count is None
        else (predicate.low or 0) <= count <= (count if predicate.high is None else predicate.high)
    )


def size(shape: Shape, value: Any) -> int | None:
    """Elements of a list, keys of a map, or members of an object that have a value; None where the value is of another shape."""
    if isinstance(value, dict) and shape is not Shape.LIST:
        return len([each for each in value.values() if each is not None or shape is Shape.MAP])
    return len(value) if isinstance(value, list) and shape is Shape.LIST else None


def unrepeated(value: Any) -> bool | None:
    """Whether no two elements of a list are equal, by comparing each with each."""
    if not isinstance(value, list):
        return None
    return not any(_equal(first, second) for at, first in enumerate(value) for second in value[:at])


def _equal(first: Any, second: Any) -> bool:
    match first, second:
        case bool(), _:
            return first is second
        case _, bool():
            return False
        case list(), list():
            return len(first) == len(second) and all(map(_equal, first, second))
        case dict(), dict():
            one, other = ({key: it for key, it in each.items() if it is not None} for each in (first, second))
            return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
        case _:
            return bool(first == second)


def _alike(first: Any, second: Any) -> tuple[Any, Any]:
    """Two values to compare: as floats where one of them is a float."""
    return (float(first), float(second)) if float in {type(first), type(second)} else (first, second)


_RELATIONS: dict[Relation, Callable[[Any, Any], bool]] = {
    Relation.EQUAL: operator.eq,
    Relation.GREATER: operator.gt,
    Relation.AT_LEAST: operator.ge,
}


def _is_of(text: str, schema: Any) -> bool:
    """Whether a text is JSON of a schema, by the library."""
    try:
        return Draft202012Validator(schema).is_valid(json.loads(text, parse_constant=lambda _: 1 / 0))
    except (ValueError, ZeroDivisionError):
        return False


def _leaf(predicate: Predicate, field: PlanField, text: str) -> bool | None:
    value = _parsed(field, text)
    match predicate:
        case Length(_, low, high):
            return (low is None or len(text) >= low) and (high is None or len(text) <= high)
        case Matches(_, pattern):
            return re.search(pattern.replace(r"\z", r"\Z"), text, re.ASCII) is not None
        case JsonForm(_, schema):
            return _is_of(text, json.loads(schema))
        case Typed():
            return value is not None
    return None if value is None else _value(predicate, field, value)


def _value(predicate: Predicate, field: PlanField, value: Any) -> bool | None:
    match predicate:
        case OneOf(_, values):
            return value in [_constant(field, each) for each in values]
        case Within(_, low, high, low_open, high_open):
            return _above(field, value, low, is_open=low_open) and _below(field, value, high, is_open=high_open)
        case MultipleOf(_, factor):
            return _is_multiple(value, Fraction(factor))
    raise AssertionError(predicate)


def _is_multiple(value: float | Decimal, factor: Fraction) -> bool | None:
    """Floats are read as written, to 18 digits after the point; past 20 digits before it there is nothing to judge."""
    if isinstance(value, float) and abs(value) >= 10**20:
        return None
    if not isinstance(value, float):
        return Fraction(value) % factor == 0
    number = Fraction(repr(value))
    return (number if number % Fraction(1, 10**18) == 0 else _rounded(number)) % factor == 0


def _rounded(number: Fraction) -> Fraction:
    """To 18 digits after the point, halves away from zero."""
    scaled = abs(number) * 10**18
    return Fraction(math.floor(scaled + Fraction(1, 2)), 10**18) * (1 if number > 0 else -1)


def _above(field: PlanField, value: Any, bound: str | None, *, is_open: bool) -> bool:
    low = None if bound is None else _constant(field, bound)
    return low is None or value > low or (value == low and not is_open)


def _below(field: PlanField, value: Any, bound: str | None, *, is_open: bool) -> bool:
    high = None if bound is None else _constant(field, bound)
    return high is None or value < high or (value == high and not is_open)


def _constant(field: PlanField, text: str) -> Any:
    """A value of the contract: whole numbers may be bounded by fractions, all else is of the field's type."""
    return Decimal(text) if field.type is LogicalType.INTEGER else _parsed(field, text)

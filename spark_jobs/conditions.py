"""Predicates as columns of Spark: one small function for each kind, built with the Column API from values, never from text.

Each column is true or false, never null, and keeps the null policy of `contracts.predicate`.
"""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.predicate import All, Length, Matches, MultipleOf, Not, OneOf, Present, Typed, Within
from contracts.types import GRAMMARS, Cast
from spark_jobs.typed import literal, value_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

    from contracts.plan import Plan
    from contracts.predicate import Predicate


def condition(predicate: Predicate, plan: Plan) -> Column:
    """The predicate as a column over the aliases of a plan."""
    return F.coalesce(_CONDITIONS[type(predicate)](predicate, plan), F.lit(True))


def _text(name: str, plan: Plan) -> Column:
    return F.col(plan.field(name).alias)


def _value(name: str, plan: Plan) -> Column:
    return F.col(value_name(plan.field(name).alias))


def _present(it: Present, plan: Plan) -> Column:
    return _text(it.field, plan).isNotNull()


def _typed(it: Typed, plan: Plan) -> Column:
    return _text(it.field, plan).isNull() | _value(it.field, plan).isNotNull()


def _one_of(it: OneOf, plan: Plan) -> Column:
    field = plan.field(it.field)
    return _value(it.field, plan).isin([literal(field, each) for each in it.values])


def _within(it: Within, plan: Plan) -> Column:
    field, value = plan.field(it.field), _value(it.field, plan)
    bounds = []
    if it.low is not None:
        low = literal(field, it.low)
        bounds.append(value > low if it.low_open else value >= low)
    if it.high is not None:
        high = literal(field, it.high)
        bounds.append(value < high if it.high_open else value <= high)
    return reduce(and_, bounds, F.lit(True))


def _length(it: Length, plan: Plan) -> Column:
    length = F.length(_text(it.field, plan))
    low = length >= it.low if it.low is not None else F.lit(True)
    return low & (length <= it.high) if it.high is not None else low


def _matches(it: Matches, plan: Plan) -> Column:
    return _text(it.field, plan).rlike(it.pattern)


def _multiple_of(it: MultipleOf, plan: Plan) -> Column:
    field = plan.field(it.field)
    value = _value(it.field, plan)
    if GRAMMARS[field.type].cast is Cast.DOUBLE:
        value = value.cast("decimal(38,18)")
    return value % F.lit(it.factor).cast("decimal(38,18)") == 0


def _not(it: Not, plan: Plan) -> Column:
    return ~_CONDITIONS[type(it.inner)](it.inner, plan)


def _all(it: All, plan: Plan) -> Column:
    return reduce(and_, (condition(each, plan) for each in it.inner), F.lit(True))


_CONDITIONS: dict[type, Callable[[Any, Plan], Column]] = {
    Present: _present,
    Typed: _typed,
    OneOf: _one_of,
    Within: _within,
    Length: _length,
    Matches: _matches,
    MultipleOf: _multiple_of,
    Not: _not,
    All: _all,
}

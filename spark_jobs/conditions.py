"""Predicates as columns of Spark: one small function for each kind, built with the Column API from values, never from text.

A column is false where the predicate does not hold; true and null both mean that it does, which is the null policy of
`contracts.predicate`: whoever uses one says `coalesce(…, true)`.
"""

from __future__ import annotations

from decimal import Decimal
from functools import reduce
from operator import and_, eq, ge, gt
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.matching.engine import Engine, parts_of
from contracts.model import Format
from contracts.predicate import (
    All,
    Compare,
    Length,
    Matches,
    MultipleOf,
    Not,
    OneOf,
    Present,
    Relation,
    Typed,
    Within,
)
from contracts.types import GRAMMARS, Cast
from spark_jobs.automaton import found_by_re2
from spark_jobs.plain import is_parsed
from spark_jobs.typed import literal, odd_name, value_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

    from contracts.plan import Plan, PlanField
    from contracts.predicate import Predicate


def condition(predicate: Predicate, plan: Plan) -> Column:
    """The predicate as a column over the aliases of a plan."""
    return _CONDITIONS[type(predicate)](predicate, plan)


def _text(name: str, plan: Plan) -> Column:
    return F.col(plan.field(name).alias)


def _value(name: str, plan: Plan) -> Column:
    return F.col(value_name(plan.field(name).alias))


def _is_parsed(field: PlanField, plan: Plan) -> bool:
    return plan.storage.format is Format.CSV and is_parsed(field, plan.csv)


def _present(it: Present, plan: Plan) -> Column:
    field = plan.field(it.field)
    if _is_parsed(field, plan):
        return F.expr(f"IF(plain, {value_name(field.alias)} IS NOT NULL, {odd_name(field.alias)} IS NOT NULL)")
    return F.expr(f"{field.alias} IS NOT NULL")


def _typed(it: Typed, plan: Plan) -> Column:
    field = plan.field(it.field)
    if _is_parsed(field, plan):
        return F.expr(f"plain OR {odd_name(field.alias)} IS NULL OR {value_name(field.alias)} IS NOT NULL")
    return F.expr(f"{field.alias} IS NULL OR {value_name(field.alias)} IS NOT NULL")


def _one_of(it: OneOf, plan: Plan) -> Column:
    field = plan.field(it.field)
    return _value(it.field, plan).isin([literal(field, each) for each in it.values])


def _within(it: Within, plan: Plan) -> Column:
    field, value = plan.field(it.field), _value(it.field, plan)
    low = literal(field, it.low) if it.low is not None else None
    high = literal(field, it.high) if it.high is not None else None
    return _every(
        [
            *([value > low if it.low_open else value >= low] if low is not None else []),
            *([value < high if it.high_open else value <= high] if high is not None else []),
        ]
    )


def _length(it: Length, plan: Plan) -> Column:
    length = F.length(_text(it.field, plan))
    low = [length >= it.low] if it.low is not None else []
    high = [length <= it.high] if it.high is not None else []
    return _every(low + high)


def _every(conditions: list[Column]) -> Column:
    return reduce(and_, conditions) if conditions else F.lit(True)


def _matches(it: Matches, plan: Plan) -> Column:
    text = _text(it.field, plan)
    found = [(_SEARCHES[part.engine](text, part.pattern), part.wanted) for part in parts_of(it.pattern)]
    return _every([column if wanted else ~column for column, wanted in found])


def _multiple_of(it: MultipleOf, plan: Plan) -> Column:
    field = plan.field(it.field)
    value = _value(it.field, plan)
    if GRAMMARS[field.type].cast is Cast.DOUBLE:
        value = value.cast("decimal(38,18)")
    return value % F.lit(format(Decimal(it.factor), "f")).cast("decimal(38,18)") == 0


def _not(it: Not, plan: Plan) -> Column:
    return ~_CONDITIONS[type(it.inner)](it.inner, plan)


def _all(it: All, plan: Plan) -> Column:
    return _every([condition(each, plan) for each in it.inner])


def _compare(it: Compare, plan: Plan) -> Column:
    casts = {GRAMMARS[plan.field(name).type].cast for name in (it.field, it.other)}
    common = "double" if Cast.DOUBLE in casts else "decimal(38,18)" if len(casts) > 1 else None
    first, second = (_value(name, plan).cast(common) if common else _value(name, plan) for name in (it.field, it.other))
    return _RELATIONS[it.relation](first, second)


_RELATIONS: dict[Relation, Callable[[Column, Column], Column]] = {
    Relation.EQUAL: eq,
    Relation.GREATER: gt,
    Relation.AT_LEAST: ge,
}
_SEARCHES: dict[Engine, Callable[[Column, str], Column]] = {
    Engine.JAVA: lambda text, pattern: text.rlike(pattern),
    Engine.RE2: found_by_re2,
}
_CONDITIONS: dict[type, Callable[[Any, Plan], Column]] = {
    Present: _present,
    Typed: _typed,
    OneOf: _one_of,
    Within: _within,
    Length: _length,
    Matches: _matches,
    MultipleOf: _multiple_of,
    Compare: _compare,
    Not: _not,
    All: _all,
}

"""Predicates as SQL of DuckDB: one small function for each kind.

Its columns are texts (`c0`), values (`vc0`), numbers of elements (`zc0`), whether elements are equal (`dc0`), and whether a
pattern is found (`found_name`), so that each pattern of a field is searched for once, however many predicates have it.

An expression is false where the predicate does not hold; true and NULL both mean that it does, which is the null policy of
`lakegate.contracts.plan.predicate`: `fails` applies it.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from lakegate.contracts.model.types import GRAMMARS, Cast
from lakegate.contracts.plan.predicate import (
    All,
    Compare,
    Length,
    Matches,
    MultipleOf,
    NoRepeats,
    Not,
    OneOf,
    Present,
    Relation,
    Size,
    Typed,
    Within,
)
from lakegate.engine.evaluate import patterns
from lakegate.engine.type.values import (
    SQL_TYPES,
    exact_literal,
    literal,
    present_name,
    repeats_name,
    size_name,
    value_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.predicate import Predicate

EXACT = SQL_TYPES[Cast.DECIMAL]


def fails(predicate: Predicate, plan: Plan) -> str:
    """Whether a row breaks the predicate, in SQL: never NULL.

    ValueError or ArithmeticError where its constants cannot be used.
    """
    return f"({condition(predicate, plan)}) IS FALSE"


def condition(predicate: Predicate, plan: Plan) -> str:
    """The predicate in SQL of three-valued logic."""
    return _CONDITIONS[type(predicate)](predicate, plan)


def found_name(it: Matches, plan: Plan) -> str:
    """The column of whether a pattern is found in a field's text; NULL for NULL."""
    return f"m{_text(it.field, plan)}_{sha256(it.pattern.encode()).hexdigest()}"


def search(it: Matches, plan: Plan) -> str:
    """The SQL of that column over the field's text; ValueError if no engine can search the pattern."""
    return patterns.sql(it.pattern, _text(it.field, plan))


def _text(name: str, plan: Plan) -> str:
    return plan.field(name).alias


def _value(name: str, plan: Plan) -> str:
    return value_name(plan.field(name).alias)


def _present(it: Present, plan: Plan) -> str:
    return present_name(plan.field(it.field).alias)


def _typed(it: Typed, plan: Plan) -> str:
    return f"NOT {present_name(plan.field(it.field).alias)} OR {_value(it.field, plan)} IS NOT NULL"


def _one_of(it: OneOf, plan: Plan) -> str:
    field = plan.field(it.field)
    values = ", ".join(literal(field, each) for each in it.values)
    return f"{_value(it.field, plan)} IN ({values})" if values else f"{_value(it.field, plan)} IS NULL AND NULL"


def _within(it: Within, plan: Plan) -> str:
    field, value = plan.field(it.field), _value(it.field, plan)
    low = [f"{value} {'>' if it.low_open else '>='} {literal(field, it.low)}"] if it.low is not None else []
    high = [f"{value} {'<' if it.high_open else '<='} {literal(field, it.high)}"] if it.high is not None else []
    return _every(low + high)


def _length(it: Length, plan: Plan) -> str:
    return _counted(f"length({_text(it.field, plan)})", it)


def _size(it: Size, plan: Plan) -> str:
    return _counted(size_name(_text(it.field, plan)), it)


def _counted(count: str, it: Length | Size) -> str:
    low = [f"{count} >= {int(it.low)}"] if it.low is not None else []
    high = [f"{count} <= {int(it.high)}"] if it.high is not None else []
    return _every(low + high)


def _no_repeats(it: NoRepeats, plan: Plan) -> str:
    return f"NOT {repeats_name(_text(it.field, plan))}"


def _every(conditions: list[str]) -> str:
    return " AND ".join(f"({each})" for each in conditions) if conditions else "true"


def _matches(it: Matches, plan: Plan) -> str:
    return found_name(it, plan)


def _multiple_of(it: MultipleOf, plan: Plan) -> str:
    """A float is read as it is written, to 18 digits after the point; past 20 digits before it there is nothing to judge."""
    field, value = plan.field(it.field), _value(it.field, plan)
    if GRAMMARS[field.type].cast is Cast.DOUBLE:
        value = f"CAST({value} AS VARCHAR)"
    return f"try_cast({value} AS {EXACT}) % {exact_literal(it.factor)} = 0"


def _not(it: Not, plan: Plan) -> str:
    return f"NOT ({condition(it.inner, plan)})"


def _all(it: All, plan: Plan) -> str:
    return _every([condition(each, plan) for each in it.inner])


def _compare(it: Compare, plan: Plan) -> str:
    casts = {GRAMMARS[plan.field(name).type].cast for name in (it.field, it.other)}
    common = "DOUBLE" if Cast.DOUBLE in casts else EXACT if len(casts) > 1 else None
    first, second = (_value(name, plan) for name in (it.field, it.other))
    if common:
        first, second = f"CAST({first} AS {common})", f"CAST({second} AS {common})"
    return f"{first} {_RELATIONS[it.relation]} {second}"


_RELATIONS = {Relation.EQUAL: "=", Relation.GREATER: ">", Relation.AT_LEAST: ">="}
_CONDITIONS: dict[type, Callable[[Any, Plan], str]] = {
    Present: _present,
    Typed: _typed,
    OneOf: _one_of,
    Within: _within,
    Length: _length,
    Matches: _matches,
    MultipleOf: _multiple_of,
    Size: _size,
    NoRepeats: _no_repeats,
    Compare: _compare,
    Not: _not,
    All: _all,
}

"""Expectations of Great Expectations about single values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.build import (
    argument_of,
    brief,
    in_range,
    items,
    listed,
    one_of,
    refuse,
    rows,
    skipped,
    whole,
    within,
)
from lakegate.contracts.compile.rules.patterns import like, translate
from lakegate.contracts.compile.rules.strftime import compile_format
from lakegate.contracts.compile.rules.typenames import TYPE_NAMES
from lakegate.contracts.plan.predicate import All, Length, Matches, Not, Present, Typed
from lakegate.contracts.words import limited

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.compile.rules.build import Arguments, Fields
    from lakegate.contracts.model.contract import Field, Rule
    from lakegate.contracts.plan.check import Check

    PatternReader = Callable[[Rule, str], str]
    """Translates a pattern to the dialect of plans."""


def present(rule: Rule, fields: Fields, _: Arguments) -> Check:
    """Every row has a value."""
    return rows(rule, fields[0], Present(fields[0].name), "present")


def absent(rule: Rule, fields: Fields, _: Arguments) -> Check:
    """No row has a value."""
    return rows(rule, fields[0], Not(Present(fields[0].name)), "null")


def in_set(rule: Rule, fields: Fields, arguments: Arguments) -> Check:
    """Every value is one of a list."""
    predicate = one_of(rule, fields[0], items(rule, argument_of(rule, arguments, "value_set")))
    return rows(rule, fields[0], predicate, listed(predicate.values))


def not_in_set(rule: Rule, fields: Fields, arguments: Arguments) -> Check:
    """No value is one of a list."""
    predicate = one_of(rule, fields[0], items(rule, argument_of(rule, arguments, "value_set")))
    return rows(rule, fields[0], Not(predicate), f"not {listed(predicate.values)}")


def between(rule: Rule, fields: Fields, arguments: Arguments) -> Check:
    """Every value is within bounds."""
    opened = {"low_open": arguments.get("strict_min") is True, "high_open": arguments.get("strict_max") is True}
    bounds = (arguments.get("min_value"), arguments.get("max_value"))
    return in_range(rule, fields[0], within(rule, fields[0], *bounds, **opened))


def lengths(rule: Rule, fields: Fields, arguments: Arguments) -> Check:
    """Every text has a length within bounds, in code points."""
    low, high = (arguments.get(name) for name in ("min_value", "max_value"))
    if low is None and high is None:
        refuse(rule, "no-argument", "min_value or max_value must be given")
    shortest, longest = (None if each is None else whole(rule, each) for each in (low, high))
    # an exclusive bound of an integer is the next integer, inclusive
    shortest = shortest + 1 if shortest is not None and arguments.get("strict_min") is True else shortest
    longest = longest - 1 if longest is not None and arguments.get("strict_max") is True else longest
    if longest is not None and longest < 0:
        refuse(rule, "not-a-count", "no text is shorter than none: correct max_value")
    words = [
        f"at least {shortest}" if shortest is not None else "",
        f"at most {longest}" if longest is not None else "",
    ]
    predicate = Length(fields[0].name, shortest, longest)
    return rows(rule, fields[0], predicate, limited(" and ".join(filter(None, words)), "character"))


def length(rule: Rule, fields: Fields, arguments: Arguments) -> Check:
    """Every text has exactly one length."""
    wanted = whole(rule, argument_of(rule, arguments, "value"))
    return rows(rule, fields[0], Length(fields[0].name, wanted, wanted), limited(f"exactly {wanted}", "character"))


def matching(name: str, read: PatternReader, *, wanted: bool = True) -> Callable[[Rule, Fields, Arguments], Check]:
    """A pattern is found in every text, or (not `wanted`) in no text."""

    def compile_one(rule: Rule, fields: Fields, arguments: Arguments) -> Check:
        written = str(argument_of(rule, arguments, name))
        found = Matches(fields[0].name, read(rule, written))
        words = f"{'' if wanted else 'not '}matching {brief(written)}"
        return rows(rule, fields[0], found if wanted else Not(found), words)

    return compile_one


def matching_list(name: str, read: PatternReader, *, wanted: bool = True) -> Callable[[Rule, Fields, Arguments], Check]:
    """Every text matches any of several patterns, or all of them (`match_on`); or (not `wanted`) none of them."""

    def compile_one(rule: Rule, fields: Fields, arguments: Arguments) -> Check:
        patterns = [str(each) for each in items(rule, argument_of(rule, arguments, name))]
        matches = tuple(Matches(fields[0].name, read(rule, each)) for each in patterns)
        others, words = All(tuple(map(Not, matches))), brief(", ".join(patterns))
        match_on = str(arguments.get("match_on") or "any")
        if match_on not in {"any", "all"}:
            refuse(rule, "not-allowed-argument", "match_on is any or all")
        if not wanted:
            return rows(rule, fields[0], others, f"matching none of {words}")
        if match_on == "all":
            return rows(rule, fields[0], All(matches), f"matching all of {words}")
        return rows(rule, fields[0], Not(others), f"matching one of {words}")

    return compile_one


def strftime(rule: Rule, fields: Fields, arguments: Arguments) -> Check:
    """Every text is a date in a `strftime` format."""
    written = str(argument_of(rule, arguments, "strftime_format"))
    try:
        pattern = compile_format(written)
    except ValueError as error:
        return skipped(rule, fields, str(error))
    return rows(rule, fields[0], Matches(fields[0].name, pattern), f"written as {brief(written)}")


def of_type(rule: Rule, fields: Fields, arguments: Arguments) -> Check:
    """Every value is of a type, which must be that of the field."""
    return _typed(rule, fields[0], [argument_of(rule, arguments, "type_")])


def in_type_list(rule: Rule, fields: Fields, arguments: Arguments) -> Check:
    """Every value is of one of several types, one of which must be that of the field."""
    return _typed(rule, fields[0], items(rule, argument_of(rule, arguments, "type_list")))


def _typed(rule: Rule, field: Field, named: object) -> Check:
    assert isinstance(named, list | tuple)
    names = [str(each) for each in named]
    known = [TYPE_NAMES.get(name.lower()) for name in names]
    if field.type in known:
        return rows(rule, field, Typed(field.name), f"of type {brief(', '.join(names))}")
    unknown = next((name for name, each in zip(names, known, strict=True) if each is None), None)
    if unknown is not None:
        return skipped(rule, (field,), f"the type {brief(unknown)} is one of an engine that is not asked here")
    return skipped(rule, (field,), f"the contract declares {field.name} as {field.type.value}")


regex, like_pattern = translate, like
"""The dialects of patterns: ECMA-262 and SQL's LIKE."""

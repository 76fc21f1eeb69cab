"""Constraints that a field declares, in every format."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.build import (
    argument,
    brief,
    in_range,
    items,
    listed,
    number,
    one_of,
    refuse,
    rows,
    skipped,
    unique_rows,
    value_of,
    whole,
    within,
)
from lakegate.contracts.compile.rules.javadates import compile_java_format
from lakegate.contracts.compile.rules.nested_fields import shape_of
from lakegate.contracts.compile.rules.patterns import translate
from lakegate.contracts.compile.rules.textforms import TEXT_FORMS
from lakegate.contracts.model.types import GRAMMARS, LogicalType
from lakegate.contracts.plan.plan import Shape
from lakegate.contracts.plan.predicate import All, Length, Matches, MultipleOf, NoRepeats, Not, Present, Size, Typed
from lakegate.contracts.words import limited

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.model.contract import Contract, Dataset, Field, Rule
    from lakegate.contracts.plan.check import Check
    from lakegate.contracts.plan.predicate import Predicate


TEXTS = (LogicalType.STRING, LogicalType.BINARY)
OFFSET = r":[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)\z"
"""The end of a moment or a time of day with an offset."""


def typed(rule: Rule, field: Field) -> Check:
    """Every value matches the grammar of the declared type."""
    return rows(rule, field, Typed(field.name), GRAMMARS[field.type].words)


def with_parts(rule: Rule, field: Field) -> Check:
    """Every value has the declared nested fields; constraints of their number are skipped."""
    option = rule.arguments.get("option")
    if option is not None:
        return skipped(rule, (field,), f"the option {brief(str(option))} of values with parts is not measured")
    return rows(rule, field, Typed(field.name), f"values of the type {brief(field.declared or 'declared')}")


def min_size(*shapes: Shape) -> Callable[[Rule, Field], Check]:
    """Every list, map or object has at least `value` parts."""

    def compile_one(rule: Rule, field: Field) -> Check:
        low = whole(rule, argument(rule, "value"))
        return _of_whole(rule, field, shapes, Size(field.name, low=low), f"at least {_parts(low, field)}")

    return compile_one


def max_size(*shapes: Shape) -> Callable[[Rule, Field], Check]:
    """No list, map or object has more than `value` parts."""

    def compile_one(rule: Rule, field: Field) -> Check:
        high = whole(rule, argument(rule, "value"))
        return _of_whole(rule, field, shapes, Size(field.name, high=high), f"at most {_parts(high, field)}")

    return compile_one


def no_repeats(rule: Rule, field: Field) -> Check:
    """No two elements of a list are equal."""
    return _of_whole(rule, field, (Shape.LIST,), NoRepeats(field.name), "no element twice")


def required_member(rule: Rule, field: Field) -> Check:
    """Every object has a value in one of its members."""
    written = str(argument(rule, "member"))
    member = next((each for each in field.parts if each.name == f"{field.name}.{written}"), None)
    if member is None:
        return skipped(rule, (field,), f"{field.name} declares no {brief(written)}")
    predicate = Not(All((Present(field.name), Not(Present(member.name)))))
    return _of_whole(rule, field, (Shape.RECORD,), predicate, f"with a value of {brief(written)}")


def _of_whole(rule: Rule, field: Field, shapes: tuple[Shape, ...], predicate: Predicate, words: str) -> Check:
    """A check of a whole list, map or object."""
    if shape_of(field) not in shapes:
        return skipped(
            rule,
            (field,),
            f"{rule.kind} does not apply to values of the type {brief(field.declared or field.type.value)}",
        )
    return rows(rule, field, predicate, words)


def _parts(count: int, field: Field) -> str:
    noun = {Shape.LIST: "element", Shape.MAP: "key"}.get(shape_of(field), "member")
    return limited(count, noun)


def required(rule: Rule, field: Field) -> Check:
    """Every row has a value."""
    return rows(rule, field, Present(field.name), "present")


def unique(rule: Rule, field: Field) -> Check:
    """No value occurs in two rows."""
    return unique_rows(rule, (field,))


def primary_key(rule: Rule, fields: tuple[Field, ...]) -> tuple[Check, ...]:
    """Every part of the key is present, and no two rows share the whole key."""
    if not fields:
        refuse(rule, "no-column", "the rule primaryKey must name a column")
    return (*(_present_part(rule, field) for field in fields), unique_rows(rule, fields))


def _present_part(rule: Rule, field: Field) -> Check:
    return replace(required(rule, field), id=f"{rule.id}:required/{field.name}")


def enum(rule: Rule, field: Field) -> Check:
    """Every value is one of a closed list."""
    values = items(rule, argument(rule, "values"))
    predicate = one_of(rule, field, values)
    return rows(rule, field, predicate, listed(predicate.values))


def pattern(rule: Rule, field: Field) -> Check:
    """A regular expression of ECMA-262 is found in every text."""
    written = str(argument(rule, "pattern"))
    return rows(rule, field, Matches(field.name, translate(rule, written)), f"matching {brief(written)}")


def min_length(rule: Rule, field: Field) -> Check:
    """Every text has at least `value` characters (code points)."""
    low = whole(rule, argument(rule, "value"))
    return rows(rule, field, Length(field.name, low=low), limited(f"at least {low}", "character"))


def max_length(rule: Rule, field: Field) -> Check:
    """No text has more than `value` characters (code points)."""
    high = whole(rule, argument(rule, "value"))
    return rows(rule, field, Length(field.name, high=high), limited(f"at most {high}", "character"))


def minimum(rule: Rule, field: Field) -> Check:
    """No value is below a bound."""
    is_open = rule.arguments.get("exclusive") is True
    return in_range(rule, field, within(rule, field, low=argument(rule, "value"), low_open=is_open))


def maximum(rule: Rule, field: Field) -> Check:
    """No value is above a bound."""
    is_open = rule.arguments.get("exclusive") is True
    return in_range(rule, field, within(rule, field, high=argument(rule, "value"), high_open=is_open))


def multiple_of(rule: Rule, field: Field) -> Check:
    """Every number is a whole multiple of another."""
    factor = number(rule, argument(rule, "value"))
    if factor <= 0 or not field.type.numeric:
        refuse(rule, "no-multiple", f"{field.name} must be a number, and its multipleOf above 0")
    written = value_of(rule, field, factor)
    return rows(rule, field, MultipleOf(field.name, written), f"a multiple of {written}")


def date_format(rule: Rule, field: Field) -> Check:
    """Every text is a date in the declared format; other constraints of such dates are skipped."""
    if rule.arguments.get("option") != "format":
        option = brief(str(rule.arguments.get("option")))
        return skipped(rule, (field,), f"{option} of dates in a format of their own is not measured by this version")
    if field.type is not LogicalType.STRING:
        return skipped(rule, (field,), f"a {field.type.value} is read as ISO 8601, in no other format")
    written = str(argument(rule, "value"))
    try:
        pattern = compile_java_format(written)
    except ValueError as error:
        return skipped(rule, (field,), str(error))
    return rows(rule, field, Matches(field.name, pattern), f"written as {brief(written)}")


def with_offset(contract: Contract, dataset: Dataset, rule: Rule, fields: tuple[Field, ...]) -> tuple[Check, ...]:
    """Every moment or time of day is written with its offset from UTC."""
    del contract
    if not dataset.storage.format.is_text:
        return tuple(
            skipped(rule, (field,), "files with a schema of their own store moments in UTC") for field in fields
        )
    return tuple(rows(rule, field, Matches(field.name, OFFSET), "with an offset from UTC") for field in fields)


def text_form(rule: Rule, field: Field) -> Check:
    """Every text matches a named format; a format that does not constrain the text is skipped."""
    name = str(argument(rule, "value"))
    if field.type not in TEXTS:
        return skipped(
            rule, (field,), f"the format {brief(name)} is one of texts, and {field.name} is a {field.type.value}"
        )
    form = TEXT_FORMS.get(name.strip().lower())
    if form is None:
        return skipped(rule, (field,), f"the format {brief(name)} cannot be measured on text")
    return rows(rule, field, Matches(field.name, form.pattern), form.words)

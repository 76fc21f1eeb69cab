"""Arguments of rules as descriptions, and as listed values that need not be of their field's type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.build import brief, refuse
from lakegate.contracts.compile.rules.patterns import LONGEST, plain
from lakegate.contracts.model.literals import literal, text_of
from lakegate.contracts.plan.predicate import All, Matches, Not, OneOf

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lakegate.contracts.model.contract import Field, Rule
    from lakegate.contracts.plan.predicate import Predicate


def one_as_written(rule: Rule, field: Field, values: Iterable[object]) -> Predicate:
    """The predicate of listed values: compared as values if they are of the field's type, else as texts."""
    pairs = [(text_of(value), literal(field.type, value)) for value in values]
    typed = tuple(each for _, each in pairs if each is not None)
    foreign = [text for text, each in pairs if each is None]
    if any(len(text) > LONGEST for text in foreign):
        refuse(
            rule,
            "value-not-of-type",
            f"a listed value that is not of the type {field.type.value} has at most {LONGEST:,} characters",
        )
    parts: list[Predicate] = [OneOf(field.name, typed)] if typed else []
    parts += [Matches(field.name, rf"^{''.join(plain(ord(char)) for char in text)}\z") for text in foreign]
    return parts[0] if len(parts) == 1 else Not(All(tuple(map(Not, parts))))


def valid_in_words(conditions: Mapping[str, tuple[str, object]], given: Mapping[str, object]) -> str:
    """` (valid: one of SP, RJ and at least 2 characters)`: the given conditions, each truncated."""
    words = (
        text.format(_in_words(given[name])).replace(" 1 characters", " 1 character")
        for name, (text, _) in conditions.items()
        if name in given
    )
    return f" (valid: {' and '.join(words)})"


def _in_words(value: object) -> str:
    values = value if isinstance(value, list | tuple) else (value,)
    return brief(", ".join(text_of(each) for each in values if each is not None))

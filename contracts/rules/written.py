"""What a rule's arguments give, as it is written: in words, and as values that need not be of their field's type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contracts.predicate import All, Matches, Not, OneOf
from contracts.rules.build import brief, refuse
from contracts.rules.patterns import LONGEST, plain
from contracts.rules.values import literal, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from contracts.model import Field, Rule
    from contracts.predicate import Predicate


def one_as_written(rule: Rule, field: Field, values: Iterable[object]) -> Predicate:
    """Holds for each of the values: by what it means where it is of the field's type, and else by its text."""
    said = [(text_of(value), literal(field.type, value)) for value in values]
    typed = tuple(each for _, each in said if each is not None)
    foreign = [text for text, each in said if each is None]
    if any(len(text) > LONGEST for text in foreign):
        refuse(
            rule,
            "value-not-of-type",
            f"a listed value that is no {field.type.value} has at most {LONGEST:,} characters",
        )
    parts: list[Predicate] = [OneOf(field.name, typed)] if typed else []
    parts += [Matches(field.name, rf"^{''.join(plain(ord(char)) for char in text)}\z") for text in foreign]
    return parts[0] if len(parts) == 1 else Not(All(tuple(map(Not, parts))))


def valid_in_words(conditions: Mapping[str, tuple[str, object]], given: Mapping[str, object]) -> str:
    """` (valid: one of SP, RJ and at least 2 characters)`: the conditions that are given, each cut to a bearable length."""
    words = (text.format(_in_words(given[name])) for name, (text, _) in conditions.items() if name in given)
    return f" (valid: {' and '.join(words)})"


def _in_words(value: object) -> str:
    values = value if isinstance(value, list | tuple) else (value,)
    return brief(", ".join(text_of(each) for each in values if each is not None))

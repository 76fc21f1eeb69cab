"""What Soda's checks say of single values: which count as missing, and which are valid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contracts.predicate import All, Length, Matches, Not, Predicate, Present, together
from contracts.rules.build import brief, items, one_of, refuse, whole, within
from contracts.rules.patterns import translate
from contracts.rules.textforms import TEXT_FORMS
from contracts.rules.written import one_as_written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from contracts.model import Field, Rule

    Settings = Mapping[str, object]

FORMATS = {
    "email": TEXT_FORMS["email"].pattern,
    "uuid": TEXT_FORMS["uuid"].pattern,
    "ip address": TEXT_FORMS["ipv4"].pattern,
    "ipv4 address": TEXT_FORMS["ipv4"].pattern,
    "ipv6 address": TEXT_FORMS["ipv6"].pattern,
    "integer": r"\A[-+]?[0-9]+\z",
    "positive integer": r"\A\+?[0-9]+\z",
    "negative integer": r"\A-[0-9]+\z",
    "decimal": r"\A[-+]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)\z",
    "date iso 8601": r"\A[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])\z",
    "date us": r"\A(?:0?[1-9]|1[0-2])[-./](?:0?[1-9]|[12][0-9]|3[01])[-./](?:[0-9]{4}|[0-9]{2})\z",
    "date eu": r"\A(?:0?[1-9]|[12][0-9]|3[01])[-./](?:0?[1-9]|1[0-2])[-./](?:[0-9]{4}|[0-9]{2})\z",
    "time 24h": r"\A(?:[01]?[0-9]|2[0-3]):[0-5][0-9]\z",
}
"""Named formats of texts, by our own patterns."""


def there(rule: Rule, field: Field, settings: Settings) -> Predicate:
    """Holds for a value that does not count as missing."""
    said = [Not(MISSING[name](rule, field, settings[name])) for name in MISSING if name in settings]
    return All((Present(field.name), *said)) if said else Present(field.name)


def valid(rule: Rule, field: Field, settings: Settings) -> Predicate | None:
    """Holds for a valid value; None where nothing says what is valid."""
    return together(*(VALIDITY[name][1](rule, field, settings[name]) for name in VALIDITY if name in settings))


def _values(rule: Rule, field: Field, said: object) -> Predicate:
    return one_of(rule, field, items(rule, said))


def _regex(rule: Rule, field: Field, said: object) -> Predicate:
    return Matches(field.name, translate(rule, str(said)))


def _length(rule: Rule, field: Field, said: object) -> Predicate:
    return Length(field.name, whole(rule, said), whole(rule, said))


def _format(rule: Rule, field: Field, said: object) -> Predicate:
    pattern = FORMATS.get(str(said).strip().lower())
    if pattern is None:
        refuse(rule, "soda-check", f"the format {brief(str(said))} is none of {', '.join(FORMATS)}")
    return Matches(field.name, pattern)


MISSING: dict[str, Callable[[Rule, Field, object], Predicate]] = {
    "missing values": lambda rule, field, said: one_as_written(rule, field, items(rule, said)),
    "missing regex": _regex,
}
VALIDITY: dict[str, tuple[str, Callable[[Rule, Field, object], Predicate]]] = {
    "valid values": ("one of {}", _values),
    "valid regex": ("matching {}", _regex),
    "valid format": ("in the format {}", _format),
    "valid length": ("{} characters", _length),
    "valid min length": ("at least {} characters", lambda rule, field, said: Length(field.name, low=whole(rule, said))),
    "valid max length": ("at most {} characters", lambda rule, field, said: Length(field.name, high=whole(rule, said))),
    "valid min": ("at least {}", lambda rule, field, said: within(rule, field, low=said)),
    "valid max": ("at most {}", lambda rule, field, said: within(rule, field, high=said)),
    "invalid values": ("none of {}", lambda rule, field, said: Not(_values(rule, field, said))),
    "invalid regex": ("not matching {}", lambda rule, field, said: Not(_regex(rule, field, said))),
}
"""Each setting in words, and its predicate of a valid value."""

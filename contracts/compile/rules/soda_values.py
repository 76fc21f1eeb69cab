"""Missing and valid values in Soda's checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.build import brief, items, one_of, refuse, whole, within
from lakegate.contracts.compile.rules.patterns import translate
from lakegate.contracts.compile.rules.textforms import NAME_AT_DOMAIN, TEXT_FORMS
from lakegate.contracts.compile.rules.written import one_as_written
from lakegate.contracts.plan.predicate import All, Length, Matches, Not, Predicate, Present, together

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lakegate.contracts.model.contract import Field, Rule

    Settings = Mapping[str, object]

FORMATS = {
    "email": NAME_AT_DOMAIN,
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
"""Named formats of texts, with their patterns."""


def there(rule: Rule, field: Field, settings: Settings) -> Predicate:
    """The predicate of a value that is not missing."""
    not_missing = [Not(MISSING[name](rule, field, settings[name])) for name in MISSING if name in settings]
    return All((Present(field.name), *not_missing)) if not_missing else Present(field.name)


def valid(rule: Rule, field: Field, settings: Settings) -> Predicate | None:
    """The predicate of a valid value; None if the settings do not define one."""
    return together(*(VALIDITY[name][1](rule, field, settings[name]) for name in VALIDITY if name in settings))


def _values(rule: Rule, field: Field, value: object) -> Predicate:
    return one_of(rule, field, items(rule, value))


def _regex(rule: Rule, field: Field, value: object) -> Predicate:
    return Matches(field.name, translate(rule, str(value)))


def _length(rule: Rule, field: Field, value: object) -> Predicate:
    return Length(field.name, whole(rule, value), whole(rule, value))


def _format(rule: Rule, field: Field, value: object) -> Predicate:
    pattern = FORMATS.get(str(value).strip().lower())
    if pattern is None:
        refuse(rule, "soda-check", f"the format {brief(str(value))} is none of {', '.join(FORMATS)}")
    return Matches(field.name, pattern)


MISSING: dict[str, Callable[[Rule, Field, object], Predicate]] = {
    "missing values": lambda rule, field, value: one_as_written(rule, field, items(rule, value)),
    "missing regex": _regex,
}
VALIDITY: dict[str, tuple[str, Callable[[Rule, Field, object], Predicate]]] = {
    "valid values": ("one of {}", _values),
    "valid regex": ("matching {}", _regex),
    "valid format": ("in the format {}", _format),
    "valid length": ("{} characters", _length),
    "valid min length": (
        "at least {} characters",
        lambda rule, field, value: Length(field.name, low=whole(rule, value)),
    ),
    "valid max length": (
        "at most {} characters",
        lambda rule, field, value: Length(field.name, high=whole(rule, value)),
    ),
    "valid min": ("at least {}", lambda rule, field, value: within(rule, field, low=value)),
    "valid max": ("at most {}", lambda rule, field, value: within(rule, field, high=value)),
    "invalid values": ("none of {}", lambda rule, field, value: Not(_values(rule, field, value))),
    "invalid regex": ("not matching {}", lambda rule, field, value: Not(_regex(rule, field, value))),
}
"""Each setting with its description and its predicate of a valid value."""

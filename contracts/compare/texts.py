"""Values of contracts as texts of changes, and in a form that is equal if the meaning is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable


def text_of(value: object) -> str | None:
    """A value as text: texts as they are, lists and mappings as JSON; None if there is none."""
    plain = _plain(value)
    return plain if plain is None or isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _plain(value: object) -> object:
    """The value in the types of JSON."""
    match value:
        case Mapping():
            return {key: _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case Enum():
            return value.value
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {key: each for key, each in asdict(value).items() if each}
        case _:
            return value


def meaning(value: object) -> Hashable:
    """A value that is equal to another one of the same meaning: the order of keys and the spelling of numbers do not count."""
    match value:
        case Mapping():
            return frozenset((key, meaning(each)) for key, each in value.items())
        case list() | tuple():
            return tuple(meaning(each) for each in value)
        case bool() | None:
            return ("constant", value)
        case int() | Decimal():
            return Decimal(value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return meaning(asdict(value))
        case _:
            return str(value)

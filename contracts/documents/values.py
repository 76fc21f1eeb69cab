"""Converts values of a document to arguments of rules: numbers to `Decimal`, lists to tuples; texts stay as written."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

from lakegate.contracts.model.contract import Example

if TYPE_CHECKING:
    from collections import Counter

    from lakegate.contracts.documents.nodes import Node, Place


def exact(place: Place) -> object:
    """The value of a place as an immutable value; None if there is none."""
    return _exact(place.node) if place.node is not None else None


def _exact(node: Node) -> object:
    match node.content:
        case tuple(items):
            return tuple(_exact(each) for each in items)
        case Mapping() as entries:
            return {key: _exact(each) for key, each in entries.items()}
        case int() as number if not isinstance(number, bool):
            return Decimal(number)
        case scalar:
            return scalar


def texts(place: Place) -> tuple[str, ...]:
    """The items of a list as they are written: `1.10` stays `1.10`."""
    return tuple(each.written for each in place.items)


def examples(*lists: Place) -> tuple[Example, ...]:
    """The scalars of lists of examples, with their places. Lists and mappings are left out."""
    found = (each for place in lists for each in (place.items or [place]))
    return tuple(
        Example(each.written if each.scalar is not None else None, each.origin) for each in found if _is_scalar(each)
    )


def _is_scalar(place: Place) -> bool:
    return place.node is not None and not isinstance(place.node.content, tuple | Mapping)


def rule_id(ordinals: Counter[str], subject: str, kind: str) -> str:
    """The generated id of a rule without one: `<subject>:<kind>:<ordinal>`."""
    stem = f"{subject}:{kind}"
    ordinals[stem] += 1
    return f"{stem}:{ordinals[stem]}"

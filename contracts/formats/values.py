"""Values of a document as arguments of rules: numbers as `Decimal`, texts as written, lists as tuples."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

from contracts.model import Example

if TYPE_CHECKING:
    from collections import Counter

    from contracts.nodes import Node, Place


def exact(place: Place) -> object:
    """What stands at a place, in values that never change; None where nothing does."""
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
    """The items of a list as they were written: `1.10` stays `1.10`."""
    return tuple(each.written for each in place.items)


def examples(*lists: Place) -> tuple[Example, ...]:
    """The scalars of lists of examples, each with its place; what has parts is none a text can be compared with."""
    found = (each for place in lists for each in (place.items or [place]))
    return tuple(
        Example(each.written if each.scalar is not None else None, each.origin) for each in found if _is_scalar(each)
    )


def _is_scalar(place: Place) -> bool:
    return place.node is not None and not isinstance(place.node.content, tuple | Mapping)


def rule_id(ordinals: Counter[str], subject: str, kind: str) -> str:
    """The id of a rule that its document gives none: `<subject>:<kind>:<ordinal>`."""
    stem = f"{subject}:{kind}"
    ordinals[stem] += 1
    return f"{stem}:{ordinals[stem]}"

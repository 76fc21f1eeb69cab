"""Values of a document as arguments of rules: numbers as `Decimal`, texts as written, lists as tuples."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

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


def rule_id(ordinals: Counter[str], subject: str, kind: str) -> str:
    """The id of a rule that its document gives none: `<subject>:<kind>:<ordinal>`."""
    stem = f"{subject}:{kind}"
    ordinals[stem] += 1
    return f"{stem}:{ordinals[stem]}"

"""Pairs the elements of two versions by a sequence of keys: the same elements are paired in both directions."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

Element = TypeVar("Element")
Pairs = list[tuple[Element, Element]]


def paired(
    old: Iterable[Element], new: Iterable[Element], *keys: Callable[[Element], Hashable | None]
) -> tuple[Pairs[Element], list[Element], list[Element]]:
    """The pairs, and the elements of each side without a counterpart.

    Each key in turn pairs what the keys before it left over; elements with an equal key are paired in order. An element whose key
    is None is left over.
    """
    pairs: Pairs[Element] = []
    before, after = list(old), list(new)
    for key in keys:
        groups: dict[Hashable, list[Element]] = defaultdict(list)
        for each in before:
            groups[key(each)].append(each)
        groups.pop(None, None)
        used: set[int] = set()
        after_left: list[Element] = []
        for each in after:
            found = groups.get(key(each))
            if found:
                pairs.append((found[0], each))
                used.add(id(found.pop(0)))
            else:
                after_left.append(each)
        before, after = [each for each in before if id(each) not in used], after_left
    return pairs, before, after

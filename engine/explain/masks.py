"""Masks: the shape of a text without its characters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_SHAPE = 40
"""Characters of a text that are shown at the most."""


def mask(text: str | None) -> str:
    """The shape of a text: letters as `a`, digits as `9`, controls as `?`, the rest as it is; `null` for none."""
    if text is None:
        return "null"
    shape = "".join(_mask_character(each) for each in text[:LONGEST_SHAPE])
    return shape + ("…" if len(text) > LONGEST_SHAPE else "")


def _mask_character(character: str) -> str:
    if character.isdigit():
        return "9"
    if character.isalpha():
        return "a"
    return character if character.isprintable() and character.isascii() else "?"


MOST_NAMED = 20
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}(?:(?:\[\])?\.[A-Za-z_][A-Za-z0-9_]{0,39}){0,8}")


def undeclared(keys: Iterable[str]) -> tuple[str, ...]:
    """The first keys, in their order, that records have and nobody declared.

    Keys of objects can be data themselves: what does not look like a name is masked, as values are.
    """
    found = sorted({re.sub(r"\[[0-9]+\]", "[]", key) for key in keys})[:MOST_NAMED]
    return tuple(dict.fromkeys(key if _NAME.fullmatch(key) else mask(key) for key in found))

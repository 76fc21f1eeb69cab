"""Masks: the shape of a text without its characters."""

from __future__ import annotations

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

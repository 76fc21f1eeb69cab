"""Masks values for reports: only the shape of a value is shown, unless its field is public (P15: an allow-list)."""

from __future__ import annotations

LONGEST_SHAPE = 40
"""The most characters of a value or shape that are shown."""


def mask(text: str | None) -> str:
    """The shape of a text: capitals as `A`, other letters as `a`, digits as `9`, control characters as `?`; `null` for None."""
    return "null" if text is None else cut_text("".join(map(_mask_character, text[: LONGEST_SHAPE + 1])))


def cut_text(text: str) -> str:
    """The text, truncated if it is too long."""
    return text if len(text) <= LONGEST_SHAPE else f"{text[:LONGEST_SHAPE]}…"


def hexadecimal(text: str) -> str:
    """Bytes (one character each) as hexadecimal digits."""
    return text.encode("latin-1").hex()


def _mask_character(character: str) -> str:
    if character.isdigit():
        return "9"
    if character.isalpha():
        return "A" if character.isupper() else "a"
    return character if character.isprintable() and character.isascii() else "?"

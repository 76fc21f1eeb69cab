"""What may be shown of a value: its shape, or the value itself where its field is public (P15: an allow-list)."""

from __future__ import annotations

LONGEST_SHAPE = 40
"""Characters that are shown of a value or a shape."""


def mask(text: str | None) -> str:
    """The shape of a text: letters as `a`, digits as `9`, controls as `?`, the rest as it is; `null` for none."""
    return "null" if text is None else cut("".join(map(_mask_character, text[: LONGEST_SHAPE + 1])))


def cut(text: str) -> str:
    """The beginning of a text that is too long to be shown whole."""
    return text if len(text) <= LONGEST_SHAPE else f"{text[:LONGEST_SHAPE]}…"


def hexadecimal(text: str) -> str:
    """Bytes, one character for each, as hexadecimal digits."""
    return text.encode("latin-1").hex()


def _mask_character(character: str) -> str:
    if character.isdigit():
        return "9"
    if character.isalpha():
        return "a"
    return character if character.isprintable() and character.isascii() else "?"

"""Sets of characters as ranges of code points, and their portable syntax inside a character class."""

from __future__ import annotations

LAST = 0x10FFFF
Ranges = tuple[tuple[int, int], ...]
"""Inclusive ranges of code points."""
ANY: Ranges = ((0, LAST),)


def spelled(ranges: Ranges) -> str:
    """Ranges of code points as the content of a character class."""
    return "".join(member(low) if low == high else f"{member(low)}-{member(high)}" for low, high in ranges)


def member(code: int) -> str:
    """One character inside a class, escaped so that every engine reads it literally."""
    char = chr(code)
    if char.isascii():
        return char if char.isalnum() else f"\\x{code:02X}"
    return char if code > 0xFF else f"\\x{code:02X}"  # noqa: PLR2004 - two digits reach as far as Latin-1


def others(ranges: Ranges) -> Ranges:
    """The complement of a set."""
    found, start = [], 0
    for low, high in sorted(ranges):
        if low > start:
            found.append((start, low - 1))
        start = max(start, high + 1)
    return (*found, (start, LAST)) if start <= LAST else tuple(found)


def union(*sets: Ranges) -> Ranges:
    """The union of sets, in as few ranges as possible."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted({each for ranges in sets for each in ranges}):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def overlap(one: Ranges, other: Ranges) -> bool:
    """Whether two sets share a character."""
    return any(low <= end and start <= high for low, high in one for start, end in other)

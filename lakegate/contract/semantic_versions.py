"""Semantic versions: their major number and their order."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from lakegate.base.errors import InputError

Precedence: TypeAlias = tuple[tuple[int, ...], int, tuple[tuple[int, int, str], ...]]


def major(version: str) -> int:
    """The major number. Raises InputError if the text is not a semantic version."""
    return precedence(version)[0][0]


@lru_cache(1_000)
def precedence(version: str) -> Precedence:
    """The sort key of a version by semver.org 2.0.0 (11): a pre-release precedes its release."""
    release, _, pre = version.partition("+")[0].partition("-")
    numbers = release.split(".")
    if len(numbers) != len(("major", "minor", "patch")) or not all(map(_is_number, numbers)):
        raise InputError("a version is written `major.minor.patch`, e.g. `1.0.0`")
    parts = tuple(map(_part, pre.split("."))) if pre else ()
    return tuple(map(int, numbers)), 0 if pre else 1, parts


def is_release(version: str) -> bool:
    """Whether a semantic version is not a pre-release."""
    return not precedence(version)[2]


def _part(text: str) -> tuple[int, int, str]:
    """Numeric identifiers precede alphanumeric ones and are compared as numbers."""
    return (0, int(text), "") if _is_number(text) else (1, 0, text)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()

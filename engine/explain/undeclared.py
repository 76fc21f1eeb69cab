"""Undeclared keys of records, in formats without a header."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lakegate.contracts.judge.masks import mask

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NAMED = 20
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}(?:(?:\[\])?\.[A-Za-z_][A-Za-z0-9_]{0,39}){0,8}")


def undeclared(keys: Iterable[str]) -> tuple[str, ...]:
    """The first undeclared keys of records, sorted.

    Keys of objects can be data themselves: what does not look like a name is masked, as values are.
    """
    found = sorted({re.sub(r"\[[0-9]+\]", "[]", key) for key in keys})[:MAX_NAMED]
    return tuple(dict.fromkeys(key if _NAME.fullmatch(key) else mask(key) for key in found))

"""What can be wrong with a file: each flaw changes a share of its rows, exactly that share, chosen by the seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.random import Generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

Columns = dict[str, pa.StringArray]
"""Cells as they are written, by field; None is a missing value."""


Flaw = Callable[[Generator, Columns], Columns]


def overwritten(share: float, fields: tuple[str, ...], *texts: str | None) -> Flaw:
    """In each of the fields, a `share` of the rows (at least one) has one of the texts instead of its value."""

    def flaw(random: Generator, columns: Columns) -> Columns:
        return columns | {field: _overwrite(random, columns[field], share, texts) for field in fields}

    return flaw


def missing_as(text: str, fields: tuple[str, ...]) -> Flaw:
    """In each of the fields, what is missing is written as a text."""

    def flaw(_random: Generator, columns: Columns) -> Columns:
        return columns | {field: pc.fill_null(columns[field], text) for field in fields}

    return flaw


def repeated(share: float, *fields: str) -> Flaw:
    """A `share` of the rows (at least one) has the values of the row before it in all of the fields."""

    def flaw(random: Generator, columns: Columns) -> Columns:
        size = len(columns[fields[0]])
        sources = np.arange(size)
        chosen = _chosen(random, size - 1, share) + 1
        sources[chosen] = chosen - 1
        return columns | {field: columns[field].take(pa.array(sources)) for field in fields}

    return flaw


def _overwrite(
    random: Generator, column: pa.StringArray, share: float, texts: tuple[str | None, ...]
) -> pa.StringArray:
    chosen = _chosen(random, len(column), share)
    which = np.full(len(column), -1)
    which[chosen] = np.arange(len(chosen)) % len(texts)
    replacements = pa.array(texts, pa.string()).take(pa.array(which, mask=which < 0))
    return pc.if_else(pa.array(which >= 0), replacements, column)


def _chosen(random: Generator, size: int, share: float) -> NDArray[np.int64]:
    return random.permutation(size)[: max(1, round(share * size))]

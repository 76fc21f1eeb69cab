"""Writes one sample as CSV, a batch at a time, so that a large file needs no more memory than a small one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.random import Generator, default_rng

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from infra.samples.flaws import Columns, Flaw

BATCH = 100_000


@dataclass(frozen=True, slots=True)
class SampleFile:
    """One kind of file: how its rows are made, and what is wrong with them."""

    columns: Callable[[Generator, NDArray[np.int64]], Columns]
    """The cells of the rows with these ordinals, from 0."""
    flaws: tuple[Flaw, ...]
    delimiter: str
    description: str
    """What is in it and its verdict, in a few words."""


def write(sample: SampleFile, path: Path, rows: int, seed: int) -> None:
    """Write `rows` rows; the bytes depend on the sample, `rows` and `seed` alone."""
    with path.open("wb") as file:
        for number, columns in enumerate(_batches(sample, rows, seed)):
            if number == 0:
                file.write((sample.delimiter.join(columns) + "\n").encode())
            file.write(_lines(columns, sample.delimiter))


def _batches(sample: SampleFile, rows: int, seed: int) -> Iterator[Columns]:
    for number, start in enumerate(range(0, rows, BATCH)):
        columns = sample.columns(default_rng([seed, number]), np.arange(start, min(start + BATCH, rows)))
        flaws = default_rng([seed, number, 1])  # its own source: the files of one seed differ by their flaws only
        for flaw in sample.flaws:
            columns = flaw(flaws, columns)
        yield columns


def _lines(columns: Columns, delimiter: str) -> bytes:
    cells = [_quoted(column, delimiter) for column in columns.values()]
    joined = pc.binary_join_element_wise(*cells, delimiter, null_handling="replace", null_replacement="")
    whole = pc.binary_join(pa.ListArray.from_arrays([0, len(joined)], joined), "\n")
    return bytes(whole[0].as_buffer()) + b"\n"


def _quoted(column: pa.StringArray, delimiter: str) -> pa.StringArray:
    special = pc.match_substring_regex(column, f'[{delimiter}"\n]')
    if not pc.any(special).as_py():
        return column
    doubled = pc.replace_substring(column, '"', '""')
    return pc.if_else(special, pc.binary_join_element_wise('"', doubled, '"', ""), column)

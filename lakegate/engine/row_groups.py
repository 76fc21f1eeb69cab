"""Row groups of files of Parquet that are written piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

GROUP_ROWS: Final = 1 << 17
GROUP_BYTES: Final = 64 << 20
"""A row group ends with the piece that reaches one of the two."""


def row_groups(rows: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The rows of each row group."""
    held: list[pa.Table] = []
    count = size = 0
    for table in rows:
        held.append(table)
        count, size = count + len(table), size + table.nbytes
        if count >= GROUP_ROWS or size >= GROUP_BYTES:
            yield pa.concat_tables(held)
            held, count, size = [], 0, 0
    if held:
        yield pa.concat_tables(held)

"""Files of Parquet that are written piece by piece, and their row groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
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


def write_file(rows: Iterable[pa.Table], schema: pa.Schema, target: Path) -> int:
    """Write tables of these columns as one file, packed with zstd and with statistics; returns the number of its rows."""
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 - whoever writes no typed files does not need its 30 ms

    count = 0
    with ParquetWriter(target, schema, compression="zstd", write_page_index=True) as writer:
        for group in row_groups(rows):
            writer.write_table(group, row_group_size=len(group))
            count += len(group)
    return count

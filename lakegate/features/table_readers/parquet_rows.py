"""The rows of a table, batch by batch, as a Parquet file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow.parquet import ParquetWriter

GROUP_BYTES: Final = 32 << 20
"""Bytes of batches that are one row group, and that are in memory at once."""


def write_rows(batches: Iterable[pa.RecordBatch], declared: pa.Schema, file: Path) -> None:
    """Write batches with the columns that a table declares. A null may be anywhere: the contract judges it."""
    columns = pa.schema([pa.field(each.name, _plain(each.type)) for each in declared])
    with ParquetWriter(file, columns) as writer:
        held: list[pa.RecordBatch] = []
        for batch in batches:
            held.append(batch)
            if sum(each.nbytes for each in held) >= GROUP_BYTES:
                writer.write_table(_group(held, columns))
                held = []
        writer.write_table(_group(held, columns))


def _group(batches: list[pa.RecordBatch], columns: pa.Schema) -> pa.Table:
    return pa.concat_tables(
        [pa.Table.from_batches([each]).cast(columns) for each in batches] or [columns.empty_table()]
    )


def _plain(kind: pa.DataType) -> pa.DataType:
    """A type whose parts may be null, without views."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, _plain(each.type)) for each in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_list_view(kind):
        return pa.list_(_plain(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(kind, kind)

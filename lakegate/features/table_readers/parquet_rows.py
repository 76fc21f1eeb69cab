"""The rows of a table, batch by batch, as a Parquet file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow.parquet import ParquetWriter

from lakegate.local_check.table_readers import TableColumn

GROUP_BYTES: Final = 32 << 20
"""Bytes of batches that are one row group, and that are in memory at once."""


def write_rows(batches: Iterable[pa.RecordBatch], declared: pa.Schema, file: Path, stated: Mapping[str, str]) -> None:
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
        if stated:
            writer.add_key_value_metadata(dict(stated))


def columns_of(declared: pa.Schema | pa.StructType) -> tuple[TableColumn, ...]:
    """The columns that a table declares, or the fields of a record."""
    return tuple(_column(each.name, each) for each in declared)


def _column(name: str, field: pa.Field) -> TableColumn:
    about = field.metadata or {}
    description = about.get(b"doc", about.get(b"comment", b"")).decode(errors="replace").strip()
    return TableColumn(name, not field.nullable, description, tuple(_parts(field.type)))


def _parts(kind: pa.DataType) -> Iterator[TableColumn]:
    if pa.types.is_struct(kind):
        yield from columns_of(kind)
    elif pa.types.is_map(kind):
        yield _column("key", kind.key_field)
        yield _column("value", kind.item_field)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield _column("[]", kind.value_field)


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

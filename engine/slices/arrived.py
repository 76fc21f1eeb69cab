"""A slice that somebody else wrote: what its file contains, read within the bounds on files that producers deliver."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from lakegate.contracts.door.file_signatures import UnreadableError
from lakegate.contracts.errors import InputError
from lakegate.contracts.odf.multihash import HashCode, multihash
from lakegate.contracts.words import counted
from lakegate.engine.digest.logical import LogicalHash
from lakegate.engine.digest.slices import statistics_of
from lakegate.engine.read.arrow_tables import ArrowReader, open_parquet
from lakegate.engine.read.chunk import Share
from lakegate.engine.read.local import LocalStore
from lakegate.engine.slices.fields import bare, odf_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    import pyarrow as pa

    from lakegate.contracts.odf.metadata import DataSlice
    from lakegate.engine.digest.slices import SliceStatistics


def checked_slice(path: Path, stated: DataSlice, fields: Iterable[Mapping[str, Any]]) -> SliceStatistics:
    """Compare a file with the event that names it, and with its schema. InputError, which says what differs."""
    if path.stat().st_size != stated.size or _physical(path) != stated.physical:
        raise InputError("its bytes are others than its name says")
    try:
        found, logical = _read(path, stated.rows, bare(fields))
    except UnreadableError as error:
        raise InputError(error.finding.message) from None
    offsets = found.first_offset, found.last_offset
    if offsets != (stated.start, stated.end):
        raise InputError(f"it has the offsets {offsets[0]} to {offsets[1]}, not {stated.start} to {stated.end}")
    if logical != stated.logical:
        raise InputError("its rows have another logical hash")
    return found


def _physical(path: Path) -> str:
    with path.open("rb") as file:
        return multihash(HashCode.SHA3_256, hashlib.file_digest(file, "sha3_256").digest())


def _read(path: Path, rows: int, columns: list[Any]) -> tuple[SliceStatistics, str]:
    from pyarrow.parquet import read_schema  # noqa: PLC0415 - 30 ms that other commands do not need

    reader, address = ArrowReader(open_parquet, LocalStore()), path.absolute().as_uri()
    table = reader.described(address)
    if table.rows != rows:
        raise InputError(f"it has {counted(table.rows, 'row')}, not {rows:,}")
    schema: pa.Schema = read_schema(path)
    if bare(odf_fields(schema)) != columns or len(set(schema.names)) != len(schema.names):
        raise InputError("its columns are others than those of the schema")
    logical = LogicalHash(schema)

    def batches() -> Iterator[pa.RecordBatch]:
        for share in (Share(0, address, *bounds) for bounds in zip(table.bounds, table.bounds[1:], strict=False)):
            for batch in reader.batches(share, schema.names):
                logical.update(batch)
                yield batch

    return statistics_of(schema, batches()), multihash(HashCode.ARROW0_SHA3_256, logical.digest())

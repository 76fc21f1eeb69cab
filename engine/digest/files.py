"""The logical and the physical hash of a Parquet file."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from lakegate.contracts.errors import InputError
from lakegate.contracts.odf.columns import COMMON
from lakegate.contracts.odf.multihash import HashCode, multihash
from lakegate.engine.digest.logical import LogicalHash
from lakegate.engine.digest.slices import SliceStatistics, statistics_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader
    from pathlib import Path

BATCH = 1 << 16
"""Rows that are in memory at a time."""


@dataclass(frozen=True, slots=True)
class FileDigest:
    """The hashes of a file as ODF writes them: multihashes in base16."""

    rows: int
    size: int
    """Bytes."""
    logical: str
    """Of the rows: the same for every file that contains them."""
    physical: str
    """SHA3-256 of the bytes."""


def digest_of(path: Path, batch: int = BATCH) -> FileDigest:
    """Read a Parquet file twice: its bytes, and its rows in batches.

    InputError where it is not a Parquet file, or where the logical hash is not defined for a column.
    """
    with _readable(path) as file:
        physical = hashlib.file_digest(file, "sha3_256").digest()
        size = file.tell()
        with pq.ParquetFile(file) as parquet:
            logical = LogicalHash(parquet.schema_arrow)
            for each in parquet.iter_batches(batch):
                logical.update(each)
            rows = parquet.metadata.num_rows
    return FileDigest(
        rows,
        size,
        multihash(HashCode.ARROW0_SHA3_256, logical.digest()),
        multihash(HashCode.SHA3_256, physical),
    )


def slice_in(path: Path, batch: int = BATCH) -> SliceStatistics:
    """Read the common columns of a Parquet file. InputError where it is not a Parquet file, or not a slice of ODF."""
    with _readable(path) as file, pq.ParquetFile(file) as parquet:
        schema = parquet.schema_arrow
        known = [name for name in COMMON if name in schema.names]
        return statistics_of(schema, parquet.iter_batches(batch, columns=known))


@contextmanager
def _readable(path: Path) -> Iterator[BufferedReader]:
    try:
        with path.open("rb") as file:
            yield file
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or "it is not a Parquet file, or is damaged"
        raise InputError(f"the file cannot be read: {reason}") from None

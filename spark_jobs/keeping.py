"""Stores the files of an attempt that its engine has written on the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lakegate.contracts.errors import InputError
from lakegate.spark_jobs.store import store_for

if TYPE_CHECKING:
    from pathlib import Path

    from lakegate.spark_jobs.store import JobStore

PARQUET, BYTES = "application/vnd.apache.parquet", "application/octet-stream"
_AT_ONCE: Final = 8 << 20
"""Bytes that are compared."""


def keep(file: Path, uri: str) -> str:
    """Store a file at an address, and return the ETag or checksum of the object.

    A task that Spark repeats writes the same bytes again: then the first object stays. InputError where it is another one.
    """
    store = store_for(uri)
    try:
        store.write_new(uri, file, PARQUET if uri.endswith(".parquet") else BYTES)
    except InputError:
        if not _is_stored(store, file, uri):
            raise
    return store.etag(uri)


def _is_stored(store: JobStore, file: Path, uri: str) -> bool:
    """Whether an object has the bytes of a file: another run of the attempt may have written as many other ones."""
    size = file.stat().st_size
    if store.size(uri) != size:
        return False
    with file.open("rb") as own:
        return all(store.part(uri, at, _AT_ONCE) == own.read(_AT_ONCE) for at in range(0, size, _AT_ONCE))

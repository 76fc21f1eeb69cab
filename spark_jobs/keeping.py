"""Stores the files of an attempt that its engine has written on the machine."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.spark_jobs.store import ANSWERED, store_for

if TYPE_CHECKING:
    from pathlib import Path

PARQUET, BYTES = "application/vnd.apache.parquet", "application/octet-stream"


def keep(file: Path, uri: str) -> str:
    """Store a file at an address, and return the ETag or checksum of the object.

    A task that Spark repeats writes the same bytes again: then the first object stays. InputError where it is another one.
    """
    store = store_for(uri)
    with suppress(InputError):
        store.write_new(uri, file, PARQUET if uri.endswith(".parquet") else BYTES)
    if store.size(uri) != file.stat().st_size:
        raise InputError(ANSWERED)
    return store.etag(uri)

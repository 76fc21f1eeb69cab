"""Decompresses the beginning of a file, given only its first bytes. The codec never depends on a file name."""

from __future__ import annotations

import bz2
import zlib

from lakegate.contracts.door.file_signatures import UnreadableError
from lakegate.contracts.model.storage import Compression

_GZIP_WINDOW = 31


def beginning(first: bytes, compression: Compression, limit: int) -> bytes | None:
    """At most `limit` unpacked bytes of a file that begins with `first`; None where this takes more than is at hand.

    UnreadableError where the bytes are damaged. zstd is left to the job: Python's own library does not know it yet.
    """
    if compression is Compression.NONE:
        return first[:limit]
    if compression is Compression.ZSTD:
        return None
    try:
        unpacked = (
            zlib.decompressobj(_GZIP_WINDOW).decompress(first, limit)
            if compression is Compression.GZIP
            else bz2.BZ2Decompressor().decompress(first, limit)
        )
    except (zlib.error, OSError):
        raise damaged(compression) from None
    return unpacked or None


def damaged(compression: Compression) -> UnreadableError:
    """The error for a file that cannot be decompressed."""
    return UnreadableError(
        "damaged", f"the file is damaged: it cannot be unpacked with {compression.value} to its end; pack it again"
    )

"""Decompresses the beginning of a file, given only its first bytes. The codec never depends on a file name."""

from __future__ import annotations

from lakegate.contracts.door.file_signatures import UnreadableError
from lakegate.contracts.model.storage import Compression


def beginning(first: bytes, compression: Compression, limit: int) -> bytes | None:
    """At most `limit` unpacked bytes of a file that begins with `first`; None where this takes more than is at hand.

    UnreadableError where the bytes are damaged. A codec that Python's own library lacks (zstd) is left to the engine.
    """
    if compression is Compression.NONE:
        return first[:limit]
    spec = compression.spec
    if spec.decompressor is None:
        return None
    unpacked, rest = b"", first
    try:
        while rest and len(unpacked) < limit:  # a file may consist of several members, one after the other
            member = spec.decompressor()
            unpacked += member.decompress(rest, limit - len(unpacked))
            rest = member.unused_data if member.eof else b""
    except spec.failures:
        raise damaged(compression) from None
    return unpacked or None


def damaged(compression: Compression) -> UnreadableError:
    """The error for a file that cannot be decompressed."""
    return UnreadableError(
        "damaged", f"the file is damaged: it cannot be unpacked with {compression.value} to its end; pack it again"
    )

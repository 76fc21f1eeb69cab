"""Bytes of text objects in blocks that end where a record ends: of a plain object by byte range, of a packed one as a stream."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from contracts.model import Compression
from engine.read.grammar import record_ends
from engine.read.limits import LONGEST_LINE, LONGEST_RECORD, unreadable
from engine.read.streams import BrokenError, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.read.chunk import Share, Store

BLOCK = 8 << 20
"""Bytes of text that are parsed together, about."""
_STEP = 1 << 20


def share_block(store: Store, share: Share) -> bytes:
    """The lines that begin in a byte range; UnreadableError where one of them is longer than is read at all."""
    start = max(0, share.start - 1)
    data = store.part(share.address, start, share.end - start)
    if share.start > 0:
        first = data.find(b"\n") + 1
        if first == 0:
            return b""
        data = data[first:]
    if not data:
        return data
    at = share.end
    while not data.endswith(b"\n"):
        more = store.part(share.address, at, _STEP)
        line, feed, _ = more.partition(b"\n")
        data += line + feed
        at += len(more)
        if len(data) - data.rfind(b"\n", 0, len(data) - 1) > LONGEST_LINE:
            raise unreadable("too-long")
        if not more:
            break
    return data


def object_blocks(
    store: Store, address: str, compression: Compression, quote: bytes | None
) -> Iterator[tuple[bytes, int]]:
    """A whole object in blocks of whole records, each with the bytes of the object that it took.

    `quote` keeps a record open over line feeds. UnreadableError where the object has no good end.
    """
    rest, taken = b"", 0
    with closing(store.stream(address)) as source:
        try:
            for piece, packed in unpacked(source, compression):
                rest, taken = rest + piece, taken + packed
                if len(rest) < BLOCK:
                    continue
                ends = record_ends(rest, quote)
                if len(ends):
                    yield rest[: ends[-1]], taken
                    rest, taken = rest[ends[-1] :], 0
                rest = _bounded(rest, compression)
        except BrokenError as error:
            raise unreadable(error.code) from None
    if rest or taken:
        yield rest, taken


def _bounded(rest: bytes, compression: Compression) -> bytes:
    """What is left of a block; of a line that is longer than any record only its beginning is kept."""
    if len(rest) <= LONGEST_LINE:
        return rest
    if compression is Compression.NONE:
        raise unreadable("too-long")
    return rest[: LONGEST_RECORD + 1]

"""Reads text objects in blocks of whole records: plain objects by byte range, compressed ones as a stream."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from lakegate.contracts.model.storage import Compression
from lakegate.engine.read.bounds import LONGEST_LINE, LONGEST_RECORD, unreadable
from lakegate.engine.read.chunk import Share
from lakegate.engine.read.csv_records import record_ends
from lakegate.engine.read.streams import unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.contracts.plan.request import StagedPart
    from lakegate.engine.read.chunk import Store

    Block = tuple[bytes, int]
    """Bytes of whole records, and the bytes of the object that they took."""

_FIRST_STEP = 1 << 16
"""Bytes after a share in which the end of its last line is searched first; doubled after each step."""


def shares_of(parts: Iterable[StagedPart], step: int | None) -> Iterator[Share]:
    """The shares of objects: byte ranges of `step` bytes, or whole objects for None."""
    for number, part in enumerate(parts):
        size = step or max(1, part.size)
        for start in range(0, part.size, size):
            yield Share(number, part.uri, start, min(start + size, part.size))


def share_block(store: Store, share: Share) -> Block:
    """The lines that begin in a byte range; UnreadableError if one of them is longer than `LONGEST_LINE`."""
    start = max(0, share.start - 1)
    data = store.part(share.address, start, share.end - start)
    begun = (data.find(b"\n") + 1 or len(data)) if share.start > 0 else 0
    pieces = [memoryview(data)[begun:]]
    last_line = len(data) - max(begun, data.rfind(b"\n") + 1)
    at, step, is_open = share.end, _FIRST_STEP, last_line > 0
    while is_open:
        more = store.part(share.address, at, step)
        end = more.find(b"\n") + 1
        pieces.append(memoryview(more)[: end or len(more)])
        last_line += len(pieces[-1])
        at, step, is_open = at + len(more), 2 * step, bool(more) and not end
        if last_line >= LONGEST_LINE:
            raise unreadable("too-long")
    block = b"".join(pieces)
    return block, len(block)


def object_blocks(
    store: Store, address: str, compression: Compression, size: int, quote: bytes | None = None
) -> Iterator[Block]:
    """A whole object in blocks of about `size` bytes.

    `quote` keeps a record open over line feeds. UnreadableError if the object is damaged.
    """
    rest, taken = b"", 0
    with closing(store.stream(address)) as source:
        for piece, packed in unpacked(source, compression):
            rest, taken = rest + piece, taken + packed
            if len(rest) < size:
                continue
            ends = record_ends(rest, quote)
            if len(ends):
                yield rest[: ends[-1]], taken
                rest, taken = rest[ends[-1] :], 0
            rest = _bounded(rest, compression)
    if rest or taken:
        yield rest, taken


def _bounded(rest: bytes, compression: Compression) -> bytes:
    """The rest of a block; of a line that is longer than any record only the beginning."""
    if len(rest) <= LONGEST_LINE:
        return rest
    if compression is Compression.NONE:
        raise unreadable("too-long")
    return rest[: LONGEST_RECORD + 1]

"""Deliveries of text: shares of objects, and blocks of whole records.

A share of a plain object is a byte range: a record belongs to the share in which it begins. An object that is packed, or that
cannot be read from its middle, is one share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lakegate.contract.file_formats import Compression, Format
from lakegate.engine.read.compressed_streams import unpack
from lakegate.engine.read.data_source import Expression, Share, Store
from lakegate.engine.read.read_bounds import LONGEST_LINE, LONGEST_RECORD, unreadable
from lakegate.engine.read.stored_types import Physical
from lakegate.plan.plan import Plan
from lakegate.plan.request import StagedPart
from lakegate.plan.result import Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

Block = tuple[bytes, int]
"""Bytes of whole records, and the bytes of the object that they took."""
_FIRST_STEP = 1 << 16
"""Bytes after a share in which the end of its last line is searched first; doubled after each step."""


@dataclass(frozen=True, slots=True)
class TextSource:
    """A delivery of text; formats add the reading of records (`lakegate.engine.read.data_source.Source`)."""

    plan: Plan
    store: Store
    shares: tuple[Share, ...]
    sizes: tuple[int, ...]
    block_bytes: int
    """Bytes of a block, about."""
    columns: Columns
    expressions: Mapping[str, Expression]
    is_marked: bool
    header: str | None = None
    """The header line of all objects; None where the format has none, or the contract declares none."""
    kinds: Mapping[str, Physical] = field(default_factory=dict)
    titles: bytes = b""
    """The lines of the first object that are skipped above its header, each with a line feed."""
    above: tuple[int, ...] = ()
    """Bytes of each object before its header; none where no lines are skipped."""

    def read_blocks(self, share: Share, quote: bytes | None = None) -> Iterator[Block]:
        """The records of a share in blocks; `quote` keeps a record open over line feeds.

        UnreadableError if the object is damaged, or one of its lines is longer than `LONGEST_LINE`.
        """
        if not is_read_whole(self.plan):
            yield self._range_block(share)
            return
        compression, rest, taken = self.plan.storage.compression, b"", 0
        above = self.above[share.part] if self.above else 0
        with closing(self.store.stream(share.address)) as source:
            for piece, packed in unpack(source, compression):
                rest, taken = rest + piece, taken + packed
                if len(rest) < self.block_bytes:
                    continue
                ends = record_ends(rest[above:], quote) + above
                if len(ends):
                    yield rest[: ends[-1]], taken
                    rest, taken, above = rest[ends[-1] :], 0, 0
                if len(rest) > LONGEST_LINE:
                    if compression is Compression.NONE:
                        raise unreadable("too-long")
                    rest = rest[
                        : LONGEST_RECORD + 1
                    ]  # a line that is longer than any record is malformed by its beginning
        if rest or taken:
            yield rest, taken

    def _range_block(self, share: Share) -> Block:
        """The lines that begin in a byte range."""
        start = max(0, share.start - 1)
        data = self.store.part(share.address, start, share.end - start)
        begun = (data.find(b"\n") + 1 or len(data)) if share.start > 0 else 0
        pieces = [memoryview(data)[begun:]]
        last_line = len(data) - max(begun, data.rfind(b"\n") + 1)
        at, step, is_open = share.end, _FIRST_STEP, last_line > 0
        while is_open:
            more = self.store.part(share.address, at, step)
            end = more.find(b"\n") + 1
            pieces.append(memoryview(more)[: end or len(more)])
            last_line += len(pieces[-1])
            at, step, is_open = at + len(more), 2 * step, bool(more) and not end
            if last_line >= LONGEST_LINE:
                raise unreadable("too-long")
        block = b"".join(pieces)
        return block, len(block)


def is_read_whole(plan: Plan) -> bool:
    """Whether an object has no place to begin in its middle: it is packed, a JSON array, or has values with line breaks."""
    storage = plan.storage
    return (
        storage.compression is not Compression.NONE
        or storage.format is Format.JSON
        or (storage.format is Format.CSV and plan.csv.multi_line)
    )


def shares_of(plan: Plan, parts: Iterable[StagedPart], size: int, above: tuple[int, ...] = ()) -> Iterator[Share]:
    """The shares of objects: byte ranges of this size, or whole objects; a header after `above` bytes is in the first."""
    for number, part in enumerate(parts):
        step = max(1, part.size) if is_read_whole(plan) else size
        first = max(step, above[number] + 1) if above else step
        for start, end in pairwise([0, *range(first, part.size, step), part.size] if part.size else []):
            yield Share(number, part.uri, start, end)


def record_ends(data: bytes, quote: bytes | None) -> NDArray[np.int64]:
    """The ends of whole records in bytes (after their line feed); `quote`: the one that keeps a record open.

    A record with an open quote that is longer than any record may be ends at its line: it is malformed, and the next one is not.
    """
    octets = np.frombuffer(data, np.uint8)
    feeds = np.flatnonzero(octets == ord("\n"))
    if quote is None or quote not in data:
        return feeds + 1
    marks = (
        np.flatnonzero(octets == quote[0])
        if len(quote) == 1
        else np.array([match.start() for match in re.finditer(re.escape(quote), data)], np.int64)
    )
    before = np.searchsorted(marks, feeds)
    ends = feeds[before % 2 == 0] + 1
    sizes = np.diff(ends, prepend=0, append=len(data))
    return ends if sizes.max(initial=0) <= LONGEST_RECORD else _bounded_ends(feeds + 1, before)


def _bounded_ends(lines: NDArray[np.int64], marks: NDArray[np.int64]) -> NDArray[np.int64]:
    ends, begun, closed = [], 0, 0
    for end, count in zip(lines.tolist(), marks.tolist(), strict=True):
        if (count - closed) % 2 == 0 or end - begun > LONGEST_RECORD:
            ends.append(end)
            begun, closed = end, count
    return np.array(ends, np.int64)

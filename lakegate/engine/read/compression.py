"""gzip, bzip2, zstd as streams; blocks of whole records; bombs."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa

from lakegate.admission.file_signatures import UnreadableError
from lakegate.base.text import counted
from lakegate.contract.file_formats import Compression, CompressionSpec
from lakegate.engine.read.data_source import Share, Store
from lakegate.plan.request import StagedPart

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Block = tuple[bytes, int]
    """Bytes of whole records, and the bytes of the object that they took."""

# ---- Bounds on reading a file (docs/data.md) ----


LONGEST_RECORD = 1 << 20
"""Bytes of one record; a longer one is malformed, because it would be one value in memory."""
MAX_INSIDE = LONGEST_RECORD // 2
"""Values in lists and maps of one record, as many as one of JSON has at most; and of all records that are measured at a time."""
LONGEST_LINE = 16 << 20
"""Bytes of one line of plain text; a longer one makes the file unreadable."""
PIECE = 1 << 20
"""Bytes of a stream that are in memory at a time."""
RATIO = 200
"""Times its packed size that a file may unpack to."""
GRACE = 64 << 20
"""Bytes that any file may unpack to, whatever the ratio."""
MAX_UNPACKED = 64 << 30
"""Bytes that no file may unpack to, whatever the ratio."""
MAX_COLUMNS = 10_000
"""Columns of a file, the parts of nested ones counted."""
LONGEST_FOOTER = 32 << 20
"""Bytes of the schema and the statistics in a file."""
MAX_CHUNKS = 500_000
"""Row groups of a Parquet file times its columns, nested ones counted."""
MAX_PAGE = 256 << 20
"""Bytes of a page of a Parquet file, unpacked: one is in memory at a time."""
GRACE_VALUES = 1 << 30
"""Bytes that the values of a column store may take in memory, whatever the ratio."""

BROKEN = {
    "damaged": "the file is damaged: it cannot be unpacked to its end; pack it again",
    "bomb": f"the file unpacks to more than {RATIO} times its size, beyond {GRACE >> 20} MiB: deliver it in parts, or unpacked",
    "array": "the JSON array breaks off, or holds what is no JSON, or an element beyond 1 MiB: write it again, or as JSON lines",
    "array-depth": "the JSON array holds an element that is nested too deep: write it flatter",
    "array-encoding": "the JSON array is not valid UTF-8, which JSON is written in (RFC 8259): save it so",
    "footer": "the end of the file, where its schema and its index stand, is missing or damaged: was the upload cut off?",
    "shared": "the end of the file lists the same bytes as values of several columns or row groups: write it again",
    "page": f"the column {{name!r}} has a page of more than {MAX_PAGE >> 20} MiB: write pages of fewer rows or bytes",
    "counts": "the end of the file counts other rows or values than the file holds: write it again",
    "encrypted": "the column {name!r} is encrypted: write the file without encryption",
    "groups": f"the file has more than {MAX_CHUNKS:,} pieces (row groups times columns): write it in larger row groups",
    "hollow": "the column {name!r} has a group without members, which cannot be read: write it without that group",
    "no-struct": "the ORC file has no columns: its top level is no struct, or has a type that is not known; write columns",
    "schema": "the file has a schema that cannot be read, because it breaks the rules of its format: write it again",
    "inside": "the file holds values that cannot be read, or is damaged inside: write it again",
    "too-long": f"the file has a line of more than {LONGEST_LINE >> 20} MiB: is this text of one record a line?",
}
"""The reason why a file is not read to its end, by code."""


def unreadable(code: str, **words: str) -> UnreadableError:
    """The error for a file that is not read to its end."""
    return UnreadableError(code, BROKEN[code].format(**words))


def refuse_columns(leaves: int) -> None:
    """UnreadableError where a file has too many columns."""
    if leaves > MAX_COLUMNS:
        columns = counted(leaves, "column")
        raise UnreadableError("too-wide", f"the file has {columns}, more than {MAX_COLUMNS:,}: deliver fewer")


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
        else np.array([found.start() for found in re.finditer(re.escape(quote), data)], np.int64)
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


# ---- Compressed files and JSON arrays as streams ----
# The codec is the one that the contract names, never that of the file's extension. The decompressed bytes are compared with the
# compressed ones, and at most one piece of the file is in memory, whatever its ratio.


Piece = tuple[bytes, int]
"""Unpacked bytes, and the packed bytes that they took."""
Batch = tuple[list[bytes], int]
"""Records, and the packed bytes that were read for them."""
_SPACE = " \t\r\n"


def unpacked(source: BinaryIO, compression: Compression) -> Iterator[Piece]:
    """The file in pieces of at most `PIECE` bytes; UnreadableError if it is damaged or decompresses beyond its bounds."""
    inside = outside = 0
    pieces = READERS[compression](source) if compression in READERS else _members(source, compression.spec)
    for piece, taken in pieces:
        inside, outside = inside + taken, outside + len(piece)
        if outside > MAX_UNPACKED or outside > max(GRACE, RATIO * inside):
            raise unreadable("bomb")
        yield piece, taken


def elements(pieces: Iterable[Piece]) -> Iterator[Batch]:
    """The elements of a JSON array, each as its own text; a byte order mark before it is none of it.

    UnreadableError if it is not an array, or is truncated.
    """
    array = _Array()
    taken = 0
    for piece, packed in pieces:
        taken += packed
        found = array.feed(piece)
        if found:
            yield found, taken
            taken = 0
    yield array.feed(b"", is_last=True), taken


class _Array:
    """An array that is being read: the remaining text, and what may follow."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text = ""
        self._state = "before"

    def feed(self, piece: bytes, *, is_last: bool = False) -> list[bytes]:
        """The elements that are whole now."""
        try:
            self._text += self._decode(piece, is_last)
        except UnicodeDecodeError:
            raise unreadable("array-encoding") from None
        found: list[bytes] = []
        at, end = 0, self._step(0, found, is_last=is_last)
        while end is not None:
            at, end = end, self._step(end, found, is_last=is_last)
        self._text = self._text[at:]
        if len(self._text) > 2 * LONGEST_RECORD or (is_last and (self._state != "after" or self._text.strip(_SPACE))):
            raise unreadable("array")
        return found

    def _step(self, at: int, found: list[bytes], *, is_last: bool) -> int | None:
        """Consume a mark or an element; the position after it, or None if the text ends before."""
        at = _PAST_SPACE(self._text, at).end()  # type: ignore[union-attr] # no space is a match too
        if at == len(self._text):
            return None
        state = _MARKS.get((self._state, self._text[at]))
        if state is not None:
            self._state = state
            return at + 1
        if self._state not in {"first", "wanted"}:
            raise unreadable("array")
        end = self._end(at, is_last=is_last)
        if end is not None:
            found.append(self._text[at:end].encode())
            self._state = "next"
        return end

    def _end(self, at: int, *, is_last: bool) -> int | None:
        """The end of the element; a number at the end of the text may go on in the next piece."""
        try:
            end = _SCAN(self._text, at)[1]
        except RecursionError:
            raise unreadable("array-depth") from None
        except ValueError:
            if is_last or len(self._text) - at > LONGEST_RECORD:
                raise unreadable("array") from None
            return None
        return None if end == len(self._text) and not is_last else end


_SCAN = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str, strict=False).raw_decode
"""Finds where an element ends; what it is made of is judged with its row."""
_PAST_SPACE = re.compile(f"[{_SPACE}]*").match
_MARKS = {("before", "["): "first", ("first", "]"): "after", ("next", "]"): "after", ("next", ","): "wanted"}


def _plain(source: BinaryIO) -> Iterator[Piece]:
    while piece := source.read(PIECE):
        yield piece, len(piece)


_FIRST_OF_MEMBER = 1 << 10
"""Bytes of a member that are decompressed first, then twice as many: what is left behind its end is a copy."""


def _members(source: BinaryIO, spec: CompressionSpec) -> Iterator[Piece]:
    """Compressed members, one after the other, by a decompressor of the standard library; padding behind them is skipped."""
    member: Any = None
    step, padding = _FIRST_OF_MEMBER, re.compile(re.escape(spec.padding) + b"*" if spec.padding else b"")
    for packed, size in _plain(source):
        at, taken = 0, size
        while at < size or _has_output(member):
            if member is not None and member.eof:
                at = padding.match(packed, at).end()  # type: ignore[union-attr] # none is a match too
                if at == size:
                    break
            if member is None or member.eof:
                assert spec.decompressor is not None
                member, step = spec.decompressor(), _FIRST_OF_MEMBER
            given = packed[at : at + step]
            try:
                piece = member.decompress(given, PIECE)
            except spec.failures:
                raise unreadable("damaged") from None
            rest = member.unused_data if member.eof else getattr(member, "unconsumed_tail", b"")
            at, step = at + len(given) - len(rest), min(2 * step, PIECE)
            if piece or taken:
                yield piece, taken
            taken = 0
        if taken:
            yield b"", taken
    if member is None or not member.eof:
        raise unreadable("damaged")


def _has_output(member: Any) -> bool:  # noqa: ANN401 - any decompressor of the standard library
    """Whether a decompressor has more output without more input; those without `needs_input` return input that they leave."""
    return not (getattr(member, "needs_input", True) or member.eof)


def _zstd(source: BinaryIO) -> Iterator[Piece]:
    counted = _Counted(source)
    stream = pa.CompressedInputStream(pa.PythonFile(counted, "r"), "zstd")
    piece, taken = b"more", 0
    while piece:
        try:
            piece = stream.read(PIECE)
        except OSError:
            if counted.failure is not None:
                raise
            raise unreadable("damaged") from None
        yield piece, counted.size - taken
        taken = counted.size
    if not taken:
        raise unreadable("damaged")


class _Counted:
    """A file for Arrow that counts the bytes read of it."""

    closed = False

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self.size = 0
        self.failure: OSError | None = None
        """The error of the storage: it is not a property of the file."""

    def read(self, size: int = -1) -> bytes:
        """Bytes of the file, counted."""
        try:
            found = self._source.read(size)
        except OSError as error:
            self.failure = error
            raise
        self.size += len(found)
        return found

    def close(self) -> None:
        """The caller closes the file."""


READERS: dict[Compression, Callable[[BinaryIO], Iterator[Piece]]] = {Compression.NONE: _plain, Compression.ZSTD: _zstd}
"""Compressions that the standard library does not decompress."""


# ---- Blocks of whole records ----


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

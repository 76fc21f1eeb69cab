"""Reads a compressed file, or one JSON array, as a stream: decompressed, counted, and cut into records.

The codec is the one that the contract names, never that of the file's extension. The decompressed bytes are compared with the
compressed ones, and at most one piece of the file is in memory, whatever its ratio.
"""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakegate.contracts.model.storage import Compression
from lakegate.engine.read.bounds import GRACE, LONGEST_RECORD, MAX_UNPACKED, PIECE, RATIO, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

    from lakegate.contracts.model.storage import CompressionSpec

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
        """Where the element ends; a number at the end of the text may go on in the next piece."""
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


# --- compressions


def _plain(source: BinaryIO) -> Iterator[Piece]:
    while piece := source.read(PIECE):
        yield piece, len(piece)


def _members(source: BinaryIO, spec: CompressionSpec) -> Iterator[Piece]:
    """Compressed members, one after the other, by a decompressor of the standard library."""
    member: Any = None
    for packed, size in _plain(source):
        rest, taken = packed, size
        while rest or _has_output(member):
            if member is None or member.eof:
                assert spec.decompressor is not None
                member = spec.decompressor()
            try:
                piece = member.decompress(rest, PIECE)
            except spec.failures:
                raise unreadable("damaged") from None
            rest = member.unused_data if member.eof else getattr(member, "unconsumed_tail", b"")
            yield piece, taken
            taken = 0
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

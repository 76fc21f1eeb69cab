"""gzip, bzip2 and zstd as streams of pieces; decompression bombs.

The codec is the one that the contract names, never that of the file's extension. The decompressed bytes are compared with the
compressed ones, and at most one piece of the file is in memory, whatever its ratio.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Final

import pyarrow as pa

from lakegate.contract.file_formats import Compression, CompressionSpec
from lakegate.engine.read.read_bounds import GRACE, MAX_UNPACKED, PIECE, RATIO, unreadable

ARROW_CODECS: Final = {Compression.GZIP: "gzip", Compression.BZIP2: "bz2", Compression.ZSTD: "zstd"}
"""The names that Arrow has for compressions."""
Piece = tuple[bytes, int]
"""Unpacked bytes, and the packed bytes that they took."""


def unpack(source: BinaryIO, compression: Compression) -> Iterator[Piece]:
    """The file in pieces of at most `PIECE` bytes; UnreadableError if it is damaged or decompresses beyond its bounds."""
    inside = outside = 0
    pieces = READERS[compression](source) if compression in READERS else _members(source, compression.spec)
    for piece, taken in pieces:
        inside, outside = inside + taken, outside + len(piece)
        if outside > MAX_UNPACKED or outside > max(GRACE, RATIO * inside):
            raise unreadable("bomb")
        yield piece, taken


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

"""Avro object container files: the schema of the header, and every block counted.

A file says its schema and codec at its beginning, and then nothing but blocks: how many records, how many bytes. All of them are
walked before values are read, so that a file that was cut off, or that unpacks to more than it may, ends in a verdict.
"""

from __future__ import annotations

import json
import lzma
import zlib
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from contracts.kinds import UnreadableError
from contracts.model import Compression
from engine.read.limits import GRACE, LONGEST_FOOTER, PIECE, unreadable
from engine.read.schema import Table, refuse_values, refuse_wide
from engine.read.streams import BrokenError, unpacked
from engine.type.avro_types import physical
from engine.type.physical import Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

MAGIC = b"Obj\x01"
SYNC = 16
_LONGEST_NUMBER = 10


@dataclass(frozen=True, slots=True)
class Container:
    """What the header and the blocks of a file say."""

    schema: object
    codec: str
    rows: int
    unpacked: int
    size: int


def described(source: BinaryIO) -> Table:
    """A file's own account of itself; UnreadableError where it is damaged, or a bomb."""
    found = walked(source)
    schema = physical(found.schema)
    if schema.kind is not Kind.RECORD:
        raise UnreadableError("schema", "the Avro file holds no records: write one record for each row")
    table = Table(schema, found.rows)
    refuse_wide(schema)
    refuse_values(table, found.unpacked, found.size)
    return table


def walked(source: BinaryIO) -> Container:
    """The header and all blocks of a file; UnreadableError where they do not fit together."""
    file = _File(source)
    if file.read(len(MAGIC)) != MAGIC:
        raise unreadable("inside")
    about = _metadata(file)
    try:
        schema = json.loads(about["avro.schema"])
        codec = about.get("avro.codec", b"null").decode()
    except (KeyError, ValueError, RecursionError):
        raise UnreadableError("schema", "the header of the Avro file has no schema that can be read") from None
    if codec not in _UNPACK:
        raise UnreadableError(
            "codec", "the Avro file is packed with a codec that is not known: use deflate, snappy or zstandard"
        )
    sync, rows, total = file.read(SYNC), 0, 0
    while not file.is_over():
        count, size = file.number(), file.number()
        if count < 0 or size < 0:
            raise unreadable("inside")
        rows, total = rows + count, total + _unpacked_size(codec, file, size)
        if file.read(SYNC) != sync:
            raise unreadable("inside")
    return Container(schema, codec, rows, total, file.size)


class _File:
    """A stream that knows how much of it was read, and does not end within what was asked for."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._ahead = b""
        self.size = 0

    def read(self, size: int) -> bytes:
        found = bytearray(self._ahead[:size])
        self._ahead = self._ahead[size:]
        while len(found) < size:
            piece = self._source.read(min(size - len(found), PIECE))
            if not piece:
                raise unreadable("inside")
            found += piece
            self.size += len(piece)
        return bytes(found)

    def is_over(self) -> bool:
        if not self._ahead:
            self._ahead = self._source.read(PIECE)
            self.size += len(self._ahead)
        return not self._ahead

    def number(self) -> int:
        """A whole number, zig-zag and of variable length."""
        found = self.length()
        return (found >> 1) ^ -(found & 1)

    def length(self) -> int:
        """A whole number of variable length."""
        found = shift = 0
        for _ in range(_LONGEST_NUMBER):
            byte = self.read(1)[0]
            found |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:  # noqa: PLR2004 - the mark that more follows
                return found
        raise unreadable("inside")


def _metadata(file: _File) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    while (count := file.number()) != 0:
        if count < 0:
            count = -count
            file.number()
        for _ in range(count):
            key, value = (_limited(file) for _ in range(2))
            found[key.decode(errors="replace")] = value
    return found


def _limited(file: _File) -> bytes:
    size = file.number()
    if not 0 <= size <= LONGEST_FOOTER or file.size > 2 * LONGEST_FOOTER:
        raise unreadable("inside")
    return file.read(size)


def _unpacked_size(codec: str, file: _File, size: int) -> int:
    """Bytes of a block, unpacked; a block of more than any file may have without a question is a bomb."""
    if codec == "null":
        left = size
        while left:
            left -= len(file.read(min(left, PIECE)))
        return size
    if size > GRACE:
        raise unreadable("bomb")
    try:
        found = _UNPACK[codec](file.read(size))
    except (zlib.error, lzma.LZMAError, BrokenError, OSError, IndexError):
        raise unreadable("inside") from None
    if found > GRACE:
        raise unreadable("bomb")
    return found


def _deflate(block: bytes) -> int:
    return len(zlib.decompressobj(-15).decompress(block, GRACE + 1))


def _xz(block: bytes) -> int:
    return len(lzma.LZMADecompressor(memlimit=GRACE).decompress(block, GRACE + 1))


def _snappy(block: bytes) -> int:
    """Snappy says first how much it unpacks to."""
    return _File(BytesIO(block)).length()


def _streamed(compression: Compression) -> Callable[[bytes], int]:
    return lambda block: sum(len(piece) for piece, _ in unpacked(BytesIO(block), compression))


_UNPACK: dict[str, Callable[[bytes], int]] = {
    "null": len,
    "deflate": _deflate,
    "snappy": _snappy,
    "bzip2": _streamed(Compression.BZIP2),
    "zstandard": _streamed(Compression.ZSTD),
    "xz": _xz,
}

"""Avro object container files: header, blocks, damage, limits.

A file begins with its schema and codec, followed by blocks: how many records, how many bytes. All block headers are read before
any value, so that a truncated file, or one that decompresses beyond its bounds, is rejected.
"""

from __future__ import annotations

import json
import lzma
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from lakegate.admission.file_signatures import UnreadableError
from lakegate.contract.file_formats import Compression
from lakegate.engine.read.avro_types import read_schema
from lakegate.engine.read.compressed_streams import unpack
from lakegate.engine.read.data_source import AddressedFile, Share, Store
from lakegate.engine.read.read_bounds import GRACE, LONGEST_FOOTER, PIECE, unreadable
from lakegate.engine.read.stored_columns import Table, refuse_values, refuse_wide
from lakegate.engine.read.stored_types import Kind, Physical

if TYPE_CHECKING:

    class Readable(Protocol):
        """A stream of bytes."""

        def read(self, size: int = -1, /) -> bytes:
            """At most this number of bytes."""
            ...


MAGIC = b"Obj\x01"
SYNC = 16
SHARE_BYTES = 16 << 20
"""Bytes of blocks in one share, at least."""
MAX_EMPTY_RECORDS = 1 << 20
"""Records without any bytes that one block may have."""
_CHECKSUM = 4
_LONGEST_NUMBER = 10


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file."""

    schema: Any
    codec: str
    sync: bytes


def describe_file(source: Readable) -> Table:
    """Schema and size of a file; UnreadableError if header and blocks do not match, or it is a decompression bomb."""
    file = _File(source)
    header = _header(file)
    rows = size = 0
    bounds = [file.at]
    while not file.is_over():
        if file.at - bounds[-1] >= SHARE_BYTES:
            bounds.append(file.at)
        count, block = _block(file, header)
        rows, size = rows + count, size + len(block)
    schema = _records(header)
    table = Table(schema, rows, (*bounds, file.size))
    refuse_values(table, size, file.size)
    return table


def schema_in(source: Readable) -> Physical:
    """The schema in the header of a file; no block is read. UnreadableError if it is not one of records."""
    return _records(read_header(source))


def _records(header: Header) -> Physical:
    schema, _ = read_schema(header.schema)
    if schema.kind is not Kind.RECORD:
        raise UnreadableError("schema", "the Avro file holds no records: write one record for each row")
    refuse_wide(schema)
    return schema


def read_header(source: Readable) -> Header:
    """The header of a file."""
    return _header(_File(source))


def read_blocks(source: Readable, header: Header, size: int) -> Iterator[tuple[int, bytes]]:
    """The numbers of records of the blocks in a byte range, each with the decompressed bytes."""
    file = _File(source)
    while file.at < size and not file.is_over():
        count, block = _block(file, header)
        if count > max(len(block), MAX_EMPTY_RECORDS):
            raise unreadable("bomb")
        yield count, block


def _header(file: _File) -> Header:
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
    return Header(schema, codec, file.read(SYNC))


def _block(file: _File, header: Header) -> tuple[int, bytes]:
    """The number of records of a block, and its decompressed bytes; UnreadableError beyond the bytes that any file may have."""
    count, size = file.number(), file.number()
    if count < 0 or size < 0:
        raise unreadable("inside")
    if size > GRACE:
        raise unreadable("bomb")
    packed = file.read(size)
    if file.read(SYNC) != header.sync:
        raise unreadable("inside")
    try:
        block = _UNPACK[header.codec](packed)
    except UnreadableError as error:
        raise unreadable("bomb" if error.finding.code == "bomb" else "inside") from None
    except (zlib.error, lzma.LZMAError, OSError, ValueError):
        raise unreadable("inside") from None
    if len(block) > GRACE:
        raise unreadable("bomb")
    return count, block


class _File:
    """A stream that counts what was read of it, and fails if it ends within a requested range."""

    def __init__(self, source: Readable) -> None:
        self._source = source
        self._ahead, self._used = b"", 0
        self.size = 0
        """Bytes that were read of it."""

    @property
    def at(self) -> int:
        """Bytes that were used."""
        return self.size - len(self._ahead) + self._used

    def read(self, size: int) -> bytes:
        """Exactly this number of bytes."""
        found = bytearray()
        while len(found) < size:
            if self.is_over():
                raise unreadable("inside")
            piece = self._ahead[self._used : self._used + size - len(found)]
            self._used += len(piece)
            found += piece
        return bytes(found)

    def is_over(self) -> bool:
        """Whether nothing is left."""
        if self._used == len(self._ahead):
            self._ahead, self._used = self._source.read(PIECE), 0
            self.size += len(self._ahead)
        return not self._ahead

    def number(self) -> int:
        """A whole number, zig-zag and of variable length."""
        found = _variable(self.read(1)[0] for _ in range(_LONGEST_NUMBER))
        return (found >> 1) ^ -(found & 1)


def _variable(octets: Iterator[int]) -> int:
    """A whole number of variable length: seven bits of each byte, the lowest first."""
    found = 0
    for at, octet in enumerate(octets):
        found |= (octet & 0x7F) << 7 * at
        if octet < 0x80:  # noqa: PLR2004 - the mark that more follows
            return found
    raise unreadable("inside")


def _metadata(file: _File) -> dict[str, bytes]:
    metadata: dict[str, bytes] = {}
    while (count := file.number()) != 0:
        if count < 0:
            count = -count
            file.number()
        for _ in range(count):
            key, value = (_limited(file) for _ in range(2))
            metadata[key.decode(errors="replace")] = value
    return metadata


def _limited(file: _File) -> bytes:
    size = file.number()
    if not 0 <= size <= LONGEST_FOOTER or file.size > 2 * LONGEST_FOOTER:
        raise unreadable("inside")
    return file.read(size)


def _snappy(block: bytes) -> bytes:
    """Snappy data begins with its decompressed size; a checksum of the decompressed bytes follows the block."""
    size = _variable(iter(block[:_LONGEST_NUMBER]))
    if size > GRACE:
        raise unreadable("bomb")
    snappy: bytes = pa.Codec("snappy").decompress(block[:-_CHECKSUM], size, asbytes=True)
    if zlib.crc32(snappy).to_bytes(_CHECKSUM, "big") != block[-_CHECKSUM:]:
        raise unreadable("inside")
    return snappy


def _streamed(compression: Compression) -> Callable[[bytes], bytes]:
    return lambda block: b"".join(piece for piece, _ in unpack(BytesIO(block), compression))


_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": lambda block: zlib.decompressobj(-15).decompress(block, GRACE + 1),
    "snappy": _snappy,
    "bzip2": _streamed(Compression.BZIP2),
    "zstandard": _streamed(Compression.ZSTD),
    "xz": lambda block: lzma.LZMADecompressor(memlimit=GRACE).decompress(block, GRACE + 1),
}


# ---- Blocks of a share as Arrow batches ----


BATCH_ROWS = 1 << 16
BATCH_BYTES = 4 << 20
"""Rows, and bytes of blocks, of one batch."""


@dataclass(frozen=True, slots=True)
class AvroReader:
    """Avro object container files (`lakegate.engine.read.stored_columns.Reader`)."""

    store: Store

    def described(self, address: str) -> Table:
        with closing(self.store.stream(address)) as source:
            return describe_file(source)

    def batches(self, share: Share, names: list[str]) -> Iterator[pa.RecordBatch]:
        with closing(AddressedFile(self.store, share.address)) as file:
            try:
                yield from _batches(file, share, names)
            except (IndexError, OverflowError, struct.error, pa.ArrowException, OSError):
                if file.failure is not None:
                    raise
                raise unreadable("inside") from None


def _batches(file: AddressedFile, share: Share, names: list[str]) -> Iterator[pa.RecordBatch]:
    header = read_header(file)
    _, records = read_schema(header.schema)
    rows = size = 0
    file.seek(share.start)
    for count, block in read_blocks(file, header, share.end - share.start):
        at = 0
        for _ in range(count):
            begun = at
            at = records.read(block, at)
            rows, size = rows + 1, size + at - begun
            if rows >= BATCH_ROWS or size >= BATCH_BYTES:
                yield pa.RecordBatch.from_struct_array(records.taken()).select(names)
                rows = size = 0
        if at != len(block):
            raise unreadable("inside")
    if rows:
        yield pa.RecordBatch.from_struct_array(records.taken()).select(names)

"""Avro object container files: the schema of the header, every block counted, values by Spark's own reader.

A file says its schema and codec at its beginning, and then nothing but blocks: how many records, how many bytes. All of them are
walked before Spark reads, so that a file that was cut off, or that unpacks to more than it may, ends in a verdict.
"""

from __future__ import annotations

import json
import lzma
import zlib
from contextlib import closing
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.kinds import UnreadableError
from contracts.model import Compression
from spark_jobs.arrow_tables import refuse_values
from spark_jobs.avro_types import physical
from spark_jobs.limits import GRACE, LONGEST_FOOTER, MOST_COLUMNS, PIECE, unreadable
from spark_jobs.physical import Kind, Physical
from spark_jobs.store import store_for
from spark_jobs.streams import BrokenError, unpacked
from spark_jobs.table_read import Table

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from pyspark.sql import Column, DataFrame, SparkSession

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


class AvroTables:
    """Avro files (`TableFormat`)."""

    def describe(self, address: str) -> Table:
        """See `TableFormat`."""
        with closing(store_for(address).stream(address)) as source:
            found = walked(source)
        schema = physical(found.schema)
        if schema.kind is not Kind.RECORD:
            raise UnreadableError("schema", "the Avro file holds no records: write one record for each row")
        leaves = sum(1 for _ in schema.leaves())
        if leaves > MOST_COLUMNS:
            raise UnreadableError(
                "too-wide", f"the file has {leaves:,} columns, more than {MOST_COLUMNS:,}: deliver fewer"
            )
        refuse_values(found.rows, leaves, found.unpacked, found.size)
        return Table(schema, found.rows)

    def frame(self, spark: SparkSession, address: str, table: Table, names: list[str]) -> DataFrame:
        """See `TableFormat`."""
        read = spark.read.format("avro").load(address)
        places = {name: at for at, (name, _) in enumerate(table.schema.parts)}
        raw = read.toDF(*(f"a{at}" for at in range(len(table.schema.parts))))
        kinds = dict(table.schema.parts)
        return raw.select(
            F.lit(None).cast("string").alias("broken"),
            *(_canonical(F.col(f"a{places[name]}"), kinds[name]).alias(f"x{at}") for at, name in enumerate(names)),
        )


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


# --- values


def _canonical(column: Column, kind: Physical) -> Column:
    """A column of Spark's as its kind is handed on."""
    match kind.kind:
        case Kind.RECORD:
            members = [
                _canonical(column.getField(name), part).alias(f"f{at}") for at, (name, part) in enumerate(kind.parts)
            ]
            return F.when(column.isNotNull(), F.struct(*members))
        case Kind.LIST:
            return F.transform(column, lambda item: _canonical(item, kind.parts[0][1]))
        case Kind.MAP:
            return F.transform_values(column, lambda _, value: _canonical(value, kind.parts[1][1]))
        case Kind.TIME:
            micros = column.cast("bigint") * (1 if kind.words.endswith("micros") else 1000)
            return F.date_format(F.timestamp_micros(micros), "HH:mm:ss.SSSSSS")
        case Kind.OTHER:
            return F.when(column.isNotNull(), F.lit(True))
        case _:
            return column.cast(kind.sql)

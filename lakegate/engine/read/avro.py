"""Avro: container blocks, binary values, types of schemas, damage, limits."""

from __future__ import annotations

import json
import lzma
import struct
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.admission.file_signatures import UnreadableError
from lakegate.base.text import shown
from lakegate.contract.file_formats import Compression
from lakegate.engine.read.compression import GRACE, LONGEST_FOOTER, PIECE, unreadable
from lakegate.engine.read.compression import unpacked as pieces_of
from lakegate.engine.read.data_source import AddressedFile, Share, Store
from lakegate.engine.read.stored_columns import Table, refuse_values, refuse_wide
from lakegate.engine.read.stored_types import LAST_DAY, LAST_EXACT, LAST_MOMENT, MAX_DIGITS, Kind, Physical

if TYPE_CHECKING:

    class Readable(Protocol):
        """A stream of bytes."""

        def read(self, size: int = -1, /) -> bytes:
            """At most this number of bytes."""
            ...

    One = Callable[[bytes, int], tuple[Any, int]]
    """The value at a position of a block, and the position after it."""
    Read = Callable[[bytes, int], int]

# ---- Types of an Avro schema (1.12) ----


DEEPEST = 64
MAX_TYPES = 100_000
"""Types of one schema: named types that use each other twice would multiply without an end."""
SIMPLE = {
    "null": Kind.NOTHING,
    "boolean": Kind.BOOLEAN,
    "int": Kind.WHOLE,
    "long": Kind.WHOLE,
    "float": Kind.FLOAT,
    "double": Kind.DOUBLE,
    "bytes": Kind.BYTES,
    "string": Kind.TEXT,
    "enum": Kind.TEXT,
    "fixed": Kind.BYTES,
}

LOGICAL = {
    ("int", "date"): Kind.DATE,
    ("int", "time-millis"): Kind.TIME,
    ("long", "time-micros"): Kind.TIME,
    **{
        ("long", f"{zone}timestamp-{unit}"): Kind.MOMENT
        for zone in ("", "local-")
        for unit in ("millis", "micros", "nanos")
    },
}

DIGITS_OF_BIT = Fraction(301029995663981195, 10**18)
"""The logarithm of 2 to base 10: a power would be as long as a producer's precision says."""
_INT = -(1 << 31), (1 << 31) - 1

WIDER = {frozenset({"int", "long"}): "long", frozenset({"float", "double"}): "double"}
"""Unions that Spark reads as the wider of two types."""


NAMED = {"record", "error", "enum", "fixed"}


class NamedTypes:
    """The named types of a schema so far (Avro 1.12, "Names"), and how many types were read."""

    def __init__(self) -> None:
        self._types: dict[str, Any] = {}
        self.read = 0

    def add(self, schema: dict[str, Any], space: str) -> str:
        """Keep a named type with its aliases, if it is one; the namespace of the types inside of it."""
        if schema["type"] not in NAMED or "name" not in schema:
            return space
        name = _full_name(str(schema["name"]), schema.get("namespace"), space)
        inside = name.rpartition(".")[0]
        self._types[name] = schema, inside
        for alias in schema.get("aliases") or ():
            self._types.setdefault(_full_name(str(alias), None, inside), self._types[name])
        return inside

    def of(self, name: str, space: str) -> Any:  # noqa: ANN401 - what JSON holds, and its namespace
        """The type with a name, and the namespace inside of it. UnreadableError if there is none.

        A name without a point is one of the enclosing namespace; where it has none, one without a namespace, as in Java.
        """
        full = _full_name(name, None, space)
        found = self._types.get(full) or self._types.get(name)
        if found is None:
            raise UnreadableError("schema", f"the schema of the Avro file defines no type {shown(full)}, which it uses")
        return found


def _full_name(name: str, own: object, space: str) -> str:
    """A name with its namespace: a name with a point has it; else the type's own one, else the enclosing one."""
    if "." in name:
        return name.removeprefix(".")
    found = own if isinstance(own, str) else space
    return f"{found}.{name}" if found else name


def physical(schema: object) -> Physical:
    """The kind of a whole schema; UnreadableError if it is invalid or recursive."""
    try:
        return _physical(schema, NamedTypes(), "", 0)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UnreadableError("schema", "the schema of the Avro file cannot be read, or leads back to itself") from None


def _physical(schema: Any, known: NamedTypes, space: str, depth: int) -> Physical:  # noqa: ANN401 - what JSON holds
    known.read += 1
    if depth > DEEPEST or known.read > MAX_TYPES:
        raise ValueError(depth)
    if isinstance(schema, list):
        return replace(_union_type(schema, known, space, depth), is_required="null" not in schema)
    if isinstance(schema, str):
        found = _leaf_type(schema, {}) if schema in SIMPLE else _physical(*_named(schema, known, space), depth + 1)
        return replace(found, is_required=schema != "null")
    word = schema["type"]
    if not isinstance(word, str):
        return _physical(word, known, space, depth + 1)
    inside = known.add(schema, space)
    with_parts = _TYPES_WITH_PARTS.get(word)
    if with_parts is not None:
        found = with_parts(schema, known, inside, depth)
    elif word in SIMPLE:
        found = _leaf_type(word, schema)
    else:
        found = _physical(*_named(word, known, space), depth + 1)
    return replace(found, is_required=word != "null")


def _named(name: str, known: NamedTypes, space: str) -> tuple[Any, NamedTypes, str]:
    """What is read of a named type: its own schema, as it stands where it is defined."""
    schema, inside = known.of(name, space)
    return {**schema, "name": schema["name"].rpartition(".")[2], "namespace": inside}, known, inside


def _record(schema: Any, known: NamedTypes, space: str, depth: int) -> Physical:  # noqa: ANN401 - what JSON holds
    members = tuple((each["name"], _physical(each["type"], known, space, depth + 1)) for each in schema["fields"])
    return Physical(Kind.RECORD, "record", parts=members)


def _array(schema: Any, known: NamedTypes, space: str, depth: int) -> Physical:  # noqa: ANN401 - what JSON holds
    return Physical(Kind.LIST, "array", parts=(("[]", _physical(schema["items"], known, space, depth + 1)),))


def _map(schema: Any, known: NamedTypes, space: str, depth: int) -> Physical:  # noqa: ANN401 - what JSON holds
    value = _physical(schema["values"], known, space, depth + 1)
    return Physical(Kind.MAP, "map", parts=(("{key}", Physical(Kind.TEXT, "string")), ("{value}", value)))


_TYPES_WITH_PARTS = {"record": _record, "error": _record, "array": _array, "map": _map}


def _leaf_type(word: str, schema: dict[str, Any]) -> Physical:
    logical = logical_of(word, schema)
    if isinstance(logical, tuple):
        precision, scale = logical
        words = f"decimal({precision}, {scale})"
        return Physical(Kind.EXACT, words, logical) if precision <= MAX_DIGITS else Physical(Kind.OTHER, words)
    if logical:
        return Physical(LOGICAL[word, logical], logical)
    return Physical(SIMPLE[word], word, limits=_INT if word == "int" else None)


def logical_of(word: str, schema: dict[str, Any]) -> str | tuple[int, int]:
    """The logical type of a leaf, of a decimal its precision and scale; empty without one.

    An invalid one is ignored, and the type is that which it annotates (Avro 1.12, "Logical Types").
    """
    name = schema.get("logicalType")
    if not isinstance(name, str):
        return ""
    if name != "decimal" or word not in {"bytes", "fixed"}:
        return name if (word, name) in LOGICAL else ""
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision or precision == 0:
        return ""
    is_too_wide = word == "fixed" and precision > (8 * int(schema["size"]) - 1) * DIGITS_OF_BIT
    return "" if is_too_wide else (precision, scale)


def _union_type(members: list[Any], known: NamedTypes, space: str, depth: int) -> Physical:
    values = [each for each in members if each != "null"]
    if len(values) == 1:
        return _physical(values[0], known, space, depth + 1)
    plain = frozenset(each for each in values if isinstance(each, str))
    if len(plain) == len(values) and plain in WIDER:
        return Physical(SIMPLE[WIDER[plain]], WIDER[plain])
    for each in values:  # they may define types that others name
        _physical(each, known, space, depth + 1)
    return Physical(Kind.OTHER if values else Kind.NOTHING, "union" if values else "null")


# ---- Object container files ----
# A file begins with its schema and codec, followed by blocks: how many records, how many bytes. All block headers are read
# before any value, so that a truncated file, or one that decompresses beyond its bounds, is rejected.


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


def described(source: Readable) -> Table:
    """Schema and size of a file; UnreadableError if header and blocks do not match, or it is a decompression bomb."""
    file = _File(source)
    header = _header(file)
    rows = unpacked = 0
    bounds = [file.at]
    while not file.is_over():
        if file.at - bounds[-1] >= SHARE_BYTES:
            bounds.append(file.at)
        count, block = _block(file, header)
        rows, unpacked = rows + count, unpacked + len(block)
    schema = _records(header)
    table = Table(schema, rows, (*bounds, file.size))
    refuse_values(table, unpacked, file.size)
    return table


def schema_in(source: Readable) -> Physical:
    """The schema in the header of a file; no block is read. UnreadableError if it is not one of records."""
    return _records(header_of(source))


def _records(header: Header) -> Physical:
    schema = physical(header.schema)
    if schema.kind is not Kind.RECORD:
        raise UnreadableError("schema", "the Avro file holds no records: write one record for each row")
    refuse_wide(schema)
    return schema


def header_of(source: Readable) -> Header:
    """The header of a file."""
    return _header(_File(source))


def blocks_of(source: Readable, header: Header, size: int) -> Iterator[tuple[int, bytes]]:
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


def _deflate(block: bytes) -> bytes:
    return zlib.decompressobj(-15).decompress(block, GRACE + 1)


def _xz(block: bytes) -> bytes:
    return lzma.LZMADecompressor(memlimit=GRACE).decompress(block, GRACE + 1)


def _snappy(block: bytes) -> bytes:
    """Snappy data begins with its decompressed size; a checksum of the decompressed bytes follows the block."""
    size = _variable(iter(block[:_LONGEST_NUMBER]))
    if size > GRACE:
        raise unreadable("bomb")
    found: bytes = pa.Codec("snappy").decompress(block[:-_CHECKSUM], size, asbytes=True)
    if zlib.crc32(found).to_bytes(_CHECKSUM, "big") != block[-_CHECKSUM:]:
        raise unreadable("inside")
    return found


def _streamed(compression: Compression) -> Callable[[bytes], bytes]:
    return lambda block: b"".join(piece for piece, _ in pieces_of(BytesIO(block), compression))


_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": _deflate,
    "snappy": _snappy,
    "bzip2": _streamed(Compression.BZIP2),
    "zstandard": _streamed(Compression.ZSTD),
    "xz": _xz,
}


# ---- Builders of columns from Avro's binary encoding ----
# Values are in buffers of their own width, so that an element takes about as many bytes as in the file, and no small file fills
# the memory. What does not fit (IndexError, OverflowError, `struct.error`) is damaged; the reader of the blocks reports it.


MAX_EMPTY_ELEMENTS = 1 << 20
"""The most elements without bytes that are accepted."""
_MAX_BITS = 63
_MORE = 0x80


class Column(Protocol):
    """A column under way."""

    def read(self, block: bytes, at: int) -> int:
        """Append the value at a position of a block; returns the position after it."""
        ...

    def skip(self) -> None:
        """Take a null."""
        ...

    def taken(self) -> pa.Array:
        """The values so far; the column begins again."""
        ...


def number(block: bytes, at: int) -> tuple[int, int]:
    """A zig-zag number of variable length, and the position after it."""
    found = shift = 0
    while (byte := block[at]) >= _MORE:
        found |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if shift > _MAX_BITS:
            raise unreadable("inside")
    found |= byte << shift
    return (found >> 1) ^ -(found & 1), at + 1


def content(block: bytes, at: int) -> tuple[bytes, int]:
    """Bytes after their number, and the position after them."""
    size, begin = number(block, at)
    return fixed(block, begin, size)


def fixed(block: bytes, at: int, size: int) -> tuple[bytes, int]:
    """A fixed number of bytes, and the position after them."""
    if not 0 <= size <= len(block) - at:
        raise unreadable("inside")
    return block[at : at + size], at + size


def booleans(values: bytearray) -> pa.Array:
    """Bytes of 0 and 1 as an array."""
    return pa.Array.from_buffers(pa.uint8(), len(values), [None, pa.py_buffer(values)]).cast(pa.bool_())


class _Values:
    """The base of columns of values: whether each is present, and their bytes."""

    def __init__(self, kind: pa.DataType, one: One) -> None:
        self._kind, self._one = kind, one
        self._there = bytearray()

    def read(self, block: bytes, at: int) -> int:
        """See `Column`."""
        value, at = self._one(block, at)
        self.put(value)
        return at

    def put(self, value: Any) -> None:  # noqa: ANN401 - whatever the column is of
        """Take a value."""
        self._append(value)
        self._there.append(1)

    def skip(self) -> None:
        """See `Column`."""
        self._append(None)
        self._there.append(0)

    def taken(self) -> pa.Array:
        """See `Column`."""
        there, self._there = self._there, bytearray()
        valid = None if 0 not in there else booleans(there).buffers()[1]
        return pa.Array.from_buffers(self._kind, len(there), [valid, *self._buffers()])

    def _append(self, value: Any) -> None:  # noqa: ANN401 - likewise
        raise NotImplementedError

    def _buffers(self) -> list[pa.Buffer]:
        raise NotImplementedError


class NumberValues(_Values):
    """Numbers of the width of an array's code."""

    def __init__(self, code: str, kind: pa.DataType, one: One) -> None:
        super().__init__(kind, one)
        self._code, self._numbers = code, array(code)

    def reading(self, one: One) -> Callable[[bytes, int], int]:
        """The conversion of values of another encoding."""

        def read(block: bytes, at: int) -> int:
            value, at = one(block, at)
            self.put(value)
            return at

        return read

    def _append(self, value: Any) -> None:  # noqa: ANN401 - likewise
        self._numbers.append(value or 0)

    def _buffers(self) -> list[pa.Buffer]:
        found, self._numbers = self._numbers, array(self._code)
        return [pa.py_buffer(found)]


class Exacts(_Values):
    """Decimals: whole numbers of 128 bits, lowest byte first; beyond these the last one, which no decimal has."""

    def __init__(self, kind: pa.DataType, one: One) -> None:
        super().__init__(kind, one)
        self._digits = bytearray()

    def _append(self, value: bytes | None) -> None:
        whole = int.from_bytes(value or b"\0", "big", signed=True)
        self._digits += max(-LAST_EXACT, min(LAST_EXACT, whole)).to_bytes(16, "little", signed=True)

    def _buffers(self) -> list[pa.Buffer]:
        found, self._digits = self._digits, bytearray()
        return [pa.py_buffer(found)]


class Truths(_Values):
    """Booleans."""

    def __init__(self, one: One) -> None:
        super().__init__(pa.bool_(), one)
        self._truths = bytearray()

    def _append(self, value: int | None) -> None:
        self._truths.append(value or 0)

    def _buffers(self) -> list[pa.Buffer]:
        found, self._truths = self._truths, bytearray()
        return [booleans(found).buffers()[1]]


class TextColumn(_Values):
    """Texts and bytes, whatever they hold."""

    def __init__(self, kind: pa.DataType, one: One) -> None:
        super().__init__(kind, one)
        self._text, self._ends = bytearray(), array("i", [0])

    def _append(self, value: bytes | None) -> None:
        self._text += value or b""
        self._ends.append(len(self._text))

    def _buffers(self) -> list[pa.Buffer]:
        text, ends = self._text, self._ends
        self._text, self._ends = bytearray(), array("i", [0])
        return [pa.py_buffer(ends), pa.py_buffer(text)]


class Nulls:
    """Nulls, which have no bytes."""

    def __init__(self) -> None:
        self._count = 0

    def read(self, _: bytes, at: int) -> int:
        """See `Column`."""
        self._count += 1
        return at

    def skip(self) -> None:
        """See `Column`."""
        self._count += 1

    def taken(self) -> pa.Array:
        """See `Column`."""
        count, self._count = self._count, 0
        return pa.nulls(count)


# ---- Builders of nested columns ----


class Optional:
    """A union of types in one column; None is null."""

    def __init__(self, column: Column, branches: Sequence[Read | None]) -> None:
        self._column, self._branches = column, branches
        self.skip, self.taken = column.skip, column.taken

    def read(self, block: bytes, at: int) -> int:
        """See `Column`."""
        branch, at = number(block, at)
        if not 0 <= branch < len(self._branches):
            raise unreadable("inside")
        read = self._branches[branch]
        if read is not None:
            return read(block, at)
        self._column.skip()
        return at


class Others:
    """A union of types that no column holds: only whether a value is there is kept."""

    def __init__(self, branches: Sequence[Column | None]) -> None:
        self._truths = Truths(number)
        self._branches = branches
        self._union = Optional(self._truths, [None if each is None else self._reading(each) for each in branches])
        self.read, self.skip = self._union.read, self._truths.skip

    def _reading(self, column: Column) -> Read:
        def read(block: bytes, at: int) -> int:
            at = column.read(block, at)
            self._truths.put(1)
            return at

        return read

    def taken(self) -> pa.Array:
        """See `Column`."""
        for each in self._branches:
            if each is not None:
                each.taken()
        return self._truths.taken()


class Records:
    """Records: whether each is there, and its members."""

    def __init__(self, members: Sequence[tuple[str, Column]]) -> None:
        self._names = [name for name, _ in members]
        self._members = [column for _, column in members]
        self._there = bytearray()

    def read(self, block: bytes, at: int) -> int:
        """See `Column`."""
        for column in self._members:
            at = column.read(block, at)
        self._there.append(1)
        return at

    def skip(self) -> None:
        """See `Column`."""
        for column in self._members:
            column.skip()
        self._there.append(0)

    def taken(self) -> pa.Array:
        """See `Column`."""
        there, self._there = booleans(self._there), bytearray()
        arrays = [column.taken() for column in self._members]
        kind = pa.struct([pa.field(name, each.type) for name, each in zip(self._names, arrays, strict=True)])
        return pa.Array.from_buffers(kind, len(there), [there.buffers()[1]], children=arrays)


class Lists:
    """Arrays, in blocks of elements."""

    def __init__(self, elements: Sequence[Column]) -> None:
        self._elements = elements
        self._there, self._ends = bytearray(), array("i", [0])
        self._count = self._empty = 0

    def read(self, block: bytes, at: int) -> int:
        """See `Column`."""
        count, at = number(block, at)
        while count:
            if count < 0:
                count, (_, at) = -count, number(block, at)
            for _ in range(count):
                begun = at
                for column in self._elements:
                    at = column.read(block, at)
                if at == begun:
                    self._refuse_empty()
            self._count += count
            count, at = number(block, at)
        self._end(there=1)
        return at

    def skip(self) -> None:
        """See `Column`."""
        self._end(there=0)

    def _end(self, there: int) -> None:
        self._ends.append(self._count)
        self._there.append(there)

    def _refuse_empty(self) -> None:
        self._empty += 1
        if self._empty > MAX_EMPTY_ELEMENTS:
            raise unreadable("bomb")

    def taken(self) -> pa.Array:
        """See `Column`."""
        missing = pc.invert(booleans(self._there))
        ends = pa.Array.from_buffers(pa.int32(), len(self._ends), [None, pa.py_buffer(self._ends)])
        self._there, self._ends = bytearray(), array("i", [0])
        self._count = self._empty = 0
        return self._listed(ends, [column.taken() for column in self._elements], missing)

    def _listed(self, ends: pa.Array, elements: list[pa.Array], missing: pa.Array) -> pa.Array:
        return pa.ListArray.from_arrays(ends, elements[0], mask=missing)


class Maps(Lists):
    """Maps: arrays of keys and values."""

    def _listed(self, ends: pa.Array, elements: list[pa.Array], missing: pa.Array) -> pa.Array:
        return pa.MapArray.from_arrays(ends, *elements, mask=missing)


# ---- Blocks of a share as Arrow batches ----


ROWS = 1 << 16
SIZE = 4 << 20
"""Rows, and bytes of blocks, of one batch."""


@dataclass(frozen=True, slots=True)
class AvroReader:
    """Avro object container files (`lakegate.engine.read.stored_columns.Reader`)."""

    store: Store

    def described(self, address: str) -> Table:
        """See `Reader`."""
        with closing(self.store.stream(address)) as source:
            return described(source)

    def batches(self, share: Share, names: list[str]) -> Iterator[pa.RecordBatch]:
        """See `Reader`."""
        with closing(AddressedFile(self.store, share.address)) as file:
            try:
                yield from _batches(file, share, names)
            except (IndexError, OverflowError, struct.error, pa.ArrowException, OSError):
                if file.failure is not None:
                    raise
                raise unreadable("inside") from None


def _batches(file: AddressedFile, share: Share, names: list[str]) -> Iterator[pa.RecordBatch]:
    header = header_of(file)
    records = column_of(header.schema, NamedTypes(), "")
    rows = size = 0
    file.seek(share.start)
    for count, block in blocks_of(file, header, share.end - share.start):
        at = 0
        for _ in range(count):
            begun = at
            at = records.read(block, at)
            rows, size = rows + 1, size + at - begun
            if rows >= ROWS or size >= SIZE:
                yield pa.RecordBatch.from_struct_array(records.taken()).select(names)
                rows = size = 0
        if at != len(block):
            raise unreadable("inside")
    if rows:
        yield pa.RecordBatch.from_struct_array(records.taken()).select(names)


def column_of(schema: Any, known: NamedTypes, space: str) -> Column:  # noqa: ANN401 - what JSON holds
    """The column that a schema's values are taken into; `physical` has judged the schema before."""
    if isinstance(schema, list):
        return _union(schema, known, space)
    if isinstance(schema, str):
        return _leaf(schema, {}) if schema in SIMPLE else column_of(*_named(schema, known, space))
    word = schema["type"]
    if not isinstance(word, str):
        return column_of(word, known, space)
    inside = known.add(schema, space)
    with_parts = _WITH_PARTS.get(word)
    if with_parts is not None:
        return with_parts(schema, known, inside)
    return _leaf(word, schema) if word in SIMPLE else column_of(*_named(word, known, space))


def _union(members: list[Any], known: NamedTypes, space: str) -> Column:
    values = [each for each in members if each != "null"]
    plain = frozenset(each for each in values if isinstance(each, str))
    if len(values) == 1:
        column = column_of(values[0], known, space)
        return Optional(column, [None if each == "null" else column.read for each in members])
    if values and len(plain) == len(values) and plain in WIDER:
        wide = _leaf(WIDER[plain], {})
        assert isinstance(wide, NumberValues)
        return Optional(wide, [None if each == "null" else wide.reading(_ONES[each]) for each in members])
    if not values:
        return Optional(Nulls(), [None for _ in members])
    return Others([None if each == "null" else column_of(each, known, space) for each in members])


def _leaf(word: str, schema: dict[str, Any]) -> Column:
    logical = logical_of(word, schema)
    if isinstance(logical, tuple) and logical[0] <= MAX_DIGITS:
        return Exacts(pa.decimal128(*logical), _one(word, schema))
    if isinstance(logical, str) and logical:
        code, kind, one = _MOMENTS[logical]
        return NumberValues(code, kind, one)
    if word in _WIDTHS:
        return NumberValues(*_WIDTHS[word], _ONES[word])
    if word in {"string", "bytes", "enum", "fixed"}:
        return TextColumn(pa.string() if word in {"string", "enum"} else pa.binary(), _one(word, schema))
    return Truths(_truth) if word == "boolean" else Nulls()


_WITH_PARTS: dict[str, Callable[[dict[str, Any], NamedTypes, str], Column]] = {
    **dict.fromkeys(
        ("record", "error"),
        lambda schema, known, space: Records(
            [(each["name"], column_of(each["type"], known, space)) for each in schema["fields"]]
        ),
    ),
    "array": lambda schema, known, space: Lists([column_of(schema["items"], known, space)]),
    "map": lambda schema, known, space: Maps(
        [TextColumn(pa.string(), content), column_of(schema["values"], known, space)]
    ),
}


def _one(word: str, schema: dict[str, Any]) -> One:
    if word == "fixed":
        return partial(fixed, size=int(schema["size"]))
    return partial(_symbol, symbols=[str(each).encode() for each in schema["symbols"]]) if word == "enum" else content


def _symbol(block: bytes, at: int, symbols: list[bytes]) -> tuple[bytes, int]:
    place, at = number(block, at)
    if place < 0:
        raise IndexError(place)
    return symbols[place], at


def _truth(block: bytes, at: int) -> tuple[int, int]:
    if block[at] > 1:
        raise IndexError(at)
    return block[at], at + 1


def _unpacked(block: bytes, at: int, form: struct.Struct) -> tuple[float, int]:
    return form.unpack_from(block, at)[0], at + form.size


def _clock(block: bytes, at: int) -> tuple[int, int]:
    """Milliseconds of a time of day as microseconds; beyond 64 bits the last number of them, which is none either."""
    found, at = number(block, at)
    return max(-LAST_MOMENT, min(LAST_MOMENT, found * 1000)), at


def _day(block: bytes, at: int) -> tuple[int, int]:
    """A day; beyond 32 bits the last number of them, which no calendar has."""
    found, at = number(block, at)
    return max(-LAST_DAY, min(LAST_DAY, found)), at


_ONES: dict[str, One] = {
    **dict.fromkeys(("int", "long"), number),
    "float": partial(_unpacked, form=struct.Struct("<f")),
    "double": partial(_unpacked, form=struct.Struct("<d")),
}

_WIDTHS = {
    "int": ("q", pa.int64()),
    "long": ("q", pa.int64()),
    "float": ("f", pa.float32()),
    "double": ("d", pa.float64()),
}

_MOMENTS: dict[str, tuple[str, pa.DataType, One]] = {
    "date": ("i", pa.date32(), _day),
    "time-millis": ("q", pa.time64("us"), _clock),
    "time-micros": ("q", pa.time64("us"), number),
    **{
        f"{zone}timestamp-{word}": ("q", pa.timestamp(unit), number)
        for zone in ("", "local-")
        for word, unit in (("millis", "ms"), ("micros", "us"), ("nanos", "ns"))
    },
}

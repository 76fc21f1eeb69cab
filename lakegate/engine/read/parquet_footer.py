"""The footer of a Parquet file, read before any native code sees it: how many values it counts, and where.

Arrow's own access to the metadata of column chunks ends the process where a chunk is encrypted or its statistics are damaged.
This reader takes the few numbers that the engine needs, whatever else a chunk says, and refuses a footer that contradicts itself.
The encoding is the compact protocol of Thrift: a byte of field number and type, and a value; numbers take 7 bits a byte.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from lakegate.engine.read.data_source import AddressedFile
from lakegate.engine.read.read_bounds import LONGEST_FOOTER, MAX_CHUNKS, refuse_columns, unreadable

if TYPE_CHECKING:
    Wanted = tuple[tuple[int, ...], Callable[["_Compact"], Any]]
    """Types of Thrift, and what reads a value of them; of a list, each element."""

MAGIC = b"PAR1"
END = 8
"""Bytes at the end of a file: the length of the footer, and the signature."""
BYTES = 6
"""The physical type BYTE_ARRAY."""
INT96 = 3
_ARROW = b"ARROW:schema"
_ENUM, _UTF8 = 4, b"\x00"
"""Converted types: enumerations, and (as it is written) text."""
_NARROW, _INT_32 = {11, 12, 15, 16}, b"\x22"
"""Whole numbers of 8 and 16 bits, without and with a sign, and (as it is written) of 32."""
_ENUM_HEAD, _STRING_HEAD = b"\x4c", b"\x1c"
"""How the logical types ENUM and STRING begin."""
_INTEGER_HEADS, _BITS, _IS_SIGNED = b"\xac\x13", 32, b"\x11"
"""How the logical type INTEGER begins, before its bits; the bits that are stored, and the mark of numbers with a sign."""
_FIXED_BYTES, _TWELVE = b"\x0e", b"\x05\x04\x18\x00"
"""The physical type FIXED_LEN_BYTE_ARRAY; the length 12 at the end of an element."""
DELTA_LENGTHS, DELTA_TEXTS = 6, 7
"""Encodings of texts that Arrow cannot return as dictionaries; with the second one, a few bytes may be a long text."""
CODEC_NAMES = ("none", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4")
"""By their numbers, as Arrow names them for writing."""
MAX_DEPTH = 100
"""Groups within groups that Arrow reads."""
_REPEATED = 2
_CRYPTO = 8
"""The field of a chunk that only an encrypted one has."""
MAX_PAGES = 20_000
"""Pages of a chunk whose heads are looked at."""
LONGEST_HEAD = 64 << 10
"""Bytes of the head of a page, which has the least and the greatest value."""
_DEEPEST = 32
"""Structures within structures of Thrift; Parquet has 6."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A column of values, which is one of the file's columns or a part of one."""

    path: tuple[str, ...]
    kind: int
    """The physical type."""
    width: int
    """Bytes of a value of fixed length; else 0."""
    is_repeated: bool
    """Whether it has any number of values in a row."""


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """The values of a leaf in a row group; nothing is known of one whose metadata is encrypted."""

    is_encrypted: bool
    values: int = 0
    unpacked: int = 0
    codec: int = 0
    begin: int = 0
    """The beginning of its first page."""
    packed: int = 0
    """Bytes of its pages in the file."""
    encodings: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group; its chunks are in the order of the leaves."""

    rows: int
    chunks: tuple[ColumnChunk, ...]


@dataclass(frozen=True, slots=True)
class Footer:
    """The counts of a file's footer."""

    rows: int
    leaves: tuple[Leaf, ...]
    groups: tuple[RowGroup, ...]
    hollow: frozenset[str]
    """The columns with a group without members in them, or that are one; no format for values has these."""
    content: bytes
    """The end of the file, from the footer on, with the types of `_Types.of_columns`."""
    of_values: bytes
    """The same with the types of `_Types.of_values`."""
    arrow: bytes
    """The Arrow schema that the writer has added; empty without one."""

    def of(self, names: Collection[str]) -> list[int]:
        """The numbers of the leaves of these columns."""
        return [at for at, leaf in enumerate(self.leaves) if leaf.path[0] in names]

    def refuse(self, groups: Iterable[RowGroup], names: Collection[str]) -> None:
        """UnreadableError where these columns cannot be read, or count other values than their groups have rows."""
        if hollow := sorted(self.hollow & set(names)):
            raise unreadable("hollow", name=hollow[0])
        wanted = self.of(names)
        for group in groups:
            for at in wanted:
                chunk, leaf = group.chunks[at], self.leaves[at]
                if chunk.is_encrypted:
                    raise unreadable("encrypted", name=leaf.path[0])
                if not leaf.is_repeated and chunk.values != group.rows:
                    raise unreadable("counts")


def read_footer(file: AddressedFile) -> Footer:
    """Read the footer of a file. UnreadableError where it is damaged, beyond the bounds, or contradicts itself."""
    file.seek(max(0, file.size - END))
    end = file.read()
    length = int.from_bytes(end[:4], "little")
    if not end.endswith(MAGIC) or length > min(file.size, LONGEST_FOOTER):
        raise unreadable("footer")
    file.seek(max(0, file.size - END - length))
    content = file.read()
    try:
        footer = _footer(content[:-END])
    except (IndexError, KeyError, ValueError, RecursionError):
        raise unreadable("footer") from None
    if footer.rows != sum(group.rows for group in footer.groups):
        raise unreadable("counts")
    # A footer that lists a row group often would make many rows of few bytes.
    places = sorted((chunk.begin, chunk.packed) for group in footer.groups for chunk in group.chunks if chunk.values)
    if any(begin + packed > after for (begin, packed), (after, _) in pairwise(places)):
        raise unreadable("shared")
    return footer


def longest_page(file: AddressedFile, chunk: ColumnChunk) -> int:
    """Bytes of the longest page of a chunk, unpacked: no value is longer. All of the chunk where its pages are very many."""
    at, end, most = chunk.begin, chunk.begin + chunk.packed, 0
    begin, window = at, b""
    for _ in range(MAX_PAGES):
        if at >= end:
            return most
        if at + LONGEST_HEAD > begin + len(window) < file.size or at < begin:
            file.seek(at)
            begin, window = at, file.read(2 * LONGEST_HEAD)
        reading = _Compact(window, at - begin)
        try:
            head = reading.structure({2: NUMBER, 3: NUMBER})
            most, at = max(most, head[2]), begin + reading.at + max(0, head[3])
        except (IndexError, KeyError, ValueError, RecursionError):
            raise unreadable("inside") from None
    return chunk.unpacked


def _footer(content: bytes) -> Footer:
    reading, types = _Compact(content), _Types()
    structure = reading.structure({2: (LISTS, types.element), 3: NUMBER, 4: (LISTS, _group), 5: (LISTS, types.added)})
    leaves, hollow = _leaves(structure[2])
    groups = tuple(structure.get(4, ()))
    refuse_columns(len(leaves))
    if len(leaves) * len(groups) > MAX_CHUNKS:
        raise unreadable("groups")
    if any(len(group.chunks) != len(leaves) or group.rows < 0 for group in groups):
        raise ValueError
    of_columns, of_values = (_ended(content, each) for each in (types.of_columns, types.of_columns | types.of_values))
    return Footer(structure[3], leaves, groups, hollow, of_columns, of_values, types.arrow)


def _ended(content: bytes, changes: Mapping[int, bytes]) -> bytes:
    """A footer with other bytes at some positions, and the end of a file behind it."""
    pieces, begun = [], 0
    for at in sorted(changes):
        pieces += [content[begun:at], changes[at]]
        begun = at + 1
    changed = b"".join([*pieces, content[begun:]])
    return changed + len(changed).to_bytes(4, "little") + MAGIC


def _leaves(elements: list[dict[int, Any]]) -> tuple[tuple[Leaf, ...], frozenset[str]]:
    """The leaves of a schema, which lists each group before its members, and the columns in which a group has none."""
    leaves, hollow = [], set()
    root, *others = elements
    open_groups: list[tuple[int, tuple[str, ...], bool]] = [(root.get(5, 0), (), False)]
    for element in others:
        while open_groups[-1][0] == 0:
            open_groups.pop()
        left, above, is_repeated = open_groups[-1]
        open_groups[-1] = left - 1, above, is_repeated
        path = (*above, element[4].decode(errors="surrogateescape"))
        is_repeated = is_repeated or element.get(3) == _REPEATED
        if len(path) > MAX_DEPTH:
            raise unreadable("schema")
        if element.get(5, 0) > 0:
            open_groups.append((element[5], path, is_repeated))
        elif 1 in element:
            leaves.append(Leaf(path, element[1], element.get(2, 0), is_repeated))
        else:
            hollow.add(path[0])
    if any(left for left, _, __ in open_groups):
        raise ValueError
    return tuple(leaves), frozenset(hollow)


class _Types:
    """The types of a footer that Arrow is given in other words, as bytes by their positions.

    * The Arrow schema of the writer is hidden: it restores types that say nothing about the values (views, lists by size,
      dictionaries, extensions), or that this Arrow does not know. The types of Parquet itself are those that every reader has.
    * An enumeration is text ("interpret ENUM as UTF-8", LogicalTypes.md of Parquet); Arrow takes it for bytes.
    * Where values are read, INT96 is 12 bytes, and whole numbers of 8 and 16 bits have 32, as they are stored: Arrow cuts off
      what does not fit, and a value beyond its type would be another one.
    """

    def __init__(self) -> None:
        self.of_columns: dict[int, bytes] = {}
        self.of_values: dict[int, bytes] = {}
        self.arrow = b""

    def element(self, reading: _Compact) -> dict[int, Any]:
        """An element of the schema."""
        kind_at, converted_at, logical_at = (_Place(each) for each in (_Compact.signed, _Compact.signed, _skipped))
        element = reading.structure(
            {
                1: (NUMBERS, kind_at),
                2: NUMBER,
                3: NUMBER,
                4: TEXT,
                5: NUMBER,
                6: (NUMBERS, converted_at),
                10: (STRUCTURES, logical_at),
            }
        )
        logical = reading.content[logical_at.at :][:3] if logical_at.at >= 0 else b""
        if element.get(1) == BYTES and element.get(6) == _ENUM:
            self.of_columns[converted_at.at] = _UTF8
        if element.get(1) == BYTES and logical[:1] == _ENUM_HEAD:
            self.of_columns[logical_at.at] = _STRING_HEAD
        if element.get(6) in _NARROW:
            self.of_values[converted_at.at] = _INT_32
        if logical[:2] == _INTEGER_HEADS and logical[2] < _BITS:
            self.of_values |= {logical_at.at + 2: bytes([_BITS]), logical_at.at + 3: _IS_SIGNED}
        if element.get(1) == INT96:
            self.of_values |= {kind_at.at: _FIXED_BYTES, reading.at - 1: _TWELVE}
        return element

    def added(self, reading: _Compact) -> None:
        """A pair of key and value that the writer has added."""
        key_at = _Place(_Compact.text)
        structure = reading.structure({1: (TEXTS, key_at), 2: TEXT})
        if structure.get(1) == _ARROW:
            self.of_columns[key_at.at + 1] = b"-"
            self.arrow = structure.get(2, b"")


class _Place:
    """Reads a value, and keeps the position where it begins."""

    def __init__(self, read: Callable[[_Compact], Any]) -> None:
        self._read, self.at = read, -1

    def __call__(self, reading: _Compact) -> Any:  # noqa: ANN401 - whatever is read
        self.at = reading.at
        return self._read(reading)


def _group(reading: _Compact) -> RowGroup:
    structure = reading.structure({1: (LISTS, _chunk), 3: NUMBER})
    return RowGroup(structure[3], tuple(structure.get(1, ())))


def _chunk(reading: _Compact) -> ColumnChunk:
    structure = reading.structure({3: (STRUCTURES, _values), _CRYPTO: (STRUCTURES, _skipped)})
    about = structure.get(3)
    if _CRYPTO in structure or about is None:
        return ColumnChunk(is_encrypted=True)
    if min(about[5], about[6], about[7], about[9]) < 0:
        raise ValueError
    begin = min(about[9], about.get(11) or about[9])
    return ColumnChunk(False, about[5], about[6], about[4], begin, about[7], frozenset(about[2]))


def _values(reading: _Compact) -> dict[int, Any]:
    return reading.structure({2: (LISTS, _Compact.signed), **dict.fromkeys((4, 5, 6, 7, 9, 11), NUMBER)})


def _skipped(reading: _Compact) -> None:
    reading.structure({})


class _Compact:
    """Values of Thrift's compact protocol, one after the other. IndexError, KeyError or ValueError where there is none."""

    __slots__ = ("_depth", "at", "content")

    def __init__(self, content: bytes, at: int = 0) -> None:
        self.content, self.at, self._depth = content, at, 0

    def structure(self, wanted: dict[int, Wanted]) -> dict[int, Any]:
        """The wanted fields of a structure by number."""
        structure: dict[int, Any] = {}
        number, content = 0, self.content
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError
        while content[self.at]:
            head = content[self.at]
            self.at += 1
            number = number + (head >> 4) if head >> 4 else self.signed()
            kind = head & 15
            if number not in wanted:
                self._skip(kind)
                continue
            kinds, read = wanted[number]
            if kind not in kinds:
                raise ValueError
            structure[number] = self._list(read) if kind in LISTS else read(self)
        self.at += 1
        self._depth -= 1
        return structure

    def text(self) -> bytes:
        """Bytes behind their number."""
        size = self._unsigned()
        begin = self.at
        self.at += size
        if self.at > len(self.content):
            raise IndexError
        return self.content[begin : self.at]

    def signed(self) -> int:
        """A number whose lowest bit is its sign."""
        found = self._unsigned()
        return (found >> 1) ^ -(found & 1)

    def _list(self, read: Callable[[_Compact], Any]) -> list[Any]:
        size, kind = self._head_of_list()
        if kind not in (*STRUCTURES, *NUMBERS):
            raise ValueError
        return [read(self) for _ in range(size)]

    def _head_of_list(self) -> tuple[int, int]:
        head = self.content[self.at]
        self.at += 1
        size = head >> 4
        if size == _LONG:
            size = self._unsigned()
        if size > len(self.content) - self.at:  # an element takes a byte at the least
            raise IndexError
        return size, head & 15

    def _skip(self, kind: int, *, is_element: bool = False) -> None:
        if kind in NUMBERS:
            self._unsigned()
        elif kind in TEXTS:
            self.text()
        elif kind in LISTS:
            size, inner = self._head_of_list()
            for _ in range(size):
                self._skip(inner, is_element=True)
        elif kind in STRUCTURES:
            self.structure({})
        elif kind in _MAPS:
            self._skip_map()
        elif kind in _TRUTHS:
            self.at += is_element
        else:
            self.at += _FIXED[kind]

    def _skip_map(self) -> None:
        size = self._unsigned()
        if size:
            kinds = self.content[self.at]
            self.at += 1
            for _ in range(size):
                self._skip(kinds >> 4, is_element=True)
                self._skip(kinds & 15, is_element=True)

    def _unsigned(self) -> int:
        content, at, shift = self.content, self.at, 7
        byte = content[at]
        found = byte & 127
        while byte > 127:  # noqa: PLR2004 - the highest bit
            at += 1
            byte = content[at]
            found |= (byte & 127) << shift
            shift += 7
            if shift > 70:  # noqa: PLR2004 - ten bytes of seven bits
                raise ValueError
        self.at = at + 1
        return found


_TRUTHS = (1, 2)
"""Types of a field that are its value; as an element, a byte."""
NUMBERS, TEXTS, LISTS, STRUCTURES = (4, 5, 6), (8,), (9, 10), (12,)
_MAPS = (11,)
_FIXED = {3: 1, 7: 8, 13: 16}
"""Bytes of other values, by type."""
_LONG = 15
"""A list whose length follows."""
NUMBER: Wanted = (NUMBERS, _Compact.signed)
TEXT: Wanted = (TEXTS, _Compact.text)

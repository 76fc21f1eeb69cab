"""Columns under way from Avro's binary encoding.

Values are in buffers of their own width, so that an element takes about as many bytes as in the file, and no small file fills the
memory. What does not fit (IndexError, OverflowError, `struct.error`) is damaged; the reader of the blocks reports it.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.engine.read.read_bounds import unreadable
from lakegate.engine.read.stored_types import LAST_DAY, LAST_EXACT, LAST_MOMENT

ReadValue = Callable[[bytes, int], tuple[Any, int]]
"""The value at a position of a block, and the position after it."""
ReadOn = Callable[[bytes, int], int]
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


def read_number(block: bytes, at: int) -> tuple[int, int]:
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


def read_bytes(block: bytes, at: int) -> tuple[bytes, int]:
    """Bytes after their number, and the position after them."""
    size, begin = read_number(block, at)
    return read_fixed(block, begin, size)


def read_fixed(block: bytes, at: int, size: int) -> tuple[bytes, int]:
    """A fixed number of bytes, and the position after them."""
    if not 0 <= size <= len(block) - at:
        raise unreadable("inside")
    return block[at : at + size], at + size


def read_symbol(block: bytes, at: int, symbols: list[bytes]) -> tuple[bytes, int]:
    """A symbol by its number, and the position after it."""
    place, at = read_number(block, at)
    if place < 0:
        raise IndexError(place)
    return symbols[place], at


def read_truth(block: bytes, at: int) -> tuple[int, int]:
    """A byte of 0 or 1, and the position after it."""
    if block[at] > 1:
        raise IndexError(at)
    return block[at], at + 1


def read_float(block: bytes, at: int, form: struct.Struct) -> tuple[float, int]:
    """A number of fixed width, and the position after it."""
    return form.unpack_from(block, at)[0], at + form.size


def read_clock(block: bytes, at: int) -> tuple[int, int]:
    """Milliseconds of a time of day as microseconds; beyond 64 bits the last number of them, which is none either."""
    value, at = read_number(block, at)
    return max(-LAST_MOMENT, min(LAST_MOMENT, value * 1000)), at


def read_day(block: bytes, at: int) -> tuple[int, int]:
    """A day; beyond 32 bits the last number of them, which no calendar has."""
    value, at = read_number(block, at)
    return max(-LAST_DAY, min(LAST_DAY, value)), at


def bit_array(values: bytearray) -> pa.Array:
    """Bytes of 0 and 1 as an array."""
    return pa.Array.from_buffers(pa.uint8(), len(values), [None, pa.py_buffer(values)]).cast(pa.bool_())


class _Values:
    """The base of columns of values: whether each is present, and their bytes."""

    def __init__(self, kind: pa.DataType, one: ReadValue) -> None:
        self._kind, self._one = kind, one
        self._there = bytearray()

    def read(self, block: bytes, at: int) -> int:
        value, at = self._one(block, at)
        self.put(value)
        return at

    def put(self, value: Any) -> None:  # noqa: ANN401 - whatever the column is of
        self._append(value)
        self._there.append(1)

    def skip(self) -> None:
        self._append(None)
        self._there.append(0)

    def taken(self) -> pa.Array:
        there, self._there = self._there, bytearray()
        valid = None if 0 not in there else bit_array(there).buffers()[1]
        return pa.Array.from_buffers(self._kind, len(there), [valid, *self._buffers()])

    def _append(self, value: Any) -> None:  # noqa: ANN401 - likewise
        raise NotImplementedError

    def _buffers(self) -> list[pa.Buffer]:
        raise NotImplementedError


class NumberValues(_Values):
    """Numbers of the width of an array's code."""

    def __init__(self, code: str, kind: pa.DataType, one: ReadValue) -> None:
        super().__init__(kind, one)
        self._code, self._numbers = code, array(code)

    def reading(self, one: ReadValue) -> Callable[[bytes, int], int]:
        """The conversion of values of another encoding."""

        def read(block: bytes, at: int) -> int:
            value, at = one(block, at)
            self.put(value)
            return at

        return read

    def _append(self, value: Any) -> None:  # noqa: ANN401 - likewise
        self._numbers.append(value or 0)

    def _buffers(self) -> list[pa.Buffer]:
        numbers, self._numbers = self._numbers, array(self._code)
        return [pa.py_buffer(numbers)]


class Exacts(_Values):
    """Decimals: whole numbers of 128 bits, lowest byte first; beyond these the last one, which no decimal has."""

    def __init__(self, kind: pa.DataType, one: ReadValue) -> None:
        super().__init__(kind, one)
        self._digits = bytearray()

    def _append(self, value: bytes | None) -> None:
        whole = int.from_bytes(value or b"\0", "big", signed=True)
        self._digits += max(-LAST_EXACT, min(LAST_EXACT, whole)).to_bytes(16, "little", signed=True)

    def _buffers(self) -> list[pa.Buffer]:
        digits, self._digits = self._digits, bytearray()
        return [pa.py_buffer(digits)]


class Truths(_Values):
    """Booleans."""

    def __init__(self, one: ReadValue) -> None:
        super().__init__(pa.bool_(), one)
        self._truths = bytearray()

    def _append(self, value: int | None) -> None:
        self._truths.append(value or 0)

    def _buffers(self) -> list[pa.Buffer]:
        truths, self._truths = self._truths, bytearray()
        return [bit_array(truths).buffers()[1]]


class TextColumn(_Values):
    """Texts and bytes, whatever they hold."""

    def __init__(self, kind: pa.DataType, one: ReadValue) -> None:
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
        self._count += 1
        return at

    def skip(self) -> None:
        self._count += 1

    def taken(self) -> pa.Array:
        count, self._count = self._count, 0
        return pa.nulls(count)


# ---- Nested columns ----


class Optional:
    """A union of types in one column; None is null."""

    def __init__(self, column: Column, branches: Sequence[ReadOn | None]) -> None:
        self._column, self._branches = column, branches
        self.skip, self.taken = column.skip, column.taken

    def read(self, block: bytes, at: int) -> int:
        branch, at = read_number(block, at)
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
        self._truths = Truths(read_number)
        self._branches = branches
        self._union = Optional(self._truths, [None if branch is None else self._reading(branch) for branch in branches])
        self.read, self.skip = self._union.read, self._truths.skip

    def _reading(self, column: Column) -> ReadOn:
        def read(block: bytes, at: int) -> int:
            at = column.read(block, at)
            self._truths.put(1)
            return at

        return read

    def taken(self) -> pa.Array:
        for branch in self._branches:
            if branch is not None:
                branch.taken()
        return self._truths.taken()


class Records:
    """Records: whether each is there, and its members."""

    def __init__(self, members: Sequence[tuple[str, Column]]) -> None:
        self._names = [name for name, _ in members]
        self._members = [column for _, column in members]
        self._there = bytearray()

    def read(self, block: bytes, at: int) -> int:
        for column in self._members:
            at = column.read(block, at)
        self._there.append(1)
        return at

    def skip(self) -> None:
        for column in self._members:
            column.skip()
        self._there.append(0)

    def taken(self) -> pa.Array:
        there, self._there = bit_array(self._there), bytearray()
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
        count, at = read_number(block, at)
        while count:
            if count < 0:
                count, (_, at) = -count, read_number(block, at)
            for _ in range(count):
                begun = at
                for column in self._elements:
                    at = column.read(block, at)
                if at == begun:
                    self._refuse_empty()
            self._count += count
            count, at = read_number(block, at)
        self._end(there=1)
        return at

    def skip(self) -> None:
        self._end(there=0)

    def _end(self, there: int) -> None:
        self._ends.append(self._count)
        self._there.append(there)

    def _refuse_empty(self) -> None:
        self._empty += 1
        if self._empty > MAX_EMPTY_ELEMENTS:
            raise unreadable("bomb")

    def taken(self) -> pa.Array:
        missing = pc.invert(bit_array(self._there))
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

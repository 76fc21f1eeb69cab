"""Builders of columns: values of Avro's binary encoding (1.11), one after the other, as Arrow arrays.

Values are in buffers of their own width, so that an element takes about as many bytes as in the file, and no small file fills the
memory. What does not fit (IndexError, OverflowError, `struct.error`) is damaged; the reader of the blocks reports it.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from lakegate.engine.read.bounds import unreadable

if TYPE_CHECKING:
    from collections.abc import Callable

    One = Callable[[bytes, int], tuple[Any, int]]
    """The value at a position of a block, and the position after it."""

MAX_EMPTY = 1 << 20
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
        """How values of another encoding are converted."""

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
    """Decimals: whole numbers of 128 bits, lowest byte first."""

    def __init__(self, kind: pa.DataType, one: One) -> None:
        super().__init__(kind, one)
        self._digits, self._most = bytearray(), 10**kind.precision

    def _append(self, value: bytes | None) -> None:
        whole = int.from_bytes(value or b"\0", "big", signed=True)
        if abs(whole) >= self._most:
            raise unreadable("inside")
        self._digits += whole.to_bytes(16, "little", signed=True)

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


class Texts(_Values):
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

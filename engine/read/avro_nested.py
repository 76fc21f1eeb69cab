"""Builders of nested columns: unions, records, arrays and maps of Avro."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.engine.read.avro_columns import MAX_EMPTY, Truths, booleans, number
from lakegate.engine.read.bounds import unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lakegate.engine.read.avro_columns import Column

    Read = Callable[[bytes, int], int]


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
        if self._empty > MAX_EMPTY:
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

"""Values of ODF's tables from bytes of FlatBuffers that anybody may have written.

The library has no check of a buffer in Python. Here every place is compared with the end of the buffer, tables nest to a bound,
and what Python needs for a value is counted before it is made: references may lead to the same place many times, and a table
of eight bytes becomes a dictionary.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakegate.contracts.errors import InputError
from lakegate.contracts.odf.tables import (
    TABLES,
    BytesField,
    Kind,
    NumberField,
    StructField,
    TableField,
    TablesField,
    TextField,
    TextsField,
    UnionField,
)

if TYPE_CHECKING:
    from collections.abc import Collection

MAX_DEPTH = 64
"""Tables in tables."""
MOST_MEMORY = 128 << 20
"""Bytes of memory that all values of a block may take, however large it is."""
REPEATED = 64
"""Times the bytes of a buffer that its values may take of memory: a column has 25 times those of its tables."""
_TABLE, _NUMBER, _TEXT, _ENTRY, _WIDEST = 256, 32, 80, 9, 4
"""Bytes of memory of a dictionary, a number, an empty text or list, an item of a list, and a character that is not of ASCII."""
_OFFSET, _SHORT = 4, 2
"""Bytes of a reference, and of an entry of a table's index."""


class NotOdfError(InputError):
    """The bytes are no value of a table."""


@dataclass(slots=True)
class Budget:
    """Bytes of memory that values may still take."""

    left: int

    def take(self, size: int) -> None:
        """NotOdfError where there are not as many."""
        self.left -= size
        if self.left < 0:
            raise NotOdfError("its values need too much memory: references lead to the same place many times")


def budget_of(data: bytes) -> Budget:
    """What the values of a buffer, and of the buffers in it, may take together."""
    return Budget(min(MOST_MEMORY, REPEATED * len(data)))


def decoded(
    table: str, data: bytes, budget: Budget | None = None, only: Collection[str] | None = None
) -> dict[str, Any]:
    """The value of a table, or `only` some of its members; NotOdfError for bytes of something else."""
    reader = _Reader(data, budget or budget_of(data))
    try:
        return reader.table(table, reader.reference(0), 0, only)
    except (struct.error, UnicodeDecodeError):
        raise NotOdfError("the bytes break off, or a text is not UTF-8") from None


@dataclass(slots=True)
class _Reader:
    data: bytes
    budget: Budget

    def table(self, name: str, at: int, depth: int, only: Collection[str] | None = None) -> dict[str, Any]:
        """The fields that are there, and numbers with a default."""
        if depth > MAX_DEPTH:
            raise NotOdfError(f"tables are nested more than {MAX_DEPTH} deep")
        self.budget.take(_TABLE + _NUMBER * len(TABLES[name]))
        index = at - self.number("i", at)
        length = self.number("H", index)
        value: dict[str, Any] = {}
        slot = 0
        for field, kind in TABLES[name].items():
            slots = range(slot, slot + 1 + isinstance(kind, UnionField))
            if only is None or field in only:
                self.read(value, field, kind, [self.place(index, length, at, each) for each in slots], depth)
            slot = slots.stop
        return value

    def read(self, value: dict[str, Any], field: str, kind: Kind, places: list[int], depth: int) -> None:
        """One field; `places` are 0 where it is absent."""
        at = places[-1]
        if isinstance(kind, NumberField):
            if at or not kind.optional:
                value[field] = self.named(kind, self.number(kind.code, at) if at else 0)
        elif isinstance(kind, UnionField):
            number = self.number("B", places[0]) if places[0] else 0
            if bool(number) != bool(at) or number > len(kind.tables):
                raise NotOdfError(f"{field} is none of the kinds that ODF has")
            if number:
                found = kind.tables[number - 1]
                is_known = found in TABLES
                value[f"{field}_type"] = found
                value[field] = self.table(found, self.reference(at), depth + 1) if is_known else {}
        elif at:
            value[field] = self.referred(kind, at, depth)

    def referred(self, kind: Kind, at: int, depth: int) -> Any:  # noqa: ANN401 - the value of any kind
        """A value that is not a number."""
        match kind:
            case StructField(fields):
                self.budget.take(_TABLE + _NUMBER * len(fields))
                return {
                    name: self.number(code, at + place)
                    for (name, code), place in zip(fields.items(), kind.places[:-1], strict=True)
                }
            case TableField(table):
                return self.table(table, self.reference(at), depth + 1)
            case TablesField(table):
                start, count = self.vector(at, _ENTRY)
                return [self.table(table, self.reference(start + _OFFSET * each), depth + 1) for each in range(count)]
            case TextsField():
                start, count = self.vector(at, _ENTRY)
                return [self.text_at(start + _OFFSET * each) for each in range(count)]
            case TextField():
                return self.text_at(at)
            case _:
                assert isinstance(kind, BytesField)
                return self.bytes_at(at)

    def vector(self, at: int, width: int) -> tuple[int, int]:
        """Where the first of several elements is, and how many there are."""
        start = self.reference(at)
        count = self.number("I", start)
        self.budget.take(_TEXT + width * count)
        return start + _OFFSET, count

    def text_at(self, at: int) -> str:
        """The text that a reference leads to."""
        found = self.bytes_at(at)
        self.budget.take((1 if found.isascii() else _WIDEST) * len(found))
        return found.decode()

    def bytes_at(self, at: int) -> bytes:
        """The bytes that a reference leads to."""
        start, count = self.vector(at, 1)
        if start + count > len(self.data):
            raise NotOdfError("a value is longer than what is left of the bytes")
        return self.data[start : start + count]

    def reference(self, at: int) -> int:
        """Where a reference leads to: always further on."""
        return at + int(self.number("I", at))

    def place(self, index: int, length: int, at: int, slot: int) -> int:
        """Where a field is by the index of its table; 0 where it is absent."""
        entry = _SHORT * (2 + slot)
        offset = self.number("H", index + entry) if entry + _SHORT <= length else 0
        return at + int(offset) if offset else 0

    def number(self, code: str, at: int) -> Any:  # noqa: ANN401 - a number or a boolean
        """A number within the bytes."""
        if at < 0:
            raise NotOdfError("a reference leads to before the bytes")
        return struct.unpack_from(f"<{code}", self.data, at)[0]

    def named(self, kind: NumberField, number: int) -> Any:  # noqa: ANN401 - likewise
        """The name of a number of an enumeration; any other number as it is."""
        if not kind.names:
            return number
        if not 0 <= number < len(kind.names):
            raise NotOdfError(f"{number} is none of {', '.join(kind.names)}")
        return kind.names[number]

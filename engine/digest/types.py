"""Which types the logical hash knows, and the bytes with which a column of each begins (arrow-digest 60, README)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as is_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_UNITS = {"s": 0, "ms": 1, "us": 2, "ns": 3}
_INT, _FLOAT, _BINARY, _TEXT, _BOOL, _DECIMAL, _DATE, _TIME, _TIMESTAMP, _LIST = 1, 2, 3, 4, 5, 6, 7, 8, 9, 11
_BITS = (1 << 64) - 1


def unwrapped(found: pa.DataType) -> pa.DataType:
    """The type of the values themselves, where Arrow has a dictionary, runs or an extension of them."""
    while True:
        if isinstance(found, pa.BaseExtensionType):
            found = found.storage_type
        elif is_type.is_dictionary(found) or is_type.is_run_end_encoded(found):
            found = found.value_type
        else:
            return found


def prefix(found: pa.DataType) -> bytes | None:
    """What is hashed of a type before its values; None if the logical hash does not know the type."""
    found = unwrapped(found)
    if is_list(found):
        items = prefix(found.value_type)
        return None if items is None else _number(_LIST) + items
    return next((written(found) for applies, written in _PREFIXES if applies(found)), None)


def fields_of(fields: Iterable[pa.Field], level: int = 0, path: str = "") -> Iterator[tuple[str, pa.Field, int]]:
    """Each field with its path and level, those of records after the record itself, depth first."""
    for each in fields:
        name = f"{path}{each.name}"
        yield name, each, level
        found = unwrapped(each.type)
        if is_type.is_struct(found):
            yield from fields_of(found.fields, level + 1, f"{name}.")


def is_text(found: pa.DataType) -> bool:
    """Whether values are texts of any length."""
    return bool(is_type.is_string(found) or is_type.is_large_string(found) or is_type.is_string_view(found))


def is_binary(found: pa.DataType) -> bool:
    """Whether values are bytes; the length of those of fixed size is hashed, too."""
    return bool(
        is_type.is_binary(found)
        or is_type.is_large_binary(found)
        or is_type.is_binary_view(found)
        or is_type.is_fixed_size_binary(found)
    )


def is_list(found: pa.DataType) -> bool:
    """Whether values are lists; that all have the same length is not hashed."""
    return bool(is_type.is_list(found) or is_type.is_large_list(found) or is_type.is_fixed_size_list(found))


def _number(code: int, *numbers: int) -> bytes:
    return struct.pack("<H", code) + b"".join(struct.pack("<Q", each & _BITS) for each in numbers)


def _unit(found: pa.DataType) -> bytes:
    return struct.pack("<H", _UNITS[found.unit])


def _timestamp(found: pa.DataType) -> bytes:
    zone = b"" if found.tz is None else found.tz.encode()
    return _number(_TIMESTAMP) + _unit(found) + (b"\0" if found.tz is None else struct.pack("<Q", len(zone)) + zone)


def _integer(found: pa.DataType) -> bytes:
    return _number(_INT) + struct.pack("<BQ", is_type.is_signed_integer(found), found.bit_width)


_PREFIXES: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], bytes]], ...] = (
    (is_type.is_boolean, lambda _: _number(_BOOL)),
    (is_type.is_integer, _integer),
    (is_type.is_floating, lambda found: _number(_FLOAT, found.bit_width)),
    (is_type.is_decimal, lambda found: _number(_DECIMAL, found.bit_width, found.precision, found.scale)),
    (is_type.is_date32, lambda _: _number(_DATE, 32) + struct.pack("<H", 0)),
    (is_type.is_date64, lambda _: _number(_DATE, 64) + struct.pack("<H", 1)),
    (is_type.is_time, lambda found: _number(_TIME, found.bit_width) + _unit(found)),
    (is_type.is_timestamp, _timestamp),
    (is_binary, lambda _: _number(_BINARY)),
    (is_text, lambda _: _number(_TEXT)),
)

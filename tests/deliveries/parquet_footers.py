"""Parquet files with other footers: Thrift's compact protocol, read into lists, changed, and written again.

A structure is a list of `[number, type, value]`; the engine's own reader has no part in it.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

Fields = list[list[Any]]
TEXT, LIST, STRUCT = 8, 9, 12
NUMBERS = (4, 5, 6)
LONG = 15


def with_footer(content: bytes, change: Callable[[Fields], None]) -> bytes:
    """A Parquet file whose footer was changed."""
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    fields = _read_struct(io.BytesIO(content[begin:-8]))
    change(fields)
    footer = _written_struct(fields)
    return content[:begin] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def value(fields: Fields, *path: int) -> Any:
    """A value below a structure: numbers of fields, and behind that of a list the place in it."""
    found: Any = fields
    for step in path:
        is_struct = found and isinstance(found[0], list) and isinstance(found[0][0], int)
        found = next(each[2] for each in found if each[0] == step) if is_struct else found[1][step]
    return found


def put(fields: Fields, number: int, kind: int, content: Any) -> None:
    """Set a field, or add it."""
    fields[:] = sorted([*(each for each in fields if each[0] != number), [number, kind, content]])


def element(name: str, *, children: int | None = None, kind: int | None = None, repetition: int = 1) -> Fields:
    """An element of a schema: a leaf of a physical type, or a group."""
    own: Fields = [[3, 5, repetition], [4, TEXT, name.encode()]]
    return [*([[1, 5, kind]] if kind is not None else []), *own, *([[5, 5, children]] if children is not None else [])]


def _read_struct(file: io.BytesIO) -> Fields:
    found: Fields = []
    number = 0
    while head := file.read(1)[0]:
        number = number + (head >> 4) if head >> 4 else _signed(file)
        found.append([number, head & 15, None if head & 15 in {1, 2} else _read(file, head & 15)])
    return found


def _read(file: io.BytesIO, kind: int) -> Any:
    if kind in NUMBERS:
        return _signed(file)
    if kind == TEXT:
        return file.read(_unsigned(file))
    if kind == STRUCT:
        return _read_struct(file)
    if kind == LIST:
        head = file.read(1)[0]
        size = _unsigned(file) if head >> 4 == LONG else head >> 4
        return [head & 15, [_read(file, head & 15) for _ in range(size)]]
    return file.read({1: 1, 2: 1, 3: 1, 7: 8}[kind])


def _written_struct(fields: Fields) -> bytes:
    written, last = b"", 0
    for number, kind, content in fields:
        delta = number - last
        written += bytes([delta << 4 | kind]) if 0 < delta <= LONG else bytes([kind]) + _zigzag(number)
        written += b"" if content is None else _written(kind, content)
        last = number
    return written + b"\0"


def _written(kind: int, content: Any) -> bytes:
    if kind in NUMBERS:
        return _zigzag(content)
    if kind == TEXT:
        return varint(len(content)) + bytes(content)
    if kind == STRUCT:
        return _written_struct(content)
    if kind == LIST:
        inner, values = content
        size = bytes([len(values) << 4 | inner]) if len(values) < LONG else bytes([0xF0 | inner]) + varint(len(values))
        return size + b"".join(_written(inner, each) for each in values)
    return bytes(content)


def _unsigned(file: io.BytesIO) -> int:
    found = shift = 0
    while (byte := file.read(1)[0]) > 127:
        found |= (byte & 127) << shift
        shift += 7
    return found | byte << shift


def _signed(file: io.BytesIO) -> int:
    found = _unsigned(file)
    return (found >> 1) ^ -(found & 1)


def varint(number: int) -> bytes:
    """A number in groups of seven bits, the lowest first."""
    written = b""
    while number > 127:
        written += bytes([number & 127 | 128])
        number >>= 7
    return written + bytes([number])


def _zigzag(number: int) -> bytes:
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)

"""Hashes of rows, by which a merge strategy knows keys and contents again: 16 bytes of BLAKE2b for each row.

A row is hashed as the names and values of its columns that are not null, in the order of their names: a column that a later
version of the contract adds changes no row that has no value in it. Values are encoded as for ODF's logical hash; in lists, where
that hash is the same for some different values, each has a byte before it. docs/ledger.md has the whole encoding.
"""

from __future__ import annotations

import struct
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as is_type
from numpy.typing import NDArray

from lakegate.engine.digest.logical import encoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Hashes: TypeAlias = NDArray[np.bytes_]
"""One text of `HASH_BYTES` bytes for each row."""
HASH_BYTES: Final = 16
_BYTES: Final = pa.large_binary()


def row_hashes(table: pa.Table) -> Hashes:
    """The hash of each row of some columns."""
    columns = zip(table.schema, table.columns, strict=True)
    parts = sorted(_parts((field.name, pa.concat_arrays(column.chunks)) for field, column in columns if column.chunks))
    if not len(table):
        return np.zeros(0, f"S{HASH_BYTES}")
    nothing = _text(b"")  # Arrow leaves rows out in which all texts are null
    texts = pc.binary_join_element_wise(nothing, *(each for _, each in parts), nothing, null_handling="skip")
    found = b"".join(blake2b(each, digest_size=HASH_BYTES).digest() for each in texts.to_pylist())
    return np.frombuffer(found, f"S{HASH_BYTES}")


def complete(table: pa.Table) -> NDArray[np.bool_]:
    """Of each row whether it has no null in any of some columns, which are no records."""
    found = np.ones(len(table), bool)
    for column in table.columns:
        found &= np.asarray(pc.is_valid(column))
    return found


def _parts(columns: Iterable[tuple[str, pa.Array]]) -> Iterator[tuple[str, pa.Array]]:
    """Of each column that is no record its name and, of each row, name and value as bytes; null where the value is."""
    for name, array in columns:
        if is_type.is_struct(array.type):
            inner = (f"{name}\0{each.name}" for each in array.type.fields)
            yield from _parts(zip(inner, array.flatten(), strict=True))
        else:
            label = struct.pack("<Q", len(name.encode())) + name.encode()
            yield name, pc.binary_join_element_wise(_text(label), _values(array), _text(b""))


def _values(array: pa.Array) -> pa.Array:
    """The bytes of each value; null where the value is."""
    if is_type.is_list(array.type):
        counts = pc.list_value_length(array).cast(pa.int64())
        return pc.binary_join_element_wise(encoded(counts), _items(array), _text(b""))
    if is_type.is_floating(array.type):  # -0 is 0, and there is one NaN, as for uniqueness
        zero, nan = pa.scalar(0.0, array.type), pa.scalar(float("nan"), array.type)
        array = pc.if_else(pc.is_nan(array), nan, pc.add(array, zero))
    return pc.if_else(pc.is_valid(array), encoded(array), _text(None))


def _items(array: pa.Array) -> pa.Array:
    """Of each list the bytes of its items, each behind a byte: 1 for a value, 0 for a null; null where the list is."""
    places = np.asarray(array.offsets, dtype=np.int64)
    items = array.values[places[0] : places[-1]]
    marks = pc.if_else(pc.is_valid(items), _text(b"\1"), _text(b"\0"))
    found = pc.binary_join_element_wise(marks, pc.fill_null(_values(items), b""), _text(b""))
    data = found.buffers()[2] or pa.py_buffer(b"")
    offsets = np.frombuffer(found.buffers()[1] or bytes(8), np.int64)[places - places[0]]
    validity = np.packbits(np.asarray(pc.is_valid(array)), bitorder="little")
    return pa.Array.from_buffers(_BYTES, len(array), [pa.py_buffer(validity), pa.py_buffer(offsets), data])


def _text(value: bytes | None) -> pa.Scalar:
    return pa.scalar(value, _BYTES)

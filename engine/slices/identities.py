"""Hashes of rows, by which a merge strategy knows keys and contents again: 16 bytes of BLAKE2b for each row.

A row is hashed as the names and values of its columns that are not null, in the order of their names: a column that a later
version of the contract adds changes no row that has no value in it. Values are encoded as for ODF's logical hash, lists as
Python writes them.
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
    if is_type.is_list(array.type):
        return pa.array([None if each is None else repr(each).encode() for each in array.to_pylist()], _BYTES)
    if is_type.is_floating(array.type):  # -0 is 0, and there is one NaN, as for uniqueness
        zero, nan = pa.scalar(0.0, array.type), pa.scalar(float("nan"), array.type)
        array = pc.if_else(pc.is_nan(array), nan, pc.add(array, zero))
    return pc.if_else(pc.is_valid(array), encoded(array), _text(None))


def _text(value: bytes | None) -> pa.Scalar:
    return pa.scalar(value, _BYTES)

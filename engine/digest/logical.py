"""ODF's logical hash: arrow-digest, version 0, with SHA3-256, of rows as they stream.

Of each column, its type and then its values are hashed; then the names of all fields with their levels, and the digests of
the columns. Batches concatenate: only the rows count, not how they are divided, compressed or encoded. A null is one zero
byte; a field of a record that is null is null. Decision 120 names what the hash cannot tell apart.
"""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as is_type

from lakegate.contracts.errors import InputError
from lakegate.engine.digest.types import fields_of, is_binary, is_list, is_text, prefix, unwrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NULL = b"\0"
"""What is hashed of a null."""
_BYTES = pa.large_binary()


class LogicalHash:
    """The hash of rows that come in batches.

    InputError where a column has a type that the hash does not know: records in lists, maps, durations, intervals, unions.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._fields = hashlib.sha3_256()
        self._columns = []
        for path, each, level in fields_of(schema):
            name = each.name.encode()
            self._fields.update(struct.pack("<Q", len(name)) + name + struct.pack("<Q", level))
            if is_type.is_struct(unwrapped(each.type)):
                continue
            begin = prefix(each.type)
            if begin is None:
                raise InputError(f"the logical hash is not defined for the type of {path} ({each.type})")
            self._columns.append(hashlib.sha3_256(begin))

    def update(self, batch: pa.RecordBatch) -> None:
        """Add rows; their columns are those of the schema, in its order."""
        for column, array in zip(self._columns, _leaves(batch.columns), strict=True):
            column.update(_hashed(array))

    def digest(self) -> bytes:
        """32 bytes, of the rows so far."""
        found = self._fields.copy()
        for column in self._columns:
            found.update(column.digest())
        return found.digest()


def _leaves(arrays: Iterable[pa.Array]) -> Iterator[pa.Array]:
    """The columns without their records: a field is null where its record is."""
    for each in map(_plain, arrays):
        if is_type.is_struct(each.type):
            yield from _leaves(each.flatten())
        else:
            yield each


def _plain(array: pa.Array) -> pa.Array:
    """Values without the ways in which Arrow may encode them; those of texts as bytes."""
    if isinstance(array.type, pa.BaseExtensionType):
        return _plain(array.storage)
    if is_type.is_dictionary(array.type):
        return _plain(array.dictionary_decode())
    if is_type.is_run_end_encoded(array.type):
        return _plain(pc.run_end_decode(array))
    if is_text(array.type) or is_binary(array.type):
        return array.cast(_BYTES)
    if is_type.is_fixed_size_list(array.type):
        return array.cast(pa.list_(array.type.value_type))
    return array


def _hashed(array: pa.Array) -> memoryview:
    """What is hashed of a column."""
    if array.null_count == 0 and _has_fixed_size(array.type):
        return _fixed(array)
    found = _encoded(array)
    offsets = _offsets(found)
    return memoryview(found.buffers()[2] or b"")[offsets[0] : offsets[-1]]


def encoded(array: pa.Array) -> pa.Array:
    """What is hashed of each value of a column that is no record, as an array of bytes without nulls."""
    return _encoded(_plain(array))


def _encoded(array: pa.Array) -> pa.Array:
    """What is hashed of each value, as an array of bytes without nulls."""
    if is_type.is_boolean(array.type):
        array = pc.add(array.cast(pa.uint8()), pa.scalar(1, pa.uint8()))
    if _has_fixed_size(array.type):
        return pc.fill_null(_bytes_of(array), NULL)
    if is_list(array.type):
        lengths, values = pc.list_value_length(array), _items(array)
    else:
        lengths, values = pc.binary_length(array), array
    heads = pc.fill_null(_bytes_of(lengths.cast(pa.int64())), NULL)
    return pc.binary_join_element_wise(heads, values, pa.scalar(b"", _BYTES), null_handling="skip")


def _items(array: pa.Array) -> pa.Array:
    """What is hashed of the items of each list, without its length; null where the list is."""
    places = np.asarray(array.offsets, dtype=np.int64)
    items = _encoded(_plain(array.values[places[0] : places[-1]]))
    offsets = _offsets(items)[places - places[0]]
    validity = np.packbits(np.asarray(pc.is_valid(array)), bitorder="little")
    buffers = [pa.py_buffer(validity), pa.py_buffer(offsets), items.buffers()[2]]
    return pa.Array.from_buffers(_BYTES, len(array), buffers)


def _has_fixed_size(found: pa.DataType) -> bool:
    return bool(is_type.is_primitive(found) or is_type.is_decimal(found)) and not is_type.is_boolean(found)


def _bytes_of(array: pa.Array) -> pa.Array:
    """Values of a fixed size as bytes."""
    kind = pa.binary(array.type.bit_width // 8)
    return pa.Array.from_buffers(kind, len(array), array.buffers(), offset=array.offset).cast(_BYTES)


def _fixed(array: pa.Array) -> memoryview:
    """The bytes of values of a fixed size, where none is null: those in memory, uncopied."""
    width = array.type.bit_width // 8
    begin = array.offset * width
    return memoryview(array.buffers()[1] or b"")[begin : begin + len(array) * width]


def _offsets(array: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Where each value begins and the last one ends in the data of an array of bytes."""
    found = np.frombuffer(array.buffers()[1] or bytes(8), dtype=np.int64)
    return found[array.offset : array.offset + len(array) + 1]

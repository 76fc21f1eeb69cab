"""Logical and physical hash of Parquet files; common columns."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as is_type

from lakegate.base.errors import InputError
from lakegate.base.timestamps import moment
from lakegate.features.odf.format.multihash import HashCode, multihash
from lakegate.features.odf.format.odf_names import COMMON

if TYPE_CHECKING:
    from lakegate.gate.ledger.blocks import LedgerSlice

# ---- Types and the bytes that their columns begin with (arrow-digest 60) ----


_UNITS = {"s": 0, "ms": 1, "us": 2, "ns": 3}
_INT, _FLOAT, _BINARY, _TEXT, _BOOL, _DECIMAL, _DATE, _TIME, _TIMESTAMP, _LIST = 1, 2, 3, 4, 5, 6, 7, 8, 9, 11
_BITS = (1 << 64) - 1


def unwrap_type(storage_type: pa.DataType) -> pa.DataType:
    """The type of the values themselves, where Arrow has a dictionary, runs or an extension of them."""
    while True:
        if isinstance(storage_type, pa.BaseExtensionType):
            storage_type = storage_type.storage_type
        elif is_type.is_dictionary(storage_type) or is_type.is_run_end_encoded(storage_type):
            storage_type = storage_type.value_type
        else:
            return storage_type


def prefix(found: pa.DataType) -> bytes | None:
    """Bytes hashed before the values of a type; None if the logical hash does not know the type."""
    found = unwrap_type(found)
    if is_list(found):
        items = prefix(found.value_type)
        return None if items is None else _number(_LIST) + items
    return next((written(found) for applies, written in _PREFIXES if applies(found)), None)


def fields_of(fields: Iterable[pa.Field], level: int = 0, path: str = "") -> Iterator[tuple[str, pa.Field, int]]:
    """Each field with its path and level, those of records after the record itself, depth first."""
    for field in fields:
        name = f"{path}{field.name}"
        yield name, field, level
        found = unwrap_type(field.type)
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
    return struct.pack("<H", code) + b"".join(struct.pack("<Q", number & _BITS) for number in numbers)


def _unit(found: pa.DataType) -> bytes:
    return struct.pack("<H", _UNITS[found.unit])


def _timestamp(found: pa.DataType) -> bytes:
    zone = b"" if found.tz is None else found.tz.encode()
    return _number(_TIMESTAMP) + _unit(found) + (b"\0" if found.tz is None else struct.pack("<Q", len(zone)) + zone)


_PREFIXES: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], bytes]], ...] = (
    (is_type.is_boolean, lambda _: _number(_BOOL)),
    (
        is_type.is_integer,
        lambda found: _number(_INT) + struct.pack("<BQ", is_type.is_signed_integer(found), found.bit_width),
    ),
    (is_type.is_floating, lambda found: _number(_FLOAT, found.bit_width)),
    (is_type.is_decimal, lambda found: _number(_DECIMAL, found.bit_width, found.precision, found.scale)),
    (is_type.is_date32, lambda _: _number(_DATE, 32) + struct.pack("<H", 0)),
    (is_type.is_date64, lambda _: _number(_DATE, 64) + struct.pack("<H", 1)),
    (is_type.is_time, lambda found: _number(_TIME, found.bit_width) + _unit(found)),
    (is_type.is_timestamp, _timestamp),
    (is_binary, lambda _: _number(_BINARY)),
    (is_text, lambda _: _number(_TEXT)),
)


# ---- The logical hash: arrow-digest 0 with SHA3-256 ----
# Of each column, its type and then its values are hashed; then the names of all fields with their levels, and the digests of
# the columns. Batches concatenate: only the rows count, not how they are divided, compressed or encoded. A null is one zero
# byte; a field of a record that is null is null. Decision 120 names what the hash cannot tell apart.


NULL = b"\0"
"""The byte hashed for a null."""
_BYTES = pa.large_binary()


class LogicalHash:
    """The hash of rows that come in batches.

    InputError where a column has a type that the hash does not know: records in lists, maps, durations, intervals, unions.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._fields = hashlib.sha3_256()
        self._columns = []
        for path, field, level in fields_of(schema):
            name = field.name.encode()
            self._fields.update(struct.pack("<Q", len(name)) + name + struct.pack("<Q", level))
            if is_type.is_struct(unwrap_type(field.type)):
                continue
            begin = prefix(field.type)
            if begin is None:
                raise InputError(f"the logical hash is not defined for the type of {path} ({field.type})")
            self._columns.append(hashlib.sha3_256(begin))

    def update(self, batch: pa.RecordBatch) -> None:
        """Add rows; their columns are those of the schema, in its order."""
        for column, array in zip(self._columns, _leaves(batch.columns), strict=True):
            column.update(_hash_input(array))

    def digest(self) -> bytes:
        """32 bytes, of the rows so far."""
        digest = self._fields.copy()
        for column in self._columns:
            digest.update(column.digest())
        return digest.digest()


def _leaves(arrays: Iterable[pa.Array]) -> Iterator[pa.Array]:
    """The columns without their records: a field is null where its record is."""
    for entry in map(_plain, arrays):
        if is_type.is_struct(entry.type):
            yield from _leaves(entry.flatten())
        else:
            yield entry


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


def _hash_input(array: pa.Array) -> memoryview:
    """The bytes hashed for a column."""
    if array.null_count == 0 and _has_fixed_size(array.type):
        width = array.type.bit_width // 8
        begin = array.offset * width
        return memoryview(array.buffers()[1] or b"")[begin : begin + len(array) * width]
    values = _encode_present(array)
    offsets = _offsets(values)
    return memoryview(values.buffers()[2] or b"")[offsets[0] : offsets[-1]]


def encode_values(array: pa.Array) -> pa.Array:
    """The bytes hashed for each value of a column that is no record, as an array of bytes without nulls."""
    return _encode_present(_plain(array))


def _encode_present(array: pa.Array) -> pa.Array:
    """The bytes hashed for each value, as an array of bytes without nulls."""
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
    """The bytes hashed for the items of each list, without its length; null where the list is."""
    places = np.asarray(array.offsets, dtype=np.int64)
    items = _encode_present(_plain(array.values[places[0] : places[-1]]))
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


def _offsets(array: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The offset of each value, and the end of the last one, in the data of an array of bytes."""
    found = np.frombuffer(array.buffers()[1] or bytes(8), dtype=np.int64)
    return found[array.offset : array.offset + len(array) + 1]


# ---- Common columns of a slice (RFC-015) ----


OPERATIONS = ("append", "retract", "correctFrom", "correctTo")
"""By their number in the column `op`."""
_CORRECT_FROM, _CORRECT_TO = 2, 3


@dataclass(frozen=True, slots=True)
class SliceStatistics:
    """A slice of at least one row."""

    first_offset: int
    last_offset: int
    operations: Mapping[str, int]
    """Rows by operation."""
    system_times: tuple[datetime, datetime]
    """The earliest and the latest, in UTC."""
    event_times: tuple[datetime, datetime]
    """The earliest and the latest, in UTC; a date is its midnight."""


def statistics_of(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> SliceStatistics:
    """Read the common columns of all rows, in their order.

    InputError where one is missing, has another type or a null, where offsets are not consecutive, an operation is unknown, a
    correction is not a pair, system times go back, a time is none of Python's, or there are no rows.
    """
    _check_types(schema)
    counts = np.zeros(len(OPERATIONS), dtype=np.int64)
    first = following = None
    pending = False
    times: list[list[datetime]] = [[], []]
    for batch in batches:
        columns = [batch.column(name) for name in COMMON]
        if any(entry.null_count for entry in columns):
            raise InputError("a common column has a null")
        if not batch.num_rows:
            continue
        # Whole numbers alone: what wraps, as numbers beyond 63 bits do, is below 0, and refused as such.
        offsets, operations = (np.asarray(entry.cast("int64", safe=False)) for entry in columns[:2])
        first = int(offsets[0]) if first is None else first
        follows = following in {None, int(offsets[0])}
        if offsets.min() < 0 or not follows or (np.diff(offsets) != 1).any():
            raise InputError("the offsets are not consecutive")
        following = int(offsets[-1]) + 1
        pending = _check_pairs(operations, is_pending=pending)
        counts += np.bincount(operations, minlength=len(OPERATIONS))
        known = np.asarray(columns[2].cast("int64"))
        if (np.diff(known) < 0).any() or (times[0] and _moment(columns[2][0]) < times[0][-1]):
            raise InputError("the system times go back")
        for moments, column in zip(times, columns[2:], strict=True):
            moments += [_moment(bound) for bound in pc.min_max(column).values()]
    if pending:
        raise InputError("a correction is not a pair")
    if first is None or following is None:
        raise InputError("a slice has at least one row")
    system, event = ((min(entry), max(entry)) for entry in times)
    return SliceStatistics(first, following - 1, dict(zip(OPERATIONS, counts.tolist(), strict=True)), system, event)


def _check_types(schema: pa.Schema) -> None:
    """InputError where a common column is not one."""
    for name in COMMON:
        places = schema.get_all_field_indices(name)
        if len(places) != 1:
            raise InputError(f"a slice has one column {name}")
        kind = schema.field(places[0]).type
        is_moment = is_type.is_timestamp(kind) and kind.tz == "UTC"
        if not (
            is_type.is_integer(kind)
            if name in COMMON[:2]
            else is_moment or (name == "event_time" and is_type.is_date32(kind))
        ):
            raise InputError(f"the column {name} has another type than in ODF ({kind})")


def _check_pairs(operations: np.ndarray[tuple[int], np.dtype[np.int64]], *, is_pending: bool) -> bool:
    """Whether the last row waits for the second half of its correction; InputError where a correction is not a pair."""
    if operations.min() < 0 or operations.max() >= len(OPERATIONS):
        raise InputError("an operation is none of ODF's: 0 to 3")
    begins, ends = operations == _CORRECT_FROM, operations == _CORRECT_TO
    if not np.array_equal(ends, np.concatenate(([is_pending], begins[:-1]))):
        raise InputError("a correction is not a pair")
    return bool(begins[-1])


def _moment(bound: pa.Scalar) -> datetime:
    try:
        day: date = (bound if is_type.is_date32(bound.type) else bound.cast(pa.timestamp("us", "UTC"))).as_py()
    except (ValueError, OverflowError):
        raise InputError("a time is beyond the years 1 to 9999, or finer than microseconds") from None
    return day if isinstance(day, datetime) else datetime.combine(day, time(), UTC)


# ---- Both hashes of a Parquet file ----


BATCH = 1 << 16
"""Rows that are in memory at a time."""


@dataclass(frozen=True, slots=True)
class FileDigest:
    """The hashes of a file as ODF writes them: multihashes in base16."""

    rows: int
    size: int
    """Bytes."""
    logical: str
    """Of the rows: the same for every file that contains them."""
    physical: str
    """SHA3-256 of the bytes."""


def digest_of(path: Path, batch: int = BATCH) -> FileDigest:
    """Read a Parquet file twice: its bytes, and its rows in batches.

    InputError where it is not a Parquet file, or where the logical hash is not defined for a column.
    """
    with _readable(path) as file:
        physical = hashlib.file_digest(file, "sha3_256").digest()
        size = file.tell()
        with pq.ParquetFile(file) as parquet:
            logical = LogicalHash(parquet.schema_arrow)
            for entry in parquet.iter_batches(batch):
                logical.update(entry)
            rows = parquet.metadata.num_rows
    return FileDigest(
        rows,
        size,
        multihash(HashCode.ARROW0_SHA3_256, logical.digest()),
        multihash(HashCode.SHA3_256, physical),
    )


def slice_in(path: Path, batch: int = BATCH) -> SliceStatistics:
    """Read the common columns of a Parquet file. InputError where it is not a Parquet file, or not a slice of ODF."""
    with _readable(path) as file, pq.ParquetFile(file) as parquet:
        schema = parquet.schema_arrow
        known = [name for name in COMMON if name in schema.names]
        return statistics_of(schema, parquet.iter_batches(batch, columns=known))


@contextmanager
def _readable(path: Path) -> Iterator[BufferedReader]:
    try:
        with path.open("rb") as file:
            yield file
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or "it is not a Parquet file, or is damaged"
        raise InputError(f"the file cannot be read: {reason}") from None


def is_as_stated(path: Path, stated: LedgerSlice) -> bool:
    """Whether a file is the slice that a block describes; a file that is no slice is not."""
    try:
        statistics, digests = slice_in(path), digest_of(path)
    except InputError:
        return False
    times = tuple(moment(entry.astimezone(UTC)) for entry in statistics.event_times)
    is_its_turn = stated.system_time is None or {stated.system_time} == set(map(moment, statistics.system_times))
    return is_its_turn and (statistics.first_offset, digests.rows, times, digests.logical, digests.physical) == (
        stated.offset,
        stated.rows,
        stated.event_time,
        stated.logical,
        stated.physical,
    )

"""Known keys of a dataset, in sorted files."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as is_type
from numpy.typing import NDArray

from lakegate.base.errors import InputError
from lakegate.features.odf.format.logical_hash import encode_values
from lakegate.plan.slice_order import StateRun

# ---- Hashes of rows ----
# A row is hashed as the names and values of its columns that are not null, in the order of their names: a column that a later
# version of the contract adds changes no row that has no value in it. Values are encoded as for ODF's logical hash; in lists,
# where that hash is the same for some different values, each has a byte before it. docs/ledger.md has the whole encoding.


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
    texts = pc.binary_join_element_wise(nothing, *(part for _, part in parts), nothing, null_handling="skip")
    found = b"".join(blake2b(entry, digest_size=HASH_BYTES).digest() for entry in texts.to_pylist())
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
            inner = (f"{name}\0{field.name}" for field in array.type.fields)
            yield from _parts(zip(inner, array.flatten(), strict=True))
        else:
            label = struct.pack("<Q", len(name.encode())) + name.encode()
            yield name, pc.binary_join_element_wise(_text(label), _values(array), _text(b""))


def _values(array: pa.Array) -> pa.Array:
    """The bytes of each value; null where the value is."""
    if is_type.is_list(array.type):
        counts = pc.list_value_length(array).cast(pa.int64())
        return pc.binary_join_element_wise(encode_values(counts), _items(array), _text(b""))
    if is_type.is_floating(array.type):  # -0 is 0, and there is one NaN, as for uniqueness
        zero, nan = pa.scalar(0.0, array.type), pa.scalar(float("nan"), array.type)
        array = pc.if_else(pc.is_nan(array), nan, pc.add(array, zero))
    return pc.if_else(pc.is_valid(array), encode_values(array), _text(None))


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


# ---- The state: hashes in sorted files ----
# A file (`StateRun`) has its records in the order of their keys, then an index: of each bucket of records the first key and the
# digest. A delivery reads the index, which the digest of the file proves, and the buckets that its own keys fall into. A dataset
# has few files: a new one takes up those that are not much larger.


BUCKET: Final = 2048
"""Records of a bucket."""
AT_ONCE: Final = 1 << 19
"""Records of a run that are in memory: 16 MB, with offsets 20."""
RECORD: Final = np.dtype([("key", f"S{HASH_BYTES}"), ("content", f"S{HASH_BYTES}")])
PLACED: Final = np.dtype([*RECORD.descr, ("offset", "<u8")])
"""With the offset of the row, of datasets whose rows may be retracted or corrected."""
_ENTRY: Final = np.dtype([("first", f"S{HASH_BYTES}"), ("digest", f"V{HASH_BYTES}")])
"""Of the index, for each bucket."""
_of_bucket = partial(hashlib.blake2b, digest_size=HASH_BYTES)
_of_index = partial(hashlib.blake2b, digest_size=32)


def kept_runs(runs: tuple[StateRun, ...], rows: int) -> tuple[StateRun, ...]:
    """The runs, the oldest first, that stay as they are beside a new one of so many rows; it takes up the others."""
    total, left = rows, len(runs)
    while left and runs[left - 1].rows < 2 * total:
        left -= 1
        total += runs[left].rows
    return runs[:left]


@dataclass(frozen=True, slots=True)
class StateRecords:
    """Rows by their keys: sorted, no key twice."""

    records: NDArray[np.void]

    @staticmethod
    def of(keys: Hashes, contents: Hashes, offsets: NDArray[np.int64] | None = None) -> StateRecords:
        """Of keys in any order; of one that is there several times, the first row."""
        order = np.unique(keys, return_index=True)[1]
        found = np.empty(len(order), RECORD if offsets is None else PLACED)
        found["key"], found["content"] = keys[order], contents[order]
        if offsets is not None:
            found["offset"] = offsets[order]
        return StateRecords(found)

    @staticmethod
    def none() -> StateRecords:
        """Of no rows."""
        return StateRecords(np.empty(0, RECORD))


class Parts(Protocol):
    """A storage of objects that are read by parts. Failures are OSError."""

    def part(self, address: str, start: int, length: int) -> bytes:
        """At most `length` bytes of an object from `start`."""
        ...


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run in a storage; InputError where it is not what was written."""

    store: Parts
    run: StateRun

    @property
    def record(self) -> np.dtype[np.void]:
        """With offsets in datasets of snapshots."""
        return PLACED if self.run.as_of else RECORD

    def contents(self, keys: Hashes) -> tuple[NDArray[np.bool_], Hashes]:
        """Of sorted keys which ones are here, and their contents."""
        is_here, found = np.zeros(len(keys), bool), np.zeros(len(keys), f"S{HASH_BYTES}")
        index = self._index()
        buckets = np.searchsorted(index["first"], keys, "right") - 1
        for first, last in _spans(np.unique(buckets[buckets >= 0])):
            own = slice(*np.searchsorted(buckets, (first, last + 1)))
            records = self._buckets(index, first, last + 1)
            places = np.minimum(np.searchsorted(records["key"], keys[own]), len(records) - 1)
            is_here[own] = records["key"][places] == keys[own]
            found[own] = records["content"][places]
        return is_here, found

    def blocks(self) -> Iterator[NDArray[np.void]]:
        """All records, some at a time."""
        index, most = self._index(), AT_ONCE // BUCKET
        for begin in range(0, len(index), most):
            yield self._buckets(index, begin, begin + most)

    def _index(self) -> NDArray[np.void]:
        listed = self._part(self.run.rows * self.record.itemsize, -(-self.run.rows // BUCKET) * _ENTRY.itemsize)
        if _of_index(listed).hexdigest() != self.run.digest:
            raise _differs()
        return np.frombuffer(listed, _ENTRY)

    def _buckets(self, index: NDArray[np.void], begin: int, end: int) -> NDArray[np.void]:
        """The records of consecutive buckets."""
        size = BUCKET * self.record.itemsize
        part = self._part(begin * size, min(end * size, self.run.rows * self.record.itemsize) - begin * size)
        if _digests(part, size) != index["digest"][begin:end].tobytes():
            raise _differs()
        return np.frombuffer(part, self.record)

    def _part(self, start: int, length: int) -> bytes:
        part = self.store.part(self.run.uri, start, length) if length else b""
        if len(part) != length:
            raise _differs()
        return part


def _differs() -> InputError:
    return InputError(
        "a file of the merge state is not as it was written: `lakegate verify DATASET --objects` names it, "
        "`lakegate dataset rebuild-state DATASET` replaces it"
    )


def _digests(records: bytes, size: int) -> bytes:
    """Of each bucket of so many bytes."""
    return b"".join(_of_bucket(records[at : at + size]).digest() for at in range(0, len(records), size))


def _spans(buckets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Neighbouring buckets together, as many as are read at once."""
    if not len(buckets):
        return
    most = AT_ONCE // BUCKET
    begins = [0, *(np.flatnonzero(np.diff(buckets) != 1) + 1).tolist(), len(buckets)]
    for begin, end in pairwise(begins):
        for at in range(begin, end, most):
            yield int(buckets[at]), int(buckets[min(at + most, end) - 1])


def merge_parts(parts: Sequence[Iterator[NDArray[np.void]]]) -> Iterator[NDArray[np.void]]:
    """The records of sorted parts in one order, of which some are in memory; of a key in several, that of the first one."""
    heads = [head for part in parts if (head := _Head(part)).pull()]
    while heads:
        limit = min(head.block["key"][-1] for head in heads)
        taken = np.concatenate([head.take(limit) for head in heads])
        taken = taken[np.argsort(taken["key"], kind="stable")]  # a key is in the present block of each part that has it
        yield taken[np.append(True, taken["key"][1:] != taken["key"][:-1])]
        heads = [head for head in heads if len(head.block) or head.pull()]


class _Head:
    """The next records of a part."""

    def __init__(self, blocks: Iterator[NDArray[np.void]]) -> None:
        self._blocks = blocks
        self.block: NDArray[np.void] = np.empty(0, RECORD)

    def pull(self) -> bool:
        """Read on; whether there is more."""
        self.block = next((block for block in self._blocks if len(block)), self.block[:0])
        return len(self.block) > 0

    def take(self, limit: bytes) -> NDArray[np.void]:
        """The records up to a key, which are gone then."""
        end = int(np.searchsorted(self.block["key"], limit, "right"))
        taken, self.block = self.block[:end], self.block[end:]
        return taken


def write_run(new: StateRecords, taken_up: Sequence[StoredRun], path: Path) -> tuple[int, str]:
    """Write a run of older runs and of new records; returns its rows and its digest."""
    index: list[bytes] = []
    rows = 0
    with path.open("wb") as file:
        for block in _whole_buckets(merge_parts([*(run.blocks() for run in taken_up), iter([new.records])])):
            records = block.tobytes()
            file.write(records)
            entries = np.empty(-(-len(block) // BUCKET), _ENTRY)
            entries["first"] = block["key"][::BUCKET]
            entries["digest"] = np.frombuffer(_digests(records, BUCKET * block.dtype.itemsize), f"V{HASH_BYTES}")
            index.append(entries.tobytes())
            rows += len(block)
        listed = b"".join(index)
        file.write(listed)
    return rows, _of_index(listed).hexdigest()


def _whole_buckets(blocks: Iterator[NDArray[np.void]]) -> Iterator[NDArray[np.void]]:
    """The same records, each time a number of whole buckets; the last one may have fewer records."""
    rest: NDArray[np.void] | None = None
    for block in blocks:
        held = block if rest is None else np.concatenate([rest, block])
        whole = len(held) - len(held) % BUCKET
        if whole:
            yield held[:whole]
        rest = held[whole:]
    if rest is not None and len(rest):
        yield rest


def state_digest(runs: Sequence[Iterator[NDArray[np.void]]]) -> str:
    """SHA3-256 of all records in the order of their keys: the same however they are divided into runs."""
    digest = hashlib.sha3_256()
    for block in merge_parts(runs):
        digest.update(block.tobytes())
    return digest.hexdigest()

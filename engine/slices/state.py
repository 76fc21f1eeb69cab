"""The state of a merge strategy: key and content of each current row, as hashes in sorted files that are read by parts.

A file (`StateRun`) has its records in the order of their keys, then the first key of each bucket of records. A delivery reads
the list of buckets and the buckets that its own keys fall into. A line has few files: a new one takes up those that are not
much larger.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from lakegate.contracts.errors import InputError
from lakegate.engine.slices.identities import HASH_BYTES, Hashes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from lakegate.contracts.plan.slices import StateRun
    from lakegate.engine.read.chunk import Store

BUCKET: Final = 2048
"""StateRecords of a bucket."""
AT_ONCE: Final = 1 << 19
"""StateRecords of a run that are in memory, about 16 MB."""
_RECORD: Final = np.dtype([("key", f"S{HASH_BYTES}"), ("content", f"S{HASH_BYTES}")])


def kept(runs: tuple[StateRun, ...], rows: int) -> tuple[StateRun, ...]:
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
    def of(keys: Hashes, contents: Hashes) -> StateRecords:
        """Of keys in any order; of one that is there several times, the first row."""
        order = np.unique(keys, return_index=True)[1]
        found = np.empty(len(order), _RECORD)
        found["key"], found["content"] = keys[order], contents[order]
        return StateRecords(found)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run in a storage; InputError where it is not as large as the request says."""

    store: Store
    run: StateRun

    def firsts(self) -> Hashes:
        """The first key of each bucket."""
        begin = self.run.rows * _RECORD.itemsize
        count = -(-self.run.rows // BUCKET)
        return np.frombuffer(self._part(begin, count * HASH_BYTES), f"S{HASH_BYTES}")

    def contents(self, keys: Hashes) -> tuple[NDArray[np.bool_], Hashes]:
        """Of sorted keys which ones are here, and their contents."""
        is_here, found = np.zeros(len(keys), bool), np.zeros(len(keys), f"S{HASH_BYTES}")
        buckets = np.searchsorted(self.firsts(), keys, "right") - 1
        for first, last in _spans(np.unique(buckets[buckets >= 0])):
            own = slice(*np.searchsorted(buckets, (first, last + 1)))
            records = self.read(first * BUCKET, (last + 1) * BUCKET)
            places = np.minimum(np.searchsorted(records["key"], keys[own]), len(records) - 1)
            is_here[own] = records["key"][places] == keys[own]
            found[own] = records["content"][places]
        return is_here, found

    def read(self, begin: int, end: int) -> NDArray[np.void]:
        """StateRecords by their places."""
        size = _RECORD.itemsize
        end = min(end, self.run.rows)
        return np.frombuffer(self._part(begin * size, (end - begin) * size), _RECORD)

    def blocks(self) -> Iterator[NDArray[np.void]]:
        """All records, some at a time."""
        for begin in range(0, self.run.rows, AT_ONCE):
            yield self.read(begin, begin + AT_ONCE)

    def _part(self, start: int, length: int) -> bytes:
        found = self.store.part(self.run.uri, start, length)
        if len(found) != length:
            raise InputError("a file of the merge state is not as recorded: `lakegate verify LINE --objects` names it")
        return found


def _spans(buckets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Neighbouring buckets together, as many as are read at once."""
    if not len(buckets):
        return
    most = AT_ONCE // BUCKET
    begins = [0, *(np.flatnonzero(np.diff(buckets) != 1) + 1).tolist(), len(buckets)]
    for begin, end in pairwise(begins):
        for at in range(begin, end, most):
            yield int(buckets[at]), int(buckets[min(at + most, end) - 1])


def merged(parts: Sequence[Iterator[NDArray[np.void]]]) -> Iterator[NDArray[np.void]]:
    """The records of sorted parts in one order; of each part some are in memory at a time."""
    heads = [head for each in parts if (head := _Head(each)).pull()]
    while heads:
        limit = min(each.block["key"][-1] for each in heads)
        taken = np.concatenate([each.take(limit) for each in heads])
        yield taken[np.argsort(taken["key"], kind="stable")]
        heads = [each for each in heads if len(each.block) or each.pull()]


class _Head:
    """The next records of a part."""

    def __init__(self, blocks: Iterator[NDArray[np.void]]) -> None:
        self._blocks = blocks
        self.block: NDArray[np.void] = np.empty(0, _RECORD)

    def pull(self) -> bool:
        """Read on; whether there is more."""
        self.block = next((each for each in self._blocks if len(each)), self.block[:0])
        return len(self.block) > 0

    def take(self, limit: bytes) -> NDArray[np.void]:
        """The records up to a key, which are gone then."""
        end = int(np.searchsorted(self.block["key"], limit, "right"))
        taken, self.block = self.block[:end], self.block[end:]
        return taken


def write_run(new: StateRecords, taken_up: Sequence[StoredRun], path: Path) -> int:
    """Write a run of new records and of older runs; returns its rows."""
    firsts: list[bytes] = []
    rows = 0
    with path.open("wb") as file:
        for block in merged([iter([new.records]), *(each.blocks() for each in taken_up)]):
            file.write(block.tobytes())
            begin = -rows % BUCKET
            firsts.append(block["key"][begin::BUCKET].tobytes())
            rows += len(block)
        file.write(b"".join(firsts))
    return rows


def state_digest(runs: Sequence[Iterator[NDArray[np.void]]]) -> str:
    """SHA3-256 of all records in the order of their keys: the same however they are divided into runs."""
    found = hashlib.sha3_256()
    for block in merged(runs):
        found.update(block.tobytes())
    return found.hexdigest()

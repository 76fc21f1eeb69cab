"""Accepted snapshots become main: the follower of the ledger, which reads, and makes one conditional commit.

The block of a delivery names the judged object with version and checksum. Its footer says which snapshot it is a copy of, and
the row of that snapshot which bytes the copy has: an object that somebody else wrote is none. So exactly what was judged becomes
main.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from lakegate.base.errors import ConditionFailed, InputError, NotFound
from lakegate.base.json_codec import decode_document
from lakegate.contract.contract_model import GATED_TABLE, full_dataset_name, parts_of
from lakegate.features.pull.named_objects import NamedObject, name_of_row
from lakegate.features.pull.pull_task import TASK as PULL_TASK
from lakegate.features.pull.pull_task import FinishedPull, PullOutcome, pull_of, pulls, report_end, with_named
from lakegate.features.pull.snapshots.gated_tables import (
    PINS,
    GatedTables,
    SnapshotPins,
    SnapshotStep,
    branch_of,
    next_step,
)
from lakegate.features.pull.snapshots.name_snapshots import PLACE, TASK, followed_up_to, named_snapshots
from lakegate.features.pull.snapshots.table_owners import owner_of
from lakegate.gate.datasets.accepted_deliveries import not_current_at
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import ConcurrentUpdate, Effect, Steps, perform
from lakegate.gate.ledger.blocks import AnyBlock, Block, BlockKind, LedgerObject
from lakegate.gate.ports import Address
from lakegate.gate.scheduled_tasks import SECONDS_OF_ROW, Turn, change_row

MOST_BLOCKS: Final = 100
"""Of one turn of a dataset: others have their turn, too."""
TRIES: Final = 3
"""Commits that another one was faster than, before the next turn goes on."""
LENGTH: Final = 32 << 20
"""Bytes of the judged object that are in memory at once."""


@dataclass(slots=True)
class FollowedSnapshots:
    """What a turn did for a dataset."""

    ends: list[FinishedPull] = field(default_factory=list)
    is_complete: bool = True
    """Whether all blocks of the ledger were followed."""


class JudgedSnapshot(NamedTuple):
    """An accepted snapshot that has not become main, nor been refused."""

    row: NamedObject
    pins: SnapshotPins
    height: int
    """Of its block."""


def is_gated(dependencies: Dependencies, dataset: str) -> bool:
    """Whether any version of the dataset's contract names a branch: what it has delivered may be published later."""
    snapshot = dependencies.registry.contract(parts_of(dataset)[0])
    return any(
        full_dataset_name(version.contract, name, version.major) == dataset
        for version in snapshot.versions
        for label, name in version.labels
        if label == GATED_TABLE
    )


def publish_snapshots(dependencies: Dependencies, tables: GatedTables, dataset: str) -> Steps[FollowedSnapshots]:
    """Follow the blocks of a dataset, and let the accepted snapshots become main, in the order of the ledger.

    Raises PortError where the catalog does not answer, and ConcurrentUpdate where another program is always faster: the next
    turn goes on with that block.
    """
    done, place = FollowedSnapshots(), followed_up_to(dependencies, dataset)
    if place > dependencies.ledger.head(dataset).height:  # the ledger was restored to an earlier time
        place = -1
    blocks = dependencies.ledger.blocks(dataset, place)
    for block in blocks[:MOST_BLOCKS]:
        if dependencies.remaining() < SECONDS_OF_ROW:
            done.is_complete = False
            return done
        judged = _judged(dependencies, dataset, block)
        if judged is not None:
            done.ends.append((yield from _end(dependencies, tables, dataset, judged)))
        if judged is not None or block is blocks[:MOST_BLOCKS][-1]:
            yield from perform(Effect.KEEP_CURSOR, dependencies.agenda.keep, f"{PLACE}{dataset}", str(block.height))
    done.is_complete = len(blocks) <= MOST_BLOCKS
    return done


def publish_all(dependencies: Dependencies, tables: GatedTables, turn: Turn) -> Steps[None]:
    """The same for all datasets, for what no event named."""
    gated = {
        full_dataset_name(version.contract, name, version.major)
        for version in dependencies.registry.snapshot().versions
        for label, name in version.labels
        if label == GATED_TABLE
    }
    for dataset in sorted(gated):
        if dependencies.remaining() < SECONDS_OF_ROW:
            return
        followed = yield from turn.guarded(dataset, publish_snapshots(dependencies, tables, dataset))
        turn.ends += [] if followed is None else [(dataset, each) for each in followed.ends]


# ---- One block ----


def _end(dependencies: Dependencies, tables: GatedTables, dataset: str, judged: JudgedSnapshot) -> Steps[FinishedPull]:
    """Let a snapshot become main, or say why it does not; both are final, and written."""
    step = yield from _published(dependencies, tables, dataset, judged)
    row, is_done = judged.row, step is SnapshotStep.DONE
    end = FinishedPull(
        PullOutcome.PUBLISHED if is_done else PullOutcome.FAILED,
        dependencies.moment,
        row.key,
        row.size,
        "" if is_done else step.value,
        row.source,
        row.version,
    )
    state = pulls(dependencies).get(dataset)
    if state.plan:
        yield from report_end(dependencies, state, end, None, f"{row.id[:12]}:published")
        yield from change_row(dependencies, PULL_TASK, dataset, lambda before: with_named(before, end))
    yield from change_row(
        dependencies, TASK, row.id, lambda before: before if before.published else replace(before, published=end)
    )
    return end


def _published(
    dependencies: Dependencies, tables: GatedTables, dataset: str, judged: JudgedSnapshot
) -> Steps[SnapshotStep]:
    """The step after which nothing is left to do."""
    pins, branch = judged.pins, branch_of(judged.row.source)
    snapshot, before = int(pins.snapshot), None if pins.main is None else int(pins.main)
    for _ in range(TRIES):
        state = tables.state(branch)
        step = next_step(state, pins.uuid, snapshot, before)
        if step is not SnapshotStep.SET or state is None:
            return step
        pull = pull_of(dependencies, dataset)
        is_source = pull is not None and (pull.source, pull.rows) == (judged.row.source, pins.rows)
        if not is_source or owner_of(dependencies, judged.row.source) != dataset:
            return SnapshotStep.SOURCE_REFUSED
        if judged.height in not_current_at(dependencies, dataset):
            return SnapshotStep.NOT_CURRENT
        files = tables.files(branch, snapshot, pins.since)
        if files is None or files.digest != pins.files:
            return SnapshotStep.FILES_CHANGED
        with suppress(ConditionFailed):  # main has moved, or an earlier try of this one arrived
            yield from perform(Effect.PUBLISH_SNAPSHOT, tables.set_main, branch, state, snapshot)
            return SnapshotStep.DONE
    raise ConcurrentUpdate(dataset)


def _judged(dependencies: Dependencies, dataset: str, block: AnyBlock) -> JudgedSnapshot | None:
    """The snapshot that a block has accepted, unless its end is written; None: it is of another delivery, or of none."""
    if not isinstance(block, Block) or block.kind is not BlockKind.PUBLISHED:
        return None
    stored = _original(block)
    if stored is None:
        return None
    address = Address(dependencies.places.lake, stored.key, stored.version)
    try:
        pins = _pins(dependencies, address, stored.size)
        if pins is None:
            return None
        row = named_snapshots(dependencies).get(name_of_row(dataset, pins.source, pins.version))
        if row.published is not None or not row.dataset or row.etag != _sha256(dependencies, address, stored.size):
            return None
    except NotFound:  # its rows were erased
        return None
    return JudgedSnapshot(row, pins, block.height)


def _original(block: Block) -> LedgerObject | None:
    """The object that arrived, which typed files and slices are beside."""
    beside = block.typed_keys | {each.key for each in block.slices or ()}
    objects = [each for each in block.objects if each.key not in beside]
    return objects[0] if len(objects) == 1 else None


def _pins(dependencies: Dependencies, address: Address, size: int) -> SnapshotPins | None:
    """What the footer of an object states; None: it is no copy of a snapshot."""
    with suppress(pa.ArrowException, OSError, ValueError, InputError):
        stated = pq.read_metadata(_Ranges(dependencies, address, size)).metadata or {}
        if text := stated.get(PINS.encode()):
            return decode_document(SnapshotPins, PINS, json.loads(text))
    return None


def _sha256(dependencies: Dependencies, address: Address, size: int) -> str:
    found = hashlib.sha256()
    for part in _parts(dependencies, address, size):
        found.update(part)
    return found.hexdigest()


def _parts(dependencies: Dependencies, address: Address, size: int) -> Iterator[bytes]:
    return (dependencies.objects.read(address, start, LENGTH) for start in range(0, size, LENGTH))


class _Ranges(io.RawIOBase):
    """An object as a file that is read in its middle: of a Parquet file the footer alone."""

    def __init__(self, dependencies: Dependencies, address: Address, size: int) -> None:
        super().__init__()
        self._objects, self._address, self._size, self._at = dependencies.objects, address, size, 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """The place of the next byte."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Up to so many bytes."""
        length = min(self._size - self._at, size if size >= 0 else self._size)
        body = self._objects.read(self._address, self._at, length) if length > 0 else b""
        self._at += len(body)
        return body

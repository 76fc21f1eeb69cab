"""Slices and their merge state computed again: read, hashed, built from what arrived, and compared with what is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakegate.admission.file_signatures import UnreadableError
from lakegate.aws.clients import client
from lakegate.aws.open_stack import DeployedStack
from lakegate.base.errors import ConditionFailed, InputError, NotFound
from lakegate.cli import terminal
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.contract.delivery_policy import MergeStrategy, Policy
from lakegate.engine.read.data_source import LocalStore, Store, path_of
from lakegate.engine.read.open_delivery import open_source
from lakegate.engine.typed_columns import TypedColumns
from lakegate.features.odf.format.logical_hash import LogicalHash, is_as_stated, slice_in
from lakegate.features.odf.format.multihash import HashCode, multihash
from lakegate.features.odf.format.odf_names import COMMON
from lakegate.features.odf.odf_publisher import SliceTerms, slice_terms
from lakegate.features.odf.slice_turns import NextSlice, turns
from lakegate.features.odf.slices.earlier_rows import Content, earlier_rows
from lakegate.features.odf.slices.merge_state import (
    HASH_BYTES,
    PLACED,
    Hashes,
    Parts,
    StateRecords,
    StoredRun,
    complete,
    kept_runs,
    row_hashes,
    state_digest,
    write_run,
)
from lakegate.features.odf.slices.merge_strategies import TAKEN_BACK, Identified, SnapshotDifference, of_rows
from lakegate.features.odf.slices.slice_writer import Begin, divided, schema_of, with_common
from lakegate.gate.delivery.delivery_terms import terms_of
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Alarm
from lakegate.gate.lake_layout import is_original, rebuilt_key
from lakegate.gate.ledger.blocks import AnyBlock, Block, LedgerObject, LedgerSlice, deliveries
from lakegate.gate.ledger.compare_objects import Compared, Damage, DamagedObject
from lakegate.gate.ledger.stored_objects import Erasures, erasures_of
from lakegate.gate.ports import Address
from lakegate.plan.plan import Plan
from lakegate.plan.request import StagedPart
from lakegate.plan.slice_order import PublishedSlice, StateRun
from lakegate.transfer.download_files import DiffersError, File, ListedDelivery, fetched, head_of
from lakegate.transfer.upload_files import To, read, send

if TYPE_CHECKING:
    from numpy.typing import NDArray


# ---- Current rows of snapshots and upserts ----
# The slices stay on this machine, so that what a later snapshot retracts or corrects is read from them.


@dataclass(slots=True)
class CurrentRows:
    """The rows of a dataset of snapshots or upserts, below a delivery."""

    records: NDArray[np.void] = field(default_factory=lambda: np.empty(0, PLACED))
    """By key."""
    slices: list[PublishedSlice] = field(default_factory=list)

    def add(self, files: Iterable[Path], key: tuple[str, ...], time: str | None) -> None:
        """The events of slices, too, in the order of their offsets. `time`: a column that is no content. InputError."""
        for path in files:
            tables, common = _events_of(path)
            found = Identified.of(
                iter(tables), key, (time,) if time is not None and time in tables[0].column_names else ()
            )
            operations, offsets = (np.concatenate([*map(np.asarray, entry)]).astype(np.int64) for entry in common)
            keys, place = np.unique(found.keys[::-1], return_index=True)
            last = len(found.keys) - 1 - place
            new = last[~np.isin(operations[last], TAKEN_BACK)]
            added = StateRecords.of(found.keys[new], found.contents[new], offsets[new]).records
            self._replace(keys, added)
            self.slices.append(PublishedSlice(path.as_uri(), int(offsets[0]), len(offsets)))

    def _replace(self, keys: Hashes, added: NDArray[np.void]) -> None:
        """Put records in the place of those with some keys; all are sorted. The others are moved, and not sorted again."""
        begins, ends = (np.searchsorted(self.records["key"], keys, side) for side in ("left", "right"))
        stays = np.delete(self.records, begins[ends > begins])
        self.records = np.insert(stays, np.searchsorted(stays["key"], added["key"]), added)

    def whole(self, folder: Path, as_of: str) -> StateRun:
        """The state of the dataset as a file; `as_of`: of its newest snapshot."""
        path = folder / "state.bin"
        rows, digest = write_run(StateRecords(self.records), [], path)
        return StateRun(path.as_uri(), rows, digest, as_of)

    def events(
        self, tables: Callable[[], Iterator[pa.Table]], policy: Policy, schema: pa.Schema, path: Path
    ) -> Iterator[pa.Table]:
        """The events of a delivery that is merged; `path`: of a file for retracted and corrected rows."""
        content = Content(schema, () if policy.event_time is None else (policy.event_time,))
        rows = Identified.of(tables(), policy.merge_key, content.without)
        keeps = policy.merge_strategy is MergeStrategy.UPSERT
        difference = SnapshotDifference.of(rows, self.records, keeps=keeps)
        with earlier_rows(LocalStore(), self.slices, difference.taken_back, content, path) as earlier:
            yield from difference.tables(tables(), earlier)


def _events_of(path: Path) -> tuple[list[pa.Table], tuple[list[pa.Array], list[pa.Array]]]:
    """The rows of a slice without the common columns; operations and offsets."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - only datasets of snapshots need it

    try:
        with path.open("rb") as file, closing(ParquetFile(file)) as parquet:
            tables = [pa.Table.from_batches([batch]) for batch in parquet.iter_batches()]
        operations, offsets = ([table.column(name) for table in tables] for name in (COMMON[1], COMMON[0]))
        if tables:
            return [table.drop_columns(list(COMMON)) for table in tables], (operations, offsets)
    except (pa.ArrowException, KeyError):
        pass
    raise InputError("a file is no slice of the dataset")


# ---- Slices built again from originals ----
# Rows are neither judged nor stored. What was accepted is known: the originals of a delivery are all of its accepted rows.


@dataclass(slots=True)
class RowsBefore:
    """The keys of a dataset that merges its rows, below a delivery, as hashes: 16 bytes each."""

    levels: list[Hashes] = field(default_factory=list)
    """Sorted; each at least twice as long as the next one, so that a key is moved as often as their number at most."""

    def add(self, files: Iterable[Path], key: tuple[str, ...]) -> None:
        """Those of slices, too. InputError where a file is none."""
        new = joined([keys[has_key] for keys, has_key in _keys(rows_of(files), key)])
        while self.levels and len(self.levels[-1]) < 2 * len(new):
            new = joined([self.levels.pop(), new])
        if len(new):
            self.levels.append(new)

    def new(self, tables: Iterator[pa.Table], key: tuple[str, ...]) -> NDArray[np.bool_]:
        """Rows that have no key, or one that is not there; of several with one key, the first."""
        none = np.zeros(0, f"S{HASH_BYTES}"), np.zeros(0, bool)
        keys, has_key = (np.concatenate(entry) for entry in zip(none, *_keys(tables, key), strict=True))
        is_new = np.zeros(len(keys), bool)
        is_new[np.unique(keys, return_index=True)[1]] = True
        for level in self.levels:
            is_new &= level[np.minimum(np.searchsorted(level, keys), len(level) - 1)] != keys
        chosen: NDArray[np.bool_] = is_new | ~has_key
        return chosen


def _keys(tables: Iterable[pa.Table], key: tuple[str, ...]) -> Iterator[tuple[Hashes, NDArray[np.bool_]]]:
    """The hashes of the keys of some rows, and whether no column of each is null; contents are not needed."""
    for keys in (table.select(key) for table in tables):
        yield row_hashes(keys), complete(keys)


def joined(keys: Sequence[Hashes]) -> Hashes:
    """Sorted, none twice."""
    found: Hashes = np.unique(np.concatenate([np.zeros(0, f"S{HASH_BYTES}"), *keys]))
    return found


def rows_of(files: Iterable[Path]) -> Iterator[pa.Table]:
    """The rows of slices without the common columns. InputError where a file is none."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - only datasets that merge rows need it

    try:
        for path in files:
            for batch in ParquetFile(path).iter_batches():
                yield pa.Table.from_batches([batch]).drop_columns(list(COMMON))
    except (pa.ArrowException, KeyError):
        raise InputError("a file is no slice of the dataset") from None


def logical_hashes(  # noqa: PLR0913, PLR0917 - what arrived, and where the slices begin and end
    plan: Plan,
    parts: tuple[StagedPart, ...],
    store: Store,
    begin: Begin,
    counts: Sequence[int],
    folder: Path,
    before: RowsBefore | CurrentRows | None = None,
) -> tuple[str, ...]:
    """The logical hash of each slice, of which the numbers of rows are known, as multihashes.

    One more hash for rows beyond the last slice, and fewer hashes if there are not enough rows. InputError where an object cannot
    be read by the plan.
    """
    found: list[LogicalHash] = []
    try:
        columns = TypedColumns(plan, open_source(plan, parts, store))
        whole, offset = schema_of(columns.schema), begin.offset
        tables, policy = columns.tables(folder), plan.policy
        if isinstance(before, CurrentRows):
            again, path = partial(columns.tables, folder), folder / "before.arrow"
            tables = before.events(again, policy, columns.schema, path)
        elif policy.merge_key:
            tables = of_rows(tables, (before or RowsBefore()).new(columns.tables(folder), policy.merge_key))
        for at, rows in divided(tables, counts):
            while len(found) <= at:
                found.append(LogicalHash(whole))
            found[at].update(with_common(rows, whole, begin, offset))
            offset += len(rows)
    except UnreadableError as error:
        raise InputError(f"an original cannot be read by its plan: {error}") from None
    return tuple(multihash(HashCode.ARROW0_SHA3_256, entry.digest()) for entry in found)


# ---- The merge state computed again ----


@dataclass(slots=True)
class StateOfSlices:
    """Keys and contents of the slices so far, in sorted files of a folder, the oldest first."""

    folder: Path
    runs: tuple[StateRun, ...] = ()
    count: int = 0
    """Files that were written."""

    def add(self, files: Iterable[Path], key: tuple[str, ...]) -> None:
        """Those of further slices; of a key that is there, the first row counts. InputError where a file is none."""
        found = Identified.of(rows_of(files), key)
        records = found.records(found.has_key)
        left = len(kept_runs(self.runs, len(records.records)))
        self._replace(left, records)

    def whole(self) -> StateRun:
        """One file with all of them."""
        self._replace(0, StateRecords.none())
        return self.runs[0]

    def _replace(self, left: int, records: StateRecords) -> None:
        """Take up the files from a place on."""
        self.count += 1
        path, taken_up = self.folder / f"state-{self.count}.bin", self.runs[left:]
        rows, digest = write_run(records, [StoredRun(LocalStore(), item) for item in taken_up], path)
        for entry in taken_up:
            path_of(entry.uri).unlink()
        self.runs = (*self.runs[:left], StateRun(path.as_uri(), rows, digest))


# ---- `lakegate dataset rebuild-state` ----


@dataclass(frozen=True, slots=True)
class RebuiltState:
    """The computed state."""

    dataset: str = field(metadata=DATASET_KEY)
    keys: int
    digest: str
    """Of keys and contents, by the slices."""
    stored: str
    """By the state; empty where one of its files is not there, or not as listed."""
    replaced: bool


def rebuilt(there: DeployedStack, dataset: str) -> RebuiltState:
    """Compute the state of a dataset from its slices, and replace it where it is another one."""
    with TemporaryDirectory(prefix="lakegate-state-") as name:
        return _rebuilt(there, dataset, Path(name))


def _rebuilt(there: DeployedStack, named: str, folder: Path) -> RebuiltState:
    dependencies = there.dependencies()
    dataset = head_of(dependencies, named)["line"]
    before = turns(dependencies).next_slice(dataset)
    if before.writer:
        raise InputError(f"a delivery of {dataset} is decided and not committed yet: repeat the command in a minute")
    blocks = dependencies.ledger.blocks(dataset)
    merged = [(delivery, terms) for delivery in deliveries(blocks) if (terms := _terms(dependencies, delivery))]
    if not merged:
        raise InputError(
            f"{dataset} has no merge state: no delivery of it was merged. With a `mergeStrategy` in its contract, the first one "
            "that publishes slices has one"
        )
    found = _whole(dependencies, merged, erasures_of(blocks), before, folder)
    digest, stored = _digest(LocalStore(), [found]), _stored_state(dependencies, before)
    if digest == stored:
        return RebuiltState(dataset, found.rows, digest, stored, replaced=False)
    run = replace(found, uri=rebuilt_key(dataset, digest))
    to = To(dependencies.places.lake, run.uri, there.account)
    send(client("s3"), read(path_of(found.uri)), to, lambda _: None)
    try:
        turns(dependencies).replace_state(dataset, before, (run,) if run.rows or run.as_of else ())
    except ConditionFailed:
        raise InputError(f"a delivery of {dataset} was decided meanwhile: repeat the command") from None
    return RebuiltState(dataset, found.rows, digest, stored, replaced=True)


def _whole(
    dependencies: Dependencies,
    merged: list[tuple[Block, SliceTerms]],
    erasures: Erasures,
    before: NextSlice,
    folder: Path,
) -> StateRun:
    """The state by the slices, in one file; a restored slice has another version than in its block (`erasures`)."""
    rows, snapshots = StateOfSlices(folder), CurrentRows()
    for block, terms in merged:
        with TemporaryDirectory(dir=folder) as name:
            slices = _slices(dependencies, block, erasures, Path(name))
            if terms.strategy.corrects:
                snapshots.add(slices, terms.merge_key, terms.event_time)
            else:
                rows.add(slices, terms.merge_key)
    if not merged[-1][1].strategy.corrects:
        return rows.whole()
    # no slice has the time of a snapshot that changed nothing
    changed = max((entry.event_time[1] for block, _ in merged for entry in block.slices or ()), default="")
    return snapshots.whole(folder, max([run.as_of for run in before.runs], default=changed))


def _terms(dependencies: Dependencies, block: Block) -> SliceTerms | None:
    """By which the rows of a delivery were merged; None where they were appended, or published as they arrived."""
    if block.slices is None:
        return None
    terms = slice_terms(dependencies.terms_at(block.plan, block.workload))
    return terms if terms.merge_key else None


def _slices(dependencies: Dependencies, block: Block, erasures: Erasures, folder: Path) -> list[Path]:
    """The slices of a delivery on this machine, each as its block states, or as it was restored."""
    keys = {entry.key for entry in block.slices or ()}
    files = tuple(
        File(entry.key, entry.version, entry.size, entry.checksum, f"{number}.parquet")
        for number, entry in enumerate(erasures.objects_of(block))
        if entry.key in keys
    )
    fetched(dependencies, folder, ListedDelivery({}, files), lambda _: None)
    return [folder / file.place for file in files]


@dataclass(frozen=True, slots=True)
class _OfTheLake:
    """Parts of objects of the lake, by their keys."""

    dependencies: Dependencies

    def part(self, address: str, start: int, length: int) -> bytes:
        """See `lakegate.features.odf.slices.merge_state.Parts`."""
        return self.dependencies.objects.read(Address(self.dependencies.places.lake, address), start, length)


def _stored_state(dependencies: Dependencies, before: NextSlice) -> str:
    """The digest of the state as it is stored."""
    with suppress(NotFound, InputError):
        return _digest(_OfTheLake(dependencies), before.runs)
    return ""


def _digest(store: Parts, runs: Iterable[StateRun]) -> str:
    return state_digest([StoredRun(store, run).blocks() for run in runs])


# ---- `lakegate verify --integrity` ----


def read_slices(dependencies: Dependencies, blocks: Sequence[AnyBlock]) -> Compared:
    """Every slice of a chain: offset, rows, event times and both hashes are those of its block.

    One slice at a time is on this machine.
    """
    erasures = erasures_of(blocks)
    return _compare("reading slices", blocks, lambda block: _read(dependencies, block, erasures))


def _compare(
    doing: str, blocks: Sequence[AnyBlock], look: Callable[[Block], Iterable[tuple[LedgerSlice, Damage | None]]]
) -> Compared:
    """Every slice of a chain; damaged ones are those that are not as their block states."""
    damaged, count = list[DamagedObject](), 0
    with terminal.working(doing) as progress:
        for block in deliveries(blocks):
            for stated, damage in look(block):
                count += 1
                progress(f"{doing}: {count:,}")
                if damage is not None:
                    damaged.append(DamagedObject(damage, stated.key, "", "", block.height, block.workload, stated.key))
    return Compared(count, 0, tuple(damaged))


def _read(dependencies: Dependencies, block: Block, erasures: Erasures) -> Iterator[tuple[LedgerSlice, Damage | None]]:
    objects = {listed.key: listed for listed in erasures.objects_of(block)}
    for stated in block.slices or ():
        with TemporaryDirectory(prefix="lakegate-slice-") as name:
            path = fetched_object(dependencies, Path(name), objects[stated.key])
            yield stated, Damage.LOST if path is None else None if is_as_stated(path, stated) else Damage.ALTERED


def fetched_object(dependencies: Dependencies, folder: Path, judged: LedgerObject) -> Path | None:
    """An object of a block on this machine; None where the store does not have it as recorded."""
    file = File(judged.key, judged.version, judged.size, judged.checksum, "object")
    try:
        fetched(dependencies, folder, ListedDelivery({}, (file,)), lambda _: None)
    except DiffersError:
        return None
    return folder / file.place


# ---- `lakegate verify --replay` ----


@dataclass(frozen=True, slots=True)
class _Before:
    """The relation of the slices below a delivery to it, where rows are merged."""

    folder: Path
    """Of slices that stay on this machine."""
    rows: RowsBefore
    snapshots: CurrentRows
    erasures: Erasures
    """By which a restored object has another version."""


def replayed_slices(dependencies: Dependencies, chain: str, blocks: Sequence[AnyBlock]) -> Compared:
    """Every slice of the chain: the file is what its block states, and its rows are those of what arrived."""
    with TemporaryDirectory(prefix="lakegate-slices-") as name:
        before = _Before(Path(name), RowsBefore(), CurrentRows(), erasures_of(blocks))
        return _compare(
            "building slices again",
            blocks,
            lambda block: _replayed(dependencies, chain, block, before) if block.slices else (),
        )


def _replayed(
    dependencies: Dependencies, chain: str, block: Block, before: _Before
) -> Iterator[tuple[LedgerSlice, Damage | None]]:
    """Each slice of a delivery, and what is wrong with it."""
    slices, objects = block.slices or (), {item.key: item for item in before.erasures.objects_of(block)}
    originals = sorted((key for key in objects if is_original(block, chain, key)), key=lambda key: (len(key), key))
    with TemporaryDirectory(prefix="lakegate-replay-") as name:
        folder = Path(name)
        paths = {
            key: fetched_object(dependencies, folder / str(number), objects[key])
            for number, key in enumerate((*originals, *(item.key for item in slices)))
        }
        arrived = [path for key in originals if (path := paths[key])]
        present = [path for item in slices if (path := paths[item.key])]
        is_whole = len(arrived) == len(originals)
        hashes = _hashes(dependencies, folder, block, before, arrived, present[0]) if is_whole and present else ()
        for at, entry in enumerate(slices):
            path = paths[entry.key]
            if path is None or not is_whole:
                yield entry, Damage.LOST
            elif not is_as_stated(path, entry):
                yield entry, Damage.ALTERED
            elif len(hashes) != len(slices) or hashes[at] != entry.logical:
                yield entry, Damage.IRREPRODUCIBLE
            else:
                yield entry, None
        with suppress(Alarm, InputError):  # without its plan, or a slice that can be read, its own slices are damaged
            terms = slice_terms(dependencies.terms_at(block.plan, block.workload))
            if terms.strategy.corrects:
                stay = [item.replace(before.folder / f"{block.height}-{at}") for at, item in enumerate(present)]
                before.snapshots.add(stay, terms.merge_key, terms.event_time)
            elif terms.merge_key:
                before.rows.add(present, terms.merge_key)


def _hashes(  # noqa: PLR0913, PLR0917 - a delivery as it arrived, and what is known of its slices
    dependencies: Dependencies, folder: Path, block: Block, before: _Before, originals: list[Path], a_slice: Path
) -> tuple[str, ...]:
    """The logical hashes that the slices of a delivery must have; none where they cannot be built."""
    slices = block.slices or ()
    parts = tuple(StagedPart(original.as_uri(), original.stat().st_size) for original in originals)
    counts = [entry.rows for entry in slices]
    if not originals:
        return ()
    try:
        body = dependencies.plan_at(block.plan, block.workload)
        terms, found = slice_terms(terms_of(body)), slice_in(a_slice)
        begin = Begin(slices[0].offset, found.system_times[0], terms.event_time)
        if terms.strategy.corrects:
            begin = replace(begin, event_time=None, moment=found.event_times[0])
        below = before.snapshots if terms.strategy.corrects else before.rows
        return logical_hashes(Plan.from_bytes(body), parts, LocalStore(), begin, counts, folder, below)
    except (Alarm, InputError):  # the plan is missing or another one, or an original cannot be read by it
        return ()

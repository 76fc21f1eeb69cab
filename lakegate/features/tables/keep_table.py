"""Tables that follow the ledger: a snapshot for each accepted delivery, and for each change of the current state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import zip_longest
from typing import Final, NamedTuple, Protocol, TypeGuard

from lakegate.base.errors import ConditionFailed, InputError, LakegateError
from lakegate.base.json_codec import sha256_of
from lakegate.base.timestamps import moment
from lakegate.contract.contract_model import REJECTED_TABLE, TABLE
from lakegate.features.tables.table_description import TableDescription, describe_table
from lakegate.gate import lake_layout
from lakegate.gate.datasets.accepted_deliveries import not_current_at
from lakegate.gate.datasets.current_deliveries import NotCurrent, is_change, not_current, not_current_after
from lakegate.gate.delivery.decide_verdict import read_plan
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import ConcurrentUpdate, Effect, Steps, perform
from lakegate.gate.ledger import stored_objects
from lakegate.gate.ledger.blocks import GENESIS, AnyBlock, Block, BlockKind, Record, TableFile, deliveries
from lakegate.gate.ledger.blocks import digest as digest_of
from lakegate.gate.ledger.stored_objects import ADOPTED, DONE, Erasures, erasures_of

# ---- The port ----


DATASET, HEIGHT, BLOCK, TIME = "lakegate.dataset", "lakegate.height", "lakegate.block", "lakegate.time"
"""Properties of each table; height, digest and time of the block also of each snapshot, whose others have names that begin
likewise."""
EXPIRED: Final = "lakegate.expired"
"""Property of a table whose last snapshot is that of an erasure, until files that only expired snapshots used are deleted: the
address of the metadata before it."""
UNTIL: Final = "lakegate.until"
"""Property of a table some of whose files are kept for a time: when the first of them is to leave."""
PLAIN_NAME: Final = re.compile(r"[a-z0-9]+/[a-z0-9_]+", re.ASCII)
LONGEST_NAME: Final = 200
"""Characters before the digest; Glue takes 255."""


class TableKind(StrEnum):
    """The rows of a dataset that a table has."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    """Those of its accepted deliveries that were rejected alone."""

    def has(self, key: str) -> bool:
        """Whether an object may be a typed file of such rows, by its key."""
        return key.startswith(stored_objects.FOLDER) is (self is TableKind.REJECTED)

    @property
    def label(self) -> str:
        """The label of a contract that names the datasets with such a table."""
        return TABLE if self is TableKind.ACCEPTED else REJECTED_TABLE


def table_name(dataset: str, kind: TableKind = TableKind.ACCEPTED) -> str:
    """The name of a table of a dataset, which no other one has: `shop_orders_v1` of `shop/orders_v1`.

    Where an underscore stands for more than the slash, a digest follows: else an owner could take the name of another's table.
    That of rejected rows has an end that no dataset has: theirs are numbers.
    """
    end = "_rejected" if kind is TableKind.REJECTED else ""
    if PLAIN_NAME.fullmatch(dataset):
        return dataset.replace("/", "_") + end
    return f"{re.sub(r'[^a-z0-9]+', '_', dataset.lower())[:LONGEST_NAME]}_{sha256_of(dataset)[:16]}{end}"


def table_folder(dataset: str, kind: TableKind = TableKind.ACCEPTED) -> str:
    """The folder of the metadata of a table, in the lake bucket; of rejected rows beside them, with their readers."""
    return (
        f"tables/{dataset}"
        if kind is TableKind.ACCEPTED
        else f"{stored_objects.FOLDER}{dataset}/{lake_layout.TABLE[:-1]}"
    )


class ShownState(NamedTuple):
    """The state of a dataset that its table shows."""

    height: int = -1
    """Of the last block that gave it a snapshot."""
    digest: str = GENESIS
    """Of that block."""
    snapshot: int | None = None
    """The id of the current snapshot; None: there is none yet."""
    expired: str = ""
    """The metadata from before the last erasure, as long as what its expired snapshots used may be there; empty: it is not."""
    until: str = ""
    """When the first of its files is to leave, RFC 3339, UTC; empty: none is kept for a time."""


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """The change of a table by one block."""

    dataset: str
    height: int
    digest: str
    """Of the block."""
    about: tuple[tuple[str, str], ...]
    """What the summary of the snapshot states beside height and digest, by name."""
    added: tuple[TableFile, ...]
    removed: tuple[str, ...] = ()
    """Keys of data files."""
    is_whole: bool = False
    """Whether the table then has the rows of the files in `added` alone, whatever it has now."""
    description: TableDescription | None = None
    """Properties and comments from now on; None: they stay as they are."""
    standing: frozenset[str] | None = None
    """Of an erasure, which is whole, the keys of all typed files of the dataset that are not erased, also of deliveries that are
    not current: each earlier snapshot that names any other file is taken out of the table at once. None: all snapshots stay."""
    until: str = ""
    """When the first of the files of all snapshots is to leave, from now on."""


class FilesRewritten(LakegateError):  # noqa: N818 - the name is what happened
    """The table does not have a file that is to be removed, nor one that was made of it by a compaction of ours."""


class CatalogTables(Protocol):
    """The tables of a kind in a catalog. Each dataset has one, whose name follows from that of the dataset."""

    @property
    def kind(self) -> TableKind:
        """The rows that they have."""
        ...

    def shown(self, dataset: str) -> ShownState | None:
        """The state that a table shows; None: there is no such table.

        Raises InputError where the table is that of another dataset, or where another program has changed its rows or columns.
        """
        ...

    def make(self, dataset: str, first: TableFile | None) -> None:
        """Make the table of a dataset, empty, with the columns of a data file. A table that is there stays as it is.

        None: of rejected rows, whose columns are always the same.
        """
        ...

    def commit(self, snapshot: TableSnapshot, shown: ShownState) -> ShownState:
        """Add one snapshot to the one that is shown; returns the state that the table then shows.

        Snapshots that are no longer to be kept leave in the same commit. All of it or nothing.

        Raises ConditionFailed where another snapshot is current, FilesRewritten, and InputError where the table cannot have the
        columns of a file.
        """
        ...

    def leftovers(self, dataset: str, now: datetime, erased: AbstractSet[str]) -> tuple[str, ...]:
        """Addresses of files below the table, such as those of its metadata, that no snapshot uses.

        They are those that only snapshots used which an erasure took out, those that nobody has used for days, and those that a
        compaction made of erased files, given their keys: nobody can put them into the table any more. Typed files are beside
        what arrived, and none of them.
        """
        ...

    def discard(self, dataset: str, address: str) -> None:
        """Delete a file below the table. Absent is done."""
        ...

    def clear(self, dataset: str, shown: ShownState) -> ShownState:
        """State that nothing of before the last erasure is left. Raises ConditionFailed where another snapshot is current."""
        ...


# ---- The table of a dataset, kept at the top of its chain ----
# The table is read first. Each block above the one that it shows is committed on the snapshot that was read, so that of two
# workers one is refused, and a commit whose answer was lost is found by the height that the table then shows.


MAX_SNAPSHOTS: Final = 100
"""Of one turn of a dataset: others have their turn, too."""
PASSED: Final = 100
"""After so many blocks that change nothing of a table it gets a snapshot without a change: no turn reads many more of them."""


@dataclass(slots=True)
class KeptTable:
    """What a turn did for a table."""

    dataset: str
    height: int = -1
    """That it shows; -1: nothing."""
    snapshots: int = 0
    """That were added."""
    is_complete: bool = True
    """Whether it shows all that the ledger had."""
    rebuilt: list[int] = field(default_factory=list)
    """Heights at which all files were listed again, because the table did not have some that were to leave."""


def keep_table(
    dependencies: Dependencies, tables: CatalogTables, dataset: str, most: int = MAX_SNAPSHOTS
) -> Steps[KeptTable]:
    """Add the snapshots that the table of a dataset lacks, at most so many; a dataset without typed files has no table.

    Raises InputError where the table is not that of the dataset's ledger, ConcurrentUpdate where another worker goes on with it.
    """
    files, kept = FilesOfTables(dependencies, tables.kind, dependencies.moment), KeptTable(dataset)
    found, blocks = yield from _look(tables, files, kept)
    shown = found or ShownState()
    for block, snapshot in _changes(files, dataset, shown.height, blocks):
        if found is None and not files.begin_with(block, snapshot):
            continue
        change = snapshot or _passed(block, shown)
        if change is None and found is not None:
            continue
        if kept.snapshots >= most:
            kept.is_complete = False
            return kept
        if found is None:
            first = next(iter(change.added if change else ()), None)
            yield from perform(Effect.MAKE_TABLE, tables.make, dataset, first)
            found = tables.shown(dataset) or shown
            if found != shown:
                raise ConcurrentUpdate(dataset)
        if change is not None:
            shown = yield from _commit(tables, files, change, shown, kept)
    return kept


def _look(
    tables: CatalogTables, files: FilesOfTables, kept: KeptTable
) -> Steps[tuple[ShownState | None, tuple[AnyBlock, ...]]]:
    """What a table shows, without what is to leave it by itself, and the blocks above; None: it is not there."""
    found, ledger = tables.shown(kept.dataset), files.dependencies.ledger
    shown = found or ShownState()
    blocks = ledger.blocks(kept.dataset, shown.height)
    if (blocks[0].previous if blocks else ledger.head(kept.dataset).digest) != shown.digest:
        raise InputError(
            f"the table of {kept.dataset} shows height {shown.height}, and the ledger has another block there: "
            "drop the table, and it is made again from the ledger"
        )
    kept.height = shown.height
    if shown.expired:
        found = shown = yield from _clear(files.dependencies, tables, kept.dataset, shown)
    if files.are_over(shown.until):
        found = yield from _leave_out(tables, files, shown, kept)
    return found, blocks


def _changes(
    files: FilesOfTables, dataset: str, height: int, blocks: tuple[AnyBlock, ...]
) -> Iterator[tuple[AnyBlock, TableSnapshot | None]]:
    """The blocks above a height, each with the snapshot that it makes."""
    dependencies = files.dependencies
    state, erasures = not_current_at(dependencies, dataset, height), erasures_of(blocks)
    held: list[TableFile] = []
    for block, above in zip_longest(blocks, blocks[1:]):
        if _is_adoption(block):
            held += _adopted(files, block, state, erasures)
            if above is None or not _is_adoption(above) or len(held) >= MOST_ADOPTED:
                yield block, _added(block, tuple(held)) if held else None
                held = []
            continue
        after = not_current_after(state, (block,)) if is_change(block) else state
        if after is None:
            chain = dependencies.ledger.blocks(dataset)
            after = not_current(each for each in chain if each.height <= block.height)
        snapshot, state = _snapshot(files, block, state, after, erasures), after
        yield block, snapshot


def _passed(block: AnyBlock, shown: ShownState) -> TableSnapshot | None:
    """A snapshot without a change, if a table has none for long."""
    if block.height - shown.height < PASSED:
        return None
    return _added(block, ())


MOST_ADOPTED: Final = 100
"""Typed files of adoptions that follow each other and are one snapshot: a table keeps a number of snapshots."""


def _is_adoption(block: AnyBlock) -> bool:
    return isinstance(block, Record) and block.kind == ADOPTED


def _adopted(files: FilesOfTables, record: AnyBlock, state: NotCurrent, erasures: Erasures) -> tuple[TableFile, ...]:
    """The files that an adoption brings into the table: none of a delivery that is not current."""
    assert isinstance(record, Record)
    height: int = record.content["height"]
    block = None if height in state else files.dependencies.ledger.block(record.chain, height)
    return files.of(block, erasures, record.height) if block else ()


def _added(block: AnyBlock, added: tuple[TableFile, ...]) -> TableSnapshot:
    return TableSnapshot(block.chain, block.height, digest_of(block), tuple(_about(block)), added)


NO_ERASURES: Final = erasures_of(())


@dataclass(frozen=True, slots=True)
class FilesOfTables:
    """The typed files that the tables of a kind list at a time."""

    dependencies: Dependencies
    kind: TableKind
    now: str

    def of(self, block: AnyBlock, erasures: Erasures, height: int) -> tuple[TableFile, ...]:
        """The data files that an accepted delivery has at a height, as long as they are kept; of any other block none."""
        if not self.has_files(block, erasures, height):
            return ()
        return erasures.table_of(block) if self.kind is TableKind.ACCEPTED else erasures.rejected_table_of(block)

    def listed_of(self, block: AnyBlock, erasures: Erasures, height: int) -> tuple[TableFile, ...]:
        """Those and what they were before erasures: a table that does not show these yet lists files of before."""
        if not self.has_files(block, erasures, height):
            return ()
        return tuple(each for each in erasures.typed_ever(block) if self.kind.has(each.key))

    def has_files(self, block: AnyBlock, erasures: Erasures, height: int) -> TypeGuard[Block]:
        """Whether a block is one of an accepted delivery that has files at a height, or had before erasures."""
        if not isinstance(block, Block) or block.kind is not BlockKind.PUBLISHED or self.are_over(self.end_of(block)):
            return False
        return block.table is not None or erasures.adopted.get(block.workload, height + 1) <= height

    def are_over(self, end: str) -> bool:
        """Whether files that leave at a time have left; empty: they never do."""
        return "" < end <= self.now

    def end_of(self, block: AnyBlock) -> str:
        """When the files of a block leave: with the beginning of the day on which the store may delete them."""
        if self.kind is TableKind.ACCEPTED or not isinstance(block, Block) or not block.rejected_table:
            return ""
        key = block.rejected_table[0].key
        end = stored_objects.kept_until(self.dependencies, block, key, NO_ERASURES)
        return moment(end.replace(hour=0, minute=0, second=0, microsecond=0)) if end else ""

    def begin_with(self, block: AnyBlock, snapshot: TableSnapshot | None) -> bool:
        """Whether the table is made with a block.

        That of rejected rows is with the first accepted delivery, also without such rows: as long as there is no table, each
        turn reads the whole chain.
        """
        if self.kind is TableKind.REJECTED:
            return isinstance(block, Block) and block.table is not None
        return snapshot is not None and bool(snapshot.added)


def _clear(dependencies: Dependencies, tables: CatalogTables, dataset: str, shown: ShownState) -> Steps[ShownState]:
    """Delete what snapshots used that an erasure took out: statistics of its files have values of what was erased."""
    chain = (each for each in dependencies.ledger.blocks(dataset) if each.height <= shown.height)
    for address in tables.leftovers(dataset, dependencies.now, erasures_of(chain).gone):
        yield from perform(Effect.DISCARD_METADATA, tables.discard, dataset, address)
    try:
        return (yield from perform(Effect.CLEAR_TABLE, tables.clear, dataset, shown))
    except ConditionFailed:
        raise ConcurrentUpdate(dataset) from None


def _leave_out(tables: CatalogTables, files: FilesOfTables, shown: ShownState, kept: KeptTable) -> Steps[ShownState]:
    """Take files that are not kept any longer out of the table, and out of its earlier snapshots."""
    block = files.dependencies.ledger.block(kept.dataset, shown.height)
    assert block is not None
    about = ("kind", "expired"), ("time", block.system_time)
    after = yield from _commit(tables, files, _standing(files, block, about), shown, kept)
    if files.are_over(after.until):  # another program has made the snapshot that is current
        raise ConcurrentUpdate(kept.dataset)
    return after


def _commit(
    tables: CatalogTables, files: FilesOfTables, snapshot: TableSnapshot, shown: ShownState, kept: KeptTable
) -> Steps[ShownState]:
    if snapshot.standing is None:
        snapshot = replace(snapshot, until=_first(shown.until, snapshot.until))
    try:
        try:
            after = yield from perform(Effect.COMMIT_TABLE, tables.commit, snapshot, shown)
        except FilesRewritten:
            kept.rebuilt.append(snapshot.height)
            whole = replace(snapshot, added=_all_files(files, snapshot), removed=(), is_whole=True)
            after = yield from perform(Effect.COMMIT_TABLE, tables.commit, whole, shown)
    except ConditionFailed:
        now = tables.shown(snapshot.dataset)
        if now is None or (now.height, now.digest) != (snapshot.height, snapshot.digest):
            raise ConcurrentUpdate(snapshot.dataset) from None
        after = now  # an earlier try of this one arrived, or another worker's
    kept.height, kept.snapshots = after.height, kept.snapshots + 1
    return (yield from _clear(files.dependencies, tables, kept.dataset, after)) if after.expired else after


def _snapshot(
    files: FilesOfTables, block: AnyBlock, before: NotCurrent, after: NotCurrent, erasures: Erasures
) -> TableSnapshot | None:
    """The change of the table by a block; None: it stays as it is. `erasures`: of the blocks above the height that is shown.

    What an erasure has left is listed from the first snapshot on, also where the record is above the block.
    """
    if isinstance(block, Record) and block.kind == DONE:
        return _standing(files, block, tuple(_about(block))) if changes_table(block, files.kind) else None
    ledger, come = files.dependencies.ledger, [block] if block.height not in after else []
    returned = sorted(before.returned(after, block.height - 1))
    come += filter(None, (ledger.block(block.chain, height) for height in returned))
    gone = (ledger.block(block.chain, height) for height in sorted(after.returned(before, block.height - 1)))
    left = [each for each in gone if isinstance(each, Block)]
    needs_all = returned or any(each.table is None for each in left)  # adopted below the height that is shown
    known = erasures_of(ledger.blocks(block.chain)) if needs_all else erasures
    added = tuple(found for each in come for found in files.of(each, known, block.height))
    removed = tuple(found.key for each in left for found in files.listed_of(each, known, block.height))
    if not added and not removed:
        return None
    plan = read_plan(files.dependencies.plan_at(block.plan, block.workload)) if isinstance(block, Block) else None
    description = describe_table(plan, of_rejected=files.kind is TableKind.REJECTED) if plan else None
    about, until = tuple(_about(block)), _first(*map(files.end_of, come))
    position = block.chain, block.height, digest_of(block)
    return TableSnapshot(*position, about, added, removed, description=description, until=until)


def _standing(files: FilesOfTables, block: AnyBlock, about: tuple[tuple[str, str], ...]) -> TableSnapshot:
    """All files that are current with a block again, and no snapshots of before that name others than those which stand now."""
    blocks = files.dependencies.ledger.blocks(block.chain)
    erasures = erasures_of(blocks)
    top = blocks[-1].height
    stand = [each for each in deliveries(blocks) if files.of(each, erasures, top)]
    keys = frozenset(found.key for each in stand for found in files.of(each, erasures, top))
    position = block.chain, block.height, digest_of(block)
    whole = TableSnapshot(*position, about, (), is_whole=True, standing=keys, until=_first(*map(files.end_of, stand)))
    return replace(whole, added=_all_files(files, whole))


def _first(*times: str) -> str:
    """The earliest of some times; empty ones are none."""
    return min(filter(None, times), default="")


def _about(block: AnyBlock) -> Iterator[tuple[str, str]]:
    yield "kind", block.kind
    yield "time", block.system_time
    if isinstance(block, Block):
        yield "workload", block.workload
        yield "contract-version", block.contract_version
        yield "verdict", block.verdict
        yield from (
            (name, str(count))
            for name, count in (("rows", block.rows), ("rejected-rows", block.rejected_rows))
            if count is not None
        )


def _all_files(files: FilesOfTables, snapshot: TableSnapshot) -> tuple[TableFile, ...]:
    """The files of all deliveries that are current with the block of a snapshot, but for those that are erased by now."""
    known = files.dependencies.ledger.blocks(snapshot.dataset)
    blocks = [each for each in known if each.height <= snapshot.height]
    state, erasures = not_current(blocks), erasures_of(known)
    current = (block for block in deliveries(blocks) if block.height not in state)
    return tuple(found for block in current for found in files.of(block, erasures, snapshot.height))


def changes_table(block: AnyBlock, kind: TableKind = TableKind.ACCEPTED) -> bool:
    """Whether a block may give a table of its dataset a snapshot.

    Of rejected rows: whether it surely does. What takes out deliveries, or puts them back, usually takes no such rows with them.
    """
    if isinstance(block, Record) and block.kind in {DONE, ADOPTED}:
        return any(kind.has(each["key"]) for each in block.content.get("table", ()))
    if kind is TableKind.REJECTED:
        return isinstance(block, Block) and bool(block.rejected_table)
    return is_change(block) or (isinstance(block, Block) and bool(block.table))

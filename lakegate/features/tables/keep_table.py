"""Tables that follow the ledger: a snapshot for each accepted delivery, and for each change of the current state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from lakegate.base.errors import ConditionFailed, InputError, LakegateError
from lakegate.base.json_codec import sha256_of
from lakegate.features.tables.table_description import TableDescription, describe_table
from lakegate.gate.datasets.accepted_deliveries import not_current_at
from lakegate.gate.datasets.current_deliveries import NotCurrent, is_change, not_current, not_current_after
from lakegate.gate.delivery.decide_verdict import read_plan
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import ConcurrentUpdate, Effect, Steps, perform
from lakegate.gate.ledger.blocks import GENESIS, AnyBlock, Block, BlockKind, Record, TableFile, deliveries
from lakegate.gate.ledger.blocks import digest as digest_of
from lakegate.gate.ledger.stored_objects import DONE, Erasures, erasures_of

# ---- The port ----


DATASET, HEIGHT, BLOCK, TIME = "lakegate.dataset", "lakegate.height", "lakegate.block", "lakegate.time"
"""Properties of each table; height, digest and time of the block also of each snapshot, whose others have names that begin
likewise."""
EXPIRED: Final = "lakegate.expired"
"""Property of a table whose last snapshot is that of an erasure, until files that only expired snapshots used are deleted: the
address of the metadata before it."""
PLAIN_NAME: Final = re.compile(r"[a-z0-9]+/[a-z0-9_]+", re.ASCII)
LONGEST_NAME: Final = 200
"""Characters before the digest; Glue takes 255."""


def table_name(dataset: str) -> str:
    """The name of the table of a dataset, which no other one has: `shop_orders_v1` of `shop/orders_v1`.

    Where an underscore stands for more than the slash, a digest follows: else an owner could take the name of another's table.
    """
    if PLAIN_NAME.fullmatch(dataset):
        return dataset.replace("/", "_")
    return f"{re.sub(r'[^a-z0-9]+', '_', dataset.lower())[:LONGEST_NAME]}_{sha256_of(dataset)[:16]}"


def table_folder(dataset: str) -> str:
    """The folder of the metadata of a table, in the lake bucket."""
    return f"tables/{dataset}"


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


class FilesRewritten(LakegateError):  # noqa: N818 - the name is what happened
    """The table does not have a file that is to be removed, nor one that was made of it by a compaction of ours."""


class CatalogTables(Protocol):
    """The tables of a catalog. Each dataset has one, whose name follows from that of the dataset."""

    def shown(self, dataset: str) -> ShownState | None:
        """The state that a table shows; None: there is no such table.

        Raises InputError where the table is that of another dataset, or where another program has changed its rows or columns.
        """
        ...

    def make(self, dataset: str, first: TableFile) -> None:
        """Make the table of a dataset, empty, with the columns of a data file. A table that is there stays as it is."""
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
    found = tables.shown(dataset)
    shown = found or ShownState()
    blocks = dependencies.ledger.blocks(dataset, shown.height)
    if (blocks[0].previous if blocks else dependencies.ledger.head(dataset).digest) != shown.digest:
        raise InputError(
            f"the table of {dataset} shows height {shown.height}, and the ledger has another block there: "
            "drop the table, and it is made again from the ledger"
        )
    kept = KeptTable(dataset, shown.height)
    if shown.expired:
        found = shown = yield from _clear(dependencies, tables, dataset, shown)
    state, erasures = not_current_at(dependencies, dataset, shown.height), erasures_of(blocks)
    for block in blocks:
        after = not_current_after(state, (block,)) if is_change(block) else state
        if after is None:
            chain = dependencies.ledger.blocks(dataset)
            after = not_current(each for each in chain if each.height <= block.height)
        snapshot, state = _snapshot(dependencies, block, state, after, erasures), after
        if snapshot is None or (found is None and not snapshot.added):
            continue
        if kept.snapshots >= most:
            kept.is_complete = False
            return kept
        if found is None:
            yield from perform(Effect.MAKE_TABLE, tables.make, dataset, snapshot.added[0])
            found = tables.shown(dataset) or shown
            if found != shown:
                raise ConcurrentUpdate(dataset)
        shown = yield from _commit(dependencies, tables, snapshot, shown, kept)
        kept.height, kept.snapshots = shown.height, kept.snapshots + 1
        if shown.expired:
            shown = yield from _clear(dependencies, tables, dataset, shown)
    return kept


def _clear(dependencies: Dependencies, tables: CatalogTables, dataset: str, shown: ShownState) -> Steps[ShownState]:
    """Delete what snapshots used that an erasure took out: statistics of its files have values of what was erased."""
    chain = (each for each in dependencies.ledger.blocks(dataset) if each.height <= shown.height)
    for address in tables.leftovers(dataset, dependencies.now, erasures_of(chain).gone):
        yield from perform(Effect.DISCARD_METADATA, tables.discard, dataset, address)
    try:
        return (yield from perform(Effect.CLEAR_TABLE, tables.clear, dataset, shown))
    except ConditionFailed:
        raise ConcurrentUpdate(dataset) from None


def _commit(
    dependencies: Dependencies, tables: CatalogTables, snapshot: TableSnapshot, shown: ShownState, kept: KeptTable
) -> Steps[ShownState]:
    try:
        try:
            return (yield from perform(Effect.COMMIT_TABLE, tables.commit, snapshot, shown))
        except FilesRewritten:
            kept.rebuilt.append(snapshot.height)
            whole = replace(snapshot, added=_all_files(dependencies, snapshot), removed=(), is_whole=True)
            return (yield from perform(Effect.COMMIT_TABLE, tables.commit, whole, shown))
    except ConditionFailed:
        now = tables.shown(snapshot.dataset)
        if now is None or (now.height, now.digest) != (snapshot.height, snapshot.digest):
            raise ConcurrentUpdate(snapshot.dataset) from None
        return now  # an earlier try of this one arrived, or another worker's


def _snapshot(
    dependencies: Dependencies, block: AnyBlock, before: NotCurrent, after: NotCurrent, erasures: Erasures
) -> TableSnapshot | None:
    """The change of the table by a block; None: it stays as it is. `erasures`: of the blocks above the height that is shown.

    What an erasure has left is listed from the first snapshot on, also where the record is above the block.
    """
    if isinstance(block, Record) and block.kind == DONE:
        return _erasure(dependencies, block) if block.content.get("table") else None
    added = list(files_of(block, erasures)) if block.height not in after else []
    removed: list[str] = []
    returned = sorted(before.returned(after, block.height - 1))
    known = erasures_of(dependencies.ledger.blocks(block.chain)) if returned else erasures
    for height in returned:
        added += files_of(dependencies.ledger.block(block.chain, height), known)
    for height in sorted(after.returned(before, block.height - 1)):
        removed += [each.key for each in files_of(dependencies.ledger.block(block.chain, height), known)]
    if not added and not removed:
        return None
    plan = read_plan(dependencies.plan_at(block.plan, block.workload)) if isinstance(block, Block) else None
    description = describe_table(plan) if plan else None
    about, files = tuple(_about(block)), (tuple(added), tuple(removed))
    return TableSnapshot(block.chain, block.height, digest_of(block), about, *files, description=description)


def _erasure(dependencies: Dependencies, record: Record) -> TableSnapshot:
    """All files again, without those that are erased, and without the snapshots of before that name them."""
    blocks = dependencies.ledger.blocks(record.chain)
    erasures = erasures_of(blocks)
    standing = (each.key for block in deliveries(blocks) for each in files_of(block, erasures))
    position = record.chain, record.height, digest_of(record)
    whole = TableSnapshot(*position, tuple(_about(record)), (), is_whole=True, standing=frozenset(standing))
    return replace(whole, added=_all_files(dependencies, whole))


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


def _all_files(dependencies: Dependencies, snapshot: TableSnapshot) -> tuple[TableFile, ...]:
    """The files of all deliveries that are current with the block of a snapshot, but for those that are erased by now."""
    known = dependencies.ledger.blocks(snapshot.dataset)
    blocks = [each for each in known if each.height <= snapshot.height]
    state, erasures = not_current(blocks), erasures_of(known)
    current = (block for block in deliveries(blocks) if block.height not in state)
    return tuple(found for block in current for found in files_of(block, erasures))


def files_of(block: AnyBlock | None, erasures: Erasures) -> tuple[TableFile, ...]:
    """The data files of an accepted delivery; of any other block none."""
    if not isinstance(block, Block) or block.kind is not BlockKind.PUBLISHED:
        return ()
    return erasures.table_of(block)


def changes_table(block: AnyBlock) -> bool:
    """Whether a block may give the table of its dataset a snapshot."""
    if isinstance(block, Record) and block.kind == DONE:
        return bool(block.content.get("table"))
    return is_change(block) or (isinstance(block, Block) and bool(block.table))

"""Tables that follow the ledger: a snapshot for each accepted delivery, and for each change of the current state."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Protocol

from lakegate.base.errors import ConditionFailed, InputError, LakegateError
from lakegate.base.json_codec import sha256_of
from lakegate.contract.contract_model import TABLE, full_dataset_name, parts_of
from lakegate.features.tables.table_description import TableDescription, describe_table
from lakegate.gate.datasets.accepted_deliveries import not_current_at
from lakegate.gate.datasets.current_deliveries import NotCurrent, is_change, not_current, not_current_after
from lakegate.gate.delivery.decide_verdict import read_plan
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import ConcurrentUpdate, Effect, Steps, perform
from lakegate.gate.ledger.blocks import GENESIS, AnyBlock, Block, BlockKind, TableFile, deliveries
from lakegate.gate.ledger.blocks import digest as digest_of
from lakegate.gate.registry.registry_rows import Publication
from lakegate.gate.scheduled_tasks import Turn

# ---- The port ----


DATASET, HEIGHT, BLOCK, TIME = "lakegate.dataset", "lakegate.height", "lakegate.block", "lakegate.time"
"""Properties of each table; height, digest and time of the block also of each snapshot, whose others have names that begin
likewise."""
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


class ShownState(NamedTuple):
    """The state of a dataset that its table shows."""

    height: int = -1
    """Of the last block that gave it a snapshot."""
    digest: str = GENESIS
    """Of that block."""
    snapshot: int | None = None
    """The id of the current snapshot; None: there is none yet."""


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
    """Whether the table then consists of the files in `added` alone, whatever it has now."""
    description: TableDescription | None = None
    """Properties and comments from now on; None: they stay as they are."""


class FilesRewritten(LakegateError):  # noqa: N818 - the name is what happened
    """The table does not have a file that is to be removed: another program has put its rows into other files."""


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


# ---- The table of a dataset, kept at the top of its chain ----
# The table is read first. Each block above the one that it shows is committed on the snapshot that was read, so that of two
# workers one is refused, and a commit whose answer was lost is found by the height that the table then shows.


MAX_SNAPSHOTS: Final = 100
"""Of one turn of a dataset: others have their turn, too."""
SECONDS_OF_TABLE: Final = 60.0
"""With less time left no dataset is begun."""
CURSOR: Final = "tables"
"""The name of the place where the next turn goes on."""


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
    """Heights at which all files were listed again, because another program had rewritten some."""


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
    state = not_current_at(dependencies, dataset, shown.height)
    for block in blocks:
        after = not_current_after(state, (block,)) if is_change(block) else state
        if after is None:
            chain = dependencies.ledger.blocks(dataset)
            after = not_current(each for each in chain if each.height <= block.height)
        snapshot, state = _snapshot(dependencies, block, state, after), after
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
    return kept


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
    dependencies: Dependencies, block: AnyBlock, before: NotCurrent, after: NotCurrent
) -> TableSnapshot | None:
    """The change of the table by a block; None: it stays as it is."""
    added = list(files_of(block)) if block.height not in after else []
    removed: list[str] = []
    for height in sorted(before.returned(after, block.height - 1)):
        added += files_of(dependencies.ledger.block(block.chain, height))
    for height in sorted(after.returned(before, block.height - 1)):
        removed += [each.key for each in files_of(dependencies.ledger.block(block.chain, height))]
    if not added and not removed:
        return None
    plan = read_plan(dependencies.plan_at(block.plan, block.workload)) if isinstance(block, Block) else None
    description = describe_table(plan) if plan else None
    about, files = tuple(_about(block)), (tuple(added), tuple(removed))
    return TableSnapshot(block.chain, block.height, digest_of(block), about, *files, description=description)


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
    """The files of all deliveries that are current with the block of a snapshot."""
    blocks = [each for each in dependencies.ledger.blocks(snapshot.dataset) if each.height <= snapshot.height]
    state = not_current(blocks)
    return tuple(found for block in deliveries(blocks) if block.height not in state for found in files_of(block))


def files_of(block: AnyBlock | None) -> tuple[TableFile, ...]:
    """The data files of an accepted delivery; of any other block none."""
    if not isinstance(block, Block) or block.kind is not BlockKind.PUBLISHED:
        return ()
    return block.table or ()


# ---- All tables ----
# An event names the dataset whose table is to be kept. A turn over all of them finds what no event named.


def has_table(dependencies: Dependencies, dataset: str) -> bool:
    """Whether any version of the dataset's contract publishes it as a table: earlier deliveries of it may be recalled."""
    return dataset in _tables_of(dependencies.registry.contract(parts_of(dataset)[0]).versions)


def keep_all_tables(dependencies: Dependencies, tables: CatalogTables) -> Steps[Turn]:
    """Keep the tables of all datasets, from where the last turn stopped, while there is time.

    The place is kept before a table is read, so that one which ends the function is passed over by the next turn.
    """
    turn, agenda = Turn(), dependencies.agenda
    done = agenda.cursor(CURSOR) or ""
    for dataset in sorted(_tables_of(dependencies.registry.snapshot().versions)):
        if dataset <= done:
            continue
        if dependencies.remaining() < SECONDS_OF_TABLE:
            return turn
        yield from perform(Effect.KEEP_CURSOR, agenda.keep, CURSOR, dataset)
        turn.looked_at += 1
        kept = yield from turn.guarded(dataset, keep_table(dependencies, tables, dataset))
        turn.ends += [] if kept is None else [(dataset, kept)]
    yield from perform(Effect.KEEP_CURSOR, agenda.keep, CURSOR, None)
    return turn


def _tables_of(versions: Iterable[Publication]) -> set[str]:
    return {
        full_dataset_name(version.contract, dataset, version.major)
        for version in versions
        for name, dataset in version.labels
        if name == TABLE
    }

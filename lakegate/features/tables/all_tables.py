"""All tables of a stack: an event names one that is to be kept, and a turn over all of them finds what no event named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from lakegate.contract.contract_model import full_dataset_name, parts_of
from lakegate.features.tables.compact_table import CompactedTables, compact_table
from lakegate.features.tables.keep_table import CatalogTables, TableKind, keep_table
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.registry.registry_rows import Publication
from lakegate.gate.scheduled_tasks import Turn

SECONDS_OF_TABLE: Final = 60.0
"""With less time left no dataset is begun."""
CURSOR: Final = "tables"
"""The name of the place where the next turn goes on."""


class AllTables(CatalogTables, CompactedTables, Protocol):
    """The tables of a kind in a catalog."""


def has_table(dependencies: Dependencies, dataset: str, kind: TableKind = TableKind.ACCEPTED) -> bool:
    """Whether any version of the dataset's contract publishes it as such a table: earlier deliveries of it may be recalled."""
    return dataset in _tables_of(dependencies.registry.contract(parts_of(dataset)[0]).versions, kind)


def keep_all_tables(dependencies: Dependencies, catalog: Iterable[AllTables]) -> Steps[Turn]:
    """Keep the tables of all datasets, and put small files together, from where the last turn stopped, while there is time.

    The place is kept before a table is read, so that one which ends the function is passed over by the next turn.
    """
    turn, agenda = Turn(), dependencies.agenda
    done, versions = agenda.cursor(CURSOR) or "", dependencies.registry.snapshot().versions
    named = [(tables, _tables_of(versions, tables.kind)) for tables in catalog]
    for dataset in sorted(set().union(*(datasets for _, datasets in named))):
        if dataset <= done:
            continue
        if dependencies.remaining() < SECONDS_OF_TABLE:
            return turn
        yield from perform(Effect.KEEP_CURSOR, agenda.keep, CURSOR, dataset)
        turn.looked_at += 1
        for tables in (each for each, datasets in named if dataset in datasets):
            kept = yield from turn.guarded(dataset, keep_table(dependencies, tables, dataset))
            if kept is not None and kept.is_complete:
                compacted = yield from turn.guarded(dataset, compact_table(dependencies, tables, dataset))
                turn.ends += [] if compacted is None else [(dataset, compacted)]
            turn.ends += [] if kept is None else [(dataset, kept)]
    yield from perform(Effect.KEEP_CURSOR, agenda.keep, CURSOR, None)
    return turn


def _tables_of(versions: Iterable[Publication], kind: TableKind) -> set[str]:
    return {
        full_dataset_name(version.contract, dataset, version.major)
        for version in versions
        for name, dataset in version.labels
        if name == kind.label
    }

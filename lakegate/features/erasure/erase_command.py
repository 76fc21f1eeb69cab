"""`lakegate erase`: delete a data subject's rows from the finished deliveries of a dataset, for ever."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

from lakegate.aws.open_stack import DeployedStack
from lakegate.base.errors import InputError
from lakegate.base.extension_points import load_extensions
from lakegate.base.text import plural
from lakegate.cli import terminal
from lakegate.cli.click_commands import Option
from lakegate.cli.command_runner import CommandResult, confirm, stack_command
from lakegate.cli.options import DatasetName, Yes
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.features.erasure.erasure import Settled, TableOfErasure, Why, resume, settle
from lakegate.features.erasure.erasure import erase as erased
from lakegate.features.erasure.rows_to_erase import (
    ErasureSearch,
    Key,
    remaining,
    search_objects,
    stage_remainders,
    whole_deliveries,
)
from lakegate.gate.datasets.dataset_names import dataset_named
from lakegate.gate.ledger.commit import is_one_line
from lakegate.gate.person_decisions import LONGEST_REASON

REMAINS: Final = 3


@dataclass(frozen=True, slots=True)
class RowsOfObject:
    """An object with rows that are erased."""

    workload: str
    height: int
    key: str
    rows: int | None
    erased_rows: int | None
    """None: all of it, unread."""
    left: bool
    """Whether other rows are left."""


@dataclass(frozen=True, slots=True)
class UnsearchedObject:
    """An object that could not be searched."""

    workload: str
    height: int
    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class UnfinishedDelivery:
    """A delivery that may still bring such rows."""

    workload: str
    state: str


@dataclass(frozen=True, slots=True)
class ErasedRows:
    """Erased parts of a dataset, or a preview of them."""

    dataset: str = field(metadata=DATASET_KEY)
    dry_run: bool
    searched: int
    objects: tuple[RowsOfObject, ...]
    versions_deleted: int
    is_shown: bool
    """Whether the table of the dataset may still show erased rows."""
    unsearched: tuple[UnsearchedObject, ...]
    unfinished: tuple[UnfinishedDelivery, ...]


@stack_command
def erase(  # noqa: PLR0913 - a command has these options
    there: DeployedStack,
    dataset: DatasetName,
    where_key: Annotated[
        list[str] | None, Option(help="FIELD=VALUE of the rows to erase; several must all be true of a row.")
    ] = None,
    delivery: Annotated[
        list[str] | None,
        Option(help="The id of a delivery, or its beginning: all of its objects are erased, unread."),
    ] = None,
    *,
    reason: Annotated[str, Option(help="Recorded in the ledger, which keeps it for ever: a ticket, not a name.")] = "",
    dry_run: Annotated[bool, Option(help="Search and count, and change nothing.")] = False,
    yes: Yes = False,
) -> CommandResult[ErasedRows]:
    """Erase rows from accepted and quarantined data of a dataset, for ever. Repeat it after an interruption: it is idempotent.

    Every object is read, so it takes as long as downloading the dataset. What is left of an object replaces it, and all versions
    before are deleted. The ledger records who erased how many rows of which objects and why, never the value.

    Example: lakegate erase orders --where-key customer_id=4711 --reason "ticket 318" --dry-run

    Example: lakegate erase orders --delivery 613dded6309d --reason "ticket 318"

    Exit code: 0 nothing of it is left, 3 some objects could not be searched, deliveries are not finished, or a table is behind.
    """
    keys = _keys(where_key or [])
    if bool(keys) == bool(delivery):
        raise InputError("name the rows with --where-key FIELD=VALUE, or whole deliveries with --delivery ID")
    if not dry_run and not (reason and is_one_line(reason)):
        raise InputError(f"give a --reason, one line of at most {LONGEST_REASON} characters: the ledger records it")
    why = Why(reason, tuple(key.field for key in keys))
    with _folder() as folder:
        dependencies = there.dependencies()
        name = dataset_named(dependencies, dataset)
        if not dry_run:
            dependencies.run(resume(dependencies, name))
        if keys:
            with terminal.working("searching objects") as progress:
                search = search_objects(
                    dependencies, name, keys, folder, lambda count: progress(f"searching objects: {count:,}")
                )
        else:
            search = whole_deliveries(dependencies, name, tuple(delivery or ()))
        settled = Settled(0, is_followed=True)
        if not dry_run:
            confirm(_effects(name, search), yes=yes)
            for block, hits in search.deliveries:
                objects, table = stage_remainders(there, block, hits)
                steps = erased(dependencies, name, block.workload, objects, why, table, searched=search.height)
                dependencies.run(steps)
            with terminal.working("deleting versions"):
                settled = dependencies.run(settle(dependencies, name, _table(there, name)))
        open_ones = dict(remaining(dependencies, name))
    result = _result(name, search, open_ones, settled, dry_run=dry_run)
    words = _in_words(name, search, open_ones, settled, dry_run=dry_run)
    is_whole = settled.is_followed and not search.unsearched and not open_ones
    return CommandResult(result, words, 0 if is_whole else REMAINS)


def _table(there: DeployedStack, dataset: str) -> TableOfErasure | None:
    """The table of a dataset; None where the stack keeps none."""
    tables = load_extensions("erased tables")
    return next(filter(None, (open_table(there, dataset) for open_table in tables)), None)


def _keys(given: list[str]) -> tuple[Key, ...]:
    if any("=" not in text for text in given):
        raise InputError("--where-key is FIELD=VALUE")
    return tuple(Key(field, value) for field, _, value in (text.partition("=") for text in given))


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="lakegate-erase-") as folder:
        yield Path(folder)


def _effects(name: str, search: ErasureSearch) -> list[str]:
    if not search.deliveries:
        return []
    rows = sum(hit.rows or 0 for hit in search.hits if not hit.is_typed)
    unread = sum(hit.rows is None for hit in search.hits)
    what = (
        [f"{plural(rows, 'row')} of {plural(len(search.hits) - unread, 'object')}"] if unread < len(search.hits) else []
    )
    what += [plural(unread, "whole object")] if unread else []
    return [f"{' and '.join(what)} of {name} are erased for ever"]


def _result(
    name: str, search: ErasureSearch, open_ones: dict[str, str], settled: Settled, *, dry_run: bool
) -> ErasedRows:
    objects = (
        RowsOfObject(block.workload, block.height, hit.key, hit.records, hit.rows, hit.left is not None)
        for block, hits in search.deliveries
        for hit in hits
    )
    unsearched = (UnsearchedObject(block.workload, block.height, key, why) for block, key, why in search.unsearched)
    unfinished = (UnfinishedDelivery(identity, state) for identity, state in open_ones.items())
    return ErasedRows(
        name,
        dry_run,
        search.count,
        tuple(objects),
        settled.deleted,
        not settled.is_followed,
        tuple(unsearched),
        tuple(unfinished),
    )


def _in_words(
    name: str, search: ErasureSearch, open_ones: dict[str, str], settled: Settled, *, dry_run: bool
) -> Iterator[str]:
    for hit in search.hits:
        rows = "all rows" if hit.rows is None else f"{hit.rows:,} of {plural(hit.records or 0, 'row')}"
        yield f"{rows}  {hit.key}"
    done = "would be erased from" if dry_run else "were erased from"
    yield f"Rows {done} {plural(len(search.hits), 'object')} of {name}; {plural(search.count, 'was', 'were')} looked at."
    if settled.deleted:
        yield f"{plural(settled.deleted, 'version was', 'versions were')} deleted."
    if not settled.is_followed:
        yield f"the table of {name} may still show these rows (lakegate table {name}): repeat the command when it is not behind"
    for block, key, why in search.unsearched:
        yield f"not searched: {key}: {why}"
        yield f"  erase it whole: lakegate erase {name} --delivery {block.workload[:12]} --reason …"
    for identity, state in open_ones.items():
        yield f"not finished: {identity} ({state}): repeat the command when it has ended, or delete what landed"

"""`lakegate table --adopt`: deliveries of before are read again, and come into the table."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Final

import duckdb

from lakegate.admission.file_signatures import UnreadableError
from lakegate.aws.open_stack import DeployedStack
from lakegate.base.errors import InputError
from lakegate.base.text import plural, printable
from lakegate.cli import terminal
from lakegate.cli.command_runner import CommandResult, confirm
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.engine.accepted_rows import readable_rows
from lakegate.engine.measure.duckdb_tables import database
from lakegate.engine.read.open_delivery import open_source
from lakegate.engine.row_groups import write_file
from lakegate.engine.typed_columns import TypedColumns
from lakegate.features.tables.adoption import AdoptedFile, accepted_objects, adopt, deliveries_to_adopt, refuse_unfit
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.lake_layout import STAGING
from lakegate.gate.ledger.blocks import Block, LedgerObject
from lakegate.gate.ledger.stored_objects import Erasures, erasures_of
from lakegate.gate.ports import ObjectVersion, agree
from lakegate.local_check.finished_objects import find_object, opened, why_unread
from lakegate.transfer.staged_files import stage_file

REMAINS: Final = 3


@dataclass(frozen=True, slots=True)
class LeftDelivery:
    """A delivery that was not adopted."""

    workload: str
    height: int
    reason: str


@dataclass(frozen=True, slots=True)
class AdoptedDeliveries:
    """Deliveries that came into the table of their dataset, or a preview of them."""

    dataset: str = field(metadata=DATASET_KEY)
    dry_run: bool
    deliveries: int
    """That were adopted by this command, or would be."""
    rows: int | None
    """Of them; null in a preview, for which nothing is read."""
    files: int | None
    size: int
    """Bytes of what was accepted of them."""
    left: tuple[LeftDelivery, ...]
    """Those that could not be."""


def adopt_deliveries(
    there: DeployedStack, gate: Dependencies, name: str, *, dry_run: bool, yes: bool
) -> CommandResult[AdoptedDeliveries]:
    """Adopt every accepted delivery of a dataset without typed files; what was adopted before is left out.

    Raises InputError, before anything is written, where one table cannot have all of them.
    """
    blocks = list(gate.ledger.blocks(name))
    erasures = erasures_of(blocks)
    wanted = deliveries_to_adopt(blocks, erasures)
    refuse_unfit(gate, name, blocks, wanted)
    sizes = {each.height: sum(one.size for one in accepted_objects(each, erasures)) for each in wanted}
    if dry_run:
        return _result(AdoptedDeliveries(name, dry_run, len(wanted), None, None, sum(sizes.values()), ()))
    if wanted:
        what = f"{plural(len(wanted), 'delivery', 'deliveries')} ({plural(sum(sizes.values()), 'byte')}) of {name}"
        confirm([f"{what} are read, and stored once more as files of its table"], yes=yes)
    adopted, rows, left = dict[int, int](), 0, list[LeftDelivery]()
    with (
        tempfile.TemporaryDirectory(prefix="lakegate-adopt-") as folder,
        terminal.working("adopting deliveries") as progress,
    ):
        for number, block in enumerate(wanted):
            progress(f"adopting deliveries: {number:,} of {len(wanted):,}")
            blocks += gate.ledger.blocks(name, len(blocks) - 1)
            erasures = erasures_of(blocks)
            objects = accepted_objects(block, erasures)
            if not objects:  # another person has adopted it meanwhile, or erased it
                continue
            try:
                files = tuple(_typed_files(there, gate, block, objects, erasures, Path(folder)))
                gate.run(adopt(gate, block, files, len(blocks) - 1))
            except (InputError, UnreadableError, duckdb.Error, OSError) as error:
                left.append(LeftDelivery(block.workload, block.height, why_unread(error)))
            else:
                adopted[block.height] = len(files)
                rows += sum(each.rows for each in files)
    size = sum(sizes[height] for height in adopted)
    done = AdoptedDeliveries(name, dry_run, len(adopted), rows, sum(adopted.values()), size, tuple(left))
    return _result(done)


def _typed_files(  # noqa: PLR0913, PLR0917 - a delivery, its objects, and where its rows are written
    there: DeployedStack,
    gate: Dependencies,
    block: Block,
    objects: tuple[LedgerObject, ...],
    erasures: Erasures,
    folder: Path,
) -> Iterator[AdoptedFile]:
    """The rows of accepted objects as staged files, one on this machine at a time. What cannot be read is no row."""
    if any(record.content["workload"] == block.workload for record in erasures.unfinished):
        raise InputError("an erasure of it is not finished: repeat that `lakegate erase`, and then this command")
    found = [(each, find_object(gate, block, each, erasures)) for each in objects]
    versions = [version for each, version in found if version is not None and _is_as_stated(each, version)]
    if len(versions) < len(objects):
        raise InputError(f"its objects are not as the ledger states: lakegate verify {block.chain} --objects")
    plan, parts, store = opened(gate, block, versions)
    source = open_source(plan.unjudged, parts, store)
    columns = TypedColumns(plan.unjudged, source, of_tables=True)
    path = folder / "typed.parquet"
    with database(folder) as connection:
        for rows in readable_rows(source):
            count = write_file(rows.tables(columns, connection), columns.schema, path)
            yield AdoptedFile(count, stage_file(there, path, f"{STAGING}{block.workload}/{token_hex(8)}"))


def _is_as_stated(stated: LedgerObject, version: ObjectVersion) -> bool:
    return version.size == stated.size and agree(stated.checksum, version.checksum)


def _result(done: AdoptedDeliveries) -> CommandResult[AdoptedDeliveries]:
    return CommandResult(done, _in_words(done), REMAINS if done.left else 0)


def _in_words(done: AdoptedDeliveries) -> Iterator[str]:
    count = plural(done.deliveries, "delivery", "deliveries")
    if done.dry_run:
        yield f"{count} of {done.dataset}, {plural(done.size, 'byte')}, would be adopted: these have no typed files."
    elif done.deliveries:
        yield f"{count} of {done.dataset}, {plural(done.rows or 0, 'row')}, are adopted. The table has them within an hour."
    elif not done.left:
        yield f"Nothing is to be adopted: every accepted delivery of {done.dataset} of which something is left has typed files."
    for each in done.left:
        yield f"not adopted: {each.workload[:12]} (height {each.height}): {printable(each.reason)}"

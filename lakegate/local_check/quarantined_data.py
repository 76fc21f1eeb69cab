"""Data of a delivery in quarantine on this machine: its objects, and its failing rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lakegate.base.errors import InputError
from lakegate.gate.delivery.find_deliveries import Delivery
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.lake_layout import DATA, is_published
from lakegate.gate.ledger.blocks import Block, BlockKind
from lakegate.gate.ledger.stored_objects import FOLDER, erasures_of
from lakegate.library.described_deliveries import standing
from lakegate.local_check.check_data import EngineName, ShowProgress, measure
from lakegate.local_check.check_result import MAX_SAMPLES
from lakegate.local_check.failing_rows_file import FailingRowsFile
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request, StagedPart
from lakegate.transfer.download_files import File, ListedDelivery, fetched, file_of

if TYPE_CHECKING:
    from lakegate.engine.attempt import KeepRejected


def quarantined_files(dependencies: Dependencies, delivery: Delivery) -> tuple[Block, tuple[File, ...]]:
    """The block of a delivery and its data in quarantine, as it is now: of a split one the rejected rows.

    InputError where it has none.
    """
    block = delivery.block
    if block is None:
        now = standing(delivery.row)
        raise InputError(f"nothing is in quarantine of {delivery.key}, which is not decided: {now}")
    stored = erasures_of(dependencies.ledger.blocks(block.chain, block.height)).objects_of(block)
    kept = [each for each in stored if each.key.startswith(FOLDER)]
    if not kept:
        raise InputError(f"nothing is in quarantine of {delivery.key}: all of it was accepted, or erased")
    prefix = kept[0].key.partition("ingest_date=")[0]
    data = [each for each in kept if DATA.fullmatch(each.key.rpartition("/")[2])]
    return block, tuple(file_of(prefix, asdict(each)) for each in data)


def accepted_files(dependencies: Dependencies, block: Block) -> tuple[File, ...]:
    """The accepted data of a delivery, as it is now. InputError where it was published in another form than it arrived."""
    if block.slices is not None:
        raise InputError(
            "its accepted rows are published in another form than they arrived: upload the whole corrected file"
        )
    stored = erasures_of(dependencies.ledger.blocks(block.chain, block.height)).objects_of(block)
    prefix = f"accepted/{block.chain}/"
    return tuple(file_of(prefix, asdict(each)) for each in stored if is_published(block, each.key))


def fetch_quarantined(
    dependencies: Dependencies, block: Block, files: tuple[File, ...], folder: Path, arrived: Callable[[int], object]
) -> tuple[bool, ...]:
    """Bring files of a delivery into a folder, verified; which of them were fetched. Raises DiffersError, InputError."""
    return fetched(dependencies, folder, ListedDelivery({"height": block.height}, files), arrived)


def write_failing_rows(
    dependencies: Dependencies, delivery: Delivery, path: Path, folder: Path, show: ShowProgress
) -> str:
    """Write the failing rows of a delivery, whole; what was written, in words. `folder`: for temporary files.

    Of a rejected delivery they are found again by the plan that rejected it. Raises InputError.
    """
    block, files = quarantined_files(dependencies, delivery)
    plan = plan_of_rejection(dependencies, delivery, block)
    if block.kind is BlockKind.PUBLISHED:
        get = f"`lakegate get --quarantined {delivery.id[:12]} FOLDER`"
        raise InputError(f"rows of {delivery.key} were rejected alone, and are in quarantine with their reasons: {get}")
    with show("fetching the quarantined data", sum(each.size for each in files)) as arrived:
        fetch_quarantined(dependencies, block, files, folder / "data", arrived)
    written = FailingRowsFile("--rows", path, plan)
    find_failing_rows(delivery, block, plan, [folder / "data" / each.place for each in files], show, written.keep)
    return written.words


def plan_of_rejection(dependencies: Dependencies, delivery: Delivery, block: Block) -> Plan:
    """The plan by which a delivery was rejected. InputError where no contract covered it."""
    if not block.plan:
        raise InputError(f"no contract covers {delivery.key}, so no row of it is judged: `lakegate get --quarantined`")
    return Plan.from_bytes(dependencies.plan_at(block.plan, block.workload))


def find_failing_rows(  # noqa: PLR0913, PLR0917 - a delivery, its data, and what is told
    delivery: Delivery,
    block: Block,
    plan: Plan,
    places: list[Path],
    show: ShowProgress,
    keep: KeepRejected,
) -> None:
    """Measure the data of a rejected delivery again, and give its failing rows to `keep`; not where it cannot be read.

    `places`: its files, in a folder for temporary ones.
    """
    folder = places[0].parent
    judged_at = delivery.row.pin.judging_time if delivery.row and delivery.row.pin else block.system_time
    request = Request(
        workload=block.workload,
        attempt=1,
        plan_uri=(folder / "plan.json").as_uri(),
        plan_digest=plan.digest,
        source_version="quarantine",
        parts=tuple(StagedPart(each.as_uri(), each.stat().st_size, each.name) for each in places),
        judged_at=judged_at,
        output_uri=(folder / "out").as_uri(),
    )
    # queries reject no single row, and need data of others
    own = replace(plan, checks=tuple(check for check in plan.checks if not check.metric.is_query))
    measure(EngineName.NATIVE, request, own, folder, MAX_SAMPLES, {}, show, keep)

"""`lakegate log`: the blocks of a chain: deliveries that were published or quarantined, and records of what people did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from lakegate.base.errors import InputError
from lakegate.base.json_codec import OMITTED, select_fields
from lakegate.base.text import join_words
from lakegate.cli.click_commands import Option
from lakegate.cli.command_runner import CommandResult, gate_command
from lakegate.cli.options import AsJson, DatasetName
from lakegate.cli.terminal import Grid
from lakegate.gate.datasets.current_deliveries import not_current
from lakegate.gate.datasets.dataset_names import dataset_named
from lakegate.gate.delivery.delivery_row import Waiver
from lakegate.gate.delivery.find_deliveries import at_rest
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger.blocks import AnyBlock, LedgerObject, Record, digest
from lakegate.gate.ledger.ledger_yaml import print_yaml
from lakegate.gate.ledger.record_contents import CONTENTS
from lakegate.library.described_deliveries import SHORT_ID, replaced, with_notes

BLOCKS = 20
COLUMNS = ("height", "at", "verdict", "version", "rows", "rejected", "workload", "file")
NUMBERS = ("height", "rows", "rejected")


@dataclass(frozen=True, slots=True)
class DescribedBlock:
    """A block of a chain."""

    height: int
    digest: str
    at: str
    kind: str
    """Its kind, by which its other members are known."""


@dataclass(frozen=True, slots=True)
class DescribedRecord(DescribedBlock):
    """The record of a person's act."""

    actor: str
    event: str
    content: dict[str, Any]


@dataclass(frozen=True, slots=True)
class DescribedDelivery(DescribedBlock):
    """A delivery that was published or quarantined."""

    verdict: str
    workload: str
    file: str | None
    contract_version: str | None
    rows: int | None
    published_rows: int | None
    rejected_rows: int | None
    objects: tuple[LedgerObject, ...]
    waiver: Waiver | None
    not_current: str | None
    """Of an accepted one that is not part of the current state: `recalled` or `superseded`."""
    supersedes: tuple[int, ...] = field(default=(), metadata={OMITTED: True})
    """Heights of the deliveries in whose place it came; absent for none."""
    corrects: str | None = field(default=None, metadata={OMITTED: True})
    """The rejected delivery that it corrects, as its producer says."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Blocks of a chain, the newest first."""

    chain: str
    blocks: tuple[DescribedRecord | DescribedDelivery, ...]


@gate_command
def log(
    dependencies: Dependencies,
    dataset: DatasetName,
    *,
    limit: Annotated[int | None, Option(min=1, help=f"How many blocks, the newest first; {BLOCKS} by default.")] = None,
    as_yaml: Annotated[
        bool, Option("--yaml", help="Print the whole chain, the lowest block first, for `verify --yaml`.")
    ] = False,
    as_json: AsJson = False,
) -> CommandResult[Chain]:
    """List published and quarantined deliveries of a dataset and what people did there, the newest first.

    Example: lakegate log weather_record

    Who published the versions of a contract is recorded on a chain of its own: lakegate log _contracts/CONTRACT
    """
    if as_yaml and (as_json or limit):
        raise InputError("--yaml prints the whole chain: leave out --json and --limit")
    chain = dataset_named(dependencies, dataset, in_force=True)
    if as_yaml:
        print_yaml(dependencies, chain)
        return CommandResult(Chain(chain, ()))
    top = dependencies.ledger.head(chain).height
    blocks = dependencies.ledger.blocks(chain, max(top - (limit or BLOCKS), -1), strict=False)
    state = not_current(blocks)
    found = tuple(_described(dependencies, block, state.why(block.height)) for block in reversed(blocks))
    table = Grid(COLUMNS, map(_cells, found), NUMBERS, [column for column in COLUMNS if column != "file"])
    return CommandResult(
        Chain(chain, found), [table if found else "No delivery was published or quarantined there yet."]
    )


def _described(dependencies: Dependencies, block: AnyBlock, why: str | None) -> DescribedRecord | DescribedDelivery:
    """A block; rows as the delivery's row counts them, else as far as the block does."""
    shared = {"digest": digest(block), "at": block.system_time}
    if isinstance(block, Record):
        return select_fields(DescribedRecord, block, **shared, content=dict(block.content))
    delivery = at_rest(dependencies, block)
    decision = delivery.row.decision if delivery.row else None
    counts = decision.counts if decision else None
    return select_fields(DescribedDelivery, counts, block, **shared, file=delivery.key, not_current=why)


def _member(value: object) -> str:
    """A member of a record; of rules their ids."""
    return (join_words([each["rule"] for each in value]) or "none") if isinstance(value, list) else str(value)


def _cells(block: DescribedRecord | DescribedDelivery) -> tuple[str, ...]:
    height, at = f"{block.height}", block.at[:19]
    if isinstance(block, DescribedRecord):
        what = ", ".join(f"{name} {_member(block.content[name])}" for name in CONTENTS[block.kind].printed)
        return height, at, block.kind, "", "", "", "", f"{what}; by {block.actor}"
    rows, rejected = ("" if each is None else f"{each:,}" for each in (block.rows, block.rejected_rows))
    notes = (
        "waived" if block.waiver else None,
        block.not_current,
        replaced(block.supersedes),
        f"corrects {block.corrects[:SHORT_ID]}" if block.corrects else None,
    )
    verdict = with_notes(block.verdict, *notes)
    return height, at, verdict, block.contract_version or "", rows, rejected, block.workload[:12], block.file or ""

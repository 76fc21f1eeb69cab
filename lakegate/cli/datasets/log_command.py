"""`lakegate log`: the blocks of a chain: deliveries that were published or quarantined, and records of what people did."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import AsJson, Line, Local, StackName
from lakegate.errors import InputError
from lakegate.gate.datasets.dataset_names import line_named
from lakegate.gate.delivery.find_deliveries import at_rest
from lakegate.gate.ledger.blocks import KINDS, Record, digest
from lakegate.gate.ledger.ledger_yaml import print_yaml
from lakegate.text import listed
from lakegate.text import printable as escaped

if TYPE_CHECKING:
    from lakegate.gate.delivery.find_deliveries import Delivery
    from lakegate.gate.ledger.blocks import AnyBlock, Block

BLOCKS = 20
NUMBERS = ("height", "rows", "rejected")


def log(  # noqa: PLR0913 - a command has these options
    dataset: Line,
    *,
    limit: Annotated[
        int | None, typer.Option(min=1, help=f"How many blocks, the newest first; {BLOCKS} by default.")
    ] = None,
    as_yaml: Annotated[
        bool, typer.Option("--yaml", help="Print the whole chain, the lowest block first, for `verify --yaml`.")
    ] = False,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """List published and quarantined deliveries of a dataset line and what people did there, the newest first.

    Example: lakegate log weather_record

    Who published the versions of a contract is recorded on a chain of its own: lakegate log _contracts/CONTRACT
    """
    if as_yaml and (as_json or limit):
        raise InputError("--yaml prints the whole chain: leave out --json and --limit")
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        chain = line_named(dependencies, dataset)
        if as_yaml:
            print_yaml(dependencies, chain)
            return
        top = dependencies.ledger.head(chain).height
        blocks = dependencies.ledger.blocks(chain, max(top - (limit or BLOCKS), -1), strict=False)[::-1]
        entries = [(each, None if isinstance(each, Record) else at_rest(dependencies, each)) for each in blocks]
    if as_json:
        documents = [_as_document(block, delivery) for block, delivery in entries]
        terminal.print_json({"chain": chain, "blocks": documents})
    elif entries:
        terminal.wide().print(_table(entries))
    else:
        terminal.answers().print("No delivery was published or quarantined there yet.")


def _as_document(block: AnyBlock, delivery: Delivery | None) -> dict[str, object]:
    shared = {"height": block.height, "digest": digest(block), "at": block.system_time, "kind": str(block.kind)}
    if isinstance(block, Record):
        return {**shared, "actor": block.actor, "event": block.event, "content": block.content}
    assert delivery is not None
    rows, published, rejected = _rows(block, delivery)
    return {
        **shared,
        "verdict": block.verdict,
        "workload": block.workload,
        "file": delivery.key or None,
        "contract_version": block.contract_version or None,
        "rows": rows,
        "published_rows": published,
        "rejected_rows": rejected,
        "objects": [asdict(each) for each in block.objects],
        "waiver": asdict(block.waiver) if block.waiver else None,
    }


def _rows(block: Block, delivery: Delivery) -> tuple[int | None, int | None, int | None]:
    """Rows, those published, those rejected: as the delivery's row counts them, else as far as the block does."""
    decision = delivery.row.decision if delivery.row else None
    if decision is None or decision.counts is None:
        return block.rows, None, block.rejected_rows
    return decision.counts.rows, decision.counts.published_rows, decision.counts.rejected_rows


def _table(entries: list[tuple[AnyBlock, Delivery | None]]) -> Table:
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("height", "at", "verdict", "version", "rows", "rejected", "workload", "file"):
        grid.add_column(name, justify="right" if name in NUMBERS else "left", overflow="fold", no_wrap=name != "file")
    for block, delivery in entries:
        grid.add_row(*(Text(escaped(cell)) for cell in _cells(block, delivery)))
    return grid


def _member(value: object) -> str:
    """A member of a record; of rules their ids."""
    return (listed([each["rule"] for each in value]) or "none") if isinstance(value, list) else str(value)


def _cells(block: AnyBlock, delivery: Delivery | None) -> tuple[str, ...]:
    if isinstance(block, Record):
        what = ", ".join(f"{name} {_member(block.content[name])}" for name in KINDS[block.kind])
        return f"{block.height}", block.system_time[:19], block.kind, "", "", "", "", f"{what}; by {block.actor}"
    assert delivery is not None
    rows, _published, rejected = ("" if each is None else f"{each:,}" for each in _rows(block, delivery))
    at, workload = block.system_time[:19], block.workload[:12]
    verdict = f"{block.verdict} (waived)" if block.waiver else block.verdict
    return f"{block.height}", at, verdict, block.contract_version, rows, rejected, workload, delivery.key

"""One delivery and what is known of it: its row, its block, its result."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from lakegate.functions.ports.errors import AccessDenied, NotFound, UnreadableItem
from lakegate.functions.usecases.source import content
from lakegate.functions.usecases.steps import Alarm
from lakegate.functions.usecases.waived import measured_result, measured_row

if TYPE_CHECKING:
    from lakegate.contracts.lake.block import Block
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import SourceObject, Workload

IDENTIFIER: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
"""Of workloads and announcements."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One upload and what is known of it."""

    id: str
    key: str
    """Where it landed: text of the producer's."""
    size: int
    """Bytes."""
    at: datetime | None
    """The latest known time: of its block, else of its intake, else of its landing."""
    row: Workload | None = None
    """None: it landed, and nobody has claimed it yet."""
    block: Block | None = None
    """None: it is neither published nor quarantined."""


def first_of_content(dependencies: Dependencies, row: Workload) -> Delivery | None:
    """The delivery that brought the same content first; None where nobody has claimed it, or the caller may not find out.

    Claims of contents can be computed by whoever has the content: owners of contracts may not read them.
    """
    claim = content(row, row.staged or row.source)
    try:
        owner = dependencies.agenda.owner(claim) if claim else None
    except AccessDenied:
        return None
    claimed = row_of(dependencies, owner) if owner else None
    return delivery_of(claimed) if claimed else None


def result_of(dependencies: Dependencies, row: Workload) -> bytes | None:
    """`result.json` of the attempt that was decided on, or of the last one of a FAILED workload; None where there is none.

    Raises Alarm where it is not the one that was decided on.
    """
    of = measured_row(dependencies, row)
    if not of.attempt or (row.decision is not None and not row.decision.result):
        return None
    try:
        body = measured_result(dependencies, of)
    except NotFound:
        return None
    if row.decision is not None and hashlib.sha256(body).hexdigest() != row.decision.result:
        raise Alarm("result-differs", row.id)
    return body


def row_of(dependencies: Dependencies, workload: str) -> Workload | None:
    """The row of a workload; None where there is none."""
    try:
        return dependencies.workloads.get(workload)
    except NotFound:
        return None


def readable_row(dependencies: Dependencies, workload: str) -> Workload | None:
    """The row of a workload; None also where it cannot be read, which is reported (`Dependencies.left_out`)."""
    try:
        return row_of(dependencies, workload)
    except UnreadableItem as refused:
        dependencies.left_out.append(refused)
        return None


def at_rest(dependencies: Dependencies, block: Block) -> Delivery:
    """The delivery of a block. Without its row, neither file nor size are known."""
    row = readable_row(dependencies, block.workload)
    return delivery_of(row, block) if row else delivery_of_block(block)


def delivery_of_block(block: Block) -> Delivery:
    """The delivery of a block whose row is not read: its file and its size are not known."""
    return Delivery(block.workload, "", 0, datetime.fromisoformat(block.system_time), None, block)


def delivery_of(row: Workload, block: Block | None = None) -> Delivery:
    """The delivery of a row, with its block if it has one."""
    landed: SourceObject = row.landed or row.source
    return Delivery(row.id, landed.key, (row.parts or landed).size, _latest(row, block), row, block)


def _latest(row: Workload, block: Block | None) -> datetime | None:
    if block is not None:
        return datetime.fromisoformat(block.system_time)
    if row.pin is not None:
        return datetime.fromisoformat(row.pin.judging_time)
    return row.due_at

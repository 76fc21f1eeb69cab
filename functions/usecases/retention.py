"""How long quarantined data is kept: as its contract says, by a tag that lifecycle rules of the lake bucket select.

A block names the plan that its delivery was judged by, which never changes: the ledger pins how long its objects are kept.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from lakegate.contracts.door.terms import terms_of

if TYPE_CHECKING:
    from lakegate.contracts.lake.block import Block
    from lakegate.contracts.lake.erasures import Erasures
    from lakegate.functions.usecases.dependencies import Dependencies

FOLDER: Final = "quarantine/"


def tag_of(dependencies: Dependencies, key: str, plan: str, workload: str) -> str:
    """The tag of an object that is written to the lake: `quarantine-30`; empty for one that is kept."""
    days = _days(dependencies, key, plan, workload)
    return f"quarantine-{days}" if days else ""


def kept_until(dependencies: Dependencies, block: Block, key: str, erasures: Erasures) -> datetime | None:
    """Until when an object of a delivery is kept at least; None: for ever. What an erasure rewrote is as old as its record."""
    days = _days(dependencies, key, block.plan, block.workload)
    if days is None:
        return None
    left = erasures.left.get(key)
    return datetime.fromisoformat(left.at if left else block.system_time) + timedelta(days=days)


def _days(dependencies: Dependencies, key: str, plan: str, workload: str) -> int | None:
    if not plan or not key.startswith(FOLDER):
        return None
    return terms_of(dependencies.plan_at(plan, workload)).quarantine_days

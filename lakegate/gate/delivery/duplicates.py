"""Repeated content: what counts, claimed once, told with the first."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from lakegate.gate.delivery.delivery_row import IDENTIFYING, SourceObject

if TYPE_CHECKING:
    from lakegate.gate.delivery.delivery_row import Workload
    from lakegate.gate.dependencies import Dependencies


def content(workload: Workload, data: SourceObject) -> str:
    """What two deliveries share when they bring the same bytes to the same line; empty where no checksum identifies them."""
    if workload.pin is None or data.checksum.partition(":")[0] not in IDENTIFYING:
        return ""
    return hashlib.sha256(f"{workload.pin.chain}\0{data.size}\0{data.checksum}".encode()).hexdigest()


def duplicate(dependencies: Dependencies, workload: Workload, data: SourceObject) -> tuple[str, ...]:
    """The reason to refuse content that another delivery of the line brought before; none: it is new, or may be repeated."""
    claim = content(workload, data)
    if not claim or dependencies.terms(workload).duplicates:
        return ()
    return () if dependencies.agenda.owner(claim) in {None, workload.id} else ("duplicate-content",)

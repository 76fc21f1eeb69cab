"""Objects of finished deliveries, read again from the lake by the plan that judged them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from lakegate.admission.file_signatures import UnreadableError
from lakegate.base.errors import InputError, NotFound
from lakegate.gate.delivery.delivery_row import TERMINAL, replay_id
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger import stored_objects
from lakegate.gate.ledger.blocks import Block, LedgerObject
from lakegate.gate.ledger.stored_objects import Erasures
from lakegate.gate.ports import ObjectVersion
from lakegate.job.job_storage import Addresses, PinnedObject
from lakegate.plan.plan import Plan
from lakegate.plan.request import StagedPart

ENDED: Final = TERMINAL | {State.FAILED, State.GONE}


class OpenedObjects(NamedTuple):
    """Objects of a delivery that can be read."""

    plan: Plan
    """Of the delivery."""
    parts: tuple[StagedPart, ...]
    """The objects, in their order."""
    store: Addresses
    """In which one version of each is read."""


def find_object(
    dependencies: Dependencies, block: Block, entry: LedgerObject, erasures: Erasures
) -> ObjectVersion | None:
    """The object; None where it expired, or its replay ended, which deleted it. Raises InputError where it is lost."""
    try:
        return dependencies.objects.head(dependencies.in_lake(entry.key, entry.version))
    except NotFound:
        row = dependencies.workloads.find(replay_id(block.workload))
        if row is not None and row.state in TERMINAL:
            return None
        until = stored_objects.kept_until(dependencies, block, entry.key, erasures)
        if until is not None and dependencies.now >= until:
            return None
        raise InputError(f"{entry.key} is not there any more: lakegate verify {block.chain} --objects") from None


def opened(dependencies: Dependencies, block: Block, versions: Iterable[ObjectVersion]) -> OpenedObjects:
    """The plan of a delivery, and some of its objects to read by it. Raises InputError where that is not possible now."""
    row = dependencies.workloads.find(replay_id(block.workload))
    if row is not None and row.state not in ENDED:
        raise InputError("it is being judged again: repeat the command when that has ended")
    if not block.plan:
        raise InputError("no contract covers it, so nobody knows its columns")
    plan = Plan.from_bytes(dependencies.plan_at(block.plan, block.workload))
    pins = {
        f"s3://{each.bucket}/{each.key}": PinnedObject(each.bucket, each.key, each.size, each.etag, each.version)
        for each in versions
    }
    return OpenedObjects(plan, tuple(StagedPart(uri, pin.size) for uri, pin in pins.items()), Addresses(pins))


def why_unread(error: Exception) -> str:
    """The reason why an object of a delivery could not be read."""
    if isinstance(error, UnreadableError):
        return f"{error.finding.code}: {error.finding.message}"
    return str(error) if isinstance(error, InputError) else f"it cannot be read ({type(error).__name__})"

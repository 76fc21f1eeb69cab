"""Judge a workload again that FAILED, or that is in quarantine."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.records import event_id
from lakegate.contracts.lake.states import Outcome
from lakegate.functions.ports.errors import ConditionFailed, NotFound
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases import layout, parts
from lakegate.functions.usecases.advance import advance, take
from lakegate.functions.usecases.observe import Observation
from lakegate.functions.usecases.recording import append
from lakegate.functions.usecases.source import described
from lakegate.functions.usecases.steps import ConcurrentUpdate, Effect, perform
from lakegate.functions.workload import State, Workload, replay_id

if TYPE_CHECKING:
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.workload import SourceObject


def replay(dependencies: Dependencies, workload: str) -> Steps[str]:
    """Start again under the contract that is valid now. Returns the id of the workload that is judged.

    Who replays is recorded on the chain of the delivery before anything is started.

    FAILED: the same workload, its attempts counted on. QUARANTINED: a new one, its source the quarantined copy.
    Raises InputError for any other state, and where the quarantined copy is not there any more.
    """
    row = _row(dependencies, workload)
    if row.state is State.FAILED:
        yield from _record(dependencies, row, row.id)
        try:
            row = yield from take(dependencies, row, Observation(Outcome.REPLAYED))
        except ConcurrentUpdate:
            return row.id
    elif row.state is State.QUARANTINED:
        row = yield from _anew(dependencies, row)
    else:
        raise InputError("only a failed or quarantined workload can be replayed")
    yield from advance(dependencies, row)
    return row.id


def _row(dependencies: Dependencies, workload: str) -> Workload:
    try:
        return dependencies.workloads.get(workload)
    except NotFound:
        raise InputError("no such workload") from None


def _anew(dependencies: Dependencies, row: Workload) -> Steps[Workload]:
    """Create the replay unless it was created before: idempotent."""
    identity = replay_id(row.id)
    try:
        return dependencies.workloads.get(identity)
    except NotFound:
        fresh = yield from _fresh(dependencies, row, identity)
    yield from _record(dependencies, row, identity)
    try:
        yield from perform(Effect.REPLAY, partial(dependencies.workloads.create, fresh))
    except ConditionFailed:
        return dependencies.workloads.get(identity)
    return fresh


def _fresh(dependencies: Dependencies, row: Workload, identity: str) -> Steps[Workload]:
    """The workload of the quarantined copies: of a delivery of parts, of all of them or of none."""
    listed = parts.landed(dependencies, row)
    if listed.problems or not listed.parts:
        raise InputError("the delivery was not complete when it was rejected: deliver all parts again")
    copies = tuple(_copy(dependencies, row, number) for number in range(len(listed.parts)))
    again = row.parts and (yield from parts.written(dependencies, identity, parts.PartList(copies)))
    due = dependencies.clock.now() + dependencies.timing.lease
    return Workload(
        identity,
        copies[0],
        State.RECEIVED,
        due,
        replay_of=row.id,
        landed=row.landed or row.source,
        completed_by=row.completed_by,
        parts=again,
    )


def _copy(dependencies: Dependencies, row: Workload, number: int) -> SourceObject:
    assert row.pin is not None
    name = layout.part_name(number, dependencies.terms(row).suffix)
    where = Address(dependencies.places.lake, layout.destination_key("quarantine", row.pin, row.id, name))
    try:
        return described(dependencies.objects.head(where))
    except NotFound:
        raise InputError("the quarantined copy is not there any more") from None


def _record(dependencies: Dependencies, row: Workload, replayed_by: str) -> Steps[None]:
    """On the chain of the delivery; on that of the day's unrouted deliveries if it failed before it had one."""
    chain = row.pin.chain if row.pin else f"{layout.UNROUTED}/{dependencies.clock.now().date()}"
    content = {"workload": row.id, "state": row.state.value, "attempt": row.attempt, "replayed_by": replayed_by}
    yield from append(dependencies, "replay", chain, content, event_id("replay", row.id, row.attempt))

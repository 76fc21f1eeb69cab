"""What makes every promise hold without events: look at everything open, everything landed, everything staged."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from contracts.errors import LakegateError
from functions.ports import Address, ConditionFailed, NotFound
from functions.usecases import layout
from functions.usecases.advance import advance, pause_of
from functions.usecases.intake import admit
from functions.usecases.steps import Effect, perform
from functions.workload import TERMINAL, State

if TYPE_CHECKING:
    from collections.abc import Callable

    from functions.ports import ObjectVersion
    from functions.usecases.gate import Gate
    from functions.usecases.steps import Steps
    from functions.workload import Workload

T = TypeVar("T")
BATCH = 100


@dataclass(slots=True)
class Swept:
    """What a sweep did, for metrics."""

    looked_at: int = 0
    troubles: list[LakegateError] = field(default_factory=list)
    """One poison never keeps the others from being swept: what it raised is told here."""


def sweep(gate: Gate, batch: int = BATCH) -> Steps[Swept]:
    """Carry on what is due, claim what no event announced, remove staging of what came to rest.

    Each listing goes on where the last sweep stopped, so that a large bucket is seen whole over several sweeps. Attempts
    that were prepared on the way are started in the end, after one pause for all of them.
    """
    swept = Swept()
    resumed = {}
    for identity in gate.agenda.due(gate.clock.now(), batch):
        resumed[identity] = yield from _guarded(swept, _resume(gate, identity))
    for listing in (
        Listing("landing", gate.places.landing, "", partial(admit, gate)),
        Listing("staging", gate.places.lake, layout.STAGING, partial(_unstage, gate)),
    ):
        yield from _listed(gate, swept, listing, batch)
    yield from _retried(gate, swept, [row for row in resumed.values() if row is not None])
    return swept


def _guarded(swept: Swept, steps: Steps[T]) -> Steps[T | None]:
    swept.looked_at += 1
    try:
        return (yield from steps)
    except LakegateError as trouble:
        swept.troubles.append(trouble)
        return None


def _retried(gate: Gate, swept: Swept, rows: list[Workload]) -> Steps[None]:
    pauses = {row.id: pause for row in rows if (pause := pause_of(gate, row))}
    if pauses:
        yield from perform(Effect.WAIT, partial(gate.clock.sleep, max(pauses.values())))
    for identity in pauses:
        yield from _guarded(swept, _resume(gate, identity))


def _resume(gate: Gate, identity: str) -> Steps[Workload | None]:
    """Re-read by key, because the index lags; lease, so that two sweeps do not do one thing twice; go on."""
    workload = gate.workloads.get(identity)
    now = gate.clock.now()
    if workload.due_at is None or workload.due_at > now:
        return None
    try:
        yield from perform(Effect.LEASE, partial(gate.workloads.lease, workload, now + gate.timing.lease))
    except ConditionFailed:
        return None
    return (yield from advance(gate, gate.workloads.get(identity)))


@dataclass(frozen=True, slots=True)
class Listing:
    """What is looked through a page at a time."""

    name: str
    bucket: str
    prefix: str
    each: Callable[[ObjectVersion], Steps[None]]


def _listed(gate: Gate, swept: Swept, listing: Listing, batch: int) -> Steps[None]:
    before = gate.agenda.cursor(listing.name)
    page = gate.objects.versions(listing.bucket, listing.prefix, before, batch)
    for version in page.versions:
        yield from _guarded(swept, listing.each(version))
    if page.after != before:
        yield from perform(Effect.KEEP_CURSOR, partial(gate.agenda.keep, listing.name, page.after))


def _unstage(gate: Gate, version: ObjectVersion) -> Steps[None]:
    """A zombie's late copy of something that has come to rest is of no use to anybody."""
    if not version.current:
        return
    identity = version.key.removeprefix(layout.STAGING).partition("/")[0]
    try:
        workload = gate.workloads.get(identity)
    except NotFound:
        return
    if workload.state in TERMINAL or workload.state is State.GONE:
        where = Address(version.bucket, version.key)
        yield from perform(Effect.DELETE_STAGING, partial(gate.objects.delete, where))

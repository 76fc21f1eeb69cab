"""Deliveries that are due, continued where they stand: all by a sweep, those of a burst by whoever starts what waits."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from lakegate.errors import ConditionFailed
from lakegate.gate.delivery.advance import ENOUGH, advance
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.find_deliveries import readable_row
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.scheduled_tasks import Turn

MOST: Final = 1_000
"""Due rows that are looked for at once."""
LAG: Final = timedelta(seconds=5)
"""The time after the last reserved start in which the index certainly lists the delivery that has reserved it."""


def start_waiting(dependencies: Dependencies) -> Steps[Turn]:
    """Start each delivery of a burst at its time, unless another worker is doing so; nothing where none waits.

    A function that has taken something in, or has seen the end of a run, does this in the time that it has left. So a burst waits
    for no sweep, and its runs start one after the other. What fails stops none of the others; the next sweep tries it again.
    """
    turn = Turn()
    yield from turn.guarded("starts", _started(dependencies, turn))
    return turn


def _started(dependencies: Dependencies, turn: Turn) -> Steps[None]:
    agenda, clock, interval = dependencies.agenda, dependencies.clock, dependencies.timing.start_interval
    seconds = min(dependencies.remaining() - ENOUGH, dependencies.timing.lease.total_seconds())
    until = clock.now() + timedelta(seconds=seconds)
    seen: set[str] = set()

    def waits() -> bool:
        """Whether a start was reserved that may not have been made, and there is time to make it."""
        return clock.now() < min(until, agenda.last_start(interval, dependencies.timing.start_burst) + LAG)

    if not waits():
        return
    try:
        yield from perform(Effect.LEAD_STARTS, partial(agenda.lead_starts, clock.now(), until))
    except ConditionFailed:
        return  # another worker makes them
    while waits():
        soon = clock.now() + interval
        fresh = [each for each in agenda.due(soon, MOST) if each not in seen]
        rows = [row for each in fresh if (row := readable_row(dependencies, each)) is not None]
        waiting = [row for row in rows if row.state is State.SUBMITTING and _due(row) <= soon]
        seen.update(fresh)
        for row in waiting:
            yield from _wait(dependencies, _due(row))
            yield from turn.guarded(row.id, resume(dependencies, row.id))
            if clock.now() >= until:
                break
        if not waiting:
            yield from _wait(dependencies, soon)
    yield from perform(Effect.END_LEAD, partial(agenda.end_lead, until))


def _due(row: Workload) -> datetime:
    assert row.due_at is not None  # whatever is open is due at some time
    return row.due_at


def _wait(dependencies: Dependencies, until: datetime) -> Steps[None]:
    pause = (until - dependencies.clock.now()).total_seconds()
    if pause > 0:
        yield from perform(Effect.WAIT, partial(dependencies.clock.sleep, pause))


def resume(dependencies: Dependencies, identity: str, *, again: bool = False) -> Steps[Workload | None]:
    """Re-read by key, because the index lags; lease, so that two workers do not do one thing twice; advance.

    A workload with tries is returned as it is, unless it is tried `again`.
    """
    workload = dependencies.workloads.get(identity)
    now, timing = dependencies.clock.now(), dependencies.timing
    if workload.state is State.HELD or workload.due_at is None or workload.due_at > now:
        return None
    if workload.tries and not again:
        return workload
    tries = workload.tries + 1
    until = now + min(timing.lease * 4 ** max(tries - 2, 0), timing.aside)
    try:
        yield from perform(Effect.LEASE, partial(dependencies.workloads.lease, workload, until, tries))
    except ConditionFailed:
        return None
    try:
        after = yield from advance(dependencies, dependencies.workloads.get(identity))
    except Exception:
        yield from _came_back(dependencies, identity, until)
        raise
    yield from _came_back(dependencies, identity, until)
    return after._replace(tries=0)


def _came_back(dependencies: Dependencies, identity: str, until: datetime) -> Steps[None]:
    """Whatever came of it, it has not ended its worker."""
    row = dependencies.workloads.get(identity)
    if row.tries and row.due_at == until:
        until = min(until, dependencies.clock.now() + dependencies.timing.lease)
        with suppress(ConditionFailed):
            yield from perform(Effect.LEASE, partial(dependencies.workloads.lease, row, until))

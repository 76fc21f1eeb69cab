"""Job runs of a burst, started one after the other at the times that were reserved for them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from lakegate.base.errors import ConditionFailed
from lakegate.gate.delivery.advance import SECONDS_OF_STEP, resume
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.find_deliveries import readable_row
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.scheduled_tasks import Turn

MAX_DUE_STARTS: Final = 1_000
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
    agenda, clock, timing = dependencies.agenda, dependencies.clock, dependencies.timing
    interval, burst = timing.start_interval, timing.start_burst
    seconds = min(dependencies.remaining() - SECONDS_OF_STEP, timing.lease.total_seconds())
    until = clock.now() + timedelta(seconds=seconds)
    seen: set[str] = set()

    def waits() -> bool:
        """Whether a start was reserved that may not have been made."""
        return clock.now() < agenda.last_start(interval, burst) + LAG

    if clock.now() >= until or not waits():
        return
    try:
        yield from perform(Effect.LEAD_STARTS, agenda.lead_starts, clock.now(), until)
    except ConditionFailed:
        return  # another worker makes them
    saved = max(burst - 1, 0) * interval
    free, is_behind = clock.now() - saved, True
    while clock.now() < until and (is_behind or waits()):
        soon = clock.now() + interval
        fresh = [each for each in agenda.due(soon, MAX_DUE_STARTS) if each not in seen]
        rows = [row for each in fresh if (row := readable_row(dependencies, each)) is not None]
        waiting = [row for row in rows if row.state is State.SUBMITTING and _due(row) <= soon]
        seen.update(fresh)
        for row in waiting:
            yield from _wait(dependencies, max(_due(row), free))
            if clock.now() >= until:
                break
            free = max(free, clock.now() - saved) + interval
            yield from turn.guarded(row.id, resume(dependencies, row.id))
        yield from _wait(dependencies, soon)
        is_behind = bool(waiting)
    yield from perform(Effect.END_LEAD, agenda.end_lead, until)


def _due(row: Workload) -> datetime:
    assert row.due_at is not None  # whatever is open is due at some time
    return row.due_at


def _wait(dependencies: Dependencies, until: datetime) -> Steps[None]:
    pause = (until - dependencies.now).total_seconds()
    if pause > 0:
        yield from perform(Effect.WAIT, dependencies.clock.sleep, pause)

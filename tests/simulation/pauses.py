"""What a pause promises, in every schedule: nothing is judged while its line is paused, and then in order of arrival."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import State
from tests.simulation.environment import Environment

LINE = "orders/lines_v1"
LAG = timedelta(seconds=30)
"""Of the index: what was held so shortly before is not seen yet."""


class PausePromises:
    """Remembers since when each workload is held."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.since: dict[str, datetime] = {}
        self.arrived: dict[str, datetime] = {}

    def broken(self, rows: Mapping[str, Workload], before: Workload, row: Workload) -> Iterator[str]:
        """What is wrong about a change of state."""
        pause = self.env.memory.pauses.get(LINE)
        held = sum(each.state is State.HELD for each in self.env.memory.workloads.values())
        if held != (pause.held if pause else 0):
            yield f"{held} deliveries are held, and the pause counts {pause.held if pause else 'none'}"
        if row.state is State.HELD:
            self.since[row.id] = self.env.memory.clock.now()
            yield from self._held(row, there=pause is not None)
        elif row.state is State.PINNED and row.pin is not None and row.pin.dataset == LINE and pause is not None:
            if before.state is State.RECEIVED or pause.resumed is None:
                yield "a delivery of a paused line was pinned"
            elif before.state is State.HELD:
                yield from self._overtaken(rows, row, pause.resumed - LAG)

    def _held(self, row: Workload, *, there: bool) -> Iterator[str]:
        upload = self.env.by_version[(row.landed or row.source).version]
        if not there or not upload.routed:
            yield "a delivery was held whose line is not paused"
        if not row.replay_of and row.due_at != row.arrived:
            yield "a held delivery does not have the time at which it landed"
        assert row.due_at is not None
        self.arrived[row.id] = row.due_at

    def _overtaken(self, rows: Mapping[str, Workload], row: Workload, seen: datetime) -> Iterator[str]:
        """Of what was held when the line was resumed, for the first time, nothing is overtaken."""
        if self.env.pauses_begun > 1 or self.since[row.id] >= seen:
            return
        held = (each.id for each in rows.values() if each.state is State.HELD and self.since[each.id] < seen)
        if any(self.arrived[each] < self.arrived[row.id] for each in held):
            yield "a held delivery was overtaken by one that arrived later"

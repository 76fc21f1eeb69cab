"""Waiting until deliveries are finished."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lakegate.gate.delivery.find_deliveries import Delivery, find_delivery
from lakegate.gate.delivery.protocol import END_STATES, PASSIVE_STATES, State
from lakegate.gate.dependencies import Dependencies
from lakegate.library.described_deliveries import DeliveryStatus, delivery_status, standing

LONGEST_WAIT = 900
FIRST_LOOK, LONGEST_PAUSE, SLOWER = 0.1, 2.0, 1.3
"""Seconds between two looks, and the factor by which they grow: a refusal is quick, a job may take minutes."""
DECIDED = frozenset({State.DECIDED, State.PUBLISHED, State.QUARANTINED})


@dataclass(slots=True)
class Waited:
    """One delivery that is waited for; seconds are counted from `began`, on the monotonic clock."""

    workload: str
    key: str
    size: int
    began: float
    state: State | None = None
    standing: str = ""
    verdict: float | None = None
    finished: float | None = None

    def look(self, dependencies: Dependencies) -> None:
        """Read the state as it is now."""
        row = dependencies.workloads.find(self.workload)
        self.state, self.standing = row.state if row else None, standing(row)
        spent = time.monotonic() - self.began
        if self.verdict is None and self.state in DECIDED:
            self.verdict = spent
        if self.state in END_STATES:
            self.finished = spent

    def status(self, dependencies: Dependencies) -> DeliveryStatus:
        """Everything about it, as it is now."""
        if dependencies.workloads.find(self.workload) is None:
            return delivery_status(dependencies, Delivery(self.workload, self.key, self.size, None))
        return delivery_status(dependencies, find_delivery(dependencies, self.workload, 0))

    @property
    def seconds(self) -> tuple[float | None, float | None]:
        """Up to the verdict, and up to the end."""
        verdict, finished = (None if each is None else round(each, 3) for each in (self.verdict, self.finished))
        return verdict, finished


def pauses() -> Iterator[float]:
    """Seconds between two looks, without an end."""
    pause = FIRST_LOOK
    while True:
        yield pause
        pause = min(pause * SLOWER, LONGEST_PAUSE)


def wait(
    dependencies: Dependencies,
    deliveries: Sequence[Waited],
    timeout: float,
    progress: Callable[[str], object] = lambda _: None,
) -> None:
    """Look until all of them are finished, wait for a person or a date, or the time is up. `progress` is told how they stand."""
    began, seconds = time.monotonic(), pauses()
    while (spent := time.monotonic() - began) < timeout:
        for delivery in deliveries:
            if delivery.finished is None:
                delivery.look(dependencies)
        left = [
            delivery for delivery in deliveries if delivery.finished is None and delivery.state not in PASSIVE_STATES
        ]
        if not left:
            return
        count = f"{len(deliveries) - len(left)} of {len(deliveries)} finished; " if len(deliveries) > 1 else ""
        progress(f"{count}{left[0].key}: {left[0].standing} ({spent:.0f} s)")
        dependencies.clock.sleep(next(seconds))

"""Waiting until deliveries are finished, with `--wait`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from lakegate.cli import terminal
from lakegate.cli.command_runner import next_command
from lakegate.cli.deliveries.status_command import delivery_in_words
from lakegate.gate.delivery.find_deliveries import Delivery, find_delivery
from lakegate.gate.delivery.protocol import END_STATES, PASSIVE_STATES, State
from lakegate.gate.dependencies import Dependencies
from lakegate.library.described_deliveries import SHORT_ID, DeliveryStatus, delivery_status, standing

LONGEST_WAIT = 900
FIRST_LOOK, LONGEST_PAUSE, SLOWER = 0.1, 2.0, 1.3
"""Seconds between two looks, and the factor by which they grow: a refusal is quick, a job may take minutes."""
DECIDED = frozenset({State.DECIDED, State.PUBLISHED, State.QUARANTINED})


class WaitExit(IntEnum):
    """Exit codes with `--wait`."""

    ACCEPTED = 0
    REJECTED = 1
    NO_VERDICT = 3


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
    def exit_code(self) -> WaitExit:
        """Of this one delivery."""
        if self.finished is None or self.state not in {State.PUBLISHED, State.QUARANTINED}:
            return WaitExit.NO_VERDICT
        return WaitExit.ACCEPTED if self.state is State.PUBLISHED else WaitExit.REJECTED

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


def wait(dependencies: Dependencies, deliveries: Sequence[Waited], timeout: int) -> None:
    """Look until all of them are finished, wait for a person or a date, or the time is up."""
    began, seconds = time.monotonic(), pauses()
    with terminal.working(standing(None)) as progress:
        while (spent := time.monotonic() - began) < timeout:
            for delivery in deliveries:
                if delivery.finished is None:
                    delivery.look(dependencies)
            left = [
                delivery
                for delivery in deliveries
                if delivery.finished is None and delivery.state not in PASSIVE_STATES
            ]
            if not left:
                return
            count = f"{len(deliveries) - len(left)} of {len(deliveries)} finished; " if len(deliveries) > 1 else ""
            progress(f"{count}{left[0].key}: {left[0].standing} ({spent:.0f} s)")
            dependencies.clock.sleep(next(seconds))


def print_end(one: DeliveryStatus, waited: Waited, since: str) -> None:
    """Print the end, for people."""
    terminal.tell(delivery_in_words(one))
    if waited.state is State.SCHEDULED:
        terminal.note("It is published at its time. To withdraw it: `lakegate decline`.", "yellow")
    elif waited.state is State.AWAITING:
        terminal.note("It waits for a person: `lakegate approve`, or `lakegate decline`.", "yellow")
    elif waited.finished is None:
        terminal.note("The time is up; it goes on without you: `lakegate status`.", "yellow")
    elif waited.verdict is not None:
        terminal.standard_output().print(
            f"{waited.verdict:.1f} s from {since} to verdict, {waited.finished:.1f} s to completion"
        )
    if waited.exit_code is WaitExit.REJECTED:
        terminal.tell([next_command("lakegate", "reasons", one.workload[:SHORT_ID])])


def exit_code(deliveries: Sequence[Waited]) -> WaitExit:
    """Of several deliveries: one that was rejected counts first, then one without a verdict."""
    codes = {delivery.exit_code for delivery in deliveries}
    return next((code for code in (WaitExit.REJECTED, WaitExit.NO_VERDICT) if code in codes), WaitExit.ACCEPTED)

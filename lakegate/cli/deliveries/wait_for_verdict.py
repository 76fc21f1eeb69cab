"""Waiting until deliveries are finished, with `--wait`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from lakegate.cli import terminal
from lakegate.cli.command_runner import next_command
from lakegate.cli.deliveries.status_command import delivery_in_words
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.library import awaited_deliveries
from lakegate.library.awaited_deliveries import Waited
from lakegate.library.described_deliveries import SHORT_ID, DeliveryStatus, standing


class WaitExit(IntEnum):
    """Exit codes with `--wait`."""

    ACCEPTED = 0
    REJECTED = 1
    NO_VERDICT = 3


def wait(dependencies: Dependencies, deliveries: Sequence[Waited], timeout: int) -> None:
    """Wait for deliveries, and show on a terminal how they stand."""
    with terminal.working(standing(None)) as progress:
        awaited_deliveries.wait(dependencies, deliveries, timeout, progress)


def print_end(one: DeliveryStatus, waited: Waited, since: str) -> None:
    """Print the end, for people."""
    terminal.tell(delivery_in_words(one))
    if waited.state is State.SCHEDULED:
        what = "It waits for its time" if one.workflow_state else "It is published at its time"
        terminal.note(f"{what}. To withdraw it: `lakegate decline`.", "yellow")
    elif waited.state is State.AWAITING:
        terminal.note("It waits for a person: `lakegate approve`, or `lakegate decline`.", "yellow")
    elif waited.finished is None:
        terminal.note("The time is up; it goes on without you: `lakegate status`.", "yellow")
    elif waited.verdict is not None:
        terminal.standard_output().print(
            f"{waited.verdict:.1f} s from {since} to verdict, {waited.finished:.1f} s to completion"
        )
    if exit_code([waited]) is WaitExit.REJECTED or one.rejected_rows:
        terminal.tell([next_command("lakegate", "reasons", one.workload[:SHORT_ID])])


def exit_code(deliveries: Sequence[Waited]) -> WaitExit:
    """Of several deliveries: one that was rejected counts first, then one without a verdict."""
    codes = {_exit_code(delivery) for delivery in deliveries}
    return next((code for code in (WaitExit.REJECTED, WaitExit.NO_VERDICT) if code in codes), WaitExit.ACCEPTED)


def _exit_code(delivery: Waited) -> WaitExit:
    if delivery.finished is None or delivery.state not in {State.PUBLISHED, State.QUARANTINED}:
        return WaitExit.NO_VERDICT
    return WaitExit.ACCEPTED if delivery.state is State.PUBLISHED else WaitExit.REJECTED

"""What waits for people: paused lines, and deliveries whose workflow asks somebody."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from lakegate.cli.account import SHORT_ID, in_utc
from lakegate.cli.probes.causes import CAUSES
from lakegate.contracts.lake.states import State
from lakegate.functions.usecases.delivery import readable_row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.cli.probes.causes import CauseFinding
    from lakegate.cli.probes.examination import ExaminedStack
    from lakegate.functions.workload import Workload

NEAR_THE_END: Final = timedelta(days=1)
"""Of the time for an answer."""
DUE: Final = 200
"""Workloads with a next step within a day, among which those that wait for an answer are looked for."""


def pauses(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Lines whose deliveries wait because somebody paused them."""
    for line in examined.dependencies.pauses.listed():
        yield from paused(examined, line)


def paused(examined: ExaminedStack, line: str, workload: str = "") -> Iterator[CauseFinding]:
    """The pause of a line, while it lasts."""
    pause = examined.dependencies.pauses.pause_of(line)
    if pause is not None and pause.resumed is None:
        reason = f" ({pause.reason})" if pause.reason else ""
        since = f"{pause.since:%Y-%m-%d %H:%M} UTC"
        cause = CAUSES["line-paused-long" if pause.is_long(examined.ask.now()) else "line-paused"]
        yield cause.found(workload, line=line, since=since, by=pause.by, reason=reason, held=f"{pause.held:,}")


def answers(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Deliveries that are rejected within a day if nobody answers."""
    if examined.delivery is None:
        for identity in examined.dependencies.agenda.due(examined.ask.now() + NEAR_THE_END, DUE):
            row = readable_row(examined.dependencies, identity)
            if row is not None and is_asked(examined, row):
                yield asked(row)


def is_asked(examined: ExaminedStack, row: Workload) -> bool:
    """Whether somebody can still answer."""
    return row.state is State.AWAITING and row.deadline is not None and examined.ask.now() < row.deadline


def asked(row: Workload) -> CauseFinding:
    """That a delivery waits, and until when."""
    return CAUSES["answer-awaited"].found(row.id, until=in_utc(row.deadline), short=row.id[:SHORT_ID])

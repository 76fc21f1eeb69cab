"""The pull of a line, as `lakegate pull` and `status` print it, and the HTTP API has it with `details`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lakegate.features.pull.pull_task import PullingLine

PATH: Final = "/api/v1/data-contract/{id}/pull"
"""The address by which lines of a contract are pulled now."""


class PullStatus(StrEnum):
    """Where a line is that a person wants to be pulled."""

    DUE = "Due"
    FETCHING = "Fetching"
    UNSCHEDULED = "Unscheduled"
    """No tick has seen what was published, or the stack does not pull."""


@dataclass(frozen=True, slots=True)
class FetchUnderWay:
    """A file that is being fetched."""

    key: str
    since: str
    size: int | None


@dataclass(frozen=True, slots=True)
class EndOfPull:
    """The end of a pull."""

    outcome: str
    at: str
    key: str | None
    size: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class PulledLine:
    """The pull of a line: its schedule, and how the latest pulls ended."""

    line: str
    contract_version: str
    source: str
    schedule: str
    next: str
    """The time when it is due; empty: never."""
    failures: int
    fetching: FetchUnderWay | None
    ends: tuple[EndOfPull, ...]
    """The latest first."""


def pulled_line(row: PullingLine) -> PulledLine:
    """The row of a line as it is printed."""
    ends = (
        EndOfPull(each.outcome.value, each.at, each.key or None, each.size, each.reason or None) for each in row.ends
    )
    fetching = FetchUnderWay(row.fetch.key, row.fetch.began, row.fetch.size) if row.fetch else None
    return PulledLine(row.line, row.version, row.source, row.schedule, row.next, row.failures, fetching, tuple(ends))


def status_of(row: PullingLine) -> PullStatus:
    """Where a line is."""
    if not row.plan:
        return PullStatus.UNSCHEDULED
    return PullStatus.FETCHING if row.leased or row.fetch else PullStatus.DUE

"""The pull of a line, as `lakegate pull` and `status` print it, and the HTTP API has it with `details`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from lakegate.features.pull.pull_task import PullEnd, PullingLine

if TYPE_CHECKING:
    from lakegate.features.pull.named_objects import NamedObject

PATH: Final = "/api/v1/data-contract/{id}/pull"
"""The address by which lines of a contract are pulled now."""


class PullStatus(StrEnum):
    """Where a line, or an object that its producer has named, is that a person wants to be pulled."""

    DUE = "Due"
    FETCHING = "Fetching"
    DONE = "Done"
    """Of an object alone: `latest` says how it ended."""
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


def end_of(end: PullEnd) -> EndOfPull:
    """The end of a pull as it is printed."""
    return EndOfPull(end.outcome.value, end.at, end.key or None, end.size, end.reason or None)


def pulled_line(row: PullingLine) -> PulledLine:
    """The row of a line as it is printed."""
    ends = map(end_of, row.ends)
    fetching = FetchUnderWay(row.fetch.key, row.fetch.began, row.fetch.size) if row.fetch else None
    return PulledLine(row.line, row.version, row.source, row.schedule, row.next, row.failures, fetching, tuple(ends))


def status_of(row: PullingLine) -> PullStatus:
    """Where a line is."""
    if not row.plan:
        return PullStatus.UNSCHEDULED
    return PullStatus.FETCHING if row.leased or row.fetch else PullStatus.DUE


def status_of_object(row: NamedObject) -> PullStatus:
    """Where an object is that its producer has named."""
    if not row.next:
        return PullStatus.DONE
    return PullStatus.FETCHING if row.leased or row.upload else PullStatus.DUE

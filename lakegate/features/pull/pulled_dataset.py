"""The pull of a dataset, as `lakegate pull` and `status` print it, and the HTTP API has it with `details`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from lakegate.base.json_codec import encode, select_fields
from lakegate.base.text import plural
from lakegate.base.timestamps import instant_of
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.features.pull.pull_task import FinishedPull, PullState, is_table, pulls_of
from lakegate.gate.dependencies import Dependencies
from lakegate.library.described_deliveries import in_utc

if TYPE_CHECKING:
    from lakegate.features.pull.named_objects import NamedObject
    from lakegate.library.described_deliveries import DatasetSection

PATH: Final = "/api/v1/data-contract/{id}/pull"
"""The address by which datasets of a contract are pulled now."""


class PullStatus(StrEnum):
    """The state of a dataset, or of an object that its producer has named, that a person wants to be pulled."""

    DUE = "Due"
    FETCHING = "Fetching"
    DONE = "Done"
    """Of an object alone: `latest` says how it ended."""
    UNSCHEDULED = "Unscheduled"
    """No tick has seen what was published, or the stack does not pull; objects that are named have no schedule."""


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
    object: str | None = None
    """The address of an object that its producer has named; null: of what is pulled by schedule."""
    version: str | None = None
    """Of that object."""


@dataclass(frozen=True, slots=True)
class PulledDataset:
    """The pull of a dataset: its schedule, and how the latest pulls ended."""

    dataset: str = field(metadata=DATASET_KEY)
    contract_version: str
    source: str
    schedule: str
    """Empty: its producer names the objects of the source."""
    next: str
    """The time when it is due; empty: never."""
    failures: int
    fetching: FetchUnderWay | None
    ends: tuple[EndOfPull, ...]
    """The latest first."""


def pulled_dataset(row: PullState) -> PulledDataset:
    """The row of a dataset as it is printed."""
    fetching = FetchUnderWay(row.fetch.key, row.fetch.began, row.fetch.size) if row.fetch else None
    return select_fields(PulledDataset, row, contract_version=row.version, fetching=fetching)


def status_of(row: PullState) -> PullStatus:
    """Where a dataset is."""
    if not (row.plan and (row.schedule or is_table(row))):
        return PullStatus.UNSCHEDULED
    return PullStatus.FETCHING if row.leased or row.fetch else PullStatus.DUE


def status_of_object(row: NamedObject) -> PullStatus:
    """The state of an object that its producer has named."""
    if not row.next:
        return PullStatus.DONE
    return PullStatus.FETCHING if row.leased or row.upload else PullStatus.DUE


def status_of_datasets(dependencies: Dependencies, datasets: Iterable[str]) -> Iterator[DatasetSection]:
    """The end of the latest pull of each dataset, for `lakegate status`."""
    for pull in pulls_of(dependencies, datasets):
        yield "pull", encode(pulled_dataset(pull)), in_words(pull)


def in_words(row: PullState) -> str:
    """The state of a pull, in one line without its source."""
    return f"{in_past(row.ends[0])}; {present_state(row)}" if row.ends else present_state(row)


def present_state(row: PullState) -> str:
    """The present state of a pull, in words."""
    if is_table(row) and not row.next:
        return "is looked at when somebody asks for it"
    if not (row.schedule or is_table(row)):
        return "delivers the objects that its producer names"
    state = f"is being fetched since {_time(row.fetch.began)}" if row.fetch else f"next at {_time(row.next)}"
    return f"{state}, after {plural(row.failures, 'failed attempt')}" if row.failures else state


def in_past(end: FinishedPull) -> str:
    """The end of a pull, in words."""
    what = f"{end.key}, {plural(end.size, 'byte')}" if end.key else end.reason
    of = f" {end.object}{f' {end.version}' if end.version else ''}" if end.object else ""
    return f"{_time(end.at)}:{of} {end.outcome.value}{f' ({what})' if what else ''}"


def _time(at: str) -> str:
    return in_utc(instant_of(at))

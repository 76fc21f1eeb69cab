"""Datasets: status, subscriptions, deadlines; and their rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from operator import attrgetter
from typing import Any, Final, Generic, Protocol, TypeVar

from lakegate.base.json_codec import DOCUMENT_NAME, EXTENSIONS, decode, encode
from lakegate.base.timestamps import instant_of, moment
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.gate.table import (
    Put,
    Row,
    StoredRecord,
    Tables,
    Write,
    all_readable,
    at_revision,
    batched_rows,
    due_at,
    instant,
    read_row,
    workloads_key,
)


class DatasetStatus(StrEnum):
    """The statuses of a dataset, from the least to the most restrictive, but for the draft."""

    DRAFT = "draft"
    ACTIVE = "active"
    DEPRECATED = "deprecated"
    SUNSET = "sunset"
    RETIRED = "retired"


_RESTRICTION: Final = (
    DatasetStatus.ACTIVE,
    DatasetStatus.DEPRECATED,
    DatasetStatus.SUNSET,
    DatasetStatus.DRAFT,
    DatasetStatus.RETIRED,
)


AT_ONCE: Final = moment(datetime.min.replace(tzinfo=UTC))
"""A time before all others."""


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A status, and from when it holds."""

    status: DatasetStatus
    at: str
    """RFC 3339, UTC, six decimals (`moment`): such texts sort by time."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a dataset as consumers and producers are told (ADR-0029, "datacontract.yaml Deprecation Fields")."""

    reason: str = ""
    replacement: str = ""
    """The dataset or contract to use instead."""
    guide: str = ""
    """Address of a migration guide."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A notified team, its kinds of messages, channels and times. At most one of each team and audience."""

    team: str
    since: str
    """As `StatusChange.at`."""
    on: tuple[str, ...] = ("breaking", "deprecated")
    """Kinds of causes, sorted (`lakegate.gate.datasets.subscriptions`)."""
    audience: str = "consumer"
    """`consumer`, `producer` or `operator`."""
    to: tuple[str, ...] = ()
    """Channels, sorted (`lakegate.gate.channel_ports`); empty: the event bus alone."""
    quiet: str = ""
    """Hours, UTC, in which nothing is sent to the channels: `22:00-06:00`; empty: none."""
    digest: int = 24
    """Hours between messages about the same cause."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A dataset of a new major version waits until the subscribers of the dataset before had time, or have acknowledged it."""

    version: str
    follows: str
    """The dataset whose subscribers were asked."""
    teams: tuple[str, ...]
    """Its subscribers when the version was published, sorted."""
    acknowledged: tuple[str, ...] = ()
    """Sorted."""


@dataclass(frozen=True, slots=True)
class ParentNotice:
    """A version of the contract that the dataset's contract inherits from, which it will be weaker than."""

    version: str
    """e.g. `acme-policies@1.1.0`"""
    inherited_from: str
    """As `StatusChange.at`: from when new versions of the dataset's contract inherit from it."""
    owner: str = ""
    """Of the dataset's contract; empty if its document names none."""


@dataclass(frozen=True, slots=True)
class DatasetState:
    """Lifecycle and subscriptions of a dataset; one without changes is active."""

    name: str
    """`<contract>/<dataset>_v<major>`."""
    changes: tuple[StatusChange, ...] = ()
    """By time."""
    recorded: int = 0
    """The number of changes, from the first, that are in the ledger."""
    ending: Ending = Ending()
    notice: Notice | None = None
    parents: tuple[ParentNotice, ...] = ()
    """By time; without those that have begun."""
    subscriptions: tuple[Subscription, ...] = ()
    listed: bool = True
    """Whether the readers' manifest states all that is recorded."""
    revision: int = 0
    """The number of its writes."""
    extensions: str = field(default="{}", metadata=EXTENSIONS)
    """As `lakegate.base.json_codec.EXTENSIONS`."""

    @property
    def consumers(self) -> tuple[str, ...]:
        """The teams that read the dataset, sorted: those whom a breaking version waits for."""
        return tuple(
            sorted(subscription.team for subscription in self.subscriptions if subscription.audience == "consumer")
        )

    def status_at(self, at: str) -> DatasetStatus:
        """The status at a time, written as `moment` writes it."""
        begun = [change.status for change in self.changes if change.at <= at]
        if begun:
            return begun[-1]
        return (
            DatasetStatus.DRAFT
            if self.changes and self.changes[0].status is DatasetStatus.DRAFT
            else DatasetStatus.ACTIVE
        )

    def since(self, at: str) -> str:
        """The beginning of the status at a time; empty if the dataset was always active."""
        return next((change.at for change in reversed(self.changes) if change.at <= at), "")

    def planned(self, at: str) -> tuple[StatusChange, ...]:
        """The changes after a time."""
        return tuple(change for change in self.changes if change.at > at)

    def expected(self, status: DatasetStatus) -> str:
        """The time of the latest change to a status; empty if there is none."""
        return next((change.at for change in reversed(self.changes) if change.status is status), "")

    @property
    def due(self) -> str:
        """The time of the next change to record, or to list; empty if there is none."""
        if not self.listed:
            return self.changes[self.recorded - 1].at if self.recorded else AT_ONCE
        return self.changes[self.recorded].at if self.recorded < len(self.changes) else ""


def strictest(*statuses: str) -> DatasetStatus:
    """The most restrictive of some statuses: of a version's document, and of its dataset."""
    return max(map(DatasetStatus, statuses), key=_RESTRICTION.index)


@dataclass(frozen=True, slots=True)
class Deadline:
    """The deadline of a service level, of the version by which the latest delivery was accepted."""

    name: str
    """`frequency`, `freshness` or `latency`."""
    seconds: int
    missed: bool = False
    """Whether it was reported as missed."""
    since: str = ""
    """Its beginning; empty: with the latest accepted delivery."""


@dataclass(frozen=True, slots=True)
class DatasetDeadlines:
    """The deadlines of a dataset since its latest accepted delivery."""

    dataset: str = field(metadata=DATASET_KEY)
    last: str = ""
    """The time of the latest accepted delivery, as `moment` writes it."""
    version: str = ""
    """Of the contract."""
    deadlines: tuple[Deadline, ...] = field(default=(), metadata={DOCUMENT_NAME: "pledges"})
    revision: int = 0
    extensions: str = field(default="{}", metadata=EXTENSIONS)
    """As `lakegate.base.json_codec.EXTENSIONS`."""

    def end_of(self, deadline: Deadline) -> str:
        """The time when a service level is missed unless a delivery is accepted before."""
        return moment(instant_of(deadline.since or self.last) + timedelta(seconds=deadline.seconds))

    @property
    def due(self) -> str:
        """The time when the next service level is missed; empty if there is none that was not reported."""
        return min((self.end_of(deadline) for deadline in self.deadlines if not deadline.missed), default="")


# ---- One row for each dataset, in the table of workloads: its lifecycle, and what is done about it by schedule ----


class DueRow(Protocol):
    """A row, a dataclass."""

    @property
    def revision(self) -> int:
        """The number of its writes, which its store counts."""

    @property
    def due(self) -> str:
        """The time when there is something to do, as `moment` writes it; empty: never."""


RowT = TypeVar("RowT", bound=DueRow)


def advance_revision(row: RowT) -> RowT:
    """The row as its write leaves it."""
    change: Any = replace
    after: RowT = change(row, revision=row.revision + 1)
    return after


@dataclass(frozen=True, slots=True)
class DatasetRowStore(Generic[RowT]):
    """Rows of one kind. `get` is strongly consistent, `due` reads an index that lags."""

    table: Tables
    kind: str
    """Of keys, and of the shards of the index."""
    attribute: str
    """With the content of the row; also what a condition that fails is called."""
    new_row: Callable[[str], RowT]
    """Makes the row of a name that nobody has written, with revision 0; the class of rows."""
    name_of: Callable[[RowT], str] = attrgetter("dataset")
    """The name of a row in its key."""
    beside: Callable[[RowT], Mapping[str, Any]] = lambda _: {}
    """Further attributes of a row."""

    def get(self, name: str) -> RowT:
        """The row of a name."""
        return read_row(self.table, workloads_key(self.kind, name), self._row) or self.new_row(name)

    def written(self, names: Iterable[str]) -> dict[str, RowT]:
        """The rows of names that somebody has written, by their names: one read for a hundred of them."""
        keys = [workloads_key(self.kind, name) for name in names]
        found = all_readable(self.table, batched_rows(self.table, keys), self._row)
        return {self.name_of(row): row for row in found}

    def write(self, row: RowT, *others: Write) -> RowT:
        """Replace a row that is stored as it was read, and do other writes with it: all or none.

        Returns the row with its next revision. Raises ConditionFailed; together with others also TransactionConflict.
        """
        after, name = advance_revision(row), self.name_of(row)
        content = json.dumps(encode(after), separators=(",", ":"), ensure_ascii=False)
        document = StoredRecord(after, lambda: content)
        index = due_at(self.kind, name, after.due)
        values = {"revision": after.revision, self.attribute: document, **index, **self.beside(after)}
        put = Put(Row(workloads_key(self.kind, name), values), at_revision(row.revision))
        if others:
            self.table.transact((put, *others))
        else:
            self.table.write(put)
        return after

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """Names of rows that are due, the oldest first."""
        return self.table.due(self.kind, limit, instant(now))

    def _row(self, row: Row) -> RowT:
        cls: Any = self.new_row
        content: RowT = row.record(self.attribute, lambda text: decode(cls, json.loads(text)))
        return content


def dataset_lifecycles(table: Tables) -> DatasetRowStore[DatasetState]:
    """Lifecycle and subscriptions by dataset; one that nobody has written is active."""
    return DatasetRowStore(table, "line", "line", DatasetState, attrgetter("name"))


def dataset_deadlines(table: Tables) -> DatasetRowStore[DatasetDeadlines]:
    """Deadlines by dataset."""
    return DatasetRowStore(table, "promise", "promises", DatasetDeadlines)

"""The lifecycle of a dataset line (ADR-0029): draft, active, deprecated, sunset, retired.

A line has a list of changes of its status, each with the time from which it holds; later ones are planned. The status at any time
follows from the list, for every reader at every time. What has begun is never changed, so that the status at a past time stays.
`lakegate.contracts.lake.transitions` has the commands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Final

from lakegate.contracts.errors import InputError
from lakegate.contracts.judge.verdict import Verdict
from lakegate.contracts.words import shown

MIN_DEPRECATED: Final = timedelta(days=30)
"""ADR-0029, "Deprecation States": consumers have at least this time between deprecation and sunset."""
MIN_SUNSET: Final = timedelta(days=7)
"""ADR-0029, as above: between sunset and retirement."""

LONGEST_TEXT: Final = 500
"""Characters of a reason or an address: they are part of events and of the reasons of every delivery."""


class LineStatus(StrEnum):
    """The statuses of a line, from the least to the most restrictive, but for the draft."""

    DRAFT = "draft"
    ACTIVE = "active"
    DEPRECATED = "deprecated"
    SUNSET = "sunset"
    RETIRED = "retired"


_RESTRICTION: Final = (
    LineStatus.ACTIVE,
    LineStatus.DEPRECATED,
    LineStatus.SUNSET,
    LineStatus.DRAFT,
    LineStatus.RETIRED,
)


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A status, and from when it holds."""

    status: LineStatus
    at: str
    """RFC 3339, UTC, six decimals (`moment`): such texts sort by time."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What consumers and producers are told about the end of a line (ADR-0029, "datacontract.yaml Deprecation Fields")."""

    reason: str = ""
    replacement: str = ""
    """The line or contract to use instead."""
    guide: str = ""
    """Address of a migration guide."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Who is notified of what about a line, how and when. At most one of each team and audience."""

    team: str
    since: str
    """As `StatusChange.at`."""
    on: tuple[str, ...] = ("breaking", "deprecated")
    """Kinds of causes, sorted (`lakegate.contracts.lake.subscriptions`)."""
    audience: str = "consumer"
    """`consumer`, `producer` or `operator`."""
    to: tuple[str, ...] = ()
    """Channels, sorted (`lakegate.contracts.lake.channels`); empty: the event bus alone."""
    quiet: str = ""
    """Hours, UTC, in which nothing is sent to the channels: `22:00-06:00`; empty: none."""
    digest: int = 24
    """Hours between messages about the same cause."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A line of a new major version waits until the subscribers of the line before had time, or have acknowledged it."""

    version: str
    follows: str
    """The line whose subscribers were asked."""
    teams: tuple[str, ...]
    """Its subscribers when the version was published, sorted."""
    acknowledged: tuple[str, ...] = ()
    """Sorted."""


@dataclass(frozen=True, slots=True)
class ParentNotice:
    """A version of the contract that the line's contract inherits from, which it will be weaker than."""

    version: str
    """e.g. `acme-policies@1.1.0`"""
    inherited_from: str
    """As `StatusChange.at`: from when new versions of the line's contract inherit from it."""
    owner: str = ""
    """Of the line's contract; empty if its document names none."""


@dataclass(frozen=True, slots=True)
class Line:
    """Lifecycle and subscriptions of a dataset line; one without changes is active."""

    name: str
    """`<contract>/<dataset>_v<major>`."""
    changes: tuple[StatusChange, ...] = ()
    """By time."""
    recorded: int = 0
    """How many of the changes, from the first, are in the ledger."""
    ending: Ending = Ending()
    notice: Notice | None = None
    parents: tuple[ParentNotice, ...] = ()
    """By time; without those that have begun."""
    subscriptions: tuple[Subscription, ...] = ()
    listed: bool = True
    """Whether the readers' manifest states all that is recorded."""
    revision: int = 0
    """How often it was written."""

    @property
    def consumers(self) -> tuple[str, ...]:
        """The teams that read the line, sorted: those whom a breaking version waits for."""
        return tuple(sorted(each.team for each in self.subscriptions if each.audience == "consumer"))

    def status_at(self, at: str) -> LineStatus:
        """The status at a time, written as `moment` writes it."""
        begun = [each.status for each in self.changes if each.at <= at]
        if begun:
            return begun[-1]
        return LineStatus.DRAFT if self.changes and self.changes[0].status is LineStatus.DRAFT else LineStatus.ACTIVE

    def since(self, at: str) -> str:
        """When the status at a time began; empty if the line was always active."""
        return next((each.at for each in reversed(self.changes) if each.at <= at), "")

    def planned(self, at: str) -> tuple[StatusChange, ...]:
        """The changes after a time."""
        return tuple(each for each in self.changes if each.at > at)

    def expected(self, status: LineStatus) -> str:
        """When the latest change to a status takes or took place; empty if there is none."""
        return next((each.at for each in reversed(self.changes) if each.status is status), "")

    @property
    def due(self) -> str:
        """When there is something to record, or to list: the time of the next change; empty if there is nothing."""
        if not self.listed:
            return self.changes[self.recorded - 1].at
        return self.changes[self.recorded].at if self.recorded < len(self.changes) else ""


def next_recorded(line: Line, now: str) -> Line | None:
    """The line with the next change that has begun as recorded; None if all are."""
    if line.recorded == len(line.changes) or line.changes[line.recorded].at > now:
        return None
    return replace(line, recorded=line.recorded + 1, listed=False, revision=line.revision + 1)


def beginning_of(written: str, now: datetime) -> str:
    """The beginning of a day, UTC; empty for today, which means now. Raises InputError for a text that is no day."""
    try:
        found = date.fromisoformat(written)
    except ValueError:
        raise InputError(f"{shown(written)} is no day: write YYYY-MM-DD") from None
    return "" if found == now.date() else moment(datetime(found.year, found.month, found.day, tzinfo=UTC))


def moment(at: datetime) -> str:
    """A time as texts of lines have it: RFC 3339, UTC, six decimals."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def instant_of(at: str) -> datetime:
    """The time of such a text."""
    return datetime.fromisoformat(at)


def strictest(*statuses: str) -> LineStatus:
    """The most restrictive of some statuses: of a version's document, and of its line."""
    return max(map(LineStatus, statuses), key=_RESTRICTION.index)


# --- what the gate does by a status


def refusal(status: str, *, known: bool, observed: bool) -> str:
    """The reason to refuse a delivery at the door by the status that was pinned; empty if there is none.

    `known`: an accepted delivery came below the same route before. `observed`: the contract has `mode: observe`.
    """
    if status == LineStatus.RETIRED:
        return "contract-retired"
    if status == LineStatus.DRAFT and not observed:
        return "contract-draft"
    return "contract-sunset" if status == LineStatus.SUNSET and not known else ""


def warning(line: Line, status: str) -> str:
    """What a delivery is warned of by the status that was pinned; empty if of nothing."""
    if status == LineStatus.DRAFT:
        return f"line-draft: {line.name} is a draft and not in force: this delivery was only observed"
    if status not in {LineStatus.DEPRECATED, LineStatus.SUNSET}:
        return ""
    after, becomes = {
        LineStatus.DEPRECATED: (LineStatus.SUNSET, "sunset"),
        LineStatus.SUNSET: (LineStatus.RETIRED, "retired, and refuses every delivery,"),
    }[LineStatus(status)]
    day = line.expected(after)[:10]
    when = f"; it is {becomes} on {day}" if day else ""
    use = f"; use {line.ending.replacement}" if line.ending.replacement else ""
    guide = f" ({line.ending.guide})" if line.ending.guide else ""
    state = "deprecated" if status == LineStatus.DEPRECATED else "in sunset, the last days before it is retired"
    return f"line-{status}: {line.name} is {state}{when}{use}{guide}"


def warned(verdict: str, reasons: tuple[str, ...], text: str) -> tuple[str, tuple[str, ...]]:
    """Verdict and reasons of a delivery that is warned of a status: accepted becomes accepted with warnings."""
    if not text:
        return verdict, reasons
    accepted = verdict == Verdict.ACCEPTED
    return Verdict.ACCEPTED_WITH_WARNINGS if accepted else verdict, (*reasons, text)

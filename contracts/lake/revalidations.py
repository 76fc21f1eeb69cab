"""Where the measurement of a line's accepted data is, for rules with a schedule of their own. Pure functions.

What such a run found is a record of the line's chain; what does not hold follows from the records, and is not stored here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.lake.lifecycle import instant_of, moment
from lakegate.contracts.lake.records import Record
from lakegate.contracts.model.schedules import schedule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from lakegate.contracts.judge.counts import BrokenRule
    from lakegate.contracts.lake.block import AnyBlock

KIND: Final = "revalidation"
"""Of the record, of the message, and of what subscribers ask for."""
EVERY: Final = timedelta(days=1)
"""Between two looks at a line whose rules do not hold."""
MAX_ENDS: Final = 20
"""Ends that a line remembers."""
MAX_STALE: Final = 100
"""Rules that a record lists as not holding."""


class RevalidationEnd(StrEnum):
    """How a run ended."""

    HELD = "HELD"
    """No rule failed; some may warn."""
    BROKEN = "BROKEN"
    FAILED = "FAILED"
    """Nothing was measured."""


@dataclass(frozen=True, slots=True)
class DueSchedule:
    """A schedule of the line's rules, and when it is due; empty: never again."""

    text: str
    next: str


@dataclass(frozen=True, slots=True)
class ScheduledRun:
    """A measurement that has begun; one attempt of it at a time."""

    id: str
    """Names the folder of its requests and results."""
    schedules: tuple[str, ...]
    """That were due."""
    plan: str
    """Digest of the plan with their checks alone."""
    height: int
    """Up to which accepted data is measured; by another attempt it may be a higher one."""
    at: str
    """The judging time."""
    attempt: int = 1
    run: str = ""
    """Of the job or of the judge function; empty: not started yet."""
    deadline: str = ""
    """From when on no result is waited for, once it is started."""


@dataclass(frozen=True, slots=True)
class EndedRun:
    """The end of a run."""

    end: RevalidationEnd
    at: str
    height: int
    reason: str = ""
    """A code, of what failed."""
    stale: tuple[str, ...] = ()
    """The rules that do not hold since then, as the record of the run lists them; of the latest end alone."""


@dataclass(frozen=True, slots=True)
class RevalidatedLine:
    """The row of a line. Times are as `moment` writes them."""

    line: str
    plan: str = ""
    """Digest of the line's plan that the schedules are of; empty: nothing is measured by schedule."""
    version: str = ""
    """Of the contract."""
    schedules: tuple[DueSchedule, ...] = ()
    run: ScheduledRun | None = None
    look: str = ""
    """When to look at the run again; without a run whether rules that do not hold still have a schedule; empty: never."""
    ends: tuple[EndedRun, ...] = ()
    """The latest first."""
    revision: int = 0

    @property
    def due(self) -> str:
        """When a sweep has to look at it; empty: never."""
        return self.look if self.run is not None else min(filter(None, (self.look, self.next)), default="")

    @property
    def next(self) -> str:
        """When a schedule is due next; empty: never."""
        return min((each.next for each in self.schedules if each.next), default="")

    def is_due(self, at: str) -> bool:
        """Whether a sweep has to look at it now."""
        return "" < self.due <= at

    def due_schedules(self, at: str) -> tuple[str, ...]:
        """The schedules whose time has come."""
        return tuple(each.text for each in self.schedules if "" < each.next <= at)


def planned(line: RevalidatedLine, schedules: Iterable[str], version: str, plan: str, now: str) -> RevalidatedLine:
    """The line under another plan: a schedule that it had before is due as before."""
    known = {each.text: each.next for each in line.schedules}
    due = tuple(DueSchedule(each, known.get(each) or following(each, now)) for each in sorted(set(schedules)))
    return replace(_next(line), plan=plan, version=version, schedules=due)


def unplanned(line: RevalidatedLine) -> RevalidatedLine:
    """The line when nothing is measured by schedule any more; how runs ended stays."""
    return replace(_next(line), plan="", version="", schedules=(), look="")


def running(line: RevalidatedLine, run: ScheduledRun, look: str) -> RevalidatedLine:
    """The line with a run, or with another attempt of it."""
    return replace(_next(line), run=run, look=look)


def ended(line: RevalidatedLine, end: EndedRun) -> RevalidatedLine:
    """The line after a run has ended: due again by its schedules."""
    assert line.run is not None
    after = postponed(line, line.run.schedules, end.at)
    earlier = (replace(each, stale=()) for each in line.ends[: MAX_ENDS - 1])
    return _watched(replace(after, ends=(end, *earlier)), end.at)


def postponed(line: RevalidatedLine, schedules: Collection[str], now: str) -> RevalidatedLine:
    """The line when some schedules are done for this time."""
    due = tuple(
        DueSchedule(each.text, following(each.text, now)) if each.text in schedules else each for each in line.schedules
    )
    return _watched(replace(_next(line), schedules=due, run=None), now)


def _watched(line: RevalidatedLine, now: str) -> RevalidatedLine:
    """The line without a run: looked at once a day while rules do not hold, because their schedules can be dropped."""
    is_stale = bool(line.ends and line.ends[0].stale)
    return replace(line, look=moment(instant_of(now) + EVERY) if is_stale else "")


def following(text: str, after: str) -> str:
    """The next time of a schedule; empty if there is none."""
    found = schedule(text).next_after(instant_of(after))
    return moment(found) if found else ""


def stale_rules(blocks: Iterable[AnyBlock]) -> list[dict[str, Any]]:
    """The rules that do not hold for accepted data by the last record of some blocks, each with the time since when."""
    contents = [each.content for each in blocks if isinstance(each, Record) and each.kind == KIND]
    return [dict(each) for each in contents[-1]["stale"]] if contents else []


def stale_after(
    before: Iterable[dict[str, Any]],
    scheduled: Collection[str],
    measured: Collection[str],
    broken: Iterable[str],
    at: str,
) -> list[dict[str, Any]]:
    """The rules that do not hold after a run: those that failed, and earlier ones that have a schedule and were not measured.

    A rule that failed before does not hold since then.
    """
    since = {each["rule"]: each["since"] for each in before}
    kept = {rule for rule in since if rule in scheduled and rule not in measured}
    found = [{"rule": rule, "since": since.get(rule, at)} for rule in kept.union(broken)]
    return sorted(found, key=lambda each: (each["since"], each["rule"]))[:MAX_STALE]


def mark_of(record: Record) -> dict[str, Any] | None:
    """What the readers' manifest states by a record; None: every rule held when it was measured last."""
    stale = record.content["stale"]
    if not stale:
        return None
    reason = "rules that are measured by schedule do not hold for all accepted data"
    return {
        "since": stale[0]["since"],
        "reason": reason,
        "height": record.height,
        "rules": [dict(each) for each in stale],
    }


def content_of(
    version: str, run: ScheduledRun, rules: int, broken: Iterable[BrokenRule], stale: list[dict[str, Any]]
) -> dict[str, Any]:
    """The content of the record of a run."""
    return {
        "contract_version": version,
        "run": run.id,
        "plan": run.plan,
        "height": run.height,
        "schedules": list(run.schedules),
        "rules": rules,
        "broken": [{"rule": each.rule, "status": each.status, "rows": each.rows} for each in broken],
        "stale": stale,
    }


def _next(line: RevalidatedLine) -> RevalidatedLine:
    return replace(line, revision=line.revision + 1)

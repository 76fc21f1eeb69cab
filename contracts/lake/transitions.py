"""Transitions of a line's lifecycle: pure functions from a line and a time to the line afterwards.

`draft → active → deprecated (at least MIN_DEPRECATED) → sunset (at least MIN_SUNSET) → retired`, and back to active from each
of them. Every function returns the same line if nothing is to be done, so that a command can be repeated, and raises
IllegalTransition, with the legal way, for what may not be done. Times are texts of `lakegate.contracts.lake.lifecycle.moment`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.lifecycle import (
    MIN_DEPRECATED,
    MIN_SUNSET,
    Ending,
    Line,
    LineStatus,
    Notice,
    ParentNotice,
    StatusChange,
    instant_of,
    moment,
)
from lakegate.contracts.words import counted

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import timedelta


S = LineStatus
WAY = (
    "an active line is deprecated first (lakegate deprecate), "
    f"is sunset at least {MIN_DEPRECATED.days} days later (lakegate sunset), "
    f"and is retired at least {MIN_SUNSET.days} days after that (lakegate retire)"
)


class IllegalTransition(InputError):  # noqa: N818 - the name is what was asked for
    """A transition that the lifecycle does not have."""


def deprecate(  # noqa: PLR0913 - the plan of an end has these parts
    line: Line, now: str, ending: Ending, *, on: str = "", sunset: str = "", retire: str = ""
) -> Line:
    """Announce the end of an active line: deprecated now or later, then sunset, then retired.

    By default sunset and retirement are as early as they may be. Of a line that is
    deprecated, or planned to be, the plan is replaced as far as it has not begun.
    """
    status = line.status_at(now)
    if status not in {S.ACTIVE, S.DEPRECATED}:
        raise IllegalTransition(f"{line.name} is {status} and cannot be deprecated{_back(status)}")
    begun = status is S.DEPRECATED
    if begun and on:
        raise IllegalTransition(f"{line.name} is deprecated since {_day(line.since(now))}: that cannot be moved")
    start = line.since(now) if begun else _not_past(line, on or now, now)
    kept = line.expected(S.SUNSET), line.expected(S.RETIRED)
    ends = sunset or (kept[0] if begun else "") or later(start, MIN_DEPRECATED)
    over = retire or (max(kept[1], later(ends, MIN_SUNSET)) if begun else later(ends, MIN_SUNSET))
    first = StatusChange(S.DEPRECATED, start)
    plan = StatusChange(S.SUNSET, _not_past(line, ends, now)), StatusChange(S.RETIRED, over)
    _at_least(line, plan[0], first, MIN_DEPRECATED)
    _at_least(line, plan[1], plan[0], MIN_SUNSET)
    return _planned(line, now, plan if begun else (first, *plan), ending)


def announced(line: Line, now: str, ending: Ending, sunset_day: str) -> Line:
    """The end that a contract document announces: an active line is deprecated now, and sunset on the day, or as soon as allowed.

    A line that is not active stays as it is: what was commanded is not changed by a document.
    """
    if line.status_at(now) is not S.ACTIVE:
        return line
    return deprecate(line, now, ending, sunset=max(sunset_day, later(now, MIN_DEPRECATED)))


def sunset(line: Line, now: str, *, on: str = "") -> Line:
    """Sunset a deprecated line now or on another day. It is retired as planned, but not within MIN_SUNSET of its sunset."""
    status = line.status_at(now)
    if status is S.SUNSET and not on:
        return line
    if status is not S.DEPRECATED:
        raise IllegalTransition(f"{line.name} is {status} and cannot be sunset: {WAY}{_back(status)}")
    change = StatusChange(S.SUNSET, _not_past(line, on or now, now))
    _at_least(line, change, StatusChange(S.DEPRECATED, line.since(now)), MIN_DEPRECATED)
    over = max(line.expected(S.RETIRED), later(change.at, MIN_SUNSET))
    return _planned(line, now, (change, StatusChange(S.RETIRED, over)), line.ending)


def retire(line: Line, now: str, *, on: str = "") -> Line:
    """Retire a line in sunset now or on another day; of a deprecated line, move the day of the retirement."""
    status = line.status_at(now)
    if status is S.RETIRED and not on:
        return line
    if status is not S.SUNSET and not (status is S.DEPRECATED and on):
        raise IllegalTransition(f"{line.name} is {status} and cannot be retired: {WAY}{_back(status)}")
    change = StatusChange(S.RETIRED, _not_past(line, on or now, now))
    before = StatusChange(S.SUNSET, line.expected(S.SUNSET))
    _at_least(line, change, before, MIN_SUNSET)
    return _planned(line, now, (before, change) if status is S.DEPRECATED else (change,), line.ending)


def reactivate(line: Line, now: str) -> Line:
    """Make a line active, and drop what is planned. A draft that waits for its subscribers goes on waiting."""
    if line.notice is not None and line.status_at(now) is S.DRAFT:
        raise IllegalTransition(
            f"{line.name} takes effect on {_day(line.expected(S.ACTIVE))}, after the notice period of {line.notice.follows}: "
            f"only its subscribers can shorten it (lakegate acknowledge {line.name}@{line.notice.version} --as TEAM)"
        )
    return activated(line, now)


def activated(line: Line, now: str) -> Line:
    """The line active from now on."""
    active = line.status_at(now) is S.ACTIVE
    if active and not line.planned(now):
        return line
    plan = () if active else (StatusChange(S.ACTIVE, now),)
    return _planned(line, now, plan, Ending())


def drafted(line: Line, now: str) -> Line:
    """A line that begins as a draft; one that has begun stays as it is."""
    return _planned(line, now, (StatusChange(S.DRAFT, now),), line.ending) if line.revision == 0 else line


def noticed(line: Line, now: str, notice: Notice, period: timedelta) -> Line:
    """A line of a new major version, in force after the notice period; one that has begun stays as it is."""
    if line.notice is not None or (line.revision and line.status_at(now) is not S.DRAFT):
        return line
    begins = () if line.changes else (StatusChange(S.DRAFT, now),)
    plan = (*begins, StatusChange(S.ACTIVE, later(now, period)))
    return replace(_planned(line, now, plan, line.ending), notice=notice)


def parent_announced(line: Line, now: str, notice: ParentNotice) -> Line:
    """The line once its owner has notice of a stricter parent; the same line if that was announced before."""
    if any(each.version == notice.version for each in line.parents):
        return line
    parents = (*(each for each in line.parents if each.inherited_from > now), notice)
    ordered = tuple(sorted(parents, key=lambda each: (each.inherited_from, each.version)))
    return replace(line, parents=ordered, revision=line.revision + 1)


def acknowledged(line: Line, now: str, version: str, team: str, subscribed: Collection[str]) -> Line:
    """The line once a team has acknowledged its version: in force at once when no team is left that is still `subscribed`."""
    notice = line.notice
    if notice is None or notice.version != version:
        raise InputError(f"{line.name} has no version {version} that waits for acknowledgements")
    if team not in notice.teams:
        raise InputError(f"{team} is no subscriber of {notice.follows} who was given notice of {version}")
    if team in notice.acknowledged or line.status_at(now) is not S.DRAFT:
        return line
    told = replace(notice, acknowledged=tuple(sorted({*notice.acknowledged, team})))
    waiting = {each for each in notice.teams if each in subscribed} - set(told.acknowledged)
    after = replace(line, notice=told)
    return replace(after, revision=line.revision + 1) if waiting else activated(after, now)


def later(at: str, by: timedelta) -> str:
    """A time after another one."""
    return moment(instant_of(at) + by)


def _planned(line: Line, now: str, plan: tuple[StatusChange, ...], ending: Ending) -> Line:
    """What has begun, then the plan; what begins now counts as recorded, because the same transaction records it."""
    begun = tuple(each for each in line.changes if each.at <= now)
    changes = (*begun, *plan)
    if (changes, ending) == (line.changes, line.ending):
        return line
    recorded = sum(each.at <= now for each in changes)
    return replace(line, changes=changes, ending=ending, recorded=recorded, listed=False, revision=line.revision + 1)


def _not_past(line: Line, at: str, now: str) -> str:
    if at < now:
        raise IllegalTransition(f"{_day(at)} is past: {line.name} can change from now on")
    return at


def _at_least(line: Line, change: StatusChange, before: StatusChange, least: timedelta) -> None:
    earliest = later(before.at, least)
    if change.at < earliest:
        word = "sunset" if change.status is S.SUNSET else "retired"
        since = f"it is {before.status} from {_day(before.at)} for at least {counted(least.days, 'day')}"
        raise IllegalTransition(
            f"{line.name} cannot be {word} on {_day(change.at)}: {since}, so until {earliest[:16]}Z"
        )


def _back(status: LineStatus) -> str:
    return "" if status is S.ACTIVE else "; lakegate reactivate makes it active"


def _day(at: str) -> str:
    return at[:10]

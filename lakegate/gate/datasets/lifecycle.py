"""Draft, active, deprecated, sunset, retired: transitions by command or date."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any, Final

from lakegate.base.errors import ConditionFailed, InputError
from lakegate.base.json_codec import NotEmpty, canonical, encode, omit_default, select_fields
from lakegate.base.text import counted, listed
from lakegate.base.timestamps import Moment, instant_of, moment
from lakegate.gate.datasets import readers_manifest
from lakegate.gate.datasets.dataset_lines import (
    Ending,
    Line,
    LineStatus,
    Notice,
    ParentNotice,
    StatusChange,
)
from lakegate.gate.delivery_store import message_row
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.event_bodies import EventSubscriber
from lakegate.gate.ledger.blocks import Record, event_id
from lakegate.gate.ledger.commit import record_at_head
from lakegate.gate.ledger.ledger_store import record_writes
from lakegate.gate.ledger.record_contents import LifecycleState
from lakegate.gate.ports import Message
from lakegate.gate.scheduled_tasks import ScheduledTask, write_row
from lakegate.gate.table import Put
from lakegate.verdict.verdict import Verdict

# ---- The lifecycle of a dataset ----
# A dataset has a list of changes of its status, each with the time from which it holds; later ones are planned. The status at any
# time follows from the list, for every reader at every time. What has begun is never changed, so that the status at a past time
# stays. `lakegate.gate.datasets.lifecycle` has the commands.


MIN_DEPRECATED: Final = timedelta(days=30)
"""ADR-0029, "Deprecation States": consumers have at least this time between deprecation and sunset."""
MIN_SUNSET: Final = timedelta(days=7)
"""ADR-0029, as above: between sunset and retirement."""


def next_recorded(line: Line, now: str) -> Line | None:
    """The dataset with the next change that has begun as recorded; None if all are."""
    if line.recorded == len(line.changes) or line.changes[line.recorded].at > now:
        return None
    return replace(line, recorded=line.recorded + 1, listed=False)


def refusal(status: str, *, known: bool, observed: bool) -> str:
    """The reason to refuse a delivery at the door by the status that was pinned; empty if there is none.

    `known`: an accepted delivery came below the same route before. `observed`: the contract has `mode: observe`.
    """
    if status == LineStatus.RETIRED:
        return "contract-retired"
    if status == LineStatus.DRAFT and not observed:
        return "contract-draft"
    return "contract-sunset" if status == LineStatus.SUNSET and not known else ""


def replacement(line: Line, refused: str) -> tuple[str, ...]:
    """The reason after a refusal by status that names what replaces the dataset; empty where nothing is declared."""
    if refused == "contract-draft" or not line.ending.replacement:
        return ()
    return (f"line-replaced: deliver to {line.ending.replacement}{_guide(line.ending)}",)


def warning(line: Line, status: str) -> str:
    """The warning of a delivery by the status that was pinned; empty if there is none."""
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
    state = "deprecated" if status == LineStatus.DEPRECATED else "in sunset, the last days before it is retired"
    return f"line-{status}: {line.name} is {state}{when}{use}{_guide(line.ending)}"


def _guide(ending: Ending) -> str:
    return f" ({ending.guide})" if ending.guide else ""


def warned(verdict: str, reasons: tuple[str, ...], text: str) -> tuple[str, tuple[str, ...]]:
    """Verdict and reasons of a delivery that is warned of a status: accepted becomes accepted with warnings."""
    if not text:
        return verdict, reasons
    accepted = verdict == Verdict.ACCEPTED
    return Verdict.ACCEPTED_WITH_WARNINGS if accepted else verdict, (*reasons, text)


def side_effects(dependencies: Dependencies, before: Line, after: Line, now: str) -> Iterator[str]:
    """Effects that the person who gives the command may not expect."""
    status = after.status_at(now)
    if status is before.status_at(now):
        return
    contract, _, _ = before.name.rpartition("/")
    prefixes = sorted(
        each.prefix for each in dependencies.registry.contract(contract).routes if each.line == before.name
    )
    who = "every delivery" if status is LineStatus.RETIRED else "deliveries of new producers"
    if prefixes:
        yield f"{before.name} becomes {status}: {who} below {listed(prefixes)} would be refused"


# ---- Transitions as pure functions ----
# `draft → active → deprecated (at least MIN_DEPRECATED) → sunset (at least MIN_SUNSET) → retired`, and back to active from each
# of them. Every function returns the same dataset if nothing is to be done, so that a command can be repeated, and raises
# IllegalTransition, with the legal way, for what may not be done. Times are texts of `lakegate.base.timestamps.moment`.


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

    By default sunset and retirement are as early as they may be. Of a dataset that is
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

    A dataset that is not active stays as it is: what was commanded is not changed by a document.
    """
    if line.status_at(now) is not S.ACTIVE:
        return line
    return deprecate(line, now, ending, sunset=max(sunset_day, later(now, MIN_DEPRECATED)))


def stated(line: Line, _now: str, ending: Ending) -> Line:
    """The end that the document of a version in sunset, or retired, states: for a dataset whose end nobody has announced."""
    return line if line.ending != Ending() else replace(line, ending=ending)


def sunset(line: Line, now: str, *, on: str = "") -> Line:
    """Sunset a deprecated dataset now or on another day. It is retired as planned, but not within MIN_SUNSET of its sunset."""
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
    """Retire a dataset in sunset now or on another day; of a deprecated dataset, move the day of the retirement."""
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
    """Make a dataset active, and drop what is planned. A draft that waits for its subscribers goes on waiting."""
    if line.notice is not None and line.status_at(now) is S.DRAFT:
        raise IllegalTransition(
            f"{line.name} takes effect on {_day(line.expected(S.ACTIVE))}, after the notice period of {line.notice.follows}: "
            f"only its subscribers can shorten it (lakegate acknowledge {line.name}@{line.notice.version} --as TEAM)"
        )
    return activated(line, now)


def activated(line: Line, now: str) -> Line:
    """The dataset active from now on."""
    active = line.status_at(now) is S.ACTIVE
    if active and not line.planned(now):
        return line
    plan = () if active else (StatusChange(S.ACTIVE, now),)
    return _planned(line, now, plan, Ending())


def drafted(line: Line, now: str) -> Line:
    """A dataset that begins as a draft; one that has begun stays as it is."""
    return _planned(line, now, (StatusChange(S.DRAFT, now),), line.ending) if line.revision == 0 else line


def noticed(line: Line, now: str, notice: Notice, period: timedelta) -> Line:
    """A dataset of a new major version, in force after the notice period; one that has begun stays as it is."""
    if line.notice is not None or (line.revision and line.status_at(now) is not S.DRAFT):
        return line
    begins = () if line.changes else (StatusChange(S.DRAFT, now),)
    plan = (*begins, StatusChange(S.ACTIVE, later(now, period)))
    return replace(_planned(line, now, plan, line.ending), notice=notice)


def parent_announced(line: Line, now: str, notice: ParentNotice) -> Line:
    """The dataset once its owner has notice of a stricter parent; the same dataset if that was announced before."""
    if any(each.version == notice.version for each in line.parents):
        return line
    parents = (*(each for each in line.parents if each.inherited_from > now), notice)
    ordered = tuple(sorted(parents, key=lambda each: (each.inherited_from, each.version)))
    return replace(line, parents=ordered)


def acknowledged(line: Line, now: str, version: str, team: str, subscribed: Collection[str]) -> Line:
    """The dataset once a team has acknowledged its version: in force at once when no team is left that is still `subscribed`."""
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
    return after if waiting else activated(after, now)


def later(at: str, by: timedelta) -> str:
    """A time after another one."""
    return moment(instant_of(at) + by)


def _planned(line: Line, now: str, plan: tuple[StatusChange, ...], ending: Ending) -> Line:
    """Changes that have begun, then the plan; what begins now counts as recorded, because the same transaction records it."""
    begun = tuple(each for each in line.changes if each.at <= now)
    changes = (*begun, *plan)
    if (changes, ending) == (line.changes, line.ending):
        return line
    recorded = sum(each.at <= now for each in changes)
    return replace(line, changes=changes, ending=ending, recorded=recorded, listed=False)


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


def ended(line: Line, now: str, ending: Ending) -> Line:
    """A dataset as far on the way to its end as it may be: deprecated now, or retired once its days of sunset are over.

    A dataset whose end is planned already, or that is retired, stays as it is.
    """
    status = line.status_at(now)
    if status in {S.DEPRECATED, S.RETIRED}:
        return line
    if status is S.SUNSET:
        return retire(line, now) if now >= later(line.since(now), MIN_SUNSET) else line
    return deprecate(line, now, ending)


# ---- The lifecycle as it is printed ----


@dataclass(frozen=True, slots=True)
class PlannedStatus:
    """A status that a dataset gets at a time."""

    status: str
    at: str


@dataclass(frozen=True, slots=True)
class DatasetLifecycle:
    """The status of a dataset, and what is planned."""

    line: str
    status: str
    since: str | None
    planned: tuple[PlannedStatus, ...]
    reason: str
    replacement: str
    guide: str


def lifecycle_of(line: Line, now: str) -> DatasetLifecycle:
    """The lifecycle of a dataset at a time."""
    status, since, planned = line.status_at(now), line.since(now), line.planned(now)
    return select_fields(DatasetLifecycle, line.ending, line=line.name, status=status, since=since, planned=planned)


# ---- Events about a dataset, and whom they name ----


def addressed(line: Line, cause: str) -> tuple[EventSubscriber, ...]:
    """The subscribers to notify of a cause, as events have them."""
    asked = (each for each in line.subscriptions if cause in each.on)
    return tuple(EventSubscriber(each.team, each.audience, tuple(each.to)) for each in asked)


def dataset_message(dependencies: Dependencies, kind: str, line: str, identity: str, body: object) -> Message:
    """The message about a dataset; `identity` tells it from others of its kind."""
    text = json.dumps(encode(body), sort_keys=True)
    return Message(f"{line}:{kind}:{identity}", "", kind, text, dependencies.clock.now(), line)


def report(
    dependencies: Dependencies, kind: str, line: str, identity: str, body: type, *sources: object, **more: object
) -> Steps[bool]:
    """Put a message about a dataset, to its subscribers, into the outbox, unless it is there. Returns whether it is new.

    `body`: the type of its body, which is selected from the sources and `more`.
    """
    subscribers = addressed(dependencies.lines.get(line), kind)
    selected: object = select_fields(body, *sources, line=line, subscribers=subscribers, **more)
    message = dataset_message(dependencies, kind, line, identity, selected)
    return (yield from perform(Effect.REPORT, dependencies.outbox.add, message))


@dataclass(frozen=True, slots=True)
class LifecycleEvent(LifecycleState):
    """The body of an event about the lifecycle of a dataset."""

    line: NotEmpty
    version: NotEmpty | None
    """Of a dataset that began with a notice period."""
    follows: NotEmpty | None
    """The dataset whose subscribers were given notice."""
    subscribers: tuple[EventSubscriber, ...]
    inherited_from: Moment | None = omit_default(None)
    """Of a stricter parent: from when new versions inherit from it."""
    owner: str | None = omit_default(None)
    """Of a stricter parent: the owner of the contract."""


# ---- Changes by command and by date ----
# 1. Record the changes that have begun by their date: what is decided next must not drop them.
# 2. Decide by the dataset as it is, with a pure function of `lakegate.gate`.
# 3. Write its row, record of the ledger and message in one transaction, if nobody has written it since; else begin again.
# 4. `sweep` brings the readers' manifest up to date: people who give commands may not write it.
#
# The gate does not wait for the record: the status at a time follows from the dates of the dataset.


MAX_CONTENT: Final = 390_000
"""Bytes of a dataset: an item of DynamoDB has at most 400 KB."""
TRIES = 20
"""Repetitions of a decision because somebody else has written the dataset."""
BY_DATE = "date"
"""The act of a change that began by its date."""
PARENT = "parent"
"""The act of announcing a stricter parent."""


def change(dependencies: Dependencies, name: str, act: str, decide: Callable[[Line, str], Line]) -> Steps[Line]:
    """Change a dataset by a pure function of the dataset and of the time; nothing is written where it returns the same dataset.

    `act`: what the ledger records, such as `deprecate`; empty for subscriptions, which are not recorded. Raises what
    `decide` raises.
    """
    for _ in range(TRIES):
        before = yield from record_due(dependencies, name)
        now = moment(dependencies.clock.now())
        after = decide(before, now)
        if after is not before:
            try:
                return (yield from _write(dependencies, before, after, act, now))
            except ConditionFailed:
                continue
        return after
    raise InputError(f"others are changing {name} all the time: try again")


def record_due(dependencies: Dependencies, name: str) -> Steps[Line]:
    """Record each change that has begun by its date, one by one. Returns the dataset as it is then."""
    for _ in range(TRIES):
        line = dependencies.lines.get(name)
        now = moment(dependencies.clock.now())
        after = next_recorded(line, now)
        if after is None:
            return line
        with suppress(ConditionFailed):
            yield from _write(dependencies, line, after, BY_DATE, now)
    raise InputError(f"others are changing {name} all the time: try again")


def settle_line(dependencies: Dependencies, line: Line, _now: str) -> Steps[Line | None]:
    """Record what has begun, then list it in the readers' manifest: the step of a dataset that is due."""
    line = yield from record_due(dependencies, line.name)
    if line.listed:
        return None
    yield from readers_manifest.update(dependencies, line.name)
    return replace(line, listed=True)  # where somebody else has written it, that one settles it


TASK: Final = ScheduledTask(lambda dependencies: dependencies.lines, settle_line)


def acknowledge(dependencies: Dependencies, name: str, version: str, team: str) -> Steps[Line]:
    """A subscriber of the dataset before has seen a breaking version. Raises InputError as `acknowledged`."""

    def decide(line: Line, now: str) -> Line:
        follows = dependencies.lines.get(line.notice.follows) if line.notice else None
        return acknowledged(line, now, version, team, follows.consumers if follows else ())

    return (yield from change(dependencies, name, "acknowledge", decide))


def _write(dependencies: Dependencies, before: Line, after: Line, act: str, now: str) -> Steps[Line]:
    """Write a dataset with its record and message.

    Raises ConditionFailed where somebody else has written it, or its chain, since it was read.
    """
    if len(canonical(after)) > MAX_CONTENT:
        raise InputError(f"the subscriptions of {after.name} need more than {MAX_CONTENT:,} bytes")
    record = record_writes(_record(dependencies, after, act, now)) if act else ()
    message = _message(dependencies, before, after, act, now) if act else None
    writes = (*record, Put(message_row(message))) if message else record
    return (yield from write_row(dependencies, TASK, after, *writes, effect=Effect.WRITE_LINE))


def _record(dependencies: Dependencies, line: Line, act: str, now: str) -> Record:
    content = {"act": act, **_state(line, act, now), "notice": asdict(line.notice) if line.notice else None}
    if act == PARENT:
        content["parents"] = [asdict(each) for each in line.parents]
    event = event_id("lifecycle", line.name, line.revision + 1)
    return record_at_head(dependencies, "lifecycle", line.name, json.loads(json.dumps(content)), event)


def _state(line: Line, act: str, now: str) -> dict[str, Any]:
    """The status after a change, and what is planned: in the ledger, in the event, and from there in the manifest."""
    last = line.changes[line.recorded - 1] if line.recorded else None
    at = last.at if last and act == BY_DATE else now
    return {
        "status": last.status if last else LineStatus.ACTIVE,
        "since": last.at if last else None,
        "planned": [asdict(each) for each in line.planned(at)],
        **asdict(line.ending),
    }


def _message(dependencies: Dependencies, before: Line, after: Line, act: str, now: str) -> Message | None:
    kind = _kind(before, after, act)
    if not kind:
        return None
    notice = None if act == PARENT else after.notice
    asked = dependencies.lines.get(notice.follows) if notice and kind == "breaking" else after
    body = LifecycleEvent(
        **_state(after, act, now),
        line=after.name,
        version=notice.version if notice else None,
        follows=notice.follows if notice else None,
        subscribers=addressed(asked, "breaking" if kind == "breaking" else "deprecated"),
    )
    if act == PARENT:
        (parent,) = set(after.parents) - set(before.parents)
        body = replace(body, follows=after.name, **asdict(parent))
    return dataset_message(dependencies, kind, after.name, str(after.revision + 1), body)


def _kind(before: Line, after: Line, act: str) -> str:
    """The subject of an event: a breaking version, a new status, or a new plan; empty: nobody needs to know."""
    if act in {"notice", PARENT}:
        return "breaking"
    if after.changes == before.changes and after.recorded == before.recorded:
        return "planned" if after.ending != before.ending else ""
    begun = after.recorded > before.recorded
    return after.changes[after.recorded - 1].status.value if begun else "planned"

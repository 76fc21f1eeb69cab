"""Draft, active, deprecated, sunset, retired: transitions by command or date."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

from lakegate.base.errors import ConditionFailed, InputError
from lakegate.base.json_codec import NotEmpty, canonical, encode, omit_default, select_fields
from lakegate.base.text import join_words, plural
from lakegate.base.timestamps import Moment, instant_of, moment
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.gate.datasets import readers_manifest
from lakegate.gate.datasets.dataset_states import (
    DatasetState,
    DatasetStatus,
    Ending,
    Notice,
    ParentNotice,
    StatusChange,
)
from lakegate.gate.datasets.subscriptions import OF_ALL
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


def next_recorded(dataset: DatasetState, now: str) -> DatasetState | None:
    """The dataset with the next change that has begun as recorded; None if all are."""
    if dataset.recorded == len(dataset.changes) or dataset.changes[dataset.recorded].at > now:
        return None
    return replace(dataset, recorded=dataset.recorded + 1, listed=False)


def refusal(status: str, *, known: bool, observed: bool) -> str:
    """The reason to refuse a delivery at the door by the status that was pinned; empty if there is none.

    `known`: an accepted delivery came below the same route before. `observed`: the contract has `mode: observe`.
    """
    if status == DatasetStatus.RETIRED:
        return "contract-retired"
    if status == DatasetStatus.DRAFT and not observed:
        return "contract-draft"
    return "contract-sunset" if status == DatasetStatus.SUNSET and not known else ""


def replacement(dataset: DatasetState, refused: str) -> tuple[str, ...]:
    """The reason after a refusal by status that names what replaces the dataset; empty where nothing is declared."""
    if refused == "contract-draft" or not dataset.ending.replacement:
        return ()
    return (f"line-replaced: deliver to {dataset.ending.replacement}{_guide(dataset.ending)}",)


def warning(dataset: DatasetState, status: str) -> str:
    """The warning of a delivery by the status that was pinned; empty if there is none."""
    if status == DatasetStatus.DRAFT:
        return f"line-draft: {dataset.name} is a draft and not in force: this delivery was only observed"
    if status not in {DatasetStatus.DEPRECATED, DatasetStatus.SUNSET}:
        return ""
    after, becomes = {
        DatasetStatus.DEPRECATED: (DatasetStatus.SUNSET, "sunset"),
        DatasetStatus.SUNSET: (DatasetStatus.RETIRED, "retired, and refuses every delivery,"),
    }[DatasetStatus(status)]
    day = dataset.expected(after)[:10]
    when = f"; it is {becomes} on {day}" if day else ""
    use = f"; use {dataset.ending.replacement}" if dataset.ending.replacement else ""
    state = "deprecated" if status == DatasetStatus.DEPRECATED else "in sunset, the last days before it is retired"
    return f"line-{status}: {dataset.name} is {state}{when}{use}{_guide(dataset.ending)}"


def _guide(ending: Ending) -> str:
    return f" ({ending.guide})" if ending.guide else ""


def warn_of_status(verdict: str, reasons: tuple[str, ...], text: str) -> tuple[str, tuple[str, ...]]:
    """Verdict and reasons of a delivery that is warned of a status: accepted becomes accepted with warnings."""
    if not text:
        return verdict, reasons
    accepted = verdict == Verdict.ACCEPTED
    return Verdict.ACCEPTED_WITH_WARNINGS if accepted else verdict, (*reasons, text)


def side_effects(dependencies: Dependencies, before: DatasetState, after: DatasetState, now: str) -> Iterator[str]:
    """Effects that the person who gives the command may not expect."""
    status = after.status_at(now)
    if status is before.status_at(now):
        return
    contract, _, _ = before.name.rpartition("/")
    prefixes = sorted(
        route.prefix for route in dependencies.registry.contract(contract).routes if route.full_name == before.name
    )
    who = "every delivery" if status is DatasetStatus.RETIRED else "deliveries of new producers"
    if prefixes:
        yield f"{before.name} becomes {status}: {who} below {join_words(prefixes)} would be refused"


# ---- Transitions as pure functions ----
# `draft → active → deprecated (at least MIN_DEPRECATED) → sunset (at least MIN_SUNSET) → retired`, and back to active from each
# of them. Every function returns the same dataset if nothing is to be done, so that a command can be repeated, and raises
# IllegalTransition, with the legal way, for what may not be done. Times are texts of `lakegate.base.timestamps.moment`.


S = DatasetStatus
WAY = (
    "an active line is deprecated first (lakegate deprecate), "
    f"is sunset at least {MIN_DEPRECATED.days} days later (lakegate sunset), "
    f"and is retired at least {MIN_SUNSET.days} days after that (lakegate retire)"
)


class IllegalTransition(InputError):  # noqa: N818 - the name is what was asked for
    """A transition that the lifecycle does not have."""


def deprecate(  # noqa: PLR0913 - the plan of an end has these parts
    dataset: DatasetState, now: str, ending: Ending, *, on: str = "", sunset: str = "", retire: str = ""
) -> DatasetState:
    """Announce the end of an active dataset: deprecated now or later, then sunset, then retired.

    By default sunset and retirement are as early as they may be. Of a dataset that is
    deprecated, or planned to be, the plan is replaced as far as it has not begun.
    """
    status = dataset.status_at(now)
    if status not in {S.ACTIVE, S.DEPRECATED}:
        raise IllegalTransition(f"{dataset.name} is {status} and cannot be deprecated{_back(status)}")
    begun = status is S.DEPRECATED
    if begun and on:
        raise IllegalTransition(f"{dataset.name} is deprecated since {_day(dataset.since(now))}: that cannot be moved")
    start = dataset.since(now) if begun else _not_past(dataset, on or now, now)
    kept = dataset.expected(S.SUNSET), dataset.expected(S.RETIRED)
    ends = sunset or (kept[0] if begun else "") or later(start, MIN_DEPRECATED)
    over = retire or (max(kept[1], later(ends, MIN_SUNSET)) if begun else later(ends, MIN_SUNSET))
    first = StatusChange(S.DEPRECATED, start)
    plan = StatusChange(S.SUNSET, _not_past(dataset, ends, now)), StatusChange(S.RETIRED, over)
    _at_least(dataset, plan[0], first, MIN_DEPRECATED)
    _at_least(dataset, plan[1], plan[0], MIN_SUNSET)
    return _planned(dataset, now, plan if begun else (first, *plan), ending)


def announce_end(dataset: DatasetState, now: str, ending: Ending, sunset_day: str) -> DatasetState:
    """The end that a contract document announces: an active dataset is deprecated now, and sunset on the day or when allowed.

    A dataset that is not active stays as it is: what was commanded is not changed by a document.
    """
    if dataset.status_at(now) is not S.ACTIVE:
        return dataset
    return deprecate(dataset, now, ending, sunset=max(sunset_day, later(now, MIN_DEPRECATED)))


def state_end(dataset: DatasetState, _now: str, ending: Ending) -> DatasetState:
    """The end that the document of a version in sunset, or retired, states: for a dataset whose end nobody has announced."""
    return dataset if dataset.ending != Ending() else replace(dataset, ending=ending)


def sunset(dataset: DatasetState, now: str, *, on: str = "") -> DatasetState:
    """Sunset a deprecated dataset now or on another day. It is retired as planned, but not within MIN_SUNSET of its sunset."""
    status = dataset.status_at(now)
    if status is S.SUNSET and not on:
        return dataset
    if status is not S.DEPRECATED:
        raise IllegalTransition(f"{dataset.name} is {status} and cannot be sunset: {WAY}{_back(status)}")
    change = StatusChange(S.SUNSET, _not_past(dataset, on or now, now))
    _at_least(dataset, change, StatusChange(S.DEPRECATED, dataset.since(now)), MIN_DEPRECATED)
    over = max(dataset.expected(S.RETIRED), later(change.at, MIN_SUNSET))
    return _planned(dataset, now, (change, StatusChange(S.RETIRED, over)), dataset.ending)


def retire(dataset: DatasetState, now: str, *, on: str = "") -> DatasetState:
    """Retire a dataset in sunset now or on another day; of a deprecated dataset, move the day of the retirement."""
    status = dataset.status_at(now)
    if status is S.RETIRED and not on:
        return dataset
    if status is not S.SUNSET and not (status is S.DEPRECATED and on):
        raise IllegalTransition(f"{dataset.name} is {status} and cannot be retired: {WAY}{_back(status)}")
    change = StatusChange(S.RETIRED, _not_past(dataset, on or now, now))
    before = StatusChange(S.SUNSET, dataset.expected(S.SUNSET))
    _at_least(dataset, change, before, MIN_SUNSET)
    return _planned(dataset, now, (before, change) if status is S.DEPRECATED else (change,), dataset.ending)


def reactivate(dataset: DatasetState, now: str) -> DatasetState:
    """Make a dataset active, and drop what is planned. A draft that waits for its subscribers goes on waiting."""
    if dataset.notice is not None and dataset.status_at(now) is S.DRAFT:
        raise IllegalTransition(
            f"{dataset.name} takes effect on {_day(dataset.expected(S.ACTIVE))}, after the notice period of "
            f"{dataset.notice.follows}: only its subscribers can shorten it "
            f"(lakegate acknowledge {dataset.name}@{dataset.notice.version} --as TEAM)"
        )
    return activate(dataset, now)


def activate(dataset: DatasetState, now: str) -> DatasetState:
    """The dataset active from now on."""
    active = dataset.status_at(now) is S.ACTIVE
    if active and not dataset.planned(now):
        return dataset
    plan = () if active else (StatusChange(S.ACTIVE, now),)
    return _planned(dataset, now, plan, Ending())


def begin_draft(dataset: DatasetState, now: str) -> DatasetState:
    """A dataset that begins as a draft; one that has begun stays as it is."""
    return _planned(dataset, now, (StatusChange(S.DRAFT, now),), dataset.ending) if dataset.revision == 0 else dataset


def begin_with_notice(dataset: DatasetState, now: str, notice: Notice, period: timedelta) -> DatasetState:
    """A dataset of a new major version, in force after the notice period; one that has begun stays as it is."""
    if dataset.notice is not None or (dataset.revision and dataset.status_at(now) is not S.DRAFT):
        return dataset
    begins = () if dataset.changes else (StatusChange(S.DRAFT, now),)
    plan = (*begins, StatusChange(S.ACTIVE, later(now, period)))
    return replace(_planned(dataset, now, plan, dataset.ending), notice=notice)


def announce_parent(dataset: DatasetState, now: str, notice: ParentNotice) -> DatasetState:
    """The dataset once its owner has notice of a stricter parent; the same dataset if that was announced before."""
    if any(parent.version == notice.version for parent in dataset.parents):
        return dataset
    parents = (*(parent for parent in dataset.parents if parent.inherited_from > now), notice)
    ordered = tuple(sorted(parents, key=lambda each: (each.inherited_from, each.version)))
    return replace(dataset, parents=ordered)


def acknowledge_version(
    dataset: DatasetState, now: str, version: str, team: str, subscribed: Collection[str]
) -> DatasetState:
    """The dataset once a team has acknowledged its version: in force at once when no team is left that is still `subscribed`."""
    notice = dataset.notice
    if notice is None or notice.version != version:
        raise InputError(f"{dataset.name} has no version {version} that waits for acknowledgements")
    if team not in notice.teams:
        raise InputError(f"{team} is no subscriber of {notice.follows} who was given notice of {version}")
    if team in notice.acknowledged or dataset.status_at(now) is not S.DRAFT:
        return dataset
    told = replace(notice, acknowledged=tuple(sorted({*notice.acknowledged, team})))
    waiting = {each for each in notice.teams if each in subscribed} - set(told.acknowledged)
    after = replace(dataset, notice=told)
    return after if waiting else activate(after, now)


def later(at: str, by: timedelta) -> str:
    """A time after another one."""
    return moment(instant_of(at) + by)


def _planned(dataset: DatasetState, now: str, plan: tuple[StatusChange, ...], ending: Ending) -> DatasetState:
    """Changes that have begun, then the plan; what begins now counts as recorded, because the same transaction records it."""
    begun = tuple(each for each in dataset.changes if each.at <= now)
    changes = (*begun, *plan)
    if (changes, ending) == (dataset.changes, dataset.ending):
        return dataset
    recorded = sum(each.at <= now for each in changes)
    return replace(dataset, changes=changes, ending=ending, recorded=recorded, listed=False)


def _not_past(dataset: DatasetState, at: str, now: str) -> str:
    if at < now:
        raise IllegalTransition(f"{_day(at)} is past: {dataset.name} can change from now on")
    return at


def _at_least(dataset: DatasetState, change: StatusChange, before: StatusChange, least: timedelta) -> None:
    earliest = later(before.at, least)
    if change.at < earliest:
        word = "sunset" if change.status is S.SUNSET else "retired"
        since = f"it is {before.status} from {_day(before.at)} for at least {plural(least.days, 'day')}"
        raise IllegalTransition(
            f"{dataset.name} cannot be {word} on {_day(change.at)}: {since}, so until {earliest[:16]}Z"
        )


def _back(status: DatasetStatus) -> str:
    return "" if status is S.ACTIVE else "; lakegate reactivate makes it active"


def _day(at: str) -> str:
    return at[:10]


def advance_end(dataset: DatasetState, now: str, ending: Ending) -> DatasetState:
    """A dataset as far on the way to its end as it may be: deprecated now, or retired once its days of sunset are over.

    A dataset whose end is planned already, or that is retired, stays as it is.
    """
    status = dataset.status_at(now)
    if status in {S.DEPRECATED, S.RETIRED}:
        return dataset
    if status is S.SUNSET:
        return retire(dataset, now) if now >= later(dataset.since(now), MIN_SUNSET) else dataset
    return deprecate(dataset, now, ending)


# ---- The lifecycle as it is printed ----


@dataclass(frozen=True, slots=True)
class PlannedStatus:
    """A status that a dataset gets at a time."""

    status: str
    at: str


@dataclass(frozen=True, slots=True)
class DatasetLifecycle:
    """The status of a dataset, and what is planned."""

    dataset: str = field(metadata=DATASET_KEY)
    status: str
    since: str | None
    planned: tuple[PlannedStatus, ...]
    reason: str
    replacement: str
    guide: str


def lifecycle_of(dataset: DatasetState, now: str) -> DatasetLifecycle:
    """The lifecycle of a dataset at a time."""
    status, since, planned = dataset.status_at(now), dataset.since(now), dataset.planned(now)
    return select_fields(
        DatasetLifecycle, dataset.ending, dataset=dataset.name, status=status, since=since, planned=planned
    )


# ---- Events about a dataset, and whom they name ----


def list_subscribers(dataset: DatasetState, cause: str) -> tuple[EventSubscriber, ...]:
    """The subscribers to notify of a cause, as events have them."""
    asked = (subscription for subscription in dataset.subscriptions if cause in {OF_ALL, *subscription.on})
    return tuple(EventSubscriber(each.team, each.audience, tuple(each.to)) for each in asked)


def dataset_message(dependencies: Dependencies, kind: str, dataset: str, identity: str, body: object) -> Message:
    """The message about a dataset; `identity` tells it from others of its kind."""
    text = json.dumps(encode(body), sort_keys=True)
    return Message(f"{dataset}:{kind}:{identity}", "", kind, text, dependencies.now, dataset)


def report(
    dependencies: Dependencies, kind: str, dataset: str, identity: str, body: type, *sources: object, **more: object
) -> Steps[bool]:
    """Put a message about a dataset, to its subscribers, into the outbox, unless it is there. Returns whether it is new.

    `body`: the type of its body, which is selected from the sources and `more`.
    """
    subscribers = list_subscribers(dependencies.datasets.get(dataset), kind)
    selected: object = select_fields(body, *sources, dataset=dataset, subscribers=subscribers, **more)
    message = dataset_message(dependencies, kind, dataset, identity, selected)
    return (yield from perform(Effect.REPORT, dependencies.outbox.add, message))


@dataclass(frozen=True, slots=True)
class LifecycleEvent(LifecycleState):
    """The body of an event about the lifecycle of a dataset."""

    dataset: NotEmpty = field(metadata=DATASET_KEY)
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
TRIES_OF_DECISION = 20
"""Repetitions of a decision because somebody else has written the dataset."""
BY_DATE = "date"
"""The act of a change that began by its date."""
PARENT = "parent"
"""The act of announcing a stricter parent."""


def change(
    dependencies: Dependencies, name: str, act: str, decide: Callable[[DatasetState, str], DatasetState]
) -> Steps[DatasetState]:
    """Change a dataset by a pure function of the dataset and of the time; nothing is written where it returns the same dataset.

    `act`: what the ledger records, such as `deprecate`; empty for subscriptions, which are not recorded. Raises what
    `decide` raises.
    """
    for _ in range(TRIES_OF_DECISION):
        before = yield from record_due(dependencies, name)
        now = dependencies.moment
        after = decide(before, now)
        if after is not before:
            try:
                return (yield from _write(dependencies, before, after, act, now))
            except ConditionFailed:
                continue
        return after
    raise InputError(f"others are changing {name} all the time: try again")


def record_due(dependencies: Dependencies, name: str) -> Steps[DatasetState]:
    """Record each change that has begun by its date, one by one. Returns the dataset as it is then."""
    for _ in range(TRIES_OF_DECISION):
        dataset = dependencies.datasets.get(name)
        now = dependencies.moment
        after = next_recorded(dataset, now)
        if after is None:
            return dataset
        with suppress(ConditionFailed):
            yield from _write(dependencies, dataset, after, BY_DATE, now)
    raise InputError(f"others are changing {name} all the time: try again")


def settle_dataset(dependencies: Dependencies, dataset: DatasetState, _now: str) -> Steps[DatasetState | None]:
    """Record what has begun, then list it in the readers' manifest: the step of a dataset that is due."""
    dataset = yield from record_due(dependencies, dataset.name)
    if dataset.listed:
        return None
    yield from readers_manifest.update(dependencies, dataset.name)
    return replace(dataset, listed=True)  # where somebody else has written it, that one settles it


TASK: Final = ScheduledTask(lambda dependencies: dependencies.datasets, settle_dataset)


def acknowledge(dependencies: Dependencies, name: str, version: str, team: str) -> Steps[DatasetState]:
    """A subscriber of the dataset before has seen a breaking version. Raises InputError as `acknowledged`."""

    def decide(dataset: DatasetState, now: str) -> DatasetState:
        follows = dependencies.datasets.get(dataset.notice.follows) if dataset.notice else None
        return acknowledge_version(dataset, now, version, team, follows.consumers if follows else ())

    return (yield from change(dependencies, name, "acknowledge", decide))


def _write(
    dependencies: Dependencies, before: DatasetState, after: DatasetState, act: str, now: str
) -> Steps[DatasetState]:
    """Write a dataset with its record and message.

    Raises ConditionFailed where somebody else has written it, or its chain, since it was read.
    """
    if len(canonical(after)) > MAX_CONTENT:
        raise InputError(f"the subscriptions of {after.name} need more than {MAX_CONTENT:,} bytes")
    record = record_writes(_record(dependencies, after, act, now)) if act else ()
    message = _message(dependencies, before, after, act, now) if act else None
    writes = (*record, Put(message_row(message))) if message else record
    return (yield from write_row(dependencies, TASK, after, *writes, effect=Effect.WRITE_DATASET))


def _record(dependencies: Dependencies, dataset: DatasetState, act: str, now: str) -> Record:
    content = {"act": act, **_state(dataset, act, now), "notice": asdict(dataset.notice) if dataset.notice else None}
    if act == PARENT:
        content["parents"] = [asdict(parent) for parent in dataset.parents]
    event = event_id("lifecycle", dataset.name, dataset.revision + 1)
    return record_at_head(dependencies, "lifecycle", dataset.name, json.loads(json.dumps(content)), event)


def _state(dataset: DatasetState, act: str, now: str) -> dict[str, Any]:
    """The status after a change, and what is planned: in the ledger, in the event, and from there in the manifest."""
    last = dataset.changes[dataset.recorded - 1] if dataset.recorded else None
    at = last.at if last and act == BY_DATE else now
    return {
        "status": last.status if last else DatasetStatus.ACTIVE,
        "since": last.at if last else None,
        "planned": [asdict(each) for each in dataset.planned(at)],
        **asdict(dataset.ending),
    }


def _message(
    dependencies: Dependencies, before: DatasetState, after: DatasetState, act: str, now: str
) -> Message | None:
    kind = _kind(before, after, act)
    if not kind:
        return None
    notice = None if act == PARENT else after.notice
    asked = dependencies.datasets.get(notice.follows) if notice and kind == "breaking" else after
    body = LifecycleEvent(
        **_state(after, act, now),
        dataset=after.name,
        version=notice.version if notice else None,
        follows=notice.follows if notice else None,
        subscribers=list_subscribers(asked, "breaking" if kind == "breaking" else "deprecated"),
    )
    if act == PARENT:
        (parent,) = set(after.parents) - set(before.parents)
        body = replace(body, follows=after.name, **asdict(parent))
    return dataset_message(dependencies, kind, after.name, str(after.revision + 1), body)


def _kind(before: DatasetState, after: DatasetState, act: str) -> str:
    """The subject of an event: a breaking version, a new status, or a new plan; empty: nobody needs to know."""
    if act in {"notice", PARENT}:
        return "breaking"
    if after.changes == before.changes and after.recorded == before.recorded:
        return "planned" if after.ending != before.ending else ""
    begun = after.recorded > before.recorded
    return after.changes[after.recorded - 1].status.value if begun else "planned"

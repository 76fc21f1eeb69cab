"""Deadlines of frequency, freshness, latency: due, missed, reported."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Final

from lakegate.base.errors import AccessDenied, NotFound
from lakegate.base.json_codec import Exact, NotEmpty, Permitted
from lakegate.base.timestamps import Moment, instant_of, moment
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.contract.service_levels import ServiceLevel
from lakegate.gate.datasets.dataset_states import DatasetDeadlines, Deadline
from lakegate.gate.datasets.lifecycle import report
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Alarm, Steps
from lakegate.gate.event_bodies import EventSubscriber
from lakegate.gate.ports import Message
from lakegate.gate.scheduled_tasks import ScheduledTask, change_row, is_retired

# ---- Deadlines as pure functions ----
# A deadline of frequency or freshness begins with an accepted delivery: within `seconds` after it, the next one has to be
# accepted. One of latency begins with the oldest delivery that was taken in and not accepted: no row of it is younger than
# that. A deadline is missed at the end of its time, also if nothing arrives at all, and kept again with the next accepted
# delivery.


LATENCY: Final = "latency"


def restart_deadlines(
    dataset: DatasetDeadlines, at: str, version: str, service_levels: tuple[ServiceLevel, ...], taken_in: str
) -> DatasetDeadlines:
    """The deadlines after an accepted delivery; unchanged if a later one is known, or there is no service level.

    `taken_in`: when the delivery was. If that is too long ago, its latency is missed at once.
    """
    if at <= dataset.last or not (service_levels or dataset.deadlines):
        return dataset
    began = {LATENCY: taken_in}
    start = instant_of(at)
    deadlines = (
        Deadline(level.name, level.seconds_from(start), since=began.get(level.name, "")) for level in service_levels
    )
    after = replace(dataset, last=at, version=version)
    kept = tuple(deadline for deadline in deadlines if deadline.name != LATENCY or after.end_of(deadline) < at)
    return replace(after, deadlines=kept)


def begin_latency(
    dataset: DatasetDeadlines, at: str, version: str, service_levels: tuple[ServiceLevel, ...], taken_in: str
) -> DatasetDeadlines:
    """The deadlines after a delivery that was not accepted; unchanged unless a deadline of latency begins with it."""
    latency = next((level for level in service_levels if level.name == LATENCY), None)
    if latency is None or at <= dataset.last or LATENCY in {each.name for each in dataset.deadlines}:
        return dataset
    deadline = Deadline(LATENCY, latency.seconds, since=taken_in)
    version = dataset.version or version
    return replace(dataset, version=version, deadlines=(*dataset.deadlines, deadline))


def missed_deadlines(dataset: DatasetDeadlines, now: str) -> tuple[Deadline, ...]:
    """The deadlines that are missed by now and were not reported."""
    return tuple(deadline for deadline in dataset.deadlines if not deadline.missed and dataset.end_of(deadline) <= now)


def mark_reported(dataset: DatasetDeadlines, deadlines: tuple[Deadline, ...]) -> DatasetDeadlines:
    """The deadlines after some were reported as missed."""
    after = tuple(
        replace(deadline, missed=True) if deadline in deadlines else deadline for deadline in dataset.deadlines
    )
    return replace(dataset, deadlines=after)


# ---- Deadlines of a dataset, and messages when they are missed ----
# The index of what is due finds missed deadlines, so that nothing has to arrive and nothing is scanned.


ENDS: Final = {"published": restart_deadlines, "quarantined": begin_latency, "failed": begin_latency}
"""Effects of the end of a delivery on the service levels of its dataset, by the kind of the message."""
SECONDS_OF_DEADLINE: Final = 5.0
"""Seconds: with less than this left no further row is begun. Two writes."""


def renew(dependencies: Dependencies, message: Message) -> Steps[None]:
    """Set the deadlines of a dataset after a delivery to it has ended.

    If it was accepted, they begin again, by the service levels of its version; if not, a deadline of latency may begin.
    """
    if message.kind not in ENDS:
        return
    try:
        workload = dependencies.workloads.get(message.workload)
        service_levels = dependencies.terms(workload).service_levels
    except (NotFound, AccessDenied, Alarm):  # no row or no plan to read: no reason to send the event again
        return
    if workload.pin is None:
        return  # no dataset
    pin, taken_in = workload.pin, moment(instant_of(workload.pin.judging_time))
    end = ENDS[message.kind]
    yield from change_row(
        dependencies,
        TASK,
        pin.dataset,
        lambda dataset: end(dataset, moment(message.at), pin.version, service_levels, taken_in),
    )


def _report(dependencies: Dependencies, dataset: DatasetDeadlines, now: str) -> Steps[DatasetDeadlines]:
    """Put a message into the outbox for each deadline that is missed, once."""
    deadlines = missed_deadlines(dataset, now)
    if not is_retired(dependencies, dataset.dataset):
        for deadline in deadlines:
            yield from _report_missed(dependencies, dataset, deadline)
    return mark_reported(dataset, deadlines)


TASK: Final = ScheduledTask(
    lambda dependencies: dependencies.deadlines, _report, enough=SECONDS_OF_DEADLINE, most=1_000
)


@dataclass(frozen=True, slots=True)
class LateEvent:
    """The body of an event about a service level that a dataset misses."""

    dataset: NotEmpty = field(metadata=DATASET_KEY)
    contract_version: NotEmpty
    promise: Annotated[str, Permitted(("frequency", "freshness", "latency"))]
    seconds: Exact
    """Within which the next delivery had to be accepted."""
    last_accepted: Moment | None
    """Null: none was."""
    since: Moment
    """The beginning of the time."""
    missed_at: Moment
    subscribers: tuple[EventSubscriber, ...]


def _report_missed(dependencies: Dependencies, dataset: DatasetDeadlines, deadline: Deadline) -> Steps[bool]:
    since = deadline.since or dataset.last
    return report(
        dependencies,
        "late",
        dataset.dataset,
        f"{deadline.name}:{since}",
        LateEvent,
        deadline,
        contract_version=dataset.version,
        promise=deadline.name,
        last_accepted=dataset.last,
        since=since,
        missed_at=dataset.end_of(deadline),
    )

"""Deadlines of frequency, freshness, latency: due, missed, reported."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Final

from lakegate.contract.service_levels import Promise
from lakegate.errors import AccessDenied, NotFound
from lakegate.gate.datasets.dataset_lines import Pledge, PromisingLine
from lakegate.gate.datasets.lifecycle import addressed
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Alarm, Effect, Steps, perform
from lakegate.gate.event_bodies import EventSubscriber
from lakegate.gate.ports import Message
from lakegate.gate.scheduled_tasks import ScheduledTask, change_row, is_retired
from lakegate.json_codec import Exact, NotEmpty, Permitted, encode
from lakegate.timestamps import Moment, instant_of, moment

# ---- Deadlines as pure functions ----
# A deadline of frequency or freshness begins with an accepted delivery: within `seconds` after it, the next one has to be
# accepted. One of latency begins with the oldest delivery that was taken in and not accepted: no row of it is younger than
# that. A deadline is missed at the end of its time, also if nothing arrives at all, and kept again with the next accepted
# delivery.


LATENCY: Final = "latency"


def accepted(line: PromisingLine, at: str, version: str, promises: tuple[Promise, ...], taken_in: str) -> PromisingLine:
    """The line after an accepted delivery; the same line if a later one is known or nothing is promised.

    `taken_in`: when the delivery was. If that is too long ago, its latency is missed at once.
    """
    if at <= line.last or not (promises or line.pledges):
        return line
    began = {LATENCY: taken_in}
    start = instant_of(at)
    pledges = (Pledge(each.name, each.seconds_from(start), since=began.get(each.name, "")) for each in promises)
    after = replace(line, last=at, version=version, revision=line.revision + 1)
    kept = tuple(each for each in pledges if each.name != LATENCY or after.end_of(each) < at)
    return replace(after, pledges=kept)


def not_accepted(
    line: PromisingLine, at: str, version: str, promises: tuple[Promise, ...], taken_in: str
) -> PromisingLine:
    """The line after a delivery that was not accepted; the same line unless a promise of latency begins with it."""
    latency = next((each for each in promises if each.name == LATENCY), None)
    if latency is None or at <= line.last or LATENCY in {each.name for each in line.pledges}:
        return line
    pledge = Pledge(LATENCY, latency.seconds, since=taken_in)
    version = line.version or version
    return replace(line, version=version, pledges=(*line.pledges, pledge), revision=line.revision + 1)


def missed(line: PromisingLine, now: str) -> tuple[Pledge, ...]:
    """The promises that are missed by now and were not reported."""
    return tuple(each for each in line.pledges if not each.missed and line.end_of(each) <= now)


def reported(line: PromisingLine, pledges: tuple[Pledge, ...]) -> PromisingLine:
    """The line after some promises were reported as missed."""
    after = tuple(replace(each, missed=True) if each in pledges else each for each in line.pledges)
    return replace(line, pledges=after, revision=line.revision + 1)


# ---- Deadlines of a dataset, and messages when they are missed ----
# The index of what is due finds missed deadlines, so that nothing has to arrive and nothing is scanned.


ENDS: Final = {"published": accepted, "quarantined": not_accepted, "failed": not_accepted}
"""Effects of the end of a delivery on the service levels of its dataset, by the kind of the message."""
ENOUGH: Final = 5.0
"""Seconds: with less than this left no further row is begun. Two writes."""


def renew(dependencies: Dependencies, message: Message) -> Steps[None]:
    """After a message about a delivery that ended.

    If it was accepted, its line has kept its promises, and gives those of the delivery's version. If not, what it brought waits.
    """
    if message.kind not in ENDS:
        return
    try:
        workload = dependencies.workloads.get(message.workload)
        promises = dependencies.terms(workload).promises
    except (NotFound, AccessDenied, Alarm):  # no row or no plan to read: no reason to send the event again
        return
    if workload.pin is None:
        return  # no line
    pin, taken_in = workload.pin, moment(instant_of(workload.pin.judging_time))
    end = ENDS[message.kind]
    yield from change_row(
        dependencies, TASK, pin.chain, lambda line: end(line, moment(message.at), pin.version, promises, taken_in)
    )


def _report(dependencies: Dependencies, line: PromisingLine, now: str) -> Steps[PromisingLine]:
    """Put a message into the outbox for each promise that is missed, once."""
    found = missed(line, now)
    if not is_retired(dependencies, line.line):
        for each in found:
            add = partial(dependencies.outbox.add, _message(dependencies, line, each))
            yield from perform(Effect.REPORT, add)
    return reported(line, found)


TASK: Final = ScheduledTask(lambda dependencies: dependencies.promises, _report, enough=ENOUGH, most=1_000)


@dataclass(frozen=True, slots=True)
class LateEvent:
    """The body of an event about a service level that a dataset misses."""

    line: NotEmpty
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


def _message(dependencies: Dependencies, line: PromisingLine, pledge: Pledge) -> Message:
    body = LateEvent(
        line=line.line,
        contract_version=line.version,
        promise=pledge.name,
        seconds=pledge.seconds,
        last_accepted=line.last or None,
        since=pledge.since or line.last,
        missed_at=line.end_of(pledge),
        subscribers=addressed(dependencies.lines.get(line.line), "late"),
    )
    identity = f"{line.line}:late:{pledge.name}:{pledge.since or line.last}"
    return Message(identity, "", "late", json.dumps(encode(body), sort_keys=True), dependencies.clock.now(), line.line)

"""Deadlines of frequency, freshness, latency: due, missed, reported."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from lakegate.errors import AccessDenied, ConditionFailed, LakegateError, NotFound
from lakegate.gate.datasets.dataset_lines import LineStatus, Pledge, PromisingLine
from lakegate.gate.datasets.lifecycle import addressed
from lakegate.gate.effects import Alarm, Defect, Effect, perform
from lakegate.gate.ports import Message
from lakegate.timestamps import instant_of, moment

if TYPE_CHECKING:
    from lakegate.contract.service_levels import Promise
    from lakegate.gate.dependencies import Dependencies
    from lakegate.gate.effects import Steps

# ---- What a line promises about time, and when it is missed: pure functions ----------------------------------------
#
# A promise of frequency or freshness begins with an accepted delivery: within `seconds` after it, the next one has to
# be accepted.
# A promise of latency begins with the oldest delivery that was taken in and not accepted: no row of it is younger
# than that. A
# promise is missed at the end of its time, also if nothing arrives at all, and kept again with the next accepted
# delivery.


LATENCY: Final = "latency"


def accepted(line: PromisingLine, at: str, version: str, promises: tuple[Promise, ...], taken_in: str) -> PromisingLine:
    """The line after an accepted delivery; the same line if a later one is known or nothing is promised.

    `taken_in`: when the delivery was. If that is too long ago, its latency is missed at once.
    """
    if at <= line.last or not (promises or line.pledges):
        return line
    began = {LATENCY: taken_in}
    pledges = (Pledge(each.name, each.seconds, since=began.get(each.name, "")) for each in promises)
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


# ---- Promises about time: what an accepted delivery begins, and the message when the next one does not come --------
#
# The index of what is due finds missed promises, so that nothing has to arrive and nothing is scanned. Here time
# alone causes a message: another one of that kind is made in the same way.


ENDS: Final = {"published": accepted, "quarantined": not_accepted, "failed": not_accepted}
"""What the end of a delivery does to the promises of its line, by the kind of the message."""
DUE_PER_TURN: Final = 1_000
"""Lines of one turn; further ones are left to the next."""


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
    before = dependencies.promises.get(pin.chain)
    after = ENDS[message.kind](before, moment(message.at), pin.version, promises, taken_in)
    if after is not before:
        yield from _write(dependencies, after)


def report_missed(dependencies: Dependencies) -> Steps[list[LakegateError]]:
    """Put a message into the outbox for each promise that is missed, once. Returns the errors of single lines."""
    failures: list[LakegateError] = []
    for name in dependencies.promises.due(dependencies.clock.now(), DUE_PER_TURN):
        try:
            yield from _report(dependencies, name)
        except LakegateError as failure:
            failures.append(failure)
        except Exception as error:  # noqa: BLE001 - one line stops none of the others
            failures.append(Defect(name, error))
    return failures


def _report(dependencies: Dependencies, name: str) -> Steps[None]:
    line, now = dependencies.promises.get(name), moment(dependencies.clock.now())
    found = missed(line, now)
    if dependencies.lines.get(name).status_at(now) is not LineStatus.RETIRED:
        for each in found:
            add = partial(dependencies.outbox.add, _message(dependencies, line, each))
            yield from perform(Effect.REPORT_MISSED, add)
    if found:
        yield from _write(dependencies, reported(line, found))


def _write(dependencies: Dependencies, line: PromisingLine) -> Steps[None]:
    with suppress(ConditionFailed):  # another turn has written it: that one, or the next, does what is left
        yield from perform(Effect.WRITE_PROMISES, partial(dependencies.promises.write, line))


def _message(dependencies: Dependencies, line: PromisingLine, pledge: Pledge) -> Message:
    body = {
        "line": line.line,
        "contract_version": line.version,
        "promise": pledge.name,
        "seconds": pledge.seconds,
        "last_accepted": line.last or None,
        "since": pledge.since or line.last,
        "missed_at": line.end_of(pledge),
        "subscribers": addressed(dependencies.lines.get(line.line), "late"),
    }
    identity = f"{line.line}:late:{pledge.name}:{pledge.since or line.last}"
    return Message(identity, "", "late", json.dumps(body, sort_keys=True), dependencies.clock.now(), line.line)

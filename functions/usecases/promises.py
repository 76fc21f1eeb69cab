"""Promises about time: what an accepted delivery begins, and the message when the next one does not come.

The index of what is due finds missed promises, so that nothing has to arrive and nothing is scanned. Here time
alone causes a message: another one of that kind is made in the same way.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from lakegate.contracts.errors import LakegateError
from lakegate.contracts.lake.lifecycle import LineStatus, instant_of, moment
from lakegate.contracts.lake.promises import accepted, missed, not_accepted, reported
from lakegate.functions.ports.errors import AccessDenied, ConditionFailed, NotFound
from lakegate.functions.usecases.addressing import addressed
from lakegate.functions.usecases.steps import Alarm, Defect, Effect, perform
from lakegate.functions.workload import Message

if TYPE_CHECKING:
    from lakegate.contracts.lake.promises import Pledge, PromisingLine
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps

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

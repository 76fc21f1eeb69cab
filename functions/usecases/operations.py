"""What is done about a workload: a table from operation to a small generator, each ending in one conditional write."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from lakegate.contracts.judge.verdict import Verdict
from lakegate.contracts.lake.states import Operation, Outcome, State
from lakegate.functions.ports.errors import ConditionFailed, IdempotencyMismatch, NotFound
from lakegate.functions.ports.jobs import invocation, is_invocation
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases import layout, parts
from lakegate.functions.usecases.admission import TAKEN, duplicate
from lakegate.functions.usecases.batching import join
from lakegate.functions.usecases.deciding import answer, ask, decide, schedule, spent
from lakegate.functions.usecases.external import start_validations
from lakegate.functions.usecases.grouping import staging_key
from lakegate.functions.usecases.moves import OutcomeChanged, message, move
from lakegate.functions.usecases.observe import result_of
from lakegate.functions.usecases.publish_delivery import publish
from lakegate.functions.usecases.source import address, described
from lakegate.functions.usecases.starting import mark_started, start_in_batch
from lakegate.functions.usecases.steps import Alarm, ConcurrentUpdate, Effect, Steps, perform
from lakegate.functions.usecases.submission import back_off, start_request, uncounted, write_request
from lakegate.functions.workload import Decision, FailedAttempt, FailureCause

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.observe import Observation
    from lakegate.functions.workload import SourceObject, Workload

Operate: TypeAlias = "Callable[[Dependencies, Workload, State, Observation], Steps[Workload]]"


def _pin(dependencies: Dependencies, workload: Workload, to: State, found: Observation) -> Steps[Workload]:
    assert found.source is not None
    due = dependencies.clock.now() + dependencies.timing.lease
    listed = workload.parts
    if found.parts is not None:
        listed = yield from parts.written(dependencies, workload.id, found.parts)
    after = workload._replace(state=to, source=found.source, parts=listed, pin=found.pin, due_at=due)
    try:
        return (yield from move(dependencies, Effect.PIN, workload, after))
    except ConditionFailed:
        if workload.state is State.HELD:
            raise ConcurrentUpdate(workload.id) from None  # paused again
        raise OutcomeChanged(Outcome.PAUSED) from None


def _hold(dependencies: Dependencies, workload: Workload, to: State, found: Observation) -> Steps[Workload]:
    """Keep the delivery of a paused line where it landed; look again where the pause has ended meanwhile."""
    assert found.pin is not None
    after = workload._replace(state=to, held=found.pin.chain, due_at=found.arrived)
    try:
        return (yield from move(dependencies, Effect.HOLD, workload, after))
    except ConditionFailed:
        return workload


def _refuse(dependencies: Dependencies, workload: Workload, to: State, found: Observation) -> Steps[Workload]:
    if workload.parts is not None:
        yield from parts.join(dependencies, workload)
    due = dependencies.clock.now() + dependencies.timing.lease
    after = workload._replace(state=to, decision=found.decision, due_at=due)
    return (yield from move(dependencies, Effect.REFUSE, workload, after))


def _stage(dependencies: Dependencies, workload: Workload, to: State, found: Observation) -> Steps[Workload]:
    terms = dependencies.terms(workload)
    staged = yield from _copies(dependencies, workload, terms.suffix)
    reasons = duplicate(dependencies, workload, staged)
    if reasons:  # only the copy's checksum identifies the content; sweep deletes the copy
        raise OutcomeChanged(Outcome.REFUSED, decision=Decision(Verdict.REJECTED, reasons, staged=False))
    due = dependencies.clock.now() + dependencies.timing.lease
    after = workload._replace(
        state=to,
        pin=found.pin,
        staged=staged,
        first=workload.attempt,
        limit=workload.attempt + terms.workflow.attempts,
        due_at=due,
    )
    return (yield from move(dependencies, Effect.MARK_STAGED, workload, after))


def _copies(dependencies: Dependencies, workload: Workload, suffix: str) -> Steps[SourceObject]:
    """The staged copy; of a delivery of parts the list of its copies."""
    if workload.parts is None:
        return (yield from _copied(dependencies, workload, workload.source, staging_key(dependencies, workload)))
    if not (yield from parts.join(dependencies, workload)):
        raise OutcomeChanged(Outcome.REFUSED, decision=Decision(Verdict.REJECTED, (TAKEN,), staged=False))
    copies = []
    for number, part in enumerate(parts.landed(dependencies, workload).parts):
        key = layout.staging_key(workload.id, suffix, number)
        copies.append((yield from _copied(dependencies, workload, part, key)))
    return (yield from parts.written(dependencies, workload.id, parts.PartList(tuple(copies))))


def _copied(dependencies: Dependencies, workload: Workload, source: SourceObject, key: str) -> Steps[SourceObject]:
    """A staged copy: the one that another worker made, if there is one, so that the version that is pinned stays current."""
    to = Address(dependencies.places.lake, key)
    copy = partial(dependencies.objects.copy, address(source), source.etag, to)
    try:
        try:
            staged = yield from perform(Effect.STAGE, partial(copy, absent=True))
        except ConditionFailed:
            staged = dependencies.objects.head(to)
            if staged.etag != source.etag and (not staged.checksum or staged.checksum != source.checksum):
                staged = yield from perform(Effect.STAGE, copy)
    except NotFound:
        # Deleted since intake checked it. A copy that an earlier worker made is as good as the version itself.
        try:
            staged = dependencies.objects.head(to)
        except NotFound:
            if workload.parts is not None:  # the next look finds at the door which parts are left
                raise ConcurrentUpdate(workload.id) from None
            raise OutcomeChanged(Outcome.VANISHED) from None
    if staged.size != source.size:
        raise Alarm("copy-differs", workload.id)
    return described(staged)


def _over(dependencies: Dependencies, workload: Workload, found: Observation) -> Steps[None]:
    """Make sure that the attempt is over: cancel its run, then read its result once more.

    A result that came between the first look and the cancel is a good one; it must not cost an attempt, nor FAIL.
    The run of a batch may still judge others after it has judged this delivery.
    """
    if workload.run and not (workload.batch and found.answered):
        yield from perform(Effect.CANCEL_JOB, partial(dependencies.jobs.cancel, workload.run))
    # In SUBMITTING its batch cannot be read: whether a run was started is not known, and nobody looks for its result.
    is_started = workload.state is not State.SUBMITTING
    if is_started and not found.answered and result_of(dependencies, workload) is not None:
        raise ConcurrentUpdate(workload.id)


def _failures(dependencies: Dependencies, workload: Workload, cause: FailureCause | None) -> tuple[FailedAttempt, ...]:
    """The attempts that came to nothing, now with the current one, if it did."""
    if cause is None:
        return workload.failed
    return (*workload.failed, FailedAttempt(workload.attempt, workload.run, cause, dependencies.clock.now()))


def _prepare(dependencies: Dependencies, workload: Workload, to: State, found: Observation) -> Steps[Workload]:
    """Fix the next attempt before anything of it happens: number, token and the whole request are stored first."""
    yield from _over(dependencies, workload, found)
    attempt = workload.attempt + 1
    batch = yield from join(dependencies, workload, found.cause)
    start, now = "", dependencies.clock.now()
    failed = _failures(dependencies, workload, found.cause)
    if batch is None:
        request = yield from write_request(dependencies, workload, attempt)
        start = json.dumps(start_request(dependencies, workload._replace(failed=failed), request), sort_keys=True)
        not_before = back_off(dependencies.timing, now, workload, found.cause)
    else:
        not_before = batch.closes_at
    after = workload._replace(
        state=to,
        attempt=attempt,
        limit=workload.limit + uncounted(dependencies.timing, workload, found.cause),
        request=start,
        run="",
        batch=batch.id if batch else "",
        not_before=not_before,
        deadline=None,
        failed=failed,
        cost=spent(workload, found),
        due_at=not_before or now + dependencies.timing.lease,
    )
    return (yield from move(dependencies, Effect.SUBMIT, workload, after))


def _start(dependencies: Dependencies, workload: Workload, to: State, _found: Observation) -> Steps[Workload]:
    if workload.batch:
        return (yield from start_in_batch(dependencies, workload, to))
    yield from start_validations(dependencies, workload)
    request = json.loads(workload.request)
    try:
        run = yield from perform(Effect.START_JOB, partial(dependencies.jobs.start, request))
    except IdempotencyMismatch:
        raise OutcomeChanged(Outcome.CONFLICT, FailureCause.TOKEN_TAKEN) from None
    except NotFound:
        if not is_invocation(request):
            raise
        if result_of(dependencies, workload) is None:
            raise OutcomeChanged(Outcome.CONFLICT, FailureCause.NO_FUNCTION) from None
        # a worker that ended before it could store so invoked the function while it existed
        run = invocation(workload.id, workload.attempt)
    return (yield from mark_started(dependencies, workload, to, request, run))


def _fail(dependencies: Dependencies, workload: Workload, to: State, found: Observation) -> Steps[Workload]:
    if workload.parts is not None:
        yield from parts.join(dependencies, workload)
    yield from _over(dependencies, workload, found)
    # What cannot be read took no job run, but counts as an attempt: state and attempt must not repeat after a replay.
    tried = workload._replace(attempt=workload.attempt + (found.on is Outcome.UNREADABLE))
    failures = _failures(dependencies, tried, found.cause)
    after = tried._replace(state=to, failed=failures, cost=spent(workload, found), due_at=None)
    return (yield from move(dependencies, Effect.FAIL, workload, after, message=message(dependencies, after)))


def _vanish(dependencies: Dependencies, workload: Workload, to: State, _found: Observation) -> Steps[Workload]:
    after = workload._replace(state=to, due_at=None)
    return (yield from move(dependencies, Effect.VANISH, workload, after, message=message(dependencies, after)))


def _revive(dependencies: Dependencies, workload: Workload, to: State, found: Observation) -> Steps[Workload]:
    due = dependencies.clock.now() + dependencies.timing.lease
    after = workload._replace(
        state=to, pin=None, request="", run="", batch="", not_before=None, deadline=None, due_at=due
    )
    if workload.waiver is None:
        after = after._replace(chosen=found.chosen)
    return (yield from move(dependencies, Effect.REVIVE, workload, after))


OPERATIONS: dict[Operation, Operate] = {
    Operation.PIN: _pin,
    Operation.HOLD: _hold,
    Operation.REFUSE: _refuse,
    Operation.WAIVE: decide,
    Operation.STAGE: _stage,
    Operation.PREPARE: _prepare,
    Operation.START: _start,
    Operation.ASK: ask,
    Operation.ANSWER: answer,
    Operation.SCHEDULE: schedule,
    Operation.DECIDE: decide,
    Operation.PUBLISH: publish,
    Operation.FAIL: _fail,
    Operation.VANISH: _vanish,
    Operation.REVIVE: _revive,
}

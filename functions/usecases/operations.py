"""What is done about a workload: a table from operation to a small generator, each ending in one conditional write."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from contracts.workflow import Operation, Outcome
from functions.ports import Address, ConditionFailed, IdempotencyMismatch, NotFound, Verdict
from functions.usecases import layout
from functions.usecases.moves import Diverted, message, move
from functions.usecases.observe import ACCEPTING, address, content, described, result_of
from functions.usecases.publication import publish
from functions.usecases.steps import Alarm, Effect, Overtaken, Steps, perform
from functions.usecases.submission import back_off, request_document, start_request
from functions.workload import Cause, Decision, FailedAttempt

if TYPE_CHECKING:
    from collections.abc import Callable

    from contracts.workflow import State
    from functions.ports import ObjectVersion
    from functions.usecases.gate import Gate
    from functions.usecases.observe import Found
    from functions.workload import Workload

MINUTE = timedelta(minutes=1)
Operate: TypeAlias = "Callable[[Gate, Workload, State, Found], Steps[Workload]]"


def _pin(gate: Gate, workload: Workload, to: State, found: Found) -> Steps[Workload]:
    assert found.source is not None
    due = gate.clock.now() + gate.timing.lease
    after = replace(workload, state=to, source=found.source, pin=found.pin, due_at=due)
    return (yield from move(gate, Effect.PIN, workload, after))


def _refuse(gate: Gate, workload: Workload, to: State, found: Found) -> Steps[Workload]:
    due = gate.clock.now() + gate.timing.lease
    after = replace(workload, state=to, decision=found.decision, due_at=due)
    return (yield from move(gate, Effect.REFUSE, workload, after))


def _stage(gate: Gate, workload: Workload, to: State, found: Found) -> Steps[Workload]:
    terms = gate.terms(workload)
    staged = yield from _copied(gate, workload, layout.staging_key(workload.id, terms.suffix))
    if staged.size != workload.source.size:
        raise Alarm("copy-differs", workload.id)
    due = gate.clock.now() + gate.timing.lease
    after = replace(
        workload,
        state=to,
        pin=found.pin,
        staged=described(staged),
        first=workload.attempt,
        limit=workload.attempt + terms.workflow.attempts,
        due_at=due,
    )
    return (yield from move(gate, Effect.MARK_STAGED, workload, after))


def _copied(gate: Gate, workload: Workload, key: str) -> Steps[ObjectVersion]:
    to = Address(gate.places.lake, key)
    source = workload.source
    try:
        return (yield from perform(Effect.STAGE, partial(gate.objects.copy, address(source), source.etag, to)))
    except NotFound:
        # Deleted since the door looked. A copy that an earlier worker made is as good as the version itself.
        try:
            return gate.objects.head(to)
        except NotFound:
            raise Diverted(Outcome.VANISHED) from None


def _over(gate: Gate, workload: Workload, found: Found) -> Steps[None]:
    """Make sure that the attempt is over: cancel its run, then look once more.

    A result that came between the first look and the cancel is a good one; it must not cost an attempt, nor FAIL.
    """
    if workload.run:
        yield from perform(Effect.CANCEL_JOB, partial(gate.jobs.cancel, workload.run))
    if not found.answered and result_of(gate, workload) is not None:
        raise Overtaken(workload.id)


def _failures(gate: Gate, workload: Workload, found: Found) -> tuple[FailedAttempt, ...]:
    """The attempts that came to nothing, now with the current one, if it did."""
    if found.cause is None:
        return workload.failed
    return (*workload.failed, FailedAttempt(workload.attempt, workload.run, found.cause, gate.clock.now()))


def _prepare(gate: Gate, workload: Workload, to: State, found: Found) -> Steps[Workload]:
    """Fix the next attempt before anything of it happens: number, token and the whole request are stored first."""
    yield from _over(gate, workload, found)
    attempt = workload.attempt + 1
    where = Address(gate.places.lake, f"{layout.attempt_prefix(workload.id, attempt)}/request.json")
    body = request_document(gate, workload, attempt)
    yield from perform(Effect.WRITE_REQUEST, partial(gate.objects.put, where, body))
    start = json.dumps(start_request(gate, workload.id, attempt), sort_keys=True)
    now = gate.clock.now()
    not_before = back_off(gate.timing, now, workload)
    after = replace(
        workload,
        state=to,
        attempt=attempt,
        request=start,
        run="",
        not_before=not_before,
        deadline=None,
        failed=_failures(gate, workload, found),
        due_at=not_before or now + gate.timing.lease,
    )
    return (yield from move(gate, Effect.SUBMIT, workload, after))


def _start(gate: Gate, workload: Workload, to: State, _found: Found) -> Steps[Workload]:
    request = json.loads(workload.request)
    try:
        run = yield from perform(Effect.START_JOB, partial(gate.jobs.start, request))
    except IdempotencyMismatch:
        raise Diverted(Outcome.CONFLICT, Cause.TOKEN_TAKEN) from None
    now = gate.clock.now()
    limit = gate.timing.grace + request["executionTimeoutMinutes"] * MINUTE
    after = replace(workload, state=to, run=run, deadline=now + limit, due_at=now + gate.timing.poll)
    return (yield from move(gate, Effect.MARK_STARTED, workload, after))


def _decide(gate: Gate, workload: Workload, to: State, found: Found) -> Steps[Workload]:
    """The verdict, irrevocable; an accepted content is claimed in the same transaction."""
    assert found.decision is not None
    assert workload.staged is not None
    due = gate.clock.now() + gate.timing.lease
    after = replace(workload, state=to, decision=found.decision, due_at=due)
    unique = found.decision.verdict in ACCEPTING and not gate.terms(workload).duplicates
    claim = content(workload, workload.staged) if unique else ""
    try:
        return (yield from move(gate, Effect.DECIDE, workload, after, content=claim))
    except ConditionFailed:
        counts = found.decision.counts
        rejected = counts and replace(counts, published_rows=0, rejected_rows=counts.rows)
        duplicate = Decision(Verdict.REJECTED, ("duplicate-content",), found.decision.result, counts=rejected)
        return (yield from move(gate, Effect.DECIDE, workload, replace(after, decision=duplicate)))


def _fail(gate: Gate, workload: Workload, to: State, found: Found) -> Steps[Workload]:
    yield from _over(gate, workload, found)
    after = replace(workload, state=to, failed=_failures(gate, workload, found), due_at=None)
    return (yield from move(gate, Effect.FAIL, workload, after, message=message(gate, after)))


def _vanish(gate: Gate, workload: Workload, to: State, _found: Found) -> Steps[Workload]:
    after = replace(workload, state=to, due_at=None)
    return (yield from move(gate, Effect.VANISH, workload, after, message=message(gate, after)))


def _revive(gate: Gate, workload: Workload, to: State, _found: Found) -> Steps[Workload]:
    due = gate.clock.now() + gate.timing.lease
    after = replace(workload, state=to, pin=None, request="", run="", not_before=None, deadline=None, due_at=due)
    return (yield from move(gate, Effect.REVIVE, workload, after))


OPERATIONS: dict[Operation, Operate] = {
    Operation.PIN: _pin,
    Operation.REFUSE: _refuse,
    Operation.STAGE: _stage,
    Operation.PREPARE: _prepare,
    Operation.START: _start,
    Operation.DECIDE: _decide,
    Operation.PUBLISH: publish,
    Operation.FAIL: _fail,
    Operation.VANISH: _vanish,
    Operation.REVIVE: _revive,
}

"""Step 7: results read, lost runs, retries and back-off, FAILED."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from lakegate.base.errors import ConditionFailed, LakegateError, NotFound
from lakegate.base.extension_points import registered
from lakegate.gate import lake_layout
from lakegate.gate.delivery import delivery_objects
from lakegate.gate.delivery.delivery_row import CAUSES, OF_VALIDATORS, FailedAttempt, FailureCause, Workload
from lakegate.gate.delivery.protocol import Outcome, State
from lakegate.gate.delivery.transition import DeliveryTurn, Observation, move
from lakegate.gate.effects import ConcurrentUpdate, Effect, Steps, perform
from lakegate.gate.event_bodies import message
from lakegate.gate.ports import Address, JobRun, JobState
from lakegate.plan.billed_cost import BilledCost

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Timing


def spent(workload: Workload, observed: Observation) -> BilledCost | None:
    """The cost of the attempts so far, with the current one."""
    return workload.cost.plus(observed.cost) if workload.cost else observed.cost


# ---- Failures of a run ----


SHORTEST_QUEUE_TIMEOUT = timedelta(minutes=15)
"""Of EMR Serverless. Its documentation leaves open whether a run ends FAILED or CANCELLED when its time in the queue is over."""
ENDLESS = frozenset({JobState.RUNNING, JobState.INVOKED})
"""States in which a run may still answer, until its deadline."""


def described_run(turn: DeliveryTurn) -> JobRun | None:
    """The run of the current attempt; None where it is not known."""
    try:
        return turn.gate.jobs.describe(turn.row.run)
    except NotFound:
        return None


def cause_of_run(turn: DeliveryTurn, run: JobRun | None) -> FailureCause | None:
    """The reason why the run will write no result; None: it may. Time in the queue counts as none: a burst hangs no job."""
    if run is None:
        return FailureCause.NO_RESULT
    in_time = turn.row.deadline is None or turn.now < turn.row.deadline + run.queued
    if run.state is JobState.QUEUED or (run.state in ENDLESS and in_time):
        return None
    return FailureCause.NOT_STARTED if _only_waited(run) else CAUSES[run.state]


def _only_waited(run: JobRun) -> bool:
    """Whether a run ended, or has to be ended, without having begun; one that FAILED at once had another reason."""
    return not run.started and (run.state is not JobState.FAILED or run.queued >= SHORTEST_QUEUE_TIMEOUT)


def result_of(turn: DeliveryTurn) -> bytes | None:
    """The result of the current attempt, if there is one."""
    prefix = lake_layout.attempt_prefix(turn.row.id, turn.row.attempt, turn.row.batch)
    try:
        return turn.gate.objects.read(Address(turn.gate.places.lake, f"{prefix}/result.json"))
    except NotFound:
        return None


def end_attempt(turn: DeliveryTurn, observed: Observation) -> Steps[None]:
    """Make sure that the attempt is over: cancel its run, then read its result once more.

    A result that came between the first look and the cancel is a good one; it must not cost an attempt, nor FAIL.
    The run of a batch may still judge others after it has judged this delivery.
    """
    if turn.row.run and not (turn.row.batch and observed.answered):
        yield from perform(Effect.CANCEL_JOB, turn.gate.jobs.cancel, turn.row.run)
    # In SUBMITTING its batch cannot be read: whether a run was started is not known, and nobody looks for its result.
    is_started = turn.row.state is not State.SUBMITTING
    if is_started and not observed.answered and result_of(turn) is not None:
        raise ConcurrentUpdate(turn.row.id)


def failures_of(turn: DeliveryTurn, cause: FailureCause | None) -> tuple[FailedAttempt, ...]:
    """The attempts that came to nothing, now with the current one, if it did."""
    if cause is None:
        return turn.row.failed
    return (*turn.row.failed, FailedAttempt(turn.row.attempt, turn.row.run, cause, turn.now))


def fail(turn: DeliveryTurn, to: State, observed: Observation) -> Steps[Workload]:
    """End a delivery as FAILED, with the causes of its attempts."""
    if turn.row.parts is not None:
        yield from delivery_objects.join(turn)
    yield from end_attempt(turn, observed)
    # What cannot be read took no job run, but counts as an attempt: state and attempt must not repeat after a replay.
    tried = turn.row._replace(attempt=turn.row.attempt + (observed.on is Outcome.UNREADABLE))
    failures = failures_of(turn.moved(tried), observed.cause)
    after = tried._replace(state=to, failed=failures, cost=spent(turn.row, observed), due_at=None)
    return (yield from move(turn, Effect.FAIL, after, message=message(turn.gate, after)))


def vanish(turn: DeliveryTurn, to: State, _observed: Observation) -> Steps[Workload]:
    """End a delivery as GONE: its landed version is not there."""
    after = turn.row._replace(state=to, due_at=None)
    return (yield from move(turn, Effect.VANISH, after, message=message(turn.gate, after)))


def revive(turn: DeliveryTurn, to: State, observed: Observation) -> Steps[Workload]:
    """Begin another round of attempts of a delivery that FAILED.

    It may have failed while another worker copied it: that copy is all that is left where the landed version is deleted.
    """
    due = turn.lease_end
    after = turn.row._replace(
        state=to, pin=None, request="", run="", batch="", not_before=None, deadline=None, due_at=due
    )
    if turn.row.pin is not None and turn.row.staged is None and turn.row.parts is None:
        after = after._replace(unnamed_copy=delivery_objects.staging_key(turn))
    if turn.row.waiver is None:
        after = after._replace(chosen=observed.chosen)
    return (yield from move(turn, Effect.REVIVE, after))


OVERTAKEN_AT_ONCE = 8
"""Attempts that may follow one another at once because others were published before: Lambda ends a chain of invocations that
call each other some sixteen times (its guide, Recursive loop detection). The next one is started by `sweep`."""
FREE = frozenset({FailureCause.DOES_NOT_FIT, FailureCause.NO_FUNCTION})
"""Causes for which one more attempt is allowed: they are possible once a round, in its first attempt."""


def back_off(timing: Timing, now: datetime, workload: Workload, cause: FailureCause | None) -> datetime | None:
    """Before when the next attempt is not sent; None: at once, for the first of a round, and where nothing failed."""
    ordinal: int = (
        0 if cause in {*FREE, FailureCause.BATCH_FAILED, FailureCause.OVERTAKEN} else workload.attempt - workload.first
    )
    if cause is FailureCause.OVERTAKEN and (_overtaken(workload) + 1) % OVERTAKEN_AT_ONCE == 0:
        return now + timing.poll
    if ordinal and cause in OF_VALIDATORS:  # a service may be away for some minutes
        return now + timing.poll
    return None if ordinal == 0 else now + min(timing.backoff * 2 ** (ordinal - 1), timing.longest_backoff)


def _overtaken(workload: Workload) -> int:
    """The number of attempts just before this one that were overtaken."""
    return sum(1 for _ in takewhile(lambda each: each.cause is FailureCause.OVERTAKEN, reversed(workload.failed)))


def uncounted(turn: DeliveryTurn, cause: FailureCause | None) -> int:
    """Attempts of a round beyond its limit: 1 if the current one only waited or its batch failed, within the bound
    on each, was an invocation that could not judge the delivery, which is followed by none in its round, or was overtaken.

    That has no bound: each time another delivery of the line was published.
    """
    if cause is None:
        return 0
    before = sum(each.cause is cause for each in turn.row.failed if each.number > turn.row.first)
    timing = turn.gate.timing
    bounds = {FailureCause.NOT_STARTED: timing.waits, FailureCause.BATCH_FAILED: timing.splits}
    return int(cause in {*FREE, FailureCause.OVERTAKEN} or (cause in bounds and before < bounds[cause]))


# ---- Results of companions, merged before the verdict ----
# The merged document is written only if it is absent. Everybody computes the verdict from it, whatever others report later, and
# its digest is part of the decision.


class Companion(NamedTuple):
    """Measurements of a feature beside a run (extension point `attempt companions`); a plan has one at most."""

    start: Callable[[DeliveryTurn], Steps[None]]
    """Called before the run starts, and again after a crash. Raises Lost, and ConcurrentUpdate where the caller may not."""
    merged: Callable[[DeliveryTurn, bytes], bytes | None]
    """The result of the run with what the others measured; None: they have not all reported. Raises as `start`."""
    limit: timedelta
    """The time for which the others may work, and read their data."""


class Lost(LakegateError):  # noqa: N818 - the name is what happened
    """Others will not measure the delivery in this attempt."""

    def __init__(self, cause: FailureCause) -> None:
        super().__init__(cause)
        self.cause = cause


def companion_of(turn: DeliveryTurn) -> Companion | None:
    """The companion of a run, by its plan; None: nobody. Raises Lost where the feature of the plan is absent."""
    if not turn.terms.has_companion:
        return None
    found: Companion | None = next(registered("attempt companions"), None)
    if found is None:
        raise Lost(FailureCause.NO_VALIDATOR)
    return found


def merged_result(turn: DeliveryTurn) -> bytes | None:
    """The merged result that was kept for the current attempt; None before."""
    try:
        return turn.gate.objects.read(_merged_address(turn))
    except NotFound:
        return None


def keep(turn: DeliveryTurn, body: bytes) -> Steps[None]:
    """Keep a merged result, unless one is kept: that one counts, whichever worker wrote it."""
    with suppress(ConditionFailed):
        yield from perform(Effect.KEEP_ANSWERS, turn.gate.objects.put, _merged_address(turn), body, absent=True)


def _merged_address(turn: DeliveryTurn) -> Address:
    return Address(turn.gate.places.lake, lake_layout.answers_key(turn.row.id, turn.row.attempt))


# ---- The result of a decision ----


def measured_row(turn: DeliveryTurn) -> Workload:
    """The workload whose attempt measured the delivery: of a waived one, the rejected workload."""
    return turn.gate.workloads.get(turn.row.waiver.rejected) if turn.row.waiver else turn.row


def measured_result(turn: DeliveryTurn) -> bytes:
    """The merged result of the last attempt, if one was kept, else that of its run. Raises NotFound."""
    merged = merged_result(turn) if turn.terms.has_companion else None
    if merged is not None:
        return merged
    prefix = lake_layout.attempt_prefix(turn.row.id, turn.row.attempt, turn.row.batch)
    return turn.gate.objects.read(Address(turn.gate.places.lake, f"{prefix}/result.json"))

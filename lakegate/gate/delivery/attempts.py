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
from lakegate.gate.delivery.transition import Observation, move
from lakegate.gate.effects import ConcurrentUpdate, Effect, Steps, perform
from lakegate.gate.event_bodies import message
from lakegate.gate.ports import Address, JobRun, JobState
from lakegate.plan.billed_cost import BilledCost

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies, Timing


def spent(workload: Workload, found: Observation) -> BilledCost | None:
    """The cost of the attempts so far, with the current one."""
    return workload.cost.plus(found.cost) if workload.cost else found.cost


# ---- Failures of a run ----


SHORTEST_QUEUE_TIMEOUT = timedelta(minutes=15)
"""Of EMR Serverless. Its documentation leaves open whether a run ends FAILED or CANCELLED when its time in the queue is over."""
ENDLESS = frozenset({JobState.RUNNING, JobState.INVOKED})
"""States in which a run may still answer, until its deadline."""


def described_run(dependencies: Dependencies, workload: Workload) -> JobRun | None:
    """The run of the current attempt; None where it is not known."""
    try:
        return dependencies.jobs.describe(workload.run)
    except NotFound:
        return None


def cause_of_run(dependencies: Dependencies, workload: Workload, run: JobRun | None) -> FailureCause | None:
    """The reason why the run will write no result; None: it may. Time in the queue counts as none: a burst hangs no job."""
    if run is None:
        return FailureCause.NO_RESULT
    in_time = workload.deadline is None or dependencies.clock.now() < workload.deadline + run.queued
    if run.state is JobState.QUEUED or (run.state in ENDLESS and in_time):
        return None
    return FailureCause.NOT_STARTED if _only_waited(run) else CAUSES[run.state]


def _only_waited(run: JobRun) -> bool:
    """Whether a run ended, or has to be ended, without having begun; one that FAILED at once had another reason."""
    return not run.started and (run.state is not JobState.FAILED or run.queued >= SHORTEST_QUEUE_TIMEOUT)


def result_of(dependencies: Dependencies, workload: Workload) -> bytes | None:
    """The result of the current attempt, if there is one."""
    prefix = lake_layout.attempt_prefix(workload.id, workload.attempt, workload.batch)
    try:
        return dependencies.objects.read(Address(dependencies.places.lake, f"{prefix}/result.json"))
    except NotFound:
        return None


def end_attempt(dependencies: Dependencies, workload: Workload, found: Observation) -> Steps[None]:
    """Make sure that the attempt is over: cancel its run, then read its result once more.

    A result that came between the first look and the cancel is a good one; it must not cost an attempt, nor FAIL.
    The run of a batch may still judge others after it has judged this delivery.
    """
    if workload.run and not (workload.batch and found.answered):
        yield from perform(Effect.CANCEL_JOB, dependencies.jobs.cancel, workload.run)
    # In SUBMITTING its batch cannot be read: whether a run was started is not known, and nobody looks for its result.
    is_started = workload.state is not State.SUBMITTING
    if is_started and not found.answered and result_of(dependencies, workload) is not None:
        raise ConcurrentUpdate(workload.id)


def failures_of(
    dependencies: Dependencies, workload: Workload, cause: FailureCause | None
) -> tuple[FailedAttempt, ...]:
    """The attempts that came to nothing, now with the current one, if it did."""
    if cause is None:
        return workload.failed
    return (*workload.failed, FailedAttempt(workload.attempt, workload.run, cause, dependencies.clock.now()))


def fail(dependencies: Dependencies, workload: Workload, to: State, found: Observation) -> Steps[Workload]:
    """End a delivery as FAILED, with the causes of its attempts."""
    if workload.parts is not None:
        yield from delivery_objects.join(dependencies, workload)
    yield from end_attempt(dependencies, workload, found)
    # What cannot be read took no job run, but counts as an attempt: state and attempt must not repeat after a replay.
    tried = workload._replace(attempt=workload.attempt + (found.on is Outcome.UNREADABLE))
    failures = failures_of(dependencies, tried, found.cause)
    after = tried._replace(state=to, failed=failures, cost=spent(workload, found), due_at=None)
    return (yield from move(dependencies, Effect.FAIL, workload, after, message=message(dependencies, after)))


def vanish(dependencies: Dependencies, workload: Workload, to: State, _found: Observation) -> Steps[Workload]:
    """End a delivery as GONE: its landed version is not there."""
    after = workload._replace(state=to, due_at=None)
    return (yield from move(dependencies, Effect.VANISH, workload, after, message=message(dependencies, after)))


def revive(dependencies: Dependencies, workload: Workload, to: State, found: Observation) -> Steps[Workload]:
    """Begin another round of attempts of a delivery that FAILED.

    It may have failed while another worker copied it: that copy is all that is left where the landed version is deleted.
    """
    due = dependencies.clock.now() + dependencies.timing.lease
    after = workload._replace(
        state=to, pin=None, request="", run="", batch="", not_before=None, deadline=None, due_at=due
    )
    if workload.pin is not None and workload.staged is None and workload.parts is None:
        after = after._replace(unnamed_copy=delivery_objects.staging_key(dependencies, workload))
    if workload.waiver is None:
        after = after._replace(chosen=found.chosen)
    return (yield from move(dependencies, Effect.REVIVE, workload, after))


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


def uncounted(timing: Timing, workload: Workload, cause: FailureCause | None) -> int:
    """Attempts of a round beyond its limit: 1 if the current one only waited or its batch failed, within the bound
    on each, was an invocation that could not judge the delivery, which is followed by none in its round, or was overtaken.

    That has no bound: each time another delivery of the line was published.
    """
    if cause is None:
        return 0
    before = sum(each.cause is cause for each in workload.failed if each.number > workload.first)
    bounds = {FailureCause.NOT_STARTED: timing.waits, FailureCause.BATCH_FAILED: timing.splits}
    return int(cause in {*FREE, FailureCause.OVERTAKEN} or (cause in bounds and before < bounds[cause]))


# ---- Results of companions, merged before the verdict ----
# The merged document is written only if it is absent. Everybody computes the verdict from it, whatever others report later, and
# its digest is part of the decision.


class Companion(NamedTuple):
    """Measurements of a feature beside a run (extension point `attempt companions`); a plan has one at most."""

    start: Callable[[Dependencies, Workload], Steps[None]]
    """Called before the run starts, and again after a crash. Raises Lost, and ConcurrentUpdate where the caller may not."""
    merged: Callable[[Dependencies, Workload, bytes], bytes | None]
    """The result of the run with what the others measured; None: they have not all reported. Raises as `start`."""
    limit: timedelta
    """The time for which the others may work, and read their data."""


class Lost(LakegateError):  # noqa: N818 - the name is what happened
    """Others will not measure the delivery in this attempt."""

    def __init__(self, cause: FailureCause) -> None:
        super().__init__(cause)
        self.cause = cause


def companion_of(dependencies: Dependencies, workload: Workload) -> Companion | None:
    """The companion of a run, by its plan; None: nobody. Raises Lost where the feature of the plan is absent."""
    if not dependencies.terms(workload).has_companion:
        return None
    found: Companion | None = next(registered("attempt companions"), None)
    if found is None:
        raise Lost(FailureCause.NO_VALIDATOR)
    return found


def merged_result(dependencies: Dependencies, workload: Workload) -> bytes | None:
    """The merged result that was kept for the current attempt; None before."""
    try:
        return dependencies.objects.read(_merged_address(dependencies, workload))
    except NotFound:
        return None


def keep(dependencies: Dependencies, workload: Workload, body: bytes) -> Steps[None]:
    """Keep a merged result, unless one is kept: that one counts, whichever worker wrote it."""
    with suppress(ConditionFailed):
        yield from perform(
            Effect.KEEP_ANSWERS, dependencies.objects.put, _merged_address(dependencies, workload), body, absent=True
        )


def _merged_address(dependencies: Dependencies, workload: Workload) -> Address:
    return Address(dependencies.places.lake, lake_layout.answers_key(workload.id, workload.attempt))


# ---- The result of a decision ----


def measured_row(dependencies: Dependencies, workload: Workload) -> Workload:
    """The workload whose attempt measured the delivery: of a waived one, the rejected workload."""
    return dependencies.workloads.get(workload.waiver.rejected) if workload.waiver else workload


def measured_result(dependencies: Dependencies, measured: Workload) -> bytes:
    """The merged result of the last attempt, if one was kept, else that of its run. Raises NotFound."""
    merged = merged_result(dependencies, measured) if dependencies.terms(measured).has_companion else None
    if merged is not None:
        return merged
    prefix = lake_layout.attempt_prefix(measured.id, measured.attempt, measured.batch)
    return dependencies.objects.read(Address(dependencies.places.lake, f"{prefix}/result.json"))

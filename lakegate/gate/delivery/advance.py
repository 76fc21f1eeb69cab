"""Moves a delivery on: observe, look up, operate, until it waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Final, TypeAlias

from lakegate.base.errors import ConditionFailed, LakegateError, NotFound, Unfinished, UnreadableItem
from lakegate.base.extension_points import registered
from lakegate.gate.delivery.admit_delivery import observe_pinned, refuse
from lakegate.gate.delivery.attempts import fail, keep, result_of, revive, uncounted, vanish
from lakegate.gate.delivery.clean_up import tidy
from lakegate.gate.delivery.decide_verdict import (
    answer,
    ask,
    decide,
    decision_of_answer,
    decision_of_silence,
    observe_validating,
    schedule,
)
from lakegate.gate.delivery.delivery_objects import UnreadableSource
from lakegate.gate.delivery.delivery_row import TERMINAL, Workload
from lakegate.gate.delivery.pin_contract import hold, observe_held, observe_received, pin_version
from lakegate.gate.delivery.protocol import PUSH, Bound, Operation, Outcome, State, Transition
from lakegate.gate.delivery.publish_data import observe_decided, publish, settle
from lakegate.gate.delivery.stage_data import stage
from lakegate.gate.delivery.submit_run import observe_submitting, prepare_run, start_run
from lakegate.gate.delivery.transition import Observation, Observer, Operate, OutcomeChanged
from lakegate.gate.dependencies import IDENTITY, Dependencies
from lakegate.gate.effects import ConcurrentUpdate, Effect, Steps, guarded, perform
from lakegate.gate.ports import names_invocation

# ---- Observers, by state ----


def observe(dependencies: Dependencies, workload: Workload) -> Observation | None:
    """Observe this workload."""
    try:
        return OBSERVERS[workload.state](dependencies, workload)
    except UnreadableSource as unreadable:
        return Observation(Outcome.UNREADABLE, cause=unreadable.cause)


def _passive(dependencies: Dependencies, workload: Workload) -> Observation | None:
    if workload.deadline is None or dependencies.clock.now() < workload.deadline:
        return None
    if workload.state is State.SCHEDULED:
        return Observation(Outcome.DUE, decision=workload.candidate)
    return Observation(Outcome.EXPIRED, decision=decision_of_silence(workload))


def _answered(_dependencies: Dependencies, workload: Workload) -> Observation | None:
    assert workload.answer is not None
    on = Outcome.APPROVED if workload.answer.approved else Outcome.DECLINED
    return Observation(on, decision=decision_of_answer(workload))


OBSERVERS: dict[State, Observer] = {
    State.RECEIVED: observe_received,
    State.HELD: observe_held,
    State.PINNED: observe_pinned,
    State.STAGED: lambda *_: Observation(Outcome.READY),
    State.SUBMITTING: observe_submitting,
    State.VALIDATING: observe_validating,
    State.AWAITING: _passive,
    State.ANSWERED: _answered,
    State.SCHEDULED: _passive,
    State.DECIDED: observe_decided,
}


# ---- Operations: each ends in one conditional write ----


OPERATIONS: dict[Operation, Operate] = {
    Operation.PIN: pin_version,
    Operation.HOLD: hold,
    Operation.REFUSE: refuse,
    Operation.WAIVE: decide,
    Operation.STAGE: stage,
    Operation.PREPARE: prepare_run,
    Operation.START: start_run,
    Operation.ASK: ask,
    Operation.ANSWER: answer,
    Operation.SCHEDULE: schedule,
    Operation.DECIDE: decide,
    Operation.PUBLISH: publish,
    Operation.FAIL: fail,
    Operation.VANISH: vanish,
    Operation.REVIVE: revive,
}


# ---- The protocol engine ----
# Any caller with any row continues the protocol at the step that the workload has reached. That is why intake, completion,
# sweep and replay need no recovery code of their own.


POLLS: Final = 6
"""Of validators, by who has seen the end of a run."""
BETWEEN_POLLS: Final = 5.0
"""Seconds."""
TIME_TO_POLL: Final = 90.0
"""Seconds that an invocation must have left: what follows an answer, such as a copy, takes most of them."""


def advance(dependencies: Dependencies, workload: Workload) -> Steps[Workload]:
    """Advance a workload as far as possible now; a concurrent update by another worker is a good end, too."""
    try:
        if workload.state in OBSERVERS:
            workload = yield from settle(dependencies, workload)
        while workload.state in OBSERVERS:
            found = observe(dependencies, workload)
            if found is None:
                return workload
            if found.unkept is not None:
                yield from keep(dependencies, workload, found.unkept)
                continue
            workload = yield from take(dependencies, workload, found)
            if workload.state is State.HELD:  # sweep continues by arrival, also where the pause has just ended
                return workload
        if workload.state in TERMINAL:
            workload = yield from tidy(dependencies, workload)
    except ConcurrentUpdate:
        return dependencies.workloads.get(workload.id)
    return workload


def complete(dependencies: Dependencies, workload: Workload) -> Steps[Workload]:
    """Advance; where only a back-off delays the next attempt, wait for its end and continue.

    Validators that have not answered yet are asked some times more, before they are left to `sweep`.
    """
    workload = yield from advance(dependencies, workload)
    polls = POLLS
    while True:
        if pause := pause_of(dependencies, workload):
            yield from perform(Effect.WAIT, dependencies.clock.sleep, pause)
            workload = (yield from resume(dependencies, workload.id)) or dependencies.workloads.get(workload.id)
        elif polls and _waits_for_answers(dependencies, workload):
            polls -= 1
            yield from perform(Effect.WAIT, dependencies.clock.sleep, BETWEEN_POLLS)
            workload = yield from advance(dependencies, dependencies.workloads.get(workload.id))
        else:
            return workload


def resume(dependencies: Dependencies, identity: str, *, again: bool = False) -> Steps[Workload | None]:
    """Re-read by key, because the index lags; lease, so that two workers do not do one thing twice; advance.

    A workload with tries is returned as it is, unless it is tried `again`.
    """
    workload = dependencies.workloads.get(identity)
    now, timing = dependencies.clock.now(), dependencies.timing
    if workload.state is State.HELD or workload.due_at is None or workload.due_at > now:
        return None
    if workload.tries and not again:
        return workload
    tries = workload.tries + 1
    until = now + min(timing.lease * 4 ** max(tries - 2, 0), timing.aside)
    try:
        yield from perform(Effect.LEASE, dependencies.workloads.lease, workload, until, tries)
    except ConditionFailed:
        return None
    try:
        after = yield from advance(dependencies, dependencies.workloads.get(identity))
    except Exception:
        yield from _came_back(dependencies, identity, until)
        raise
    yield from _came_back(dependencies, identity, until)
    return after._replace(tries=0)


def _came_back(dependencies: Dependencies, identity: str, until: datetime) -> Steps[None]:
    """Whatever came of it, it has not ended its worker."""
    row = dependencies.workloads.get(identity)
    if row.tries and row.due_at == until:
        until = min(until, dependencies.clock.now() + dependencies.timing.lease)
        with suppress(ConditionFailed):
            yield from perform(Effect.LEASE, dependencies.workloads.lease, row, until)


def _waits_for_answers(dependencies: Dependencies, workload: Workload) -> bool:
    """Whether an attempt has its own result, and only validators have not answered; and there is time to ask them."""
    if workload.state is not State.VALIDATING or not dependencies.terms(workload).has_companion:
        return False
    return dependencies.remaining() >= TIME_TO_POLL and result_of(dependencies, workload) is not None


def pause_of(dependencies: Dependencies, workload: Workload) -> float:
    """Seconds until the next attempt may start; 0: there is nothing to wait for."""
    if workload.state is not State.SUBMITTING or workload.not_before is None:
        return 0.0
    pause = workload.not_before - dependencies.clock.now()
    return max(pause.total_seconds(), 0.0) if pause <= dependencies.timing.longest_backoff else 0.0


def take(dependencies: Dependencies, workload: Workload, found: Observation) -> Steps[Workload]:
    """Perform the operation that belongs to what was observed."""
    transition = _transition(dependencies, workload, found)
    try:
        return (yield from OPERATIONS[transition.operation](dependencies, workload, transition.to, found))
    except OutcomeChanged as other:
        changed = found._replace(on=other.on, cause=other.cause, decision=other.decision)
        return (yield from take(dependencies, workload, changed))


def _transition(dependencies: Dependencies, workload: Workload, found: Observation) -> Transition:
    more = uncounted(dependencies.timing, workload, found.cause)
    # an attempt that does not count says nothing about the delivery: another one follows in every workflow
    workflow = PUSH if more else dependencies.terms(workload).workflow
    transition = workflow.transition(workload.state, found.on)
    if transition.bound is Bound.ATTEMPTS and workload.attempt >= workload.limit + more:
        return workflow.transition(workload.state, Outcome.EXHAUSTED)
    return transition


ENOUGH = 60.0
"""Seconds: with less than this left nothing more is begun. As long as one step of one workload usually takes."""


# ---- Steps 8 to 12, after a run has ended ----


EndOfRun: TypeAlias = Callable[[Dependencies, str, int], Steps[str | None]]
"""A row of the extension point `run ends`: carries on what of a feature has a run, named as in its request; no other run.

The number is that of an attempt whose invocation failed, so that no result will come of it; 0: of none is that known. Returns
the metric that counts what ended by it.
"""


def completion(dependencies: Dependencies, run: str) -> Steps[str | None]:
    """Continue the workload of a run, the members of a batch, or what a feature has started. The state in the event is not used.

    A failed run is retried at once: the back-off is seconds long, and is waited for here. Returns what `EndOfRun` does.
    """
    try:
        name = dependencies.jobs.describe(run).name
    except NotFound:
        return None
    try:
        workload = dependencies.workloads.get(name)
    except NotFound:
        return (yield from _batch_ended(dependencies, name))
    yield from complete(dependencies, workload)
    return None


def _of_features(dependencies: Dependencies, run: str, lost: int = 0) -> Steps[str | None]:
    """Carry on what a feature has started; nothing for a run of somebody else's in the same application."""
    metric = None
    ends: Iterator[EndOfRun] = registered("run ends") if IDENTITY.fullmatch(run) else iter(())
    for each in ends:
        metric = (yield from each(dependencies, run, lost)) or metric
    return metric


def _batch_ended(dependencies: Dependencies, batch: str) -> Steps[str | None]:
    """Continue each member; what fails for one of them stops none of the others, and is raised in the end.

    Back-offs are waited for when all have been continued: members without a result wait for one another in their next batch.
    """
    try:
        members = dependencies.batches.get(batch).members
    except NotFound:
        return (yield from _of_features(dependencies, batch))
    except UnreadableItem as refused:  # `sweep` continues each member by its row
        dependencies.left_out.append(refused)
        return None
    failures: list[LakegateError] = []
    for step in (advance, complete):
        for member in members:
            if dependencies.remaining() < ENOUGH:
                raise Unfinished(batch)
            yield from guarded(failures, member.workload, _of_member(dependencies, member.workload, step))
    if failures:
        raise failures[0]
    return None


def _of_member(
    dependencies: Dependencies, member: str, step: Callable[[Dependencies, Workload], Steps[Workload]]
) -> Steps[None]:
    yield from step(dependencies, dependencies.workloads.get(member))


def invocation_ended(dependencies: Dependencies, workload: str, attempt: int, *, failed: bool) -> Steps[str | None]:
    """Continue the workload of an invocation, or what a feature has started.

    A failed one brings the deadline of its attempt forward: no result will come of it, and Spark can start at once.
    Without the hint `sweep` finds the deadline past. A result that is there counts all the same.
    """
    try:
        row = dependencies.workloads.get(workload)
    except NotFound:
        return (yield from _of_features(dependencies, workload, attempt if failed else 0))
    if failed and row.state is State.VALIDATING and row.attempt == attempt and names_invocation(row.run):
        row = row._replace(deadline=dependencies.clock.now())
    yield from complete(dependencies, row)
    return None

"""Moves a delivery on: observe, look up, operate, until it waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias

from lakegate.base.errors import ConditionFailed, LakegateError, NotFound, Unfinished, UnreadableItem
from lakegate.base.extension_points import load_extensions
from lakegate.gate.delivery.admit_delivery import observe_pinned
from lakegate.gate.delivery.clean_up import tidy
from lakegate.gate.delivery.decide_verdict import (
    answer,
    ask,
    decide,
    decision_of_answer,
    decision_of_workflow,
    keep,
    observe_validating,
    pass_on,
    result_of,
    schedule,
)
from lakegate.gate.delivery.delivery_row import IDENTIFIER, TERMINAL, Workload
from lakegate.gate.delivery.find_landed_data import UnreadableSource
from lakegate.gate.delivery.pin_contract import hold, observe_held, observe_received, pin_version, revive, vanish
from lakegate.gate.delivery.protocol import PUSH, Bound, Outcome, State, Transition
from lakegate.gate.delivery.publish_data import anomalies_of, observe_decided, publish, settle
from lakegate.gate.delivery.stage_data import stage
from lakegate.gate.delivery.submit_run import fail, observe_submitting, prepare_run, start_run, uncounted
from lakegate.gate.delivery.transition import Act, DeliveryTurn, Observation, Observer, OutcomeChanged
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import ConcurrentUpdate, Effect, Steps, guard_steps, perform
from lakegate.gate.ports import names_invocation
from lakegate.gate.waiting import note_wait
from lakegate.plan.planned_workflow import COMPARE
from lakegate.verdict.verdict import ACCEPTING

# ---- The steps of a delivery ----


class Step(NamedTuple):
    """A state of a delivery: how it is entered, and what is observed in it.

    The act ends in one conditional write. An observation has no effects; which state follows from it, the workflow says.
    """

    enter: Act
    observe: Observer | None = None
    """None: a delivery stays in the state, unless a person acts."""


def _observe_wait(turn: DeliveryTurn) -> Observation | None:
    """AWAITING and SCHEDULED: nothing before the deadline."""
    if turn.row.deadline is None or turn.now < turn.row.deadline:
        return None
    on = Outcome.DUE if turn.row.state is State.SCHEDULED else Outcome.EXPIRED
    return Observation(on, decision=turn.candidate)


def _observe_answered(turn: DeliveryTurn) -> Observation:
    """ANSWERED: the answer, with the decision that follows from it."""
    on = Outcome.APPROVED if turn.answer.approved else Outcome.DECLINED
    return Observation(on, decision=decision_of_answer(turn))


def _observe_passing(turn: DeliveryTurn) -> Observation:
    """PASSING: a delivery that was compared is usual or not; what was notified of is done."""
    if turn.terms.workflow.own(turn.row.own_state).operation != COMPARE:
        return Observation(Outcome.DONE, decision=turn.candidate)
    anomalies = anomalies_of(turn) if turn.candidate.verdict in ACCEPTING else ()
    on = Outcome.UNUSUAL if anomalies else Outcome.USUAL
    return Observation(on, decision=turn.candidate, anomalies=anomalies)


STEPS: Mapping[State, Step] = {
    State.RECEIVED: Step(revive, observe_received),
    State.HELD: Step(hold, observe_held),
    State.PINNED: Step(pin_version, observe_pinned),
    State.STAGED: Step(stage, lambda _turn: Observation(Outcome.READY)),
    State.SUBMITTING: Step(prepare_run, observe_submitting),
    State.VALIDATING: Step(start_run, observe_validating),
    State.AWAITING: Step(ask, _observe_wait),
    State.ANSWERED: Step(answer, _observe_answered),
    State.SCHEDULED: Step(schedule, _observe_wait),
    State.PASSING: Step(pass_on, _observe_passing),
    State.DECIDED: Step(decide, observe_decided),
    State.PUBLISHED: Step(publish),
    State.QUARANTINED: Step(publish),
    State.FAILED: Step(fail),
    State.GONE: Step(vanish),
}
"""Every state but JOINED, in the order of a successful delivery. RECEIVED is entered again by the replay of a failed one."""


def _observer(row: Workload) -> Observer | None:
    """The observer of the state; None: nothing happens in it by itself."""
    step = STEPS.get(row.state)
    return step.observe if step is not None else None


def observe(turn: DeliveryTurn) -> Observation | None:
    """Observe a delivery; None: there is nothing to do but wait."""
    observer = _observer(turn.row)
    try:
        return None if observer is None else observer(turn)
    except UnreadableSource as unreadable:
        return Observation(Outcome.UNREADABLE, cause=unreadable.cause)


# ---- The protocol engine ----
# Any caller with any row continues the protocol at the step that the workload has reached. That is why intake, completion,
# sweep and replay need no recovery code of their own.


POLLS: Final = 6
"""Of validators, by who has seen the end of a run."""
BETWEEN_POLLS: Final = 5.0
"""Seconds."""
TIME_TO_POLL: Final = 90.0
"""Seconds that an invocation must have left: what follows an answer, such as a copy, takes most of them."""


def advance(turn: DeliveryTurn) -> Steps[Workload]:
    """Advance a delivery as far as possible now; a concurrent update by another worker is a good end, too."""
    try:
        if _observer(turn.row) is not None:
            turn = turn.moved((yield from settle(turn)))
        while (observed := observe(turn)) is not None:
            if observed.unkept is not None:
                yield from keep(turn, observed.unkept)
                continue
            turn = turn.moved((yield from take(turn, observed)))
            if turn.row.state is State.HELD:  # sweep continues by arrival, also where the pause has just ended
                break
        return (yield from tidy(turn)) if turn.row.state in TERMINAL else turn.row
    except ConcurrentUpdate:
        return turn.reread().row


def complete(turn: DeliveryTurn) -> Steps[Workload]:
    """Advance; where only a back-off delays the next attempt, wait for its end and continue.

    Validators that have not answered yet are asked some times more, before they are left to `sweep`.
    """
    turn = turn.moved((yield from advance(turn)))
    polls = POLLS
    while True:
        if pause := pause_of(turn):
            yield from perform(Effect.WAIT, turn.gate.clock.sleep, pause)
            row = yield from resume(turn.gate, turn.row.id)
            turn = turn.moved(row) if row else turn.reread()
        elif polls and _waits_for_answers(turn):
            polls -= 1
            yield from perform(Effect.WAIT, turn.gate.clock.sleep, BETWEEN_POLLS)
            turn = turn.moved((yield from advance(turn.reread())))
        else:
            note_wait(turn.gate, turn.row)
            return turn.row


def resume(dependencies: Dependencies, identity: str, *, again: bool = False) -> Steps[Workload | None]:
    """Re-read by key, because the index lags; lease, so that two workers do not do one thing twice; advance.

    A workload with tries is returned as it is, unless it is tried `again`.
    """
    workload = dependencies.workloads.get(identity)
    now, timing = dependencies.now, dependencies.timing
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
        after = yield from advance(DeliveryTurn(dependencies, dependencies.workloads.get(identity)))
    except Exception:
        yield from _came_back(dependencies, identity, until)
        raise
    yield from _came_back(dependencies, identity, until)
    note_wait(dependencies, after)
    return after._replace(tries=0)


def _came_back(dependencies: Dependencies, identity: str, until: datetime) -> Steps[None]:
    """Whatever came of it, it has not ended its worker."""
    row = dependencies.workloads.get(identity)
    if row.tries and row.due_at == until:
        until = min(until, dependencies.now + dependencies.timing.lease)
        with suppress(ConditionFailed):
            yield from perform(Effect.LEASE, dependencies.workloads.lease, row, until)


def _waits_for_answers(turn: DeliveryTurn) -> bool:
    """Whether an attempt has its own result, and only validators have not answered; and there is time to ask them."""
    if turn.row.state is not State.VALIDATING or not turn.terms.has_companion:
        return False
    return turn.gate.remaining() >= TIME_TO_POLL and result_of(turn) is not None


def pause_of(turn: DeliveryTurn) -> float:
    """Seconds until the next attempt may start; 0: there is nothing to wait for."""
    if turn.row.state is not State.SUBMITTING or turn.row.not_before is None:
        return 0.0
    pause = turn.row.not_before - turn.now
    return max(pause.total_seconds(), 0.0) if pause <= turn.gate.timing.longest_backoff else 0.0


def take(turn: DeliveryTurn, observed: Observation) -> Steps[Workload]:
    """Enter the state that follows from what was observed."""
    taken = _following(turn, observed)
    decision = observed.decision
    if taken.rejects and decision is not None and decision.verdict in ACCEPTING:
        decision = decision_of_workflow(turn, observed)
    entered = observed._replace(decision=decision, enters=taken.enters)
    try:
        return (yield from STEPS[taken.to].enter(turn, taken.to, entered))
    except OutcomeChanged as other:
        changed = observed._replace(on=other.on, cause=other.cause, decision=other.decision)
        return (yield from take(turn, changed))


def _following(turn: DeliveryTurn, observed: Observation) -> Transition:
    more = uncounted(turn, observed.cause)
    # an attempt that does not count says nothing about the delivery: another one follows in every workflow
    workflow = PUSH if more else turn.terms.workflow
    transition = workflow.transition(turn.row.state, observed.on, turn.row.passed)
    if transition.bound is Bound.ATTEMPTS and turn.row.attempt >= turn.row.limit + more:
        return workflow.transition(turn.row.state, Outcome.EXHAUSTED)
    return transition


SECONDS_OF_STEP = 60.0
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
    yield from complete(DeliveryTurn(dependencies, workload))
    return None


def _of_features(dependencies: Dependencies, run: str, lost: int = 0) -> Steps[str | None]:
    """Carry on what a feature has started; nothing for a run of somebody else's in the same application."""
    metric = None
    ends: Iterator[EndOfRun] = load_extensions("run ends") if IDENTIFIER.fullmatch(run) else iter(())
    for end in ends:
        metric = (yield from end(dependencies, run, lost)) or metric
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
            if dependencies.remaining() < SECONDS_OF_STEP:
                raise Unfinished(batch)
            yield from guard_steps(failures, member.workload, _of_member(dependencies, member.workload, step))
    if failures:
        raise failures[0]
    return None


def _of_member(dependencies: Dependencies, member: str, step: Callable[[DeliveryTurn], Steps[Workload]]) -> Steps[None]:
    yield from step(DeliveryTurn(dependencies, dependencies.workloads.get(member)))


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
        row = row._replace(deadline=dependencies.now)
    yield from complete(DeliveryTurn(dependencies, row))
    return None

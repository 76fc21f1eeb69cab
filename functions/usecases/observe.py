"""What can be found out about a workload in each state, without any effect: a table from state to a small function."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from lakegate.contracts.door.refusals import refused_rules
from lakegate.contracts.door.terms import UNROUTED, terms_of
from lakegate.contracts.errors import InputError
from lakegate.contracts.judge.verdict import ACCEPTING, Verdict
from lakegate.contracts.lake.states import Outcome, State
from lakegate.contracts.plan.billing import cost_of_job
from lakegate.functions.ports.errors import NotFound, UnreadableItem
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases import layout
from lakegate.functions.usecases.admission import refused_object, refused_parts
from lakegate.functions.usecases.batching import cause_of_member, is_to_start, share_of
from lakegate.functions.usecases.collecting import collected
from lakegate.functions.usecases.deciding import decision_of_answer, decision_of_silence
from lakegate.functions.usecases.lost_runs import UNANSWERED, cause_of_run, described_run
from lakegate.functions.usecases.pinning import modified_at, pin_of, route_of, with_references
from lakegate.functions.usecases.source import UnreadableSource, data_of, described
from lakegate.functions.usecases.waived import decision_on_waived
from lakegate.functions.workload import Decision, FailureCause, Pin, SourceObject

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from lakegate.contracts.lake.answers import ApprovalAnswer
    from lakegate.contracts.lake.routes import Route
    from lakegate.contracts.lake.versions import ChosenVersion
    from lakegate.contracts.plan.billing import BilledCost
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.parts import PartList
    from lakegate.functions.workload import Workload


class Observation(NamedTuple):
    """An outcome, and what its operation needs."""

    on: Outcome
    source: SourceObject | None = None
    arrived: datetime | None = None
    """When it landed, or when its replay was taken in."""
    pin: Pin | None = None
    chosen: ChosenVersion | None = None
    """The contract version that a person named for a replay."""
    decision: Decision | None = None
    answer: ApprovalAnswer | None = None
    """Of a person."""
    cause: FailureCause | None = None
    """Why the attempt came to nothing, where it did."""
    cost: BilledCost | None = None
    """Of the attempt: what its run was billed, else what its result records; None where neither is known."""
    parts: PartList | None = None
    """Of a delivery that is complete."""
    unkept: bytes | None = None
    """The result of the attempt with what validators answered, which has to be kept before anything follows from it."""

    @property
    def answered(self) -> bool:
        """False: the attempt counts as lost because no result was there; one may still come until its run is over."""
        return self.cause not in UNANSWERED


Observer: TypeAlias = "Callable[[Dependencies, Workload], Observation | None]"
"""None: nothing to do but wait."""

VANISHED = Observation(Outcome.VANISHED)


def observe(dependencies: Dependencies, workload: Workload) -> Observation | None:
    """What is the case with this workload now."""
    try:
        return OBSERVERS[workload.state](dependencies, workload)
    except UnreadableSource as unreadable:
        return Observation(Outcome.UNREADABLE, cause=unreadable.cause)


def _received(dependencies: Dependencies, workload: Workload) -> Observation | None:
    route = route_of(dependencies, workload)
    if workload.completed_by:
        return _completed(dependencies, workload, route)
    data = data_of(dependencies, workload)
    if data is None:
        return VANISHED
    modified = modified_at(dependencies, workload, data.modified)
    pin = pin_of(dependencies, route, data.modified.date().isoformat(), modified)
    source = workload.source if workload.staged else described(data)
    arrived = dependencies.clock.now() if workload.replay_of else data.modified
    return Observation(Outcome.ROUTED, source=source, pin=pin, arrived=arrived)


def _held(dependencies: Dependencies, workload: Workload) -> Observation | None:
    pause = dependencies.pauses.pause_of(workload.held)
    return None if pause is None or pause.resumed is None else _received(dependencies, workload)


def _completed(dependencies: Dependencies, workload: Workload, route: Route | None) -> Observation | None:
    """A delivery of parts, which keeps those it was complete with; None: it is not complete yet."""
    listed = None
    if workload.parts is None:
        terms = terms_of(dependencies.plan_at(route.plan, workload.id)) if route else UNROUTED
        try:
            listed = collected(dependencies, workload, terms)
        except NotFound:
            return VANISHED
        if listed is None:
            return None
    now = dependencies.clock.now()
    pin = pin_of(dependencies, route, now.date().isoformat(), modified_at(dependencies, workload, now))
    return Observation(Outcome.ROUTED, source=workload.source, arrived=now, pin=pin, parts=listed)


def _pinned(dependencies: Dependencies, workload: Workload) -> Observation | None:
    try:
        reasons = _refused(dependencies, workload) if workload.parts is None else refused_parts(dependencies, workload)
    except NotFound:
        return VANISHED
    if not reasons and workload.waiver is not None:
        decision = decision_on_waived(dependencies, workload)
        return Observation(Outcome.WAIVED if decision.verdict in ACCEPTING else Outcome.REFUSED, decision=decision)
    if not reasons:
        return Observation(Outcome.PASSED, pin=with_references(dependencies, workload))
    broken = refused_rules(dependencies.plan(workload), reasons) if workload.pin and workload.pin.plan else ()
    return Observation(Outcome.REFUSED, decision=Decision(Verdict.REJECTED, reasons, staged=False, broken=broken))


def _refused(dependencies: Dependencies, workload: Workload) -> tuple[str, ...]:
    """The reasons to reject one object; the staged copy is read where the version is deleted meanwhile. Raises NotFound."""
    for data in (data_of(dependencies, workload) for _ in range(2)):
        if data is not None:
            with suppress(NotFound):
                return refused_object(dependencies, workload, data)
    raise NotFound


def _submitting(dependencies: Dependencies, workload: Workload) -> Observation | None:
    if workload.batch:
        try:
            return Observation(Outcome.STORED) if is_to_start(dependencies, workload) else None
        except UnreadableItem as refused:  # its members are judged alone
            dependencies.left_out.append(refused)
            return Observation(Outcome.CONFLICT, cause=FailureCause.BATCH_FAILED)
    if workload.not_before is not None and dependencies.clock.now() < workload.not_before:
        return None
    return Observation(Outcome.STORED)


def _validating(dependencies: Dependencies, workload: Workload) -> Observation | None:
    # The run's state is read before the result: a job that ends between the two reads is then seen with its result.
    run = described_run(dependencies, workload)
    cause = cause_of_run(dependencies, workload, run)
    result = result_of(dependencies, workload)
    if result is not None:
        judged = _judged(dependencies, workload, result)
        if judged is None:
            return None
        found = judged
    elif cause:
        found = Observation(Outcome.LOST, cause=cause_of_member(dependencies, workload, cause))
    else:
        return None
    if run is None or run.billed is None:
        return found
    share = share_of(dependencies, workload)
    if share is None:
        return found
    return found._replace(cost=cost_of_job(dependencies.places.prices, *(share * each for each in run.billed)))


def result_of(dependencies: Dependencies, workload: Workload) -> bytes | None:
    """What the current attempt answered, if it did."""
    prefix = layout.attempt_prefix(workload.id, workload.attempt, workload.batch)
    try:
        return dependencies.objects.read(Address(dependencies.places.lake, f"{prefix}/result.json"))
    except NotFound:
        return None


def _judged(dependencies: Dependencies, workload: Workload, result: bytes) -> Observation | None:
    """What follows from a result; None: a validator has not answered yet."""
    from lakegate.functions.usecases.external_answers import Lost, answered, kept  # noqa: PLC0415 - as below
    from lakegate.functions.usecases.judging import judged  # noqa: PLC0415 - intake starts without the judgement

    plan = dependencies.plan(workload)
    try:
        decision, cost = judged(plan, result, workload)
        if decision is not None and dependencies.terms(workload).has_external:
            merged = kept(dependencies, workload)
            if merged is None:
                unkept = answered(dependencies, workload, result)
                return None if unkept is None else Observation(Outcome.READY, unkept=unkept)
            decision, _ = judged(plan, merged, workload)
    except InputError:
        # A result that is not a result is the job's failure, not the data's.
        return Observation(Outcome.LOST, cause=FailureCause.WRONG_RESULT)
    except Lost as lost:
        return Observation(Outcome.LOST, cause=lost.cause, cost=cost)
    if decision is None:
        return Observation(Outcome.LOST, cause=FailureCause.DOES_NOT_FIT, cost=cost)
    cause = FailureCause.UNDECIDED if decision.verdict == Verdict.UNDECIDED else None
    return Observation(Outcome(decision.verdict), decision=decision, cause=cause, cost=cost)


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


def _decided(_dependencies: Dependencies, workload: Workload) -> Observation | None:
    assert workload.decision is not None
    return Observation(Outcome.ACCEPTED if workload.decision.verdict in ACCEPTING else Outcome.REJECTED)


OBSERVERS: dict[State, Observer] = {
    State.RECEIVED: _received,
    State.HELD: _held,
    State.PINNED: _pinned,
    State.STAGED: lambda *_: Observation(Outcome.READY),
    State.SUBMITTING: _submitting,
    State.VALIDATING: _validating,
    State.AWAITING: _passive,
    State.ANSWERED: _answered,
    State.SCHEDULED: _passive,
    State.DECIDED: _decided,
}

"""What is decided about a judged delivery: its verdict alone, or what a person answers who is asked before.

While a person is asked, the decision is only a candidate: nothing is claimed, and nothing is visible.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from lakegate.contracts.judge.codes import APPROVAL_EXPIRED, DUPLICATE
from lakegate.contracts.judge.verdict import ACCEPTING, Verdict
from lakegate.contracts.lake.states import Outcome
from lakegate.functions.ports.errors import ConditionFailed
from lakegate.functions.usecases import parts
from lakegate.functions.usecases.erasure import versions_of
from lakegate.functions.usecases.moves import OutcomeChanged, message, move
from lakegate.functions.usecases.source import content
from lakegate.functions.usecases.steps import ConcurrentUpdate, Effect, Steps
from lakegate.functions.workload import FailureCause

if TYPE_CHECKING:
    from lakegate.contracts.errors import LakegateError
    from lakegate.contracts.plan.billing import BilledCost
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.observe import Observation
    from lakegate.functions.workload import Decision, State, Workload

STAGED_FOR: Final = timedelta(days=45)
"""How long S3 keeps a staged copy (template.yaml, rule `staging`)."""
BEFORE_IT_EXPIRES: Final = timedelta(days=2)
"""Rules of a lifecycle act at midnight, and what is decided has to be copied yet."""


def spent(workload: Workload, found: Observation) -> BilledCost | None:
    """The cost of the attempts so far, with the current one."""
    return workload.cost.plus(found.cost) if workload.cost else found.cost


def decide(dependencies: Dependencies, workload: Workload, to: State, found: Observation) -> Steps[Workload]:
    """The verdict, irrevocable; in the same transaction accepted content is claimed, and its producer is marked as known."""
    assert found.decision is not None
    data = workload.staged or workload.parts or workload.source
    due = dependencies.clock.now() + dependencies.timing.lease
    after = workload._replace(
        state=to,
        decision=found.decision,
        candidate=None,
        answer=found.answer or workload.answer,
        cost=spent(workload, found),
        due_at=due,
    )
    accepted = found.decision.verdict in ACCEPTING
    claim = content(workload, data) if accepted and not dependencies.terms(workload).duplicates else ""
    try:
        return (yield from move(dependencies, Effect.DECIDE, workload, after, content=claim, accepted=accepted))
    except ConditionFailed as refused:
        if "content" not in refused.reasons:
            raise _refusal(dependencies, workload, found.decision) from None
        rejected = _rejected(found.decision, DUPLICATE)
        duplicate = replace(rejected, reasons=(DUPLICATE,), broken=(), enforced=None)
        return (yield from move(dependencies, Effect.DECIDE, workload, after._replace(decision=duplicate)))


def _rejected(decision: Decision, reason: str) -> Decision:
    """A rejection of what was judged and accepted, for a reason that is no rule of the contract."""
    counts = decision.counts
    none = counts and replace(counts, published_rows=0, rejected_rows=counts.rows)
    reasons = (reason, *decision.reasons)
    return replace(
        decision,
        verdict=Verdict.REJECTED,
        reasons=reasons,
        counts=none,
        offsets=None,
        watermarks=("", ""),
        before=(),
        runs=(),
    )


def _refusal(dependencies: Dependencies, workload: Workload, decision: Decision) -> LakegateError:
    """What follows where another delivery of the line has the turn: this one waits for its commit, or is judged again."""
    assert workload.pin is not None
    assert decision.offsets is not None
    judged_by = decision.offsets[0], decision.watermarks[0], decision.before
    if dependencies.workloads.next_slice(workload.pin.chain)[:3] == judged_by:
        return ConcurrentUpdate(workload.id)
    return OutcomeChanged(Outcome.LOST, FailureCause.OVERTAKEN)


def ask(dependencies: Dependencies, workload: Workload, to: State, found: Observation) -> Steps[Workload]:
    """Keep what was judged until a person has answered, or the time for an answer is over; a message asks for it."""
    end = _end(dependencies, workload)
    after = workload._replace(state=to, candidate=found.decision, cost=spent(workload, found), deadline=end, due_at=end)
    return (yield from move(dependencies, Effect.ASK, workload, after, message=message(dependencies, after)))


def schedule(dependencies: Dependencies, workload: Workload, to: State, found: Observation) -> Steps[Workload]:
    """Keep what was judged, or approved, until its time has come."""
    at = dependencies.terms(workload).workflow.date_after(dependencies.clock.now())
    after = workload._replace(state=to, candidate=found.decision, cost=spent(workload, found), deadline=at, due_at=at)
    return (yield from move(dependencies, Effect.SCHEDULE, workload, after))


def _end(dependencies: Dependencies, workload: Workload) -> datetime:
    """When nobody can answer any more: by the workflow, but so that what is approved is published before staged copies expire."""
    copies = parts.staged(dependencies, workload)
    folder = copies[0].key.rpartition("/")[0]
    written = [each.modified for each in versions_of(dependencies, f"{folder}/") if each.current]
    workflow = dependencies.terms(workload).workflow
    wanted, kept = dependencies.clock.now() + timedelta(days=workflow.wait_days), STAGED_FOR - BEFORE_IT_EXPIRES
    return min(wanted, *(each + kept - workflow.longest_delay for each in written)) if written else wanted


def answer(dependencies: Dependencies, workload: Workload, to: State, found: Observation) -> Steps[Workload]:
    """Store the one answer: who writes first, a person or the end of the time, is who decides."""
    due = dependencies.clock.now() + dependencies.timing.lease
    after = workload._replace(state=to, answer=found.answer, due_at=due)
    return (yield from move(dependencies, Effect.ANSWER, workload, after))


def decision_of_answer(workload: Workload) -> Decision:
    """What follows from the answer: the candidate as it was judged, or a rejection that names who declined, and why."""
    assert workload.answer is not None
    assert workload.candidate is not None
    if workload.answer.approved:
        return workload.candidate
    return _rejected(workload.candidate, workload.answer.in_words)


def decision_of_silence(workload: Workload) -> Decision:
    """What follows when nobody has answered in time."""
    assert workload.candidate is not None
    return _rejected(workload.candidate, APPROVAL_EXPIRED)

"""Step 8: result.json becomes a decision, content claimed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple

from lakegate.base.errors import ConditionFailed, InputError, LakegateError
from lakegate.base.extension_points import registered
from lakegate.contract.delivery_policy import Mode
from lakegate.gate.datasets.lifecycle import warned
from lakegate.gate.delivery import delivery_objects
from lakegate.gate.delivery.attempt_request import Publisher, publisher_of
from lakegate.gate.delivery.attempts import (
    Lost,
    cause_of_run,
    companion_of,
    described_run,
    merged_result,
    result_of,
    spent,
)
from lakegate.gate.delivery.delivery_objects import content
from lakegate.gate.delivery.delivery_row import Decision, Enforced, FailureCause, Workload
from lakegate.gate.delivery.protocol import Outcome, State
from lakegate.gate.delivery.small_file_batches import cause_of_member, share_of
from lakegate.gate.delivery.transition import DeliveryTurn, Observation, OutcomeChanged, move
from lakegate.gate.effects import ConcurrentUpdate, Effect, Steps
from lakegate.gate.event_bodies import message
from lakegate.gate.ledger.stored_objects import versions_of
from lakegate.gate.ports import names_invocation
from lakegate.plan.billed_cost import BilledCost, cost_of_job
from lakegate.plan.plan import Plan
from lakegate.plan.result import Result
from lakegate.report.delivery_report import Report
from lakegate.verdict.reasons import APPROVAL_EXPIRED, DUPLICATE
from lakegate.verdict.verdict import ACCEPTING, Judgement, Verdict, broken_rules, counts_of, judge, reason_texts

# ---- The decision of a person ----
# While a person is asked, the decision is only a candidate: nothing is claimed, and nothing is visible.


STAGED_FOR: Final = timedelta(days=45)
"""The time for which S3 keeps a staged copy (template.yaml, rule `staging`)."""
BEFORE_IT_EXPIRES: Final = timedelta(days=2)
"""Rules of a lifecycle act at midnight, and what is decided has to be copied yet."""


def decide(turn: DeliveryTurn, to: State, observed: Observation) -> Steps[Workload]:
    """The verdict, irrevocable; in the same transaction accepted content is claimed, and its producer is marked as known.

    A refusal at the door claims the parts of the delivery, which no copy has claimed.
    """
    decision = turn.required(observed.decision)
    accepted = decision.verdict in ACCEPTING
    is_refusal = turn.row.state is State.PINNED and not accepted
    if is_refusal and turn.row.parts is not None:
        yield from delivery_objects.join(turn)
    data = turn.row.staged or turn.row.parts or turn.row.source
    after = turn.row._replace(
        state=to,
        decision=decision,
        candidate=None,
        answer=observed.answer or turn.row.answer,
        cost=spent(turn.row, observed),
        due_at=turn.lease_end,
    )
    effect = Effect.REFUSE if is_refusal else Effect.DECIDE
    claim = content(turn.row, data) if accepted and not turn.terms.duplicates else ""
    try:
        return (yield from move(turn, effect, after, content=claim, accepted=accepted))
    except ConditionFailed as refused:
        if "content" not in refused.reasons:
            raise _refusal(turn.moved(after)) from None
        rejected = _rejected(decision, DUPLICATE)
        duplicate = replace(rejected, reasons=(DUPLICATE,), broken=(), enforced=None)
        return (yield from move(turn, Effect.DECIDE, after._replace(decision=duplicate)))


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
        extensions="{}",  # what publishers added follows from an acceptance
    )


def _refusal(turn: DeliveryTurn) -> LakegateError:
    """The step after a refused decision, where another delivery is being committed: this one waits, or is evaluated again."""
    publisher = publisher_of(turn.terms)
    assert publisher is not None
    if publisher.is_next(turn):
        return ConcurrentUpdate(turn.row.id)
    return OutcomeChanged(Outcome.LOST, FailureCause.OVERTAKEN)


def ask(turn: DeliveryTurn, to: State, observed: Observation) -> Steps[Workload]:
    """Keep what was judged until a person has answered, or the time for an answer is over; a message asks for it."""
    end = _end(turn)
    after = turn.row._replace(
        state=to, candidate=observed.decision, cost=spent(turn.row, observed), deadline=end, due_at=end
    )
    return (yield from move(turn, Effect.ASK, after, message=message(turn.gate, after)))


def schedule(turn: DeliveryTurn, to: State, observed: Observation) -> Steps[Workload]:
    """Keep what was judged, or approved, until its time has come, which follows from when it was approved."""
    began = datetime.fromisoformat(turn.answer.at) if turn.row.answer else turn.now
    at = turn.terms.workflow.date_after(began)
    after = turn.row._replace(
        state=to, candidate=observed.decision, cost=spent(turn.row, observed), deadline=at, due_at=at
    )
    return (yield from move(turn, Effect.SCHEDULE, after))


def _end(turn: DeliveryTurn) -> datetime:
    """The end of the time to decide: by the workflow, but so that what is approved is published before staged copies expire."""
    copies = delivery_objects.staged(turn)
    folder = copies[0].key.rpartition("/")[0]
    written = [each.modified for each in versions_of(turn.gate, f"{folder}/") if each.current]
    workflow = turn.terms.workflow
    wanted, kept = turn.now + timedelta(days=workflow.wait_days), STAGED_FOR - BEFORE_IT_EXPIRES
    return min(wanted, *(each + kept - workflow.longest_delay for each in written)) if written else wanted


def answer(turn: DeliveryTurn, to: State, observed: Observation) -> Steps[Workload]:
    """Store the one answer: who writes first, a person or the end of the time, is who decides."""
    due = turn.lease_end
    after = turn.row._replace(state=to, answer=observed.answer, due_at=due)
    return (yield from move(turn, Effect.ANSWER, after))


def decision_of_answer(turn: DeliveryTurn) -> Decision:
    """The decision of a person: the candidate as it was, or a rejection that names who declined, and why."""
    return turn.candidate if turn.answer.approved else _rejected(turn.candidate, turn.answer.in_words)


def decision_of_silence(turn: DeliveryTurn) -> Decision:
    """The decision when nobody has answered in time."""
    return _rejected(turn.candidate, APPROVAL_EXPIRED)


# ---- The decision on a `result.json`, imported with the first result ----


_plan = lru_cache(maxsize=16)(Plan.from_bytes)
"""Plans are content-addressed: a Lambda that judges many deliveries of a dataset reads its plan once."""


class DecisionAndCost(NamedTuple):
    """The decision on the result of an attempt, with its cost."""

    decision: Decision | None
    """None: the judge function cannot hold the delivery."""
    cost: BilledCost | None
    """As the result records it."""


def judged(plan: bytes, result: bytes, workload: Workload) -> DecisionAndCost:
    """The decision on the current attempt, with the warning that was pinned.

    Raises InputError for a document that is not a result, or another attempt's.

    Only the judge function can report that a delivery does not fit; a job that does has no result.
    """
    compiled, measured = _plan(plan), Result.from_bytes(result)
    if not is_of_attempt(measured, workload):
        raise InputError("the result belongs to another attempt")
    if measured.does_not_fit:
        if not names_invocation(workload.run):
            raise InputError("a job run fits every delivery")
        return DecisionAndCost(None, measured.cost)
    judgement = judge(compiled, measured)
    decision = Decision(
        *warned(judgement.verdict, _reasons(judgement, measured, workload), workload.pinned.warning),
        hashlib.sha256(result).hexdigest(),
        counts=counts_of(compiled, judgement),
        broken=broken_rules(judgement.outcomes),
        enforced=_enforced(compiled, measured),
    )
    if judgement.verdict in ACCEPTING:
        publishers: Iterator[Publisher] = registered("publishers")
        for each in publishers:
            decision = each.decided(compiled, measured, workload, decision)
    return DecisionAndCost(decision, measured.cost)


def _reasons(judgement: Judgement, result: Result, workload: Workload) -> tuple[str, ...]:
    """The reasons as texts; of several objects the one that cannot be read is told by its place, as its key may be long."""
    part = result.unreadable.part if result.unreadable is not None and workload.parts is not None else None
    outcomes = judgement.reasons
    if part is not None:
        place = f"object {part + 1:,} of the delivery, by the order of keys"
        outcomes = tuple(replace(each, message=f"{place}: {each.message}") for each in outcomes)
    return reason_texts(outcomes)


def reported(plan: bytes, result: bytes, workload: Workload, files: tuple[str, ...]) -> Report:
    """The content of a workload's report. The verdict is the one that was decided, whatever is computed today."""
    compiled, measured = _plan(plan), Result.from_bytes(result)
    judgement = judge(compiled, measured)
    if workload.decision is not None:
        judgement = replace(judgement, verdict=Verdict(workload.decision.verdict))
    return Report(compiled, judgement, measured, files)


def _enforced(plan: Plan, result: Result) -> Enforced | None:
    """The decision of the same plan without `mode: observe`."""
    if plan.policy.mode is not Mode.OBSERVE:
        return None
    strict = replace(plan, policy=replace(plan.policy, mode=Mode.ENFORCE))
    judgement = judge(strict, result)
    return Enforced(judgement.verdict, counts_of(strict, judgement).rejected_rows)


def is_of_attempt(result: Result, workload: Workload) -> bool:
    """Whether a result belongs to the current attempt: same workload, attempt, plan and source version."""
    pin = workload.pinned
    asked = (workload.id, workload.attempt, pin.plan, workload.source.version)
    return asked == (result.workload, result.attempt, result.plan_digest, result.source_version)


def observe_validating(turn: DeliveryTurn) -> Observation | None:
    """VALIDATING: the verdict on a result, a lost attempt, or nothing yet."""
    # The run's state is read before the result: a job that ends between the two reads is then seen with its result.
    run = described_run(turn)
    cause = cause_of_run(turn, run)
    result = result_of(turn)
    if result is not None:
        judged = _judged(turn, result)
        if judged is None:
            return None
        found = judged
    elif cause:
        found = Observation(Outcome.LOST, cause=cause_of_member(turn, cause))
    else:
        return None
    if run is None or run.billed is None:
        return found
    share = share_of(turn)
    if share is None:
        return found
    return found._replace(cost=cost_of_job(turn.gate.places.prices, *(share * each for each in run.billed)))


def _judged(turn: DeliveryTurn, result: bytes) -> Observation | None:
    """The decision on a result; None: a companion's result is not there yet."""
    plan = turn.plan
    try:
        decision, cost = judged(plan, result, turn.row)
        if decision is not None and (companion := companion_of(turn)):
            merged = merged_result(turn)
            if merged is None:
                unkept = companion.merged(turn, result)
                return None if unkept is None else Observation(Outcome.READY, unkept=unkept)
            decision, _ = judged(plan, merged, turn.row)
    except InputError:
        # A result that is not a result is the job's failure, not the data's.
        return Observation(Outcome.LOST, cause=FailureCause.WRONG_RESULT)
    except Lost as lost:
        return Observation(Outcome.LOST, cause=lost.cause, cost=cost)
    if decision is None:
        return Observation(Outcome.LOST, cause=FailureCause.DOES_NOT_FIT, cost=cost)
    cause = FailureCause.UNDECIDED if decision.verdict == Verdict.UNDECIDED else None
    return Observation(Outcome(decision.verdict), decision=decision, cause=cause, cost=cost)

"""Step 8: result.json becomes a decision, content claimed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple

from lakegate.base.errors import ConditionFailed, InputError, LakegateError, NotFound
from lakegate.base.extension_points import load_extensions
from lakegate.base.json_codec import sha256_of
from lakegate.contract.delivery_policy import Mode
from lakegate.gate import lake_layout
from lakegate.gate.datasets.lifecycle import warn_of_status
from lakegate.gate.delivery.admit_delivery import content
from lakegate.gate.delivery.attempt_request import Publisher, publisher_of
from lakegate.gate.delivery.delivery_row import CAUSES, Decision, EnforcedVerdict, FailureCause, Workload
from lakegate.gate.delivery.protocol import (
    JUDGED_STATES,
    PASSIVE_STATES,
    Outcome,
    State,
    date_after,
    longest_wait,
)
from lakegate.gate.delivery.small_file_batches import cause_of_member, share_of
from lakegate.gate.delivery.stage_data import claim_parts
from lakegate.gate.delivery.transition import DeliveryTurn, Observation, OutcomeChanged, move
from lakegate.gate.effects import Alarm, ConcurrentUpdate, Effect, Steps, perform
from lakegate.gate.event_bodies import message
from lakegate.gate.ledger.stored_objects import versions_of
from lakegate.gate.ports import Address, JobRun, JobState, names_invocation
from lakegate.gate.table import ConditionName
from lakegate.plan.billed_cost import BilledCost, cost_of_job
from lakegate.plan.plan import Plan
from lakegate.plan.planned_workflow import NOTIFY
from lakegate.plan.result import Result
from lakegate.report.delivery_report import Report, names_of_parts
from lakegate.verdict.reasons import APPROVAL_EXPIRED, DUPLICATE, WORKFLOW_REJECTS
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
        yield from claim_parts(turn)
    data = turn.row.staged or turn.row.parts or turn.row.source
    after = turn.row._replace(
        state=to,
        decision=decision,
        candidate=None,
        anomalies=(),
        answer=observed.answer or turn.row.answer,
        cost=turn.spent(observed),
        due_at=turn.lease_end,
    )
    effect = Effect.REFUSE if is_refusal else Effect.DECIDE
    claim = content(turn.row, data) if accepted and not turn.terms.duplicates else ""
    try:
        return (yield from move(turn, effect, after, content=claim, accepted=accepted))
    except ConditionFailed as refused:
        if ConditionName.CONTENT not in refused.reasons:
            raise _refusal(turn.moved(after)) from None
        duplicate = replace(rejected(decision, DUPLICATE), reasons=(DUPLICATE,), broken=(), enforced=None)
        return (yield from move(turn, Effect.DECIDE, after._replace(decision=duplicate)))


def rejected(decision: Decision, reason: str) -> Decision:
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
    end = _end(turn, observed.enters or to.value)
    before = (turn.row.answer,) if turn.row.answer else ()
    after = _kept(turn, to, observed)._replace(
        approvals=(*turn.row.approvals, *before), answer=None, deadline=end, due_at=end
    )
    return (yield from move(turn, Effect.ASK, after, message=message(turn.gate, after)))


def _kept(turn: DeliveryTurn, to: State, observed: Observation) -> Workload:
    """The row with the verdict as a candidate, in a state of the workflow's own."""
    row = turn.row
    before = row.passed if row.state in JUDGED_STATES else ()
    return row._replace(
        state=to,
        candidate=observed.decision,
        cost=turn.spent(observed),
        passed=(*before, observed.enters) if observed.enters else (),
        anomalies=row.anomalies if observed.anomalies is None else observed.anomalies,
    )


def pass_on(turn: DeliveryTurn, to: State, observed: Observation) -> Steps[Workload]:
    """Enter a state of the workflow's own that is left at once, which is told of where its operation says so."""
    after = _kept(turn, to, observed)._replace(deadline=None, due_at=turn.lease_end)
    notifies = turn.terms.workflow.own(observed.enters).operation == NOTIFY
    news = message(turn.gate, after) if notifies else None
    return (yield from move(turn, Effect.ENTER_STATE, after, message=news))


def schedule(turn: DeliveryTurn, to: State, observed: Observation) -> Steps[Workload]:
    """Keep what was judged, or approved, until its time has come, which follows from when it was approved, or waited before."""
    row = turn.row
    waited = row.deadline if row.state in PASSIVE_STATES else None
    began = datetime.fromisoformat(turn.answer.at) if row.state is State.ANSWERED else waited or turn.now
    at = date_after(turn.terms.workflow.own(observed.enters or to.value), began)
    after = _kept(turn, to, observed)._replace(deadline=at, due_at=at)
    return (yield from move(turn, Effect.SCHEDULE, after))


def _end(turn: DeliveryTurn, state: str) -> datetime:
    """The end of the time to decide: by the workflow, but so that what is approved is published before staged copies expire."""
    copies = turn.copies
    folder = copies[0].key.rpartition("/")[0]
    written = [version.modified for version in versions_of(turn.gate, f"{folder}/") if version.current]
    workflow = turn.terms.workflow
    wanted, kept = turn.now + longest_wait(workflow.own(state)), STAGED_FOR - BEFORE_IT_EXPIRES
    return min(wanted, *(each + kept - workflow.longest_after(state) for each in written)) if written else wanted


def answer(turn: DeliveryTurn, to: State, observed: Observation) -> Steps[Workload]:
    """Store the one answer: who writes first, a person or the end of the time, is who decides."""
    due = turn.lease_end
    after = turn.row._replace(state=to, answer=observed.answer, due_at=due)
    return (yield from move(turn, Effect.ANSWER, after))


def decision_of_answer(turn: DeliveryTurn) -> Decision:
    """The decision of a person: the candidate as it was, or a rejection that names who declined, and why."""
    return turn.candidate if turn.answer.approved else rejected(turn.candidate, turn.answer.in_words)


def decision_of_workflow(turn: DeliveryTurn, observed: Observation) -> Decision:
    """A rejection of what was accepted, by its workflow: nobody has answered in time, or something else was observed."""
    if observed.on is Outcome.EXPIRED:
        return rejected(turn.candidate, APPROVAL_EXPIRED)
    return rejected(turn.candidate, f"{WORKFLOW_REJECTS}: {observed.on} in {turn.row.own_state}")


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
        return turn.gate.read_lake(f"{prefix}/result.json")
    except NotFound:
        return None


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
    found: Companion | None = next(load_extensions("attempt companions"), None)
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
    where = _merged_address(turn)
    with suppress(ConditionFailed):
        yield from perform(Effect.KEEP_ANSWERS, turn.gate.objects.put, where, body, absent=True)


def _merged_address(turn: DeliveryTurn) -> Address:
    return turn.gate.in_lake(lake_layout.answers_key(turn.row.id, turn.row.attempt))


def measured_result(turn: DeliveryTurn) -> bytes | None:
    """The result that was decided on, or that of the last attempt of a FAILED delivery; None where nothing was measured.

    It is the merged result, if one was kept, else that of the run. Raises NotFound, and Alarm where it is another one.
    """
    measured, decision = turn.measured, turn.row.decision
    if not measured.row.attempt or (decision is not None and not decision.result):
        return None
    body = (merged_result(measured) if measured.terms.has_companion else None) or result_of(measured)
    if body is None:
        raise NotFound
    if decision is not None and sha256_of(body) != decision.result:
        raise Alarm("result-differs", turn.row.id)
    return body


# ---- The decision on a `result.json`, imported with the first result ----


read_plan = lru_cache(maxsize=16)(Plan.from_bytes)
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
    compiled, measured = read_plan(plan), Result.from_bytes(result)
    if not is_of_attempt(measured, workload):
        raise InputError("the result belongs to another attempt")
    if measured.does_not_fit:
        if not names_invocation(workload.run):
            raise InputError("a job run fits every delivery")
        return DecisionAndCost(None, measured.cost)
    judgement = judge(compiled, measured)
    decision = Decision(
        *warn_of_status(judgement.verdict, _reasons(judgement, measured, workload), workload.pinned.warning),
        sha256_of(result),
        counts=counts_of(compiled, judgement),
        broken=broken_rules(judgement.outcomes),
        enforced=_enforced(compiled, measured),
    )
    if judgement.verdict in ACCEPTING:
        publishers: Iterator[Publisher] = load_extensions("publishers")
        for publisher in publishers:
            decision = publisher.decided(compiled, measured, workload, decision)
    return DecisionAndCost(decision, measured.cost)


def _reasons(judgement: Judgement, result: Result, workload: Workload) -> tuple[str, ...]:
    """The reasons as texts; of several objects the one that cannot be read is told by its place, as its key may be long."""
    part = result.unreadable.part if result.unreadable is not None and workload.parts is not None else None
    outcomes = judgement.reasons
    if part is not None:
        place = f"object {part + 1:,} of the delivery, by the order of keys"
        outcomes = tuple(replace(outcome, message=f"{place}: {outcome.message}") for outcome in outcomes)
    return reason_texts(outcomes)


def report_of(turn: DeliveryTurn, *, of_parts: bool = False) -> Report | None:
    """The outcomes behind the verdict; None where nothing was measured, or nothing is decided yet.

    `of_parts`: with the names of all files of a delivery of several.

    Raises Alarm where plan or result are missing or are not
    those that were decided on, and InputError where the result cannot be read.
    """
    decision = turn.row.decision
    if turn.row.pin is None or not turn.pin.plan or (decision is None and turn.row.state is not State.FAILED):
        return None
    try:
        body = measured_result(turn)
    except NotFound:
        return None
    if body is None:
        return None
    files = tuple(part.key for part in turn.landed.parts) if of_parts and turn.row.parts else (turn.row.landing_key,)
    return _report(turn.plan, body, decision, files)


def _report(plan: bytes, result: bytes, decision: Decision | None, files: tuple[str, ...]) -> Report:
    """The verdict is the one that was decided, whatever is computed today."""
    compiled, measured = read_plan(plan), Result.from_bytes(result)
    judgement = judge(compiled, measured)
    if decision is not None:
        judgement = replace(judgement, verdict=Verdict(decision.verdict))
    return Report(compiled, judgement, measured, names_of_parts(files, measured))


def _enforced(plan: Plan, result: Result) -> EnforcedVerdict | None:
    """The decision of the same plan without `mode: observe`."""
    if plan.policy.mode is not Mode.OBSERVE:
        return None
    strict = replace(plan, policy=replace(plan.policy, mode=Mode.ENFORCE))
    judgement = judge(strict, result)
    return EnforcedVerdict(judgement.verdict, counts_of(strict, judgement).rejected_rows)


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

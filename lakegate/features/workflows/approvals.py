"""A person approves or declines a judged delivery that waits for it (state AWAITING), or declines one that waits for its date.

docs/approvals.md and docs/workflows.md explain it.

Who answers is recorded on the chain of the delivery first. The write that follows is fenced as every other: of two answers, and
of an answer and the end of the time, the first one counts, and the other person gets an error.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from lakegate.base.errors import InputError
from lakegate.base.timestamps import moment
from lakegate.gate.carry_out_decision import DecisionKind
from lakegate.gate.delivery.advance import take
from lakegate.gate.delivery.decide_verdict import rejected
from lakegate.gate.delivery.delivery_row import ApprovalAnswer, Workload
from lakegate.gate.delivery.protocol import PASSIVE_STATES, Outcome, State
from lakegate.gate.delivery.replay import named_row
from lakegate.gate.delivery.transition import DeliveryTurn, Observation
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import ConcurrentUpdate, Steps
from lakegate.gate.ledger.blocks import event_id
from lakegate.gate.ledger.commit import append, is_one_line
from lakegate.gate.person_decisions import LONGEST_REASON, WantedApproval, WantedDecline, not_apart
from lakegate.verdict.reasons import APPROVAL_EXPIRED


def approve(dependencies: Dependencies, workload: str, _wanted: WantedApproval) -> Steps[Workload]:
    """Let a judged delivery be published. Raises as `answered` does."""
    return store_answer(dependencies, workload)


def decline(dependencies: Dependencies, workload: str, wanted: WantedDecline) -> Steps[Workload]:
    """Reject a judged delivery. Raises as `answered` does."""
    return store_answer(dependencies, workload, wanted.reason.strip())


def store_answer(
    dependencies: Dependencies, workload: str, declined: str | None = None, *, withdraws: bool = True
) -> Steps[Workload]:
    """The workload with the answer of the caller, or the same answer that was given before; it is not advanced. Idempotent.

    `declined`: why; None: it is approved. `withdraws`: whether what waits for its date may be declined, too.

    Raises InputError for a delivery that does not wait for an answer, or that was
    answered otherwise and is no longer waiting for its date, and for a reason that is empty or too long.
    """
    if declined is not None and not (declined and is_one_line(declined)):
        raise InputError(f"the reason for declining is one line of at most {LONGEST_REASON} characters")
    row = named_row(dependencies, workload)
    if row.state is State.AWAITING or (row.state is State.SCHEDULED and declined is not None and withdraws):
        _check_time(dependencies, row)
        if declined is None:
            _check_person(dependencies, row)
        given = ApprovalAnswer(dependencies.identity.caller(), declined is None, declined or "", dependencies.moment)
        yield from _record(dependencies, row, given)
        with suppress(ConcurrentUpdate):
            turn = DeliveryTurn(dependencies, row)
            return (yield from take(turn, _observed(turn, given)))
        row = dependencies.workloads.get(row.id)
    if row.answer is None or row.answer.approved is not (declined is None):
        raise InputError(unanswerable(row))
    if row.passed and row.state is State.ANSWERED and row.answer.actor != dependencies.identity.caller():
        # it may be asked about once more: whoever answers now must not believe that this was an answer to that
        raise InputError(f"{row.answer.actor} has just answered: repeat this when the next sweep has carried it on")
    return row


def _check_time(dependencies: Dependencies, row: Workload) -> None:
    assert row.deadline is not None
    if dependencies.now >= row.deadline:
        if row.state is State.SCHEDULED:
            goes = "goes on" if row.passed else "is being published"
            raise InputError(f"its date was {moment(row.deadline)}: the delivery {goes}")
        raise InputError(f"the time for an answer was over at {moment(row.deadline)}: the delivery will be rejected")


def _check_person(dependencies: Dependencies, row: Workload) -> None:
    if not row.approvals or not dependencies.terms(row).workflow.own(row.own_state).another:
        return
    for before in row.approvals:
        reason = not_apart(before.actor, dependencies.identity.caller())
        if reason is not None:
            raise InputError(
                f"{before.actor} has approved of it at {before.at}{reason}: another person has to approve now"
            )


def _record(dependencies: Dependencies, row: Workload, given: ApprovalAnswer) -> Steps[None]:
    kind = "approval" if given.approved else "decline"
    content = {"workload": row.id, "attempt": row.attempt, "verdict": row.required(row.candidate).verdict}
    if not given.approved:
        content["reason"] = given.reason
    # what the same person declined before somebody else approved of it is another answer
    withdrawn = (row.state.value,) if row.state is State.SCHEDULED else ()
    if row.passed:  # the same person may answer in several states
        content["workflow_state"] = row.own_state
        withdrawn = (*withdrawn, f"{len(row.passed)}")
    event = event_id(kind, row.id, row.attempt, given.actor, given.reason, *withdrawn)
    yield from append(dependencies, kind, row.pinned.dataset, content, event)


def _observed(turn: DeliveryTurn, given: ApprovalAnswer) -> Observation:
    """Decide a SCHEDULED delivery at once: back in ANSWERED, a reader of an earlier approval could store its date again."""
    if turn.row.state is State.AWAITING:
        return Observation(Outcome.ANSWERED, answer=given)
    return Observation(Outcome.DECLINED, answer=given, decision=rejected(turn.candidate, given.in_words))


def unanswerable(row: Workload) -> str:
    """The reason why nobody can decide, or decide otherwise."""
    if row.answer is not None:
        did = "approved" if row.answer.approved else "declined"
        return f"it was {did} before, by {row.answer.actor} at {row.answer.at}"
    if row.decision is not None and APPROVAL_EXPIRED in row.decision.reasons:
        return "nobody answered in time, and it was rejected: `lakegate replay` judges it again, and asks again"
    if row.state is State.SCHEDULED and row.deadline is not None:
        if row.passed:
            return f"it waits in `{row.own_state}` until {moment(row.deadline)}: `lakegate decline` rejects it before"
        return (
            f"it needs no approval: it is published at {moment(row.deadline)}, or rejected by `lakegate decline` before"
        )
    return f"it does not wait for approval: it is {row.state}"


def _refusal(row: Workload) -> str:
    return f"No answer can be given: {unanswerable(row)}."


APPROVE: Final = DecisionKind(
    lambda _, row: row.state is State.AWAITING,
    lambda row: row.answer is not None and row.answer.approved,
    _refusal,
    approve,
)
DECLINE: Final = DecisionKind(
    lambda _, row: row.state in PASSIVE_STATES,
    lambda row: row.answer is not None and not row.answer.approved,
    _refusal,
    decline,
)

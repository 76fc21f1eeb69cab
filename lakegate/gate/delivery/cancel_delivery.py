"""A person ends an open delivery: it is rejected, unread where it was not judged, and its data goes into quarantine.

Who cancels is recorded on the chain of the delivery. Then the run of the attempt is cancelled, unless other deliveries share it,
and one write decides the delivery, whichever open state it has; what has no pin yet gets it by the same write. Where another
worker moves the delivery meanwhile, all of this is repeated, as long as it is open.

A run that another worker is just starting is not known here. It finds its staged copy deleted, and ends, at the latest by its
own time limit; nobody reads its result.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from lakegate.base.errors import InputError
from lakegate.gate.carry_out_decision import DecisionKind
from lakegate.gate.delivery.admit_delivery import observe_pinned
from lakegate.gate.delivery.decide_verdict import decide, rejected
from lakegate.gate.delivery.delivery_row import CAUSE_TEXTS, ApprovalAnswer, Decision, Workload
from lakegate.gate.delivery.find_landed_data import UnreadableSource
from lakegate.gate.delivery.pin_contract import observe_received, pinned_row
from lakegate.gate.delivery.protocol import OUTCOMES, Outcome, State
from lakegate.gate.delivery.replay import named_row
from lakegate.gate.delivery.stage_data import claim_parts
from lakegate.gate.delivery.submit_run import end_attempt
from lakegate.gate.delivery.transition import VANISHED, DeliveryTurn, Observation
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import ConcurrentUpdate, Steps
from lakegate.gate.ledger.blocks import event_id
from lakegate.gate.ledger.commit import append, is_one_line
from lakegate.gate.person_decisions import LONGEST_REASON, PERSON_DECISIONS, WantedCancellation
from lakegate.verdict.verdict import Verdict

OPEN: Final = OUTCOMES.keys() - {State.DECIDED, State.FAILED}
"""The states of a delivery that nothing is decided about."""


def cancel(dependencies: Dependencies, workload: str, wanted: WantedCancellation) -> Steps[Workload]:
    """The delivery as it was decided, now or by an earlier cancellation; it is not advanced. Idempotent.

    Raises InputError for a delivery that is not open, or cannot be moved, and for a reason that is empty or too long.
    """
    reason = wanted.reason.strip()
    if not (reason and is_one_line(reason)):
        raise InputError(f"the reason for cancelling is one line of at most {LONGEST_REASON} characters")
    given = ApprovalAnswer(dependencies.identity.caller(), False, reason, dependencies.moment)
    turn = DeliveryTurn(dependencies, named_row(dependencies, workload))
    while turn.row.state in OPEN:
        with suppress(ConcurrentUpdate):
            return (yield from _decided(turn, given))
        turn = turn.reread()
    if not is_cancelled(turn.row):
        raise InputError(f"it is {turn.row.state} already")
    return turn.row


def _decided(turn: DeliveryTurn, given: ApprovalAnswer) -> Steps[Workload]:
    if turn.row.state in {State.RECEIVED, State.HELD, State.PINNED}:
        turn = yield from _movable(turn)
    content = {"workload": turn.row.id, "reason": given.reason}
    event = event_id("cancellation", turn.row.id, turn.pin.dataset, given.actor, given.reason)
    yield from append(turn.gate, "cancellation", turn.pin.dataset, content, event)
    if turn.row.parts is not None:
        yield from claim_parts(turn)
    judged = turn.row.candidate or Decision(Verdict.REJECTED, staged=turn.row.staged is not None)
    ended = Observation(Outcome.DECLINED, decision=rejected(judged, _reason(given)), answer=given)
    yield from end_attempt(turn, ended)
    return (yield from decide(turn, State.DECIDED, ended))


def _movable(turn: DeliveryTurn) -> Steps[DeliveryTurn]:
    """The delivery with its pin. Raises InputError where what was delivered is not whole, not there, or cannot be read."""
    try:
        if turn.row.state is not State.PINNED:
            delivered = observe_received(turn)
            if delivered is None:
                raise InputError("its parts are not all there yet: there is no delivery to move")
            if delivered is not VANISHED:
                turn = turn.moved((yield from pinned_row(turn, delivered)))
        if turn.row.pin is None or observe_pinned(turn) is VANISHED:
            raise InputError("what landed was deleted: there is nothing to move")
    except UnreadableSource as unreadable:
        raise InputError(f"it cannot be moved: {CAUSE_TEXTS[unreadable.cause]}") from None
    return turn


def _reason(given: ApprovalAnswer) -> str:
    return f"{PERSON_DECISIONS['cancel'].done}: {given.reason} (by {given.actor})"


def is_cancelled(row: Workload) -> bool:
    """Whether a person cancelled the delivery."""
    return row.answer is not None and row.decision is not None and _reason(row.answer) in row.decision.reasons


CANCEL: Final = DecisionKind(
    lambda _, row: row.state in OPEN,
    is_cancelled,
    lambda row: f"It cannot be cancelled: it is {row.state} already.",
    cancel,
)

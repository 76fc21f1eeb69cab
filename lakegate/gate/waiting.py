"""Waits of deliveries: handlers log them, and `lakegate status` prints them."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from lakegate.base.errors import PortError
from lakegate.gate.delivery.attempt_request import publisher_of
from lakegate.gate.delivery.decide_verdict import merged_result, result_of
from lakegate.gate.delivery.delivery_row import TERMINAL, Waiting, WaitsFor, Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Alarm


def note_wait(dependencies: Dependencies, row: Workload) -> None:
    """Note what a delivery waits for that was carried on."""
    dependencies.waits[row.id] = waiting_of(DeliveryTurn(dependencies, row))


def waiting_of(turn: DeliveryTurn) -> Waiting | None:  # noqa: PLR0911 - one for each subject
    """The wait of a delivery; None where nothing is left to be done by itself, and where something cannot be read for it.

    Nobody waits for what is left to be done of a committed one: what landed is deleted.
    """
    row = turn.row
    if row.state in TERMINAL:
        return None
    match row.state:
        case State.HELD:
            return Waiting(WaitsFor.DATASET, row.held)
        case State.AWAITING:
            return _until(row.deadline, WaitsFor.APPROVAL)
        case State.SCHEDULED if row.passed:
            return _until(row.deadline, WaitsFor.STATE, row.own_state)
        case State.SCHEDULED:
            return _until(row.deadline, WaitsFor.DATE)
        case State.RECEIVED if row.completed_by and row.parts is None:
            return Waiting(WaitsFor.PARTS)
        case State.SUBMITTING if row.batch:
            return _until(row.not_before, WaitsFor.BATCH, row.batch)
        case State.SUBMITTING if row.not_before is not None and turn.now < row.not_before:
            has_failed = row.attempt - 1 in {attempt.number for attempt in row.failed}
            return _until(row.not_before, WaitsFor.BACK_OFF if has_failed else WaitsFor.START)
        case State.STAGED | State.VALIDATING:
            with suppress(PortError, Alarm):
                return _of_others(turn)
            return None
    return _until(row.due_at, WaitsFor.WORKER) if row.due_at else None


def _of_others(turn: DeliveryTurn) -> Waiting:
    """Its own run, what others measure, or another delivery; more than its row is read only if it may wait for one of these."""
    row, terms = turn.row, turn.terms
    is_judging, publisher = row.state is State.VALIDATING, publisher_of(terms)
    if is_judging and (not (publisher or terms.has_companion) or result_of(turn) is None):
        return _until(row.deadline, WaitsFor.RUN, row.run)
    if is_judging and terms.has_companion and merged_result(turn) is None:
        return _until(row.deadline, WaitsFor.VALIDATORS)
    if publisher is not None and (writer := publisher.writer(turn)):
        return Waiting(WaitsFor.COMMIT, writer)
    return _until(row.due_at, WaitsFor.WORKER)


def _until(at: datetime | None, subject: WaitsFor, whom: str | None = None) -> Waiting:
    return Waiting(subject, whom, at.isoformat() if at else None)

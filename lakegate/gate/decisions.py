"""Decisions of people: kinds, legal states, one record, one fenced write."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from lakegate.admission.refusals import code_of
from lakegate.errors import ConditionFailed, TransactionConflict
from lakegate.extension_points import names
from lakegate.gate.delivery.delivery_objects import row_of
from lakegate.gate.delivery.delivery_row import replay_id
from lakegate.gate.delivery.people_decisions import unwaivable
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import Effect, perform
from lakegate.gate.ledger.commit import record_at_head
from lakegate.timestamps import moment
from lakegate.verdict.reasons import APPROVAL_EXPIRED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lakegate.gate.delivery.delivery_row import Workload
    from lakegate.gate.dependencies import Dependencies
    from lakegate.gate.effects import Steps

# ---- Decisions by the state of a workload ----


DECISIONS: Final = "decisions"
"""The extension point of transitions that features carry out: a `CarryOut` by the name of the transition."""
CarryOut: TypeAlias = "Callable[..., Steps[Workload]]"
"""Called with dependencies, the id of a workload, and what the person gave, by name. Records who decides before anything is
started, and returns the workload that is to be advanced. Idempotent; raises InputError where the transition is not possible."""


class PersonTransition(StrEnum):
    """A transition that only a person starts: the commands of these names, and a route of the HTTP API."""

    REPLAY = "replay"
    WAIVE = "waive"
    APPROVE = "approve"
    DECLINE = "decline"


def legal(dependencies: Dependencies, row: Workload) -> tuple[PersonTransition, ...]:
    """The transitions that a workload has now; of one with a successor, the one that led to it, which may be repeated."""
    there = {PersonTransition.REPLAY, *names(DECISIONS)}
    return tuple(each for each in _legal(dependencies, row) if each in there)


def _legal(dependencies: Dependencies, row: Workload) -> tuple[PersonTransition, ...]:
    if row.state is State.FAILED:
        return (PersonTransition.REPLAY,)
    if row.state is State.AWAITING:
        return (PersonTransition.APPROVE, PersonTransition.DECLINE)
    if row.state is State.SCHEDULED:
        return (PersonTransition.DECLINE,)
    if row.state is not State.QUARANTINED:
        return ()
    if (after := row_of(dependencies, replay_id(row.id))) is not None:
        return (PersonTransition.WAIVE,) if after.waiver else (PersonTransition.REPLAY,)
    return (PersonTransition.REPLAY,) if excluded(row) else (PersonTransition.REPLAY, PersonTransition.WAIVE)


def excluded(row: Workload) -> str:
    """The code of the reason for which a rejected workload has no waiver; empty if it may have one."""
    assert row.decision is not None
    return unwaivable(tuple(map(code_of, row.decision.reasons)))


def unanswerable(row: Workload) -> str:
    """The reason why nobody can decide, or decide otherwise."""
    if row.answer is not None:
        did = "approved" if row.answer.approved else "declined"
        return f"it was {did} before, by {row.answer.actor} at {row.answer.at}"
    if row.decision is not None and APPROVAL_EXPIRED in row.decision.reasons:
        return "nobody answered in time, and it was rejected: `lakegate replay` judges it again, and asks again"
    if row.state is State.SCHEDULED and row.deadline is not None:
        return (
            f"it needs no approval: it is published at {moment(row.deadline)}, or rejected by `lakegate decline` before"
        )
    return f"it does not wait for approval: it is {row.state}"


# ---- Records before an act ----
# Where what is done is one transaction, the record is part of it (`Registry.publish`). Elsewhere it is appended before: nothing
# is done without a record, and who repeats a command after a crash completes what is recorded, without a second record.


TRIES = 20
"""Others may extend a busy chain first."""


def append(dependencies: Dependencies, kind: str, chain: str, content: Mapping[str, Any], event: str) -> Steps[None]:
    """Append a record unless its event is recorded already: idempotent. Raises TransactionConflict after `TRIES`."""
    for _ in range(TRIES):
        record = record_at_head(dependencies, kind, chain, content, event)
        try:
            yield from perform(Effect.RECORD, partial(dependencies.ledger.append, record))
        except ConditionFailed as refused:
            if "event" in refused.reasons:
                return
            continue
        return
    raise TransactionConflict


LONGEST_REASON: Final = 500
"""Characters."""

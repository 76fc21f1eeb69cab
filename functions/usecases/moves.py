"""The one conditional write that ends every operation, and how to tell one's own write from another's."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from contracts.errors import LakegateError
from functions.ports import ConditionFailed, Expected
from functions.usecases.steps import Effect, Overtaken, perform
from functions.workload import Message, State

if TYPE_CHECKING:
    from contracts.workflow import Outcome
    from functions.usecases.gate import Gate
    from functions.usecases.steps import Steps
    from functions.workload import Cause, Workload


class Diverted(LakegateError):  # noqa: N818 - the name says what happened
    """An operation found out something else than it was called for; nothing was written."""

    def __init__(self, on: Outcome, cause: Cause | None = None) -> None:
        super().__init__(on)
        self.on = on
        self.cause = cause


def move(  # noqa: PLR0913 - the write has these parts
    gate: Gate,
    effect: Effect,
    before: Workload,
    after: Workload,
    *,
    message: Message | None = None,
    content: str | None = None,
) -> Steps[Workload]:
    """Write `after` if the row still stands where `before` does.

    1. The condition holds: done.
    2. It does not, but the row says what we wanted to write: an earlier saying of ours arrived, done.
    3. The content belongs to another delivery: ConditionFailed with reason `content`, for the caller to mend.
    4. Another worker has moved the row: Overtaken.
    """
    expected = Expected(before.state, before.attempt)
    try:
        yield from perform(
            effect, partial(gate.workloads.save, after, expected, message=message, content=content or None)
        )
    except ConditionFailed as refused:
        current = gate.workloads.get(before.id)
        if not says(current, after):
            if "content" in refused.reasons and stands(current, before):
                raise
            raise Overtaken(after.id) from None
        return current
    return after


def says(current: Workload, wanted: Workload) -> bool:
    """Whether the row says what was to be written; `due_at` is the lease's and may have moved."""
    return replace(current, due_at=wanted.due_at) == wanted


def stands(current: Workload, before: Workload) -> bool:
    """Whether the row still stands where it was read."""
    return (current.state, current.attempt) == (before.state, before.attempt)


def message(gate: Gate, workload: Workload, height: int | None = None) -> Message:
    """What is told of a workload that came to rest: ids, numbers and masked reasons, nothing of the producer's text.

    `height`: of its block. The JSON Schema of what is sent is contracts/schemas/event.json.
    """
    decision, pin = workload.decision, workload.pin
    counts = decision.counts if decision else None
    body = {
        "workload": workload.id,
        "state": workload.state,
        "attempt": workload.attempt,
        "line": pin.chain if pin else None,
        "height": height,
        "contract_version": pin.version if pin else None,
        "verdict": decision.verdict if decision else None,
        "reasons": list(decision.reasons) if decision else [],
        "rows": counts.rows if counts else None,
        "published_rows": counts.published_rows if counts else None,
        "rejected_rows": counts.rejected_rows if counts else None,
        "checks": counts.checks if counts else None,
        "cause": workload.failed[-1].cause if workload.state is State.FAILED else None,
    }
    kind = workload.state.lower()
    identity = f"{workload.id}:{kind}:{workload.attempt}"
    return Message(identity, workload.id, kind, json.dumps(body, sort_keys=True), gate.clock.now())

"""The one conditional write that ends every operation, and how to distinguish one's own write from another's."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.errors import LakegateError
from lakegate.functions.ports.errors import ConditionFailed
from lakegate.functions.ports.workloads import Expected
from lakegate.functions.usecases.delivery_report import uri_of
from lakegate.functions.usecases.steps import ConcurrentUpdate, Effect, perform
from lakegate.functions.workload import Message, State

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakegate.contracts.lake.states import Outcome
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.workload import Decision, FailureCause, Workload


class OutcomeChanged(LakegateError):  # noqa: N818 - the name is what happened
    """An operation observed another outcome than the one it was called for; nothing was written."""

    def __init__(self, on: Outcome, cause: FailureCause | None = None, decision: Decision | None = None) -> None:
        super().__init__(on)
        self.on = on
        self.cause = cause
        self.decision = decision


def move(  # noqa: PLR0913 - the write has these parts
    dependencies: Dependencies,
    effect: Effect,
    before: Workload,
    after: Workload,
    *,
    message: Message | None = None,
    content: str | None = None,
    accepted: bool = False,
) -> Steps[Workload]:
    """Write `after` if state and attempt of the row are still those of `before`.

    1. The condition holds: done.
    2. It does not, but the row is what we wanted to write: an earlier try of ours arrived, done.
    3. The content belongs to another delivery, the line is paused or is not, or it is another delivery's turn: ConditionFailed
       with reason `content`, `pause` or `turn`, for the caller to handle.
    4. Another worker has moved the row: ConcurrentUpdate.

    A step that is done is no try any more.
    """
    after = after._replace(tries=0) if after.tries else after
    expected = Expected(before.state, before.attempt)
    try:
        save = partial(dependencies.workloads.save, after, expected, message=message)
        yield from perform(effect, partial(save, content=content or None, accepted=accepted))
    except ConditionFailed as refused:
        current = dependencies.workloads.get(before.id)
        if not is_same_write(current, after):
            if {"content", "pause", "turn"} & set(refused.reasons) and is_unchanged(current, before):
                raise
            raise ConcurrentUpdate(after.id) from None
        return current
    return after


def is_same_write(current: Workload, wanted: Workload) -> bool:
    """Whether the row is what was to be written; what belongs to the lease may differ."""
    return current._replace(due_at=wanted.due_at, tries=wanted.tries) == wanted


def is_unchanged(current: Workload, before: Workload) -> bool:
    """Whether state and attempt of the row are as they were read."""
    return (current.state, current.attempt) == (before.state, before.attempt)


def message(
    dependencies: Dependencies,
    workload: Workload,
    height: int | None = None,
    subscribers: Sequence[Mapping[str, object]] = (),
) -> Message:
    """The message about a workload that ended or waits for a person: ids, numbers and masked reasons, no text of the producer.

    `height`: of its block. `subscribers`: who asked to be notified. The JSON Schema of what is sent is
    contracts/schemas/event.json.
    """
    decision, pin = workload.decision or workload.candidate, workload.pin
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
        "cost": asdict(workload.cost) if workload.cost else None,
        "seconds": _since(pin.judging_time, dependencies.clock.now()) if pin else None,
        "cause": workload.failed[-1].cause if workload.state is State.FAILED else None,
        "subscribers": list(subscribers),
        "report": uri_of(dependencies.places.lake, workload),
        "waiver": asdict(workload.waiver) if workload.waiver and workload.state is State.PUBLISHED else None,
    }
    kind = workload.state.lower()
    return Message(message_id(workload), workload.id, kind, json.dumps(body, sort_keys=True), dependencies.clock.now())


def message_id(workload: Workload) -> str:
    """The id of the message about a workload: no two that are told of have the same state and attempt."""
    return f"{workload.id}:{workload.state.lower()}:{workload.attempt}"


def _since(judging_time: str, now: datetime) -> float:
    """Seconds from intake, or from the last replay, to now; clocks of two functions may differ."""
    return max(round((now - datetime.fromisoformat(judging_time)).total_seconds(), 3), 0.0)

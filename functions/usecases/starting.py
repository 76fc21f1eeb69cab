"""The run of an attempt, once its request is stored: of a batch, and what is stored of every run."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lakegate.contracts.lake.states import Outcome
from lakegate.functions.ports.errors import IdempotencyMismatch
from lakegate.functions.usecases.batching import cause_of_member, start_batch
from lakegate.functions.usecases.moves import OutcomeChanged, move
from lakegate.functions.usecases.steps import Effect
from lakegate.functions.workload import FailureCause

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.contracts.lake.states import State
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.workload import Workload

MINUTE = timedelta(minutes=1)


def start_in_batch(dependencies: Dependencies, workload: Workload, to: State) -> Steps[Workload]:
    """Start the run of the workload's batch, unless another member did."""
    try:
        request, run = yield from start_batch(dependencies, workload)
    except IdempotencyMismatch:
        cause = cause_of_member(dependencies, workload, FailureCause.TOKEN_TAKEN)
        raise OutcomeChanged(Outcome.CONFLICT, cause) from None
    return (yield from mark_started(dependencies, workload, to, json.loads(request), run))


def mark_started(
    dependencies: Dependencies, workload: Workload, to: State, request: Mapping[str, Any], run: str
) -> Steps[Workload]:
    """Store the id of the run that was started, and until when it may answer."""
    now, timing = dependencies.clock.now(), dependencies.timing
    minutes = request.get("executionTimeoutMinutes")
    limit = timing.grace + minutes * MINUTE if minutes else timing.invocation
    if dependencies.terms(workload).has_external:
        limit = max(limit, timing.validation)
    after = workload._replace(state=to, run=run, deadline=now + limit, due_at=now + timing.poll)
    return (yield from move(dependencies, Effect.MARK_STARTED, workload, after))

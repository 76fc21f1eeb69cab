"""Advances a workload: observes it, looks up the operation in the workflow, performs it, until it can only wait.

Any caller with any row continues the protocol at the step that the workload has reached. That is why intake,
completion, sweep and replay need no recovery code of their own.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from lakegate.contracts.lake.states import Bound, Outcome
from lakegate.contracts.lake.workflow import PUSH
from lakegate.functions.usecases.moves import OutcomeChanged
from lakegate.functions.usecases.observe import OBSERVERS, Observation, observe, result_of
from lakegate.functions.usecases.operations import OPERATIONS
from lakegate.functions.usecases.publish_delivery import settle
from lakegate.functions.usecases.steps import ConcurrentUpdate, Effect, perform
from lakegate.functions.usecases.submission import uncounted
from lakegate.functions.usecases.tidying import tidy
from lakegate.functions.workload import TERMINAL, State

if TYPE_CHECKING:
    from lakegate.contracts.lake.workflow import Transition
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.workload import Workload


POLLS: Final = 6
"""Of validators, by who has seen the end of a run."""
BETWEEN_POLLS: Final = 5.0
"""Seconds."""
TIME_TO_POLL: Final = 90.0
"""Seconds that an invocation must have left: what follows an answer, such as a copy, takes most of them."""


def advance(dependencies: Dependencies, workload: Workload) -> Steps[Workload]:
    """Advance a workload as far as possible now; a concurrent update by another worker is a good end, too."""
    try:
        if workload.state in OBSERVERS:
            workload = yield from settle(dependencies, workload)
        while workload.state in OBSERVERS:
            found = observe(dependencies, workload)
            if found is None:
                return workload
            if found.unkept is not None:
                from lakegate.functions.usecases.external_answers import keep  # noqa: PLC0415 - as the judgement

                yield from keep(dependencies, workload, found.unkept)
                continue
            workload = yield from take(dependencies, workload, found)
        if workload.state in TERMINAL:
            workload = yield from tidy(dependencies, workload)
    except ConcurrentUpdate:
        return dependencies.workloads.get(workload.id)
    return workload


def complete(dependencies: Dependencies, workload: Workload) -> Steps[Workload]:
    """Advance; where only a back-off delays the next attempt, wait for its end and continue.

    Validators that have not answered yet are asked some times more, before they are left to `sweep`.
    """
    workload = yield from advance(dependencies, workload)
    polls = POLLS
    while True:
        pause = pause_of(dependencies, workload)
        if not pause and polls and _waits_for_answers(dependencies, workload):
            pause, polls = BETWEEN_POLLS, polls - 1
        if not pause:
            return workload
        yield from perform(Effect.WAIT, partial(dependencies.clock.sleep, pause))
        workload = yield from advance(dependencies, dependencies.workloads.get(workload.id))


def _waits_for_answers(dependencies: Dependencies, workload: Workload) -> bool:
    """Whether an attempt has its own result, and only validators have not answered; and there is time to ask them."""
    if workload.state is not State.VALIDATING or not dependencies.terms(workload).has_external:
        return False
    return dependencies.remaining() >= TIME_TO_POLL and result_of(dependencies, workload) is not None


def pause_of(dependencies: Dependencies, workload: Workload) -> float:
    """Seconds until the next attempt may start; 0: there is nothing to wait for."""
    if workload.state is not State.SUBMITTING or workload.not_before is None:
        return 0.0
    pause = workload.not_before - dependencies.clock.now()
    return max(pause.total_seconds(), 0.0) if pause <= dependencies.timing.longest_backoff else 0.0


def take(dependencies: Dependencies, workload: Workload, found: Observation) -> Steps[Workload]:
    """Perform the operation that belongs to what was observed."""
    transition = _transition(dependencies, workload, found)
    try:
        return (yield from OPERATIONS[transition.operation](dependencies, workload, transition.to, found))
    except OutcomeChanged as other:
        changed = found._replace(on=other.on, cause=other.cause, decision=other.decision)
        return (yield from take(dependencies, workload, changed))


def _transition(dependencies: Dependencies, workload: Workload, found: Observation) -> Transition:
    more = uncounted(dependencies.timing, workload, found.cause)
    # an attempt that does not count says nothing about the delivery: another one follows in every workflow
    workflow = PUSH if more else dependencies.terms(workload).workflow
    transition = workflow.transition(workload.state, found.on)
    if transition.bound is Bound.ATTEMPTS and workload.attempt >= workload.limit + more:
        return workflow.transition(workload.state, Outcome.EXHAUSTED)
    return transition

"""The engine: find out, look up, do; until nothing is left but to wait.

Whoever calls it, with whatever row, re-enters the protocol at the step where the workload stands. That is why intake,
completion, sweep and replay need no recovery code of their own.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from contracts.workflow import Bound, Outcome
from functions.usecases.moves import Diverted
from functions.usecases.observe import OBSERVERS, Found, observe
from functions.usecases.operations import OPERATIONS
from functions.usecases.steps import Effect, Overtaken, perform
from functions.usecases.tidying import tidy
from functions.workload import TERMINAL, State

if TYPE_CHECKING:
    from contracts.workflow import Transition
    from functions.usecases.gate import Gate
    from functions.usecases.steps import Steps
    from functions.workload import Workload


def advance(gate: Gate, workload: Workload) -> Steps[Workload]:
    """Carry a workload as far as it goes now; being overtaken by another worker is a good end, too."""
    try:
        while workload.state in OBSERVERS:
            found = observe(gate, workload)
            if found is None:
                return workload
            workload = yield from take(gate, workload, found)
        if workload.state in TERMINAL:
            workload = yield from tidy(gate, workload)
    except Overtaken:
        return gate.workloads.get(workload.id)
    return workload


def complete(gate: Gate, workload: Workload) -> Steps[Workload]:
    """Advance; where only a back-off keeps the next attempt from its start, wait for its end and go on."""
    workload = yield from advance(gate, workload)
    while pause := pause_of(gate, workload):
        yield from perform(Effect.WAIT, partial(gate.clock.sleep, pause))
        workload = yield from advance(gate, gate.workloads.get(workload.id))
    return workload


def pause_of(gate: Gate, workload: Workload) -> float:
    """Seconds until the next attempt may start; 0: there is nothing to wait for."""
    if workload.state is not State.SUBMITTING or workload.not_before is None:
        return 0.0
    pause = workload.not_before - gate.clock.now()
    return max(pause.total_seconds(), 0.0) if pause <= gate.timing.longest_backoff else 0.0


def take(gate: Gate, workload: Workload, found: Found) -> Steps[Workload]:
    """Carry out the transition that answers what was found."""
    transition = _transition(gate, workload, found.on)
    try:
        return (yield from OPERATIONS[transition.operation](gate, workload, transition.to, found))
    except Diverted as other:
        return (yield from take(gate, workload, Found(other.on, cause=other.cause)))


def _transition(gate: Gate, workload: Workload, on: Outcome) -> Transition:
    workflow = gate.terms(workload).workflow
    transition = workflow.transition(workload.state, on)
    if transition.bound is Bound.ATTEMPTS and workload.attempt >= workload.limit:
        return workflow.transition(workload.state, Outcome.EXHAUSTED)
    return transition

"""Workflows: the transitions between states, as data, checked when they are read, then interpreted.

A transition means: for a workload in the state `source` with the observation `on`, carry out `operation`, which ends in one
conditional write to the state `to`. A workflow may configure which outcomes are retried and how often; the order of the steps is
fixed in `lakegate.contracts.lake.states.SIGNATURES`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakegate.contracts.errors import ContractError, Problem
from lakegate.contracts.lake.states import (
    END_STATES,
    ENDS,
    MOVING,
    OUTCOMES,
    SIGNATURES,
    START,
    Bound,
    Operation,
    Outcome,
    State,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table."""

    source: State
    on: Outcome
    to: State
    operation: Operation
    bound: Bound | None = None


@dataclass(frozen=True, slots=True)
class Workflow:
    """A checked table of transitions."""

    name: str
    attempts: int
    """Job runs before a workload is FAILED."""
    transitions: tuple[Transition, ...]
    _table: dict[tuple[State, Outcome], Transition] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_table", {(t.source, t.on): t for t in self.transitions})

    def transition(self, state: State, on: Outcome) -> Transition:
        """The transition for a state and an outcome. A checked workflow has one for each."""
        return self._table[state, on]

    def to_json(self) -> dict[str, object]:
        """The document that `read` reads."""
        rows = [
            {"from": t.source.value, "on": t.on.value, "to": t.to.value, "operation": t.operation.value}
            | ({"bound": t.bound.value} if t.bound else {})
            for t in self.transitions
        ]
        return {"name": self.name, "attempts": self.attempts, "transitions": rows}


DEFAULT_ATTEMPTS = 3
MOST_ATTEMPTS = 10
"""The most that a workflow may ask for."""


def read(document: Mapping[str, object], path: str = "$") -> Workflow:
    """Read and check a workflow document. Raises ContractError with every problem of the table."""
    rows = document.get("transitions")
    if not isinstance(rows, list):
        raise ContractError((_problem("workflow-shape", f"{path}.transitions", "transitions must be a list of rows"),))
    transitions, problems = [], []
    for index, row in enumerate(rows):
        try:
            transitions.append(_transition(row))
        except (KeyError, ValueError, AttributeError, TypeError):
            where = f"{path}.transitions[{index}]"
            problems.append(_problem("workflow-row", where, "needs known words under from, on, to, operation"))
    attempts = document.get("attempts")
    if not isinstance(attempts, int) or isinstance(attempts, bool) or not 1 <= attempts <= MOST_ATTEMPTS:
        problems.append(_problem("workflow-attempts", f"{path}.attempts", f"attempts must be 1 to {MOST_ATTEMPTS}"))
        attempts = 1
    known = {(row.source, row.on) for row in transitions}
    transitions += [row for row in LATER if (row.source, row.on) not in known]
    workflow = Workflow(str(document.get("name", "")), attempts, tuple(transitions))
    problems += [_problem(code, f"{path}.transitions", message) for code, message in _faults(workflow)]
    if problems:
        raise ContractError(tuple(problems))
    return workflow


def _transition(row: Mapping[str, str]) -> Transition:
    bound = Bound(row["bound"]) if "bound" in row else None
    return Transition(State(row["from"]), Outcome(row["on"]), State(row["to"]), Operation(row["operation"]), bound)


def _problem(code: str, path: str, message: str) -> Problem:
    return Problem(code, path, None, message)


def _faults(workflow: Workflow) -> Iterator[tuple[str, str]]:
    for check in (_twice, _misplaced, _unanswered, _turned, _unreachable, _endless, _unbounded):
        yield from check(workflow.transitions)


def _twice(rows: tuple[Transition, ...]) -> Iterator[tuple[str, str]]:
    seen: set[tuple[State, Outcome]] = set()
    for row in rows:
        if (row.source, row.on) in seen:
            yield "workflow-ambiguous", f"{row.source} has two transitions on {row.on}"
        seen.add((row.source, row.on))


def _misplaced(rows: tuple[Transition, ...]) -> Iterator[tuple[str, str]]:
    for row in rows:
        sources, targets = SIGNATURES[row.operation]
        if row.source not in sources or row.to not in targets:
            yield "workflow-order", f"{row.operation} must not lead from {row.source} to {row.to}"


def _unanswered(rows: tuple[Transition, ...]) -> Iterator[tuple[str, str]]:
    answered = {(row.source, row.on) for row in rows}
    wanted = {(state, outcome) for state, outcomes in OUTCOMES.items() for outcome in outcomes}
    for state, outcome in sorted(wanted - answered):
        yield "workflow-unanswered", f"{state} has no transition on {outcome}"
    for state, outcome in sorted(answered - wanted):
        yield "workflow-order", f"{state} never finds out {outcome}"


def _turned(rows: tuple[Transition, ...]) -> Iterator[tuple[str, str]]:
    for row in rows:
        if ENDS.get(row.on, row.to) != row.to:
            yield "workflow-verdict", f"{row.on} must lead to {ENDS[row.on]}"


def _reach(rows: tuple[Transition, ...], start: frozenset[State]) -> frozenset[State]:
    found = start
    while more := {row.to for row in rows if row.source in found} - found:
        found |= more
    return found


def _unreachable(rows: tuple[Transition, ...]) -> Iterator[tuple[str, str]]:
    for state in sorted(MOVING - _reach(rows, frozenset({START}))):
        yield "workflow-unreachable", f"no path leads to {state}"


def _endless(rows: tuple[Transition, ...]) -> Iterator[tuple[str, str]]:
    backwards = tuple(Transition(row.to, row.on, row.source, row.operation) for row in rows)
    for state in sorted(MOVING - _reach(backwards, END_STATES)):
        yield "workflow-endless", f"no path from {state} ends"


def _unbounded(rows: tuple[Transition, ...]) -> Iterator[tuple[str, str]]:
    free = tuple(row for row in rows if row.bound is None)
    for state in State:
        if state in _reach(free, frozenset(row.to for row in free if row.source == state)):
            yield "workflow-unbounded", f"a loop through {state} has no bound"


S, O, P = State, Outcome, Operation  # noqa: E741 - three letters keep the table below readable
PUSH = Workflow(
    "push",
    DEFAULT_ATTEMPTS,
    (
        Transition(S.RECEIVED, O.ROUTED, S.PINNED, P.PIN),
        Transition(S.RECEIVED, O.PAUSED, S.HELD, P.HOLD),
        Transition(S.RECEIVED, O.VANISHED, S.GONE, P.VANISH),
        Transition(S.RECEIVED, O.UNREADABLE, S.FAILED, P.FAIL),
        Transition(S.HELD, O.ROUTED, S.PINNED, P.PIN),
        Transition(S.HELD, O.VANISHED, S.GONE, P.VANISH),
        Transition(S.HELD, O.UNREADABLE, S.FAILED, P.FAIL),
        Transition(S.PINNED, O.PASSED, S.STAGED, P.STAGE),
        Transition(S.PINNED, O.REFUSED, S.DECIDED, P.REFUSE),
        Transition(S.PINNED, O.WAIVED, S.DECIDED, P.WAIVE),
        Transition(S.PINNED, O.VANISHED, S.GONE, P.VANISH),
        Transition(S.PINNED, O.UNREADABLE, S.FAILED, P.FAIL),
        Transition(S.STAGED, O.READY, S.SUBMITTING, P.PREPARE),
        Transition(S.SUBMITTING, O.STORED, S.VALIDATING, P.START),
        Transition(S.SUBMITTING, O.CONFLICT, S.SUBMITTING, P.PREPARE, Bound.ATTEMPTS),
        Transition(S.SUBMITTING, O.EXHAUSTED, S.FAILED, P.FAIL),
        Transition(S.VALIDATING, O.JUDGED, S.DECIDED, P.DECIDE),
        Transition(S.VALIDATING, O.UNDECIDED, S.SUBMITTING, P.PREPARE, Bound.ATTEMPTS),
        Transition(S.VALIDATING, O.LOST, S.SUBMITTING, P.PREPARE, Bound.ATTEMPTS),
        Transition(S.VALIDATING, O.EXHAUSTED, S.FAILED, P.FAIL),
        Transition(S.DECIDED, O.ACCEPTED, S.PUBLISHED, P.PUBLISH),
        Transition(S.DECIDED, O.REJECTED, S.QUARANTINED, P.PUBLISH),
        Transition(S.DECIDED, O.VANISHED, S.GONE, P.VANISH),
        Transition(S.FAILED, O.REPLAYED, S.RECEIVED, P.REVIVE, Bound.PERSON),
    ),
)
"""`workflows/push.yaml` (a test compares) for what happens before a plan is read: intake parses no YAML."""
LATER = tuple(
    row for row in PUSH.transitions if row.on in {O.UNREADABLE, O.WAIVED} or State.HELD in {row.source, row.to}
)
"""Transitions that tables of earlier releases, in published plans, do not contain: these tables are completed with them."""

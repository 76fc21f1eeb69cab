"""States, observations, and the transition table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from lakegate.plan.planned_workflow import (
    ASK,
    CALL_BACK,
    COMPARE,
    NOTIFY,
    WAIT,
    PlannedState,
    PlannedTransition,
    PlannedWorkflow,
)

# ---- States and observations ----


class State(StrEnum):
    """The states of a workload, in the order of a successful delivery."""

    RECEIVED = "RECEIVED"
    HELD = "HELD"
    PINNED = "PINNED"
    STAGED = "STAGED"
    SUBMITTING = "SUBMITTING"
    VALIDATING = "VALIDATING"
    AWAITING = "AWAITING"
    """Judged, and a person has to approve of it; nothing is claimed, and nothing is visible."""
    ANSWERED = "ANSWERED"
    SCHEDULED = "SCHEDULED"
    """Judged, and waits for a time; nothing is claimed, and nothing is visible."""
    PASSING = "PASSING"
    """Judged, and in a state of its workflow's own that is left at once; nothing is claimed, and nothing is visible."""
    DECIDED = "DECIDED"
    PUBLISHED = "PUBLISHED"
    QUARANTINED = "QUARANTINED"
    FAILED = "FAILED"
    GONE = "GONE"
    JOINED = "JOINED"
    """Of one part, or of an announcement: the delivery has a row of its own. Nothing happens to it any more."""


class Outcome(StrEnum):
    """Observations about a workload."""

    ROUTED = "routed"
    PAUSED = "paused"
    VANISHED = "vanished"
    UNREADABLE = "unreadable"
    PASSED = "passed"
    REFUSED = "refused"
    WAIVED = "waived"
    READY = "ready"
    STORED = "stored"
    CONFLICT = "conflict"
    UNDECIDED = "undecided"
    LOST = "lost"
    EXHAUSTED = "exhausted"
    ACCEPTED = "accepted"
    ACCEPTED_WITH_WARNINGS = "accepted_with_warnings"
    REJECTED = "rejected"
    ANSWERED = "answered"
    APPROVED = "approved"
    DECLINED = "declined"
    EXPIRED = "expired"
    DUE = "due"
    DONE = "done"
    USUAL = "usual"
    UNUSUAL = "unusual"
    REPLAYED = "replayed"


class Bound(StrEnum):
    """The condition of a transition beside the observation: it ends a loop, or a wait."""

    ATTEMPTS = "attempts"
    PERSON = "person"
    DATE = "date"


S, O = State, Outcome  # noqa: E741 - single letters keep the tables below readable
END_STATES = frozenset({S.PUBLISHED, S.QUARANTINED, S.FAILED, S.GONE})
"""No workload leaves them by itself: FAILED ones wait for a replay."""
PASSIVE_STATES = frozenset({S.AWAITING, S.SCHEDULED})
"""States that wait for a person or for a time: days may pass."""
JUDGED_STATES = PASSIVE_STATES | {S.ANSWERED, S.PASSING}
"""States with a verdict that is not decided on: those of the gate in which a state of a workflow's own is carried out."""

OUTCOMES: Mapping[State, frozenset[Outcome]] = {
    S.RECEIVED: frozenset({O.ROUTED, O.PAUSED, O.VANISHED, O.UNREADABLE}),
    S.HELD: frozenset({O.ROUTED, O.VANISHED, O.UNREADABLE}),
    S.PINNED: frozenset({O.PASSED, O.REFUSED, O.WAIVED, O.VANISHED, O.UNREADABLE}),
    S.STAGED: frozenset({O.READY}),
    S.SUBMITTING: frozenset({O.STORED, O.CONFLICT, O.EXHAUSTED}),
    S.VALIDATING: frozenset({O.ACCEPTED, O.ACCEPTED_WITH_WARNINGS, O.REJECTED, O.UNDECIDED, O.LOST, O.EXHAUSTED}),
    S.AWAITING: frozenset({O.ANSWERED, O.EXPIRED}),
    S.ANSWERED: frozenset({O.APPROVED, O.DECLINED}),
    S.SCHEDULED: frozenset({O.DUE, O.DECLINED}),
    S.PASSING: frozenset({O.DONE, O.USUAL, O.UNUSUAL}),
    S.DECIDED: frozenset({O.ACCEPTED, O.REJECTED, O.VANISHED}),
    S.FAILED: frozenset({O.REPLAYED}),
}
"""The possible observations in each state: a workflow has exactly one transition for each, but from own states."""


# ---- Workflows ----
# A transition means: a workload in the state `source` with the observation `on` enters the state `to`, by the act of that state
# (`STEPS` in `advance.py`), which ends in one conditional write. `PUSH` is the workflow of every delivery. A published workflow
# may have another number of attempts, another time to wait for a person, a time of publication, and transitions of
# `ALTERNATIVES` in the place of those of `PUSH`; no other transition keeps the guarantees of the gate.
#
# Between the verdict and the decision it may have states of its own. Each is carried out in a state of the gate, by its
# operation (`CARRIED_OUT_IN`): the row has both. AWAITING and SCHEDULED without a name are those of older documents.


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table."""

    source: State
    on: Outcome
    to: State
    bound: Bound | None = None
    rejects: bool = False
    """Whether what was accepted is rejected by it."""
    leaves: str = ""
    """The state of the workflow's own that is left; empty: none."""
    enters: str = ""
    """The one that is entered."""


@dataclass(frozen=True, slots=True)
class Workflow:
    """A table of transitions: one for each state and each of its outcomes, several in the order of preference from own states."""

    name: str
    attempts: int
    """Job runs before a workload is FAILED."""
    transitions: tuple[Transition, ...]
    wait_days: int
    """The days that a delivery waits for a person; then it is rejected."""
    publish_at: str = ""
    """The time of the day, UTC, at which a delivery that is SCHEDULED is published: `06:00Z`."""
    delay_hours: int = 0
    """Or how long after its verdict, or its approval."""
    waits_for: str = "person"
    """The party that is asked in AWAITING: a person, or by a `CALLBACK` another system, too."""
    states: tuple[PlannedState, ...] = ()
    """Of its own."""
    _table: dict[tuple[State, str, Outcome], list[Transition]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        table: dict[tuple[State, str, Outcome], list[Transition]] = {}
        for each in self.transitions:
            table.setdefault((each.source, each.leaves, each.on), []).append(each)
        object.__setattr__(self, "_table", table)

    def transition(self, state: State, on: Outcome, passed: tuple[str, ...] = ()) -> Transition:
        """The transition for a state and an outcome, given the own states that were entered, the one that is left last.

        It is the first whose own state may be entered once more. If there is none, what was judged is rejected: a document that
        makes this possible is refused.
        """
        leaves = passed[-1] if passed and state in JUDGED_STATES else ""
        for row in self._table[state, leaves, on]:
            if not row.enters or passed.count(row.enters) < self.own(row.enters).entries:
                return row
        return Transition(state, on, State.DECIDED, rejects=True, leaves=leaves)

    def own(self, name: str) -> PlannedState:
        """The own state of a name; of AWAITING and SCHEDULED, what older documents say of them."""
        by_name = {each.name: each for each in (*self.states, *self._of_older_documents())}
        return by_name[name]

    def _of_older_documents(self) -> Iterator[PlannedState]:
        yield PlannedState(S.AWAITING, CALL_BACK if self.waits_for == CALLBACK else ASK, days=self.wait_days)
        yield PlannedState(S.SCHEDULED, WAIT, until=self.publish_at, hours=self.delay_hours)

    def longest_after(self, name: str) -> timedelta:
        """The longest time for which a delivery can wait after the current wait in an own state."""
        own = self.states or tuple(self._of_older_documents())
        waits = sum((longest_wait(each) * each.entries for each in own), timedelta())
        return waits - longest_wait(self.own(name))

    @property
    def reached(self) -> tuple[Transition, ...]:
        """The transitions from states that a delivery can come to."""
        states, more = {(State.RECEIVED, "")}, True
        while more:
            left = [each for each in self.transitions if (each.source, each.leaves) in states]
            after = {(each.to, each.leaves if each.to is State.ANSWERED else each.enters) for each in left}
            states, more = states | after, not after <= states
        return tuple(each for each in self.transitions if (each.source, each.leaves) in states)


def date_after(state: PlannedState, began: datetime) -> datetime:
    """The time at which a wait is over that began at a time."""
    if not state.until:
        return began + timedelta(hours=state.hours)
    hour, minute = map(int, state.until.removesuffix("Z").split(":"))
    today = began.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return today if today >= began else today + timedelta(days=1)


def longest_wait(state: PlannedState) -> timedelta:
    """The longest time in an own state, from one entry."""
    if state.operation in ASKING:
        return timedelta(days=state.days)
    return timedelta(days=1) if state.until else timedelta(hours=state.hours)


DEFAULT_ATTEMPTS: Final = 3
DEFAULT_WAIT_DAYS: Final = 7
CALLBACK: Final = "callback"
ASKING: Final = frozenset({ASK, CALL_BACK})
CARRIED_OUT_IN: Final[Mapping[str, State]] = {
    **dict.fromkeys(ASKING, S.AWAITING),
    WAIT: S.SCHEDULED,
    **dict.fromkeys((NOTIFY, COMPARE), S.PASSING),
}
"""The state of the gate for each operation of own states."""
OWN_OUTCOMES: Final[Mapping[str, Mapping[Outcome, State]]] = {
    ASK: {O.APPROVED: S.ANSWERED, O.DECLINED: S.ANSWERED, O.EXPIRED: S.AWAITING},
    CALL_BACK: {O.APPROVED: S.ANSWERED, O.DECLINED: S.ANSWERED, O.EXPIRED: S.AWAITING},
    WAIT: {O.DUE: S.SCHEDULED},
    NOTIFY: {O.DONE: S.PASSING},
    COMPARE: {O.USUAL: S.PASSING, O.UNUSUAL: S.PASSING},
}
"""The observations that a document names for own states, with the state of the gate in which each is made."""

PUSH = Workflow(
    "push",
    DEFAULT_ATTEMPTS,
    (
        Transition(S.RECEIVED, O.ROUTED, S.PINNED),
        Transition(S.RECEIVED, O.PAUSED, S.HELD),
        Transition(S.RECEIVED, O.VANISHED, S.GONE),
        Transition(S.RECEIVED, O.UNREADABLE, S.FAILED),
        Transition(S.HELD, O.ROUTED, S.PINNED),
        Transition(S.HELD, O.VANISHED, S.GONE),
        Transition(S.HELD, O.UNREADABLE, S.FAILED),
        Transition(S.PINNED, O.PASSED, S.STAGED),
        Transition(S.PINNED, O.REFUSED, S.DECIDED),
        Transition(S.PINNED, O.WAIVED, S.DECIDED),
        Transition(S.PINNED, O.VANISHED, S.GONE),
        Transition(S.PINNED, O.UNREADABLE, S.FAILED),
        Transition(S.STAGED, O.READY, S.SUBMITTING),
        Transition(S.SUBMITTING, O.STORED, S.VALIDATING),
        Transition(S.SUBMITTING, O.CONFLICT, S.SUBMITTING, Bound.ATTEMPTS),
        Transition(S.SUBMITTING, O.EXHAUSTED, S.FAILED),
        Transition(S.VALIDATING, O.ACCEPTED, S.DECIDED),
        Transition(S.VALIDATING, O.ACCEPTED_WITH_WARNINGS, S.DECIDED),
        Transition(S.VALIDATING, O.REJECTED, S.DECIDED),
        Transition(S.VALIDATING, O.UNDECIDED, S.SUBMITTING, Bound.ATTEMPTS),
        Transition(S.VALIDATING, O.LOST, S.SUBMITTING, Bound.ATTEMPTS),
        Transition(S.VALIDATING, O.EXHAUSTED, S.FAILED),
        Transition(S.AWAITING, O.ANSWERED, S.ANSWERED, Bound.PERSON),
        Transition(S.AWAITING, O.EXPIRED, S.DECIDED, rejects=True),
        Transition(S.ANSWERED, O.APPROVED, S.DECIDED),
        Transition(S.ANSWERED, O.DECLINED, S.DECIDED, rejects=True),
        Transition(S.SCHEDULED, O.DUE, S.DECIDED, Bound.DATE),
        Transition(S.SCHEDULED, O.DECLINED, S.DECIDED, Bound.PERSON, rejects=True),
        Transition(S.DECIDED, O.ACCEPTED, S.PUBLISHED),
        Transition(S.DECIDED, O.REJECTED, S.QUARANTINED),
        Transition(S.DECIDED, O.VANISHED, S.GONE),
        Transition(S.FAILED, O.REPLAYED, S.RECEIVED, Bound.PERSON),
    ),
    DEFAULT_WAIT_DAYS,
)
"""The workflow of every delivery whose contract names no other one, and of what happens before a plan is pinned.

Nothing leads to AWAITING or SCHEDULED in it: its transitions from there are those of the workflows that ask a person, or wait.
PASSING is a state of workflows with states of their own alone.
"""
ALTERNATIVES: Final = (
    Transition(S.SUBMITTING, O.CONFLICT, S.FAILED),
    Transition(S.VALIDATING, O.UNDECIDED, S.FAILED),
    Transition(S.VALIDATING, O.LOST, S.FAILED),
    Transition(S.VALIDATING, O.ACCEPTED, S.AWAITING),
    Transition(S.VALIDATING, O.ACCEPTED_WITH_WARNINGS, S.AWAITING),
    Transition(S.VALIDATING, O.ACCEPTED, S.SCHEDULED),
    Transition(S.VALIDATING, O.ACCEPTED_WITH_WARNINGS, S.SCHEDULED),
    Transition(S.ANSWERED, O.APPROVED, S.SCHEDULED),
)
"""Alternatives of a published workflow: no retry, asking a person before anything is published, waiting for a time."""


def choices(source: str, when: str) -> tuple[Transition, ...]:
    """The transitions that a workflow may have for an observation, that of `PUSH` first; none if it is no observation."""
    return tuple(
        transition
        for transition in (*PUSH.transitions, *ALTERNATIVES)
        if (transition.source, transition.on) == (source, when)
    )


def workflow_of(pinned: PlannedWorkflow | None) -> Workflow:
    """The workflow of a plan: `PUSH` with other numbers, with another state after some observations, and with its own states.

    Raises StopIteration for a transition that is none of the `choices`: reading the document refuses it.
    """
    if pinned is None:
        return PUSH
    own = {state.name: state for state in pinned.states}
    chosen = [_transition(row, own) for row in pinned.transitions]
    replaced = {(each.source, each.leaves, each.on) for each in chosen}
    kept = [
        each
        for each in (*PUSH.transitions, *(row for state in pinned.states for row in _defaults(state)))
        if (each.source, each.leaves, each.on) not in replaced
    ]
    given = (pinned.wait_days, pinned.publish_at, pinned.delay_hours, pinned.waits_for, pinned.states)
    return Workflow(pinned.name, pinned.attempts, (*kept, *chosen), *given)


def _transition(planned: PlannedTransition, own: Mapping[str, PlannedState]) -> Transition:
    """A transition of a document; from and to own states, or one of the `choices`."""
    if planned.source not in own and planned.to not in own:
        return next(row for row in choices(planned.source, planned.when) if row.to == planned.to)
    on, enters = Outcome(planned.when), own.get(planned.to)
    to = CARRIED_OUT_IN[enters.operation] if enters else State.DECIDED
    name = enters.name if enters else ""
    if planned.source not in own:
        return Transition(State(planned.source), on, to, enters=name)
    source = OWN_OUTCOMES[own[planned.source].operation][on]
    bound = Bound.DATE if on is Outcome.DUE else None
    return Transition(source, on, to, bound, planned.to == State.QUARANTINED, planned.source, name)


def _defaults(state: PlannedState) -> Iterator[Transition]:
    """What follows in an own state where the document says nothing: the answer is read, and nothing is published."""
    if state.operation in ASKING:
        yield Transition(S.AWAITING, O.ANSWERED, S.ANSWERED, Bound.PERSON, leaves=state.name)
        yield Transition(S.AWAITING, O.EXPIRED, S.DECIDED, rejects=True, leaves=state.name)
        yield Transition(S.ANSWERED, O.DECLINED, S.DECIDED, rejects=True, leaves=state.name)
    elif state.operation == WAIT:
        yield Transition(S.SCHEDULED, O.DECLINED, S.DECIDED, Bound.PERSON, rejects=True, leaves=state.name)

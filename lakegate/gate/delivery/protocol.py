"""States, observations, and the transition table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from lakegate.plan.planned_workflow import PlannedWorkflow

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
    """Judged, and published at a time; nothing is claimed, and nothing is visible."""
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
    S.DECIDED: frozenset({O.ACCEPTED, O.REJECTED, O.VANISHED}),
    S.FAILED: frozenset({O.REPLAYED}),
}
"""The possible observations in each state: a workflow has exactly one transition for each."""


# ---- Workflows ----
# A transition means: a workload in the state `source` with the observation `on` enters the state `to`, by the act of that state
# (`STEPS` in `advance.py`), which ends in one conditional write. `PUSH` is the workflow of every delivery. A published workflow
# may have another number of attempts, another time to wait for a person, a time of publication, and transitions of
# `ALTERNATIVES` in the place of those of `PUSH`; no other transition keeps the guarantees of the gate.


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table."""

    source: State
    on: Outcome
    to: State
    bound: Bound | None = None


@dataclass(frozen=True, slots=True)
class Workflow:
    """A table of transitions: one for each state and each of its outcomes."""

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
    _table: dict[tuple[State, Outcome], Transition] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_table", {(t.source, t.on): t for t in self.transitions})

    def transition(self, state: State, on: Outcome) -> Transition:
        """The transition for a state and an outcome."""
        return self._table[state, on]

    def date_after(self, began: datetime) -> datetime:
        """The time when a delivery is published whose verdict, or approval, is of a time."""
        if not self.publish_at:
            return began + timedelta(hours=self.delay_hours)
        hour, minute = map(int, self.publish_at.removesuffix("Z").split(":"))
        today = began.replace(hour=hour, minute=minute, second=0, microsecond=0)
        return today if today >= began else today + timedelta(days=1)

    @property
    def longest_delay(self) -> timedelta:
        """From when a delivery is scheduled to its time."""
        return timedelta(days=1) if self.publish_at else timedelta(hours=self.delay_hours)

    @property
    def reached(self) -> tuple[Transition, ...]:
        """The transitions from states that a delivery can come to."""
        states, more = {State.RECEIVED}, True
        while more:
            found = {transition.to for transition in self.transitions if transition.source in states} - states
            states, more = states | found, bool(found)
        return tuple(transition for transition in self.transitions if transition.source in states)


DEFAULT_ATTEMPTS: Final = 3
DEFAULT_WAIT_DAYS: Final = 7
CALLBACK: Final = "callback"

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
        Transition(S.AWAITING, O.EXPIRED, S.DECIDED),
        Transition(S.ANSWERED, O.APPROVED, S.DECIDED),
        Transition(S.ANSWERED, O.DECLINED, S.DECIDED),
        Transition(S.SCHEDULED, O.DUE, S.DECIDED, Bound.DATE),
        Transition(S.SCHEDULED, O.DECLINED, S.DECIDED, Bound.PERSON),
        Transition(S.DECIDED, O.ACCEPTED, S.PUBLISHED),
        Transition(S.DECIDED, O.REJECTED, S.QUARANTINED),
        Transition(S.DECIDED, O.VANISHED, S.GONE),
        Transition(S.FAILED, O.REPLAYED, S.RECEIVED, Bound.PERSON),
    ),
    DEFAULT_WAIT_DAYS,
)
"""The workflow of every delivery whose contract names no other one, and of what happens before a plan is pinned.

Nothing leads to AWAITING or SCHEDULED in it: its transitions from there are those of the workflows that ask a person, or wait.
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
    """The workflow of a plan: `PUSH` with other numbers, and with another state after some observations.

    Raises StopIteration for a transition that is none of the `choices`: reading the document refuses it.
    """
    if pinned is None:
        return PUSH
    chosen = [
        next(row for row in choices(transition.source, transition.when) if row.to == transition.to)
        for transition in pinned.transitions
    ]
    table = {(transition.source, transition.on): transition for transition in (*PUSH.transitions, *chosen)}
    given = (pinned.wait_days, pinned.publish_at, pinned.delay_hours, pinned.waits_for)
    return Workflow(pinned.name, pinned.attempts, tuple(table.values()), *given)

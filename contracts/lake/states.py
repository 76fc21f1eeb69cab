"""The states of a workload, what can be observed in each, and the operations that lead from one to another."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


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


class Operation(StrEnum):
    """Operations on a workload; each ends in exactly one conditional write."""

    PIN = "pin"
    HOLD = "hold"
    REFUSE = "refuse"
    WAIVE = "waive"
    STAGE = "stage"
    PREPARE = "prepare"
    START = "start"
    ASK = "ask"
    ANSWER = "answer"
    SCHEDULE = "schedule"
    DECIDE = "decide"
    PUBLISH = "publish"
    FAIL = "fail"
    VANISH = "vanish"
    REVIVE = "revive"


class Bound(StrEnum):
    """What a transition depends on beside the observation: it ends a loop, or a wait."""

    ATTEMPTS = "attempts"
    PERSON = "person"
    DATE = "date"


S, O = State, Outcome  # noqa: E741 - two letters keep the table below readable

END_STATES = frozenset({S.PUBLISHED, S.QUARANTINED, S.FAILED, S.GONE})
"""No workload leaves them by itself: FAILED ones wait for a replay."""
PASSIVE_STATES = frozenset({S.AWAITING, S.SCHEDULED})
"""What was judged waits for a person or for a time: days may pass."""

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

"""The workflow of a dataset, as a plan has it: what differs from the workflow of all other deliveries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Final

from lakegate.base.json_codec import DOCUMENT_NAME, Bounds, Pattern, Permitted, omit_default

Word = Annotated[str, Bounds(most=40)]
TimeOfDay = Annotated[str, Pattern("(([01][0-9]|2[0-3]):[0-5][0-9]Z)?")]
"""UTC: `06:00Z`; empty: none."""
TRANSFER, VALIDATE = "transfer", "validate"
ASK, CALL_BACK, WAIT, NOTIFY, COMPARE = "ask", "call-back", "wait", "notify", "compare"
OPERATIONS: Final = (TRANSFER, VALIDATE, ASK, CALL_BACK, WAIT, NOTIFY, COMPARE)
"""The operations of states of a workflow's own: those of the gate that are idempotent, and publish nothing."""


@dataclass(frozen=True, slots=True)
class PlannedState:
    """A state of a workflow's own, between the verdict and the decision; with `transfer` or `validate`, a name for one before."""

    name: Word
    operation: Annotated[str, Permitted(OPERATIONS)]
    """The operation of every transition that leads to it."""
    entries: Annotated[int, Bounds(1, 10)] = 1
    """How often a delivery may enter it."""
    days: Annotated[int, Bounds(1, 30)] = 7
    """Of `ask` and `call-back`: how long an answer is waited for."""
    another: bool = True
    """Of these: whether who approves has to be another person than those who approved before."""
    until: TimeOfDay = ""
    """Of `wait`: the time of the day at which it is over."""
    hours: Annotated[int, Bounds(0, 168)] = 0
    """Or how long it is."""


@dataclass(frozen=True, slots=True)
class PlannedTransition:
    """To which state an observation leads: the words of `lakegate.gate.delivery.protocol`, and names of the workflow's own."""

    source: Word = field(metadata={DOCUMENT_NAME: "from"})
    when: Word
    to: Word


@dataclass(frozen=True, slots=True)
class PlannedWorkflow:
    """A published workflow, pinned with the plan."""

    name: Annotated[str, Bounds(most=120)]
    """With its version, e.g. `strict@1.2.0`."""
    attempts: Annotated[int, Bounds(1, 10)]
    transitions: Annotated[tuple[PlannedTransition, ...], Bounds(most=50)] = ()
    wait_days: Annotated[int, Bounds(1, 30)] = 7
    """The days that a delivery waits for a person."""
    publish_at: TimeOfDay = ""
    """The time of the day at which a delivery that is SCHEDULED is published: `06:00Z`."""
    delay_hours: Annotated[int, Bounds(0, 168)] = 0
    """Or how long it stays so."""
    waits_for: Annotated[str, Permitted(("person", "callback"))] = "person"
    """The party that is asked: a person, or by a `callback` another system, too."""
    states: Annotated[tuple[PlannedState, ...], Bounds(most=20)] = omit_default(())
    """Of its own; of several transitions from one of them for an observation, the first that can be taken is."""

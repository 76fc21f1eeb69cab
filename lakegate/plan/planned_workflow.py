"""The workflow of a dataset, as a plan has it: what differs from the workflow of all other deliveries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from lakegate.base.json_codec import DOCUMENT_NAME, Bounds, Pattern, Permitted

Word = Annotated[str, Bounds(most=40)]


@dataclass(frozen=True, slots=True)
class PlannedTransition:
    """To which state an observation leads; the words of `lakegate.gate.delivery.protocol`."""

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
    publish_at: Annotated[str, Pattern("(([01][0-9]|2[0-3]):[0-5][0-9]Z)?")] = ""
    """The time of the day at which a delivery that is SCHEDULED is published: `06:00Z`."""
    delay_hours: Annotated[int, Bounds(0, 168)] = 0
    """Or how long it stays so."""
    waits_for: Annotated[str, Permitted(("person", "callback"))] = "person"
    """The party that is asked: a person, or by a `callback` another system, too."""

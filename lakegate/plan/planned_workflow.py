"""The workflow of a dataset, as a plan has it: what differs from the workflow of all other deliveries."""

from __future__ import annotations

from dataclasses import dataclass, field

from lakegate.json_codec import DOCUMENT_NAME


@dataclass(frozen=True, slots=True)
class PlannedTransition:
    """To which state an observation leads; the words of `lakegate.gate.delivery.protocol`."""

    source: str = field(metadata={DOCUMENT_NAME: "from"})
    when: str
    to: str


@dataclass(frozen=True, slots=True)
class PlannedWorkflow:
    """A published workflow, pinned with the plan."""

    name: str
    """With its version, e.g. `strict@1.2.0`."""
    attempts: int
    transitions: tuple[PlannedTransition, ...] = ()
    wait_days: int = 7
    """How long a delivery waits for a person."""
    publish_at: str = ""
    """The time of the day at which a delivery that is SCHEDULED is published: `06:00Z`."""
    delay_hours: int = 0
    """Or how long it stays so."""
    waits_for: str = "person"
    """Who is asked: a person, or by a `callback` another system, too."""

"""How the decision of a person about a delivery is carried out.

Every kind has the same steps. 1. Who decides what, when and why is appended to the chain of the delivery, once for each event
(`lakegate.gate.ledger.commit.append`). 2. One conditional write carries it out: the row as it was read becomes another one, or
a row is created that was not there. 3. The delivery is advanced as far as the person may, and the next sweep does the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, NamedTuple

from lakegate.base.errors import InputError, SigningDenied
from lakegate.base.extension_points import attribute_at, load_extension, names
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Steps
from lakegate.gate.person_decisions import PERSON_DECISIONS, WantedDecision

DECISIONS: Final = "decisions"
"""The extension point of decisions that features carry out: a `DecisionKind` by its name in the table."""


class DecisionKind(NamedTuple):
    """When a decision of the table is legal, and what carries it out."""

    is_legal: Callable[[Dependencies, Workload], bool]
    """Whether it may be made about a delivery now, or repeated."""
    is_made: Callable[[Workload], bool]
    """Whether it is not legal any more because it was made."""
    refusal: Callable[[Workload], str]
    """The sentence that says why it is not legal; empty where the state of the delivery says enough."""
    carry_out: Callable[[Dependencies, str, Any], Steps[Workload]]
    """Called with the id of a workload and what the person wants, as the table says. Records who decides before anything is
    started, and returns the workload that is to be advanced. Idempotent; raises InputError where it is not legal."""
    chooses: bool = False
    """Whether a landing key means the newest delivery that it is legal for, in place of the newest upload."""


def kind_of(decision: str) -> DecisionKind | None:
    """The kind of a decision of the table; None where its feature is absent."""
    place = PERSON_DECISIONS[decision].kind
    if not place and decision not in names(DECISIONS):
        return None
    kind: DecisionKind = attribute_at(place) if place else load_extension(DECISIONS, decision)
    return kind


def legal(dependencies: Dependencies, row: Workload) -> tuple[str, ...]:
    """The decisions that are legal now; of a delivery with a successor, the one that led to it, which may be repeated."""
    kinds = ((decision, kind_of(decision)) for decision in PERSON_DECISIONS)
    return tuple(decision for decision, kind in kinds if kind is not None and kind.is_legal(dependencies, row))


def carry_out(dependencies: Dependencies, workload: str, wanted: WantedDecision) -> Steps[Workload]:
    """The workload that is to be advanced; who decides is recorded on the chain of the delivery before anything is started.

    Raises InputError where the decision is not legal now, and for what the person wants.
    """
    kind = kind_of(wanted.transition)
    if kind is None:
        raise InputError(f"this installation has no feature to {wanted.transition} deliveries")
    return kind.carry_out(dependencies, workload, wanted)


def decide(dependencies: Dependencies, workload: str, wanted: WantedDecision) -> Steps[str]:
    """Carry out what a person decides, and advance. Returns the id of the workload that is judged, accepted or rejected.

    Raises as `carry_out` does.
    """
    row = yield from carry_out(dependencies, workload, wanted)
    return (yield from advance_decided(dependencies, row))


def advance_decided(dependencies: Dependencies, row: Workload) -> Steps[str]:
    """Advance the workload of a person's decision as far as that person may, and return its id.

    A person has no right to companions of an attempt: `sweep` starts and asks them.
    """
    with suppress(SigningDenied):  # a person may not sign: `sweep` commits what is decided
        yield from advance(DeliveryTurn(replace(dependencies, is_function=False), row))
    return row.id

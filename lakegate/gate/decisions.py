"""Decisions of people about deliveries: kinds, when each is possible, and how it is carried out.

Every kind has the same steps. 1. Who decides what, when and why is appended to the chain of the delivery, once for each event
(`lakegate.gate.ledger.commit.append`). 2. One conditional write carries it out: the row as it was read becomes another one, or
a row is created that was not there. 3. The delivery is advanced as far as the person may, and the next sweep does the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple

from lakegate.base.errors import InputError, SigningDenied
from lakegate.base.extension_points import loaded, names
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import END_STATES, PersonTransition
from lakegate.gate.delivery.replay import is_replayable, judge_again, unreplayable
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Steps

DECISIONS: Final = "decisions"
"""The extension point of decisions that features carry out: a `DecisionKind` by the name of the transition."""


class DecisionKind(NamedTuple):
    """A decision that a person may make."""

    is_legal: Callable[[Dependencies, Workload], bool]
    """Whether it may be made about a delivery now, or repeated."""
    is_made: Callable[[Workload], bool]
    """Whether it is not legal any more because it was made."""
    refusal: Callable[[Workload], str]
    """The sentence that says why it is not legal; empty where the state of the delivery says enough."""
    carry_out: Callable[..., Steps[Workload]]
    """Called with dependencies, the id of a workload, and what the person gave, by name. Records who decides before anything
    is started, and returns the workload that is to be advanced. Idempotent; raises InputError where it is not legal."""


REPLAY: Final = DecisionKind(is_replayable, lambda row: row.state not in END_STATES, unreplayable, judge_again)


def kind_of(wanted: PersonTransition) -> DecisionKind | None:
    """The kind of a decision; None where its feature is absent."""
    if wanted is PersonTransition.REPLAY:
        return REPLAY
    if wanted not in names(DECISIONS):
        return None
    found: DecisionKind = loaded(DECISIONS, wanted)
    return found


def legal(dependencies: Dependencies, row: Workload) -> tuple[PersonTransition, ...]:
    """The decisions that are legal now; of a delivery with a successor, the one that led to it, which may be repeated."""
    kinds = ((each, kind_of(each)) for each in PersonTransition)
    return tuple(each for each, kind in kinds if kind is not None and kind.is_legal(dependencies, row))


def carried_out(dependencies: Dependencies, wanted: PersonTransition, workload: str, **given: str) -> Steps[Workload]:
    """The workload that is to be advanced; who decides is recorded on the chain of the delivery before anything is started.

    `given`: the `version` of a replay, the `reason` and end (`expires`) of a waiver, the `reason` for declining.
    Raises InputError where the decision is not legal now, and for what was given.
    """
    kind = kind_of(wanted)
    if kind is None:
        raise InputError(f"this installation has no feature to {wanted} deliveries")
    return kind.carry_out(dependencies, workload, **given)


def decide(dependencies: Dependencies, wanted: PersonTransition, workload: str, **given: str) -> Steps[str]:
    """Carry out what a person decides, and advance. Returns the id of the workload that is judged, accepted or rejected.

    Raises as `carried_out` does.
    """
    row = yield from carried_out(dependencies, wanted, workload, **given)
    return (yield from advanced(dependencies, row))


def advanced(dependencies: Dependencies, row: Workload) -> Steps[str]:
    """Advance the workload of a person's decision as far as that person may, and return its id.

    A person has no right to companions of an attempt: `sweep` starts and asks them.
    """
    with suppress(SigningDenied):  # a person may not sign: `sweep` commits what is decided
        yield from advance(DeliveryTurn(replace(dependencies, is_function=False), row))
    return row.id

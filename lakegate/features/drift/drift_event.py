"""The event about accepted data that drifts; apart from the comparison, as functions without its readers know the kind, too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from lakegate.base.json_codec import Bounds, Exact, NotEmpty, Permitted
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.gate.event_bodies import EventSubscriber


@dataclass(frozen=True, slots=True)
class DriftedField:
    """A difference of accepted objects from the contract."""

    difference: Annotated[str, Permitted(("absent", "type", "unreadable", "missing", "replaced"))]
    field: str | None
    """A declared field; null for the whole object."""
    objects: Exact


@dataclass(frozen=True, slots=True)
class DriftEvent:
    """The body of an event about accepted data that drifts."""

    dataset: NotEmpty = field(metadata=DATASET_KEY)
    contract_version: NotEmpty
    compared: Exact
    """Accepted objects that were compared."""
    drifted: Exact
    """Those that differ."""
    newest_height: Exact
    """Of the newest delivery that differs."""
    fields: Annotated[tuple[DriftedField, ...], Bounds(1)]
    subscribers: tuple[EventSubscriber, ...]

"""What is pulled: when, from where, and that it is one object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contract.delivery_policy import DeliveryUnit
from lakegate.contract.schedules import ScheduleError, schedule
from lakegate.lints.findings import extensions_of
from lakegate.text import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contract.contract_model import Contract, Dataset
    from lakegate.contract.delivery_policy import Pull
    from lakegate.contract.documents.document_tree import Document, Place
    from lakegate.lints.findings import Finding

# ---- What is pulled: when, from where, and that it is one object ---------------------------------------------------


def without_schedule(contract: Contract, document: Document) -> Iterator[Finding]:
    """What is pulled has a schedule that EventBridge knows, or a service level `frequency` of 5 minutes at least."""
    from lakegate.features.pull.pull_settings import pull_schedule  # noqa: PLC0415 - a feature

    for place in _places(document):
        text = place["schedule"].text
        try:
            schedule(text or "rate(5 minutes)")
        except ScheduleError as wrong:
            yield place["schedule"].path, f"{shown(text)} is no schedule: {wrong}."
    idle = [each for each, pull in _pulled(contract) if not (pull.schedule or pull_schedule(each.rules))]
    if idle:
        words = f"Nothing says how often {shown(idle[0].name)} is fetched"
        for place in _places(document):
            if not place["schedule"].present:
                yield place.path, f"{words}: write `schedule: rate(1 hour)`, or a `frequency` of at least 5 minutes."


def in_parts(contract: Contract, document: Document) -> Iterator[Finding]:
    """A pull fetches one object, which is one delivery."""
    if any(each.policy.delivery is not DeliveryUnit.OBJECT for each, _ in _pulled(contract)):
        for place in _places(document):
            yield place.path, "A pull fetches one object: remove `pull`, or say `delivery: object`."


def without_source(contract: Contract, document: Document) -> Iterator[Finding]:
    """DCM's `access.eventType: pull` needs a source."""
    place = document.top["access"]["eventType"]
    if place.text == "pull" and not list(_pulled(contract)):
        words = "Nothing says where this is fetched from, so that deliveries have to be brought"
        yield place.path, f"{words}: write `pull: {{source: …, schedule: …}}` in `specific.lakegate`."


def _places(document: Document) -> Iterator[Place]:
    return (place["pull"] for place in extensions_of(document) if place["pull"].entries)


def _pulled(contract: Contract) -> Iterator[tuple[Dataset, Pull]]:
    return ((each, each.policy.pull) for each in contract.datasets if each.policy.pull)

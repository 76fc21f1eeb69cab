"""Reads service levels. Those with a timestamp field can be measured on a delivery; the checks of all others are skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.documents.values import exact
from lakegate.contracts.model.contract import Rule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from lakegate.contracts.documents.nodes import Place

KIND = "serviceLevel"


def element_rules(levels: Place, dataset: str, known: Collection[str]) -> Iterator[Rule]:
    """The service levels of a list that refer to a dataset (`element: orders.placed_at`), or to none that is `known`."""
    for ordinal, place in enumerate(levels.items, start=1):
        elements = [each.strip() for each in (place["element"].text or "").split(",")]
        tables = {each.partition(".")[0] for each in elements}
        if dataset in tables or tables.isdisjoint(known):
            name = place["property"].text or ""
            arguments = {"property": name, "value": exact(place["value"]), "unit": place["unit"].text}
            fields = _fields(elements, dataset)
            yield Rule(f"{name}:{KIND}:{ordinal}", KIND, place.origin, fields, arguments, name=name)


def _fields(elements: Iterable[str], dataset: str) -> tuple[str, ...]:
    """The fields of a dataset among the elements, in order: `placed_at` for `orders.placed_at`."""
    parts = (each.partition(".") for each in elements)
    return tuple(dict.fromkeys(field for table, _, field in parts if table == dataset and field))


MAIN = {
    "availability": ("percentage",),
    "retention": ("period", "unlimited"),
    "latency": ("threshold",),
    "freshness": ("threshold",),
    "frequency": ("interval", "cron"),
    "support": ("responseTime", "time"),
    "backup": ("interval", "cron"),
}
"""The keys of DCS with the value of a service level; the first that is present is used."""
TIMESTAMPS = ("timestampField", "sourceTimestampField", "processedTimestampField")


def named_rules(levels: Place, dataset: str, known: Collection[str]) -> Iterator[Rule]:
    """The service levels of DCS that refer to a dataset (`timestampField: orders.placed_at`), or to none that is `known`."""
    for name, place in levels.entries.items():
        timestamps = {key: text for key in TIMESTAMPS if (text := place[key].text)}
        tables = {each.partition(".")[0] for each in timestamps.values()}
        if dataset in tables or tables.isdisjoint(known):
            main = next((place[key] for key in MAIN.get(name, ()) if place[key].present), place)
            arguments = {"property": name, "value": exact(main), "unit": None}
            fields = _fields(timestamps.values(), dataset)
            yield Rule(f"{name}:{KIND}:1", KIND, place.origin, fields, arguments | timestamps, name=name)


def key_rules(levels: Place) -> Iterator[Rule]:
    """The service levels of a mapping: one per key."""
    for name, place in levels.entries.items():
        arguments = {"property": name, "value": exact(place), "unit": None}
        yield Rule(f"{name}:{KIND}:1", KIND, place.origin, (), arguments, name=name)

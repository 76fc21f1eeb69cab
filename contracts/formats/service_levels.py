"""Reads service levels: those that name a field of moments can be measured on a delivery, all others are named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contracts.formats.values import exact
from contracts.model import Rule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from contracts.nodes import Place

KIND = "serviceLevel"


def element_rules(levels: Place, dataset: str, known: Collection[str]) -> Iterator[Rule]:
    """The levels of a list that speak of a dataset (`element: orders.placed_at`), or of none that is `known`."""
    for ordinal, place in enumerate(levels.items, start=1):
        elements = [each.strip() for each in (place["element"].text or "").split(",")]
        tables = {each.partition(".")[0] for each in elements}
        if dataset in tables or tables.isdisjoint(known):
            name = place["property"].text or ""
            arguments = {"property": name, "value": exact(place["value"]), "unit": place["unit"].text}
            fields = _fields(elements, dataset)
            yield Rule(f"{name}:{KIND}:{ordinal}", KIND, place.origin, fields, arguments, name=name)


def _fields(elements: Iterable[str], dataset: str) -> tuple[str, ...]:
    """The fields among elements of a dataset, in order: `placed_at` of `orders.placed_at`."""
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
"""The keys of DCS that say how much a level promises: the first of them that is there is its value."""
TIMESTAMPS = ("timestampField", "sourceTimestampField", "processedTimestampField")


def named_rules(levels: Place, dataset: str, known: Collection[str]) -> Iterator[Rule]:
    """The levels of DCS that speak of a dataset (by `timestampField: orders.placed_at`), or of none that is `known`."""
    for name, place in levels.entries.items():
        said = {key: text for key in TIMESTAMPS if (text := place[key].text)}
        tables = {each.partition(".")[0] for each in said.values()}
        if dataset in tables or tables.isdisjoint(known):
            main = next((place[key] for key in MAIN.get(name, ()) if place[key].present), place)
            arguments = {"property": name, "value": exact(main), "unit": None}
            fields = _fields(said.values(), dataset)
            yield Rule(f"{name}:{KIND}:1", KIND, place.origin, fields, arguments | said, name=name)


def key_rules(levels: Place) -> Iterator[Rule]:
    """The levels of a mapping: each key is one."""
    for name, place in levels.entries.items():
        arguments = {"property": name, "value": exact(place), "unit": None}
        yield Rule(f"{name}:{KIND}:1", KIND, place.origin, (), arguments, name=name)

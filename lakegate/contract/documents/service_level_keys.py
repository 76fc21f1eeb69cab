"""Service levels of the three formats as rules: a list in ODCS, mappings in DCS and DCM."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from math import ceil

from lakegate.contract.contract_model import Rule
from lakegate.contract.documents.document_tree import Place, exact
from lakegate.contract.named_fields import in_dataset, written_names
from lakegate.contract.service_levels import KIND, KNOWN, duration

_STANDARD = {name.casefold(): name for names in KNOWN.items() for name in names}
DAY = 86400
MOST_DAYS = 3660
"""The longest period of notice."""
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


def level_of(written: str) -> str:
    """The name of a service level in the case of the standard: ODCS does not distinguish it."""
    return _STANDARD.get(written.casefold(), written)


def element_rules(levels: Place, default: Place, dataset: str, known: Collection[str]) -> Iterator[Rule]:
    """The service levels of a list that refer to a dataset (`element: orders.placed_at`), or to none that is `known`.

    `default` is the element of levels that name none. Of an only dataset, fields need no dataset before them.
    """
    for ordinal, place in enumerate(levels.items, start=1):
        written = (place["element"].text or default.text or "").split(",")
        elements = [qualified_element(entry.strip(), known) for entry in written]
        tables = {in_dataset(element, known)[0] for element in elements}
        if dataset in tables or tables.isdisjoint(known):
            name = level_of(place["property"].text or "")
            arguments = {"property": name, "value": exact(place["value"]), "unit": place["unit"].text}
            fields = written_names(element_fields(elements, dataset, known))
            yield Rule(f"{name}:{KIND}:{ordinal}", KIND, place.origin, fields, arguments, name=name)


def qualified_element(element: str, datasets: Collection[str]) -> str:
    """An element with its dataset, which may be left out where there is only one."""
    first, *others = datasets or ("",)
    is_field = element and not others and in_dataset(element, (first,))[0] != first
    return f"{first}.{element}" if is_field else element


def element_fields(elements: Iterable[str], dataset: str, known: Collection[str]) -> tuple[str, ...]:
    """The fields of a dataset among the elements, in order: `placed_at` for `orders.placed_at`."""
    parts = (in_dataset(element, known) for element in elements)
    return tuple(dict.fromkeys(field for table, field in parts if table == dataset and field))


def notice_of(period: Place) -> int | None:
    """The days of a period of notice (`P3M`); None where there is none, or none that is a duration."""
    seconds = None if period.text is None else duration(period.text, None)
    return None if seconds is None or seconds > MOST_DAYS * DAY else ceil(seconds / DAY)


_DCM_INTERVAL = re.compile(
    r"(?=[0-9])((?:[0-9]{1,9}Y)?(?:[0-9]{1,9}M)?(?:[0-9]{1,9}d)?)((?:[0-9]{1,9}h)?(?:[0-9]{1,9}m)?)(?:([0-9]{1,9})s)?(?:([0-9]{1,9})ms)?"
)
"""An interval of DCM (Appendix B), in which `M` is months and `m` minutes."""


def _in_iso(written: str) -> str:
    """An interval of DCM that no other format reads alike, such as `1h30m` and `1M`, in ISO 8601; any other text as it is."""
    match = _DCM_INTERVAL.fullmatch(written)
    if match is None or (written.isascii() and re.fullmatch("[0-9]+[Ydhms]", written)):
        return written
    days, hours, seconds, milliseconds = (group or "" for group in match.groups())
    if seconds or milliseconds:
        whole, rest = divmod(int(milliseconds or 0), 1000)
        hours += f"{int(seconds or 0) + whole}.{rest:03}S"
    return f"P{days}{hours and 'T' + hours}".upper()


def key_rules(levels: Place) -> Iterator[Rule]:
    """The service levels of DCM: one per key."""
    for written, place in levels.entries.items():
        name, value = level_of(written), exact(place)
        value = _in_iso(value) if isinstance(value, str) else value
        arguments = {"property": name, "value": value, "unit": None}
        yield Rule(f"{name}:{KIND}:1", KIND, place.origin, (), arguments, name=name)


def named_rules(levels: Place, dataset: str, known: Collection[str]) -> Iterator[Rule]:
    """The service levels of DCS that refer to a dataset (`timestampField: orders.placed_at`), or to none that is `known`."""
    for written, place in levels.entries.items():
        name = level_of(written)
        timestamps = {key: text for key in TIMESTAMPS if (text := place[key].text)}
        tables = {in_dataset(timestamp, known)[0] for timestamp in timestamps.values()}
        if dataset in tables or tables.isdisjoint(known):
            main = next((place[key] for key in MAIN.get(name, ()) if place[key].present), place)
            main = place["unlimited"] if name == "retention" and place["unlimited"].flag else main
            arguments = {"property": name, "value": exact(main), "unit": None}
            fields = written_names(element_fields(timestamps.values(), dataset, known))
            yield Rule(f"{name}:{KIND}:1", KIND, place.origin, fields, arguments | timestamps, name=name)

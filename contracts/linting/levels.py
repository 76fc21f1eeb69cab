"""Service levels: names nobody knows, units that measure no time, shares above 100 %, durations that cannot be read."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from contracts.words import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contracts.document import Document
    from contracts.linting.finding import Finding
    from contracts.model import Contract
    from contracts.nodes import Place

KNOWN = {
    "availability": "av",
    "throughput": "th",
    "errorRate": "er",
    "generalAvailability": "ga",
    "endOfSupport": "es",
    "endOfLife": "el",
    "retention": "re",
    "frequency": "fy",
    "latency": "ly",
    "freshness": "fr",
    "timeToDetect": "td",
    "timeToNotify": "tn",
    "timeToRepair": "tr",
}
"""The levels that ODCS names, with their short names; and freshness, which everybody uses."""
KNOWN_TO_DCS = ("availability", "retention", "latency", "freshness", "frequency", "support", "backup")
LASTING = ("retention", "frequency", "latency", "freshness", "timeToDetect", "timeToNotify", "timeToRepair")
SHARES = ("availability", "errorRate")
UNITS = frozenset(
    (
        *("s", "sec", "second", "seconds", "m", "min", "minute", "minutes", "h", "hr", "hour", "hours"),
        *("d", "day", "days", "w", "wk", "week", "weeks", "mo", "month", "months", "y", "yr", "year", "years"),
    )
)
HUNDRED = Decimal(100)
DURATION_KEYS = ("threshold", "period", "recoveryTime", "recoveryPoint", "responseTime")
SIMPLE = re.compile(r"(?i)\s*[0-9]+(?:\.[0-9]+)?\s*(?P<unit>[a-z]+)\s*")
ISO = re.compile(
    r"P(?=[0-9T])(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+W)?(?:[0-9]+D)?"
    r"(?:T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?"
)
PERCENTAGE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%?\s*")


def unknown_level(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A service level has one of the names that tools know."""
    known = {*KNOWN, *KNOWN.values()}
    for place in document.top["slaProperties"].items:
        name = place["property"].text
        if name and name not in known:
            yield (
                f"{place.path}.property",
                f"{shown(name)} is no service level that is known.{did_you_mean(name, sorted(known))}",
            )
    for name, place in document.top["servicelevels"].entries.items():
        if name not in KNOWN_TO_DCS:
            yield place.path, f"{shown(name)} is no service level that is known.{did_you_mean(name, KNOWN_TO_DCS)}"


def unknown_unit(_contract: Contract, document: Document) -> Iterator[Finding]:
    """The unit of a level is one of time, or percent."""
    for place in document.top["slaProperties"].items:
        unit = place["unit"].text
        if unit and unit.casefold() not in UNITS | {"percent", "%"}:
            yield f"{place.path}.unit", f"{shown(unit)} is no unit of time.{did_you_mean(unit, sorted(UNITS))}"


def without_unit(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A number of a level that lasts says what it counts."""
    for place in document.top["slaProperties"].items:
        if place["property"].text in LASTING and place["value"].number is not None and not place["unit"].present:
            yield place.path, f"{place['value'].written} what? Say the `unit`, e.g. `h`."


def share(_contract: Contract, document: Document) -> Iterator[Finding]:
    """No level promises more than all of the time."""
    said = [place["value"] for place in document.top["slaProperties"].items if place["property"].text in SHARES]
    said.append(document.top["servicelevels"]["availability"]["percentage"])
    for place in said:
        found = PERCENTAGE.fullmatch(place.written)
        if found and Decimal(found[1]) > HUNDRED:
            yield place.path, f"{shown(place.written)} is more than all of the time: write at most 100."


def not_a_duration(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A threshold or a period is a duration: `25h`, `1 year` or `P1Y`."""
    for level in document.top["servicelevels"].entries.values():
        for place in (level[key] for key in DURATION_KEYS):
            if place.text and not _is_duration(place):
                yield place.path, f"{shown(place.text)} is no duration: write `25h`, `30 days` or `P1Y`."


def _is_duration(place: Place) -> bool:
    simple = SIMPLE.fullmatch(place.written)
    return bool(ISO.fullmatch(place.written)) or (simple is not None and simple["unit"].casefold() in UNITS)

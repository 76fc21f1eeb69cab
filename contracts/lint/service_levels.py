"""Service levels: unknown names, units that are not units of time, percentages above 100, unreadable durations."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.service_levels import SECONDS, duration
from lakegate.contracts.documents.service_levels import KNOWN, level_of, notice_of
from lakegate.contracts.words import closest, did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.lint.finding import Finding
    from lakegate.contracts.model.contract import Contract

KNOWN_TO_DCS = ("availability", "retention", "latency", "freshness", "frequency", "support", "backup")
LASTING = ("retention", "frequency", "latency", "freshness", "timeToDetect", "timeToNotify", "timeToRepair")
SHARES = ("availability", "errorRate")
HUNDRED = Decimal(100)
DURATION_KEYS = ("threshold", "period", "recoveryTime", "recoveryPoint", "responseTime")
ALIKE = 0.85
"""How similar a name must be to one of the standard for a hint: other names are allowed."""
USUAL = ("timeOfAvailability",)
"""Names that the examples of ODCS have besides."""
PERCENTAGE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%?\s*")


def unknown_level(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A service level has a standard name."""
    known = {*KNOWN, *KNOWN.values()}
    for place in document.top["slaProperties"].items:
        name = place["property"].text
        if name and level_of(name) not in {*known, *USUAL}:
            near = closest(name, sorted(known), cutoff=ALIKE)
            hint = f" Did you mean `{near}`?" if near else ""
            yield f"{place.path}.property", f"{shown(name)} is not a service level that is known.{hint}"
    for name, place in document.top["servicelevels"].entries.items():
        if level_of(name) not in KNOWN_TO_DCS:
            yield place.path, f"{shown(name)} is not a service level that is known.{did_you_mean(name, KNOWN_TO_DCS)}"


def unknown_unit(_contract: Contract, document: Document) -> Iterator[Finding]:
    """The unit of a level is one of time, or percent."""
    for place in document.top["slaProperties"].items:
        unit = place["unit"].text
        if unit and unit.casefold() not in {*SECONDS, "percent", "%"}:
            yield f"{place.path}.unit", f"{shown(unit)} is not a unit of time.{did_you_mean(unit, sorted(SECONDS))}"


def without_unit(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A service level with a duration has a unit."""
    for place in document.top["slaProperties"].items:
        if (
            level_of(place["property"].text or "") in LASTING
            and place["value"].number is not None
            and not place["unit"].present
        ):
            yield place.path, f"{place['value'].written} what? Say the `unit`, e.g. `h`."


def share(_contract: Contract, document: Document) -> Iterator[Finding]:
    """No availability is more than 100 %."""
    shares = [
        place["value"]
        for place in document.top["slaProperties"].items
        if level_of(place["property"].text or "") in SHARES
    ]
    shares.append(document.top["servicelevels"]["availability"]["percentage"])
    for place in shares:
        found = PERCENTAGE.fullmatch(place.written)
        if found and Decimal(found[1]) > HUNDRED:
            yield place.path, f"{shown(place.written)} is more than all of the time: write at most 100."


def not_a_duration(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A threshold, a period or a notice is a duration: `25h`, `1 year` or `P1Y`."""
    for level in document.top["servicelevels"].entries.values():
        for place in (level[key] for key in DURATION_KEYS):
            if place.text and duration(place.text, None) is None:
                yield place.path, f"{shown(place.text)} is not a duration: write `25h`, `30 days` or `P1Y`."
    notice = document.top["terms"]["noticePeriod"]
    if notice.text and notice_of(notice) is None:
        yield notice.path, f"{shown(notice.text)} is not a duration of at most ten years: write `P3M` or `90 days`."

"""Service levels: unknown names, units, elements; unreadable durations."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from lakegate.base.text import closest, did_you_mean, quote
from lakegate.contract.contract_model import Contract
from lakegate.contract.documents.document_tree import Document, Place
from lakegate.contract.documents.service_level_keys import TIMESTAMPS, level_of, notice_of, qualified_element
from lakegate.contract.service_levels import (
    AMBIGUOUS,
    DURATION_KEYS,
    HUNDRED,
    KIND,
    KNOWN,
    KNOWN_TO_DCS,
    LASTING,
    LEVELS_IN_TIME,
    MOMENTS,
    PERCENTAGE,
    SECONDS_BY_UNIT,
    SHARES,
    duration,
    level_name,
    service_levels_of,
)
from lakegate.lints.findings import Finding, rules_of
from lakegate.lints.relationship_lints import MAX_KNOWN, fields_by_path


def unknown_element(contract: Contract, document: Document) -> Iterator[Finding]:
    """A service level refers to an existing dataset or field."""
    known = {dataset.name: None for dataset in contract.datasets} | fields_by_path(contract)
    for place, written in _elements(document):
        name = qualified_element(written, [dataset.name for dataset in contract.datasets])
        if written not in known and name not in known:
            message = f"{quote(written)} is not a dataset or field here.{did_you_mean(name, list(known)[:MAX_KNOWN])}"
            yield place.path, message


def not_a_moment(contract: Contract, document: Document) -> Iterator[Finding]:
    """The timestamp field of a service level is a date or timestamp."""
    known = fields_by_path(contract)
    for place in document.named(*TIMESTAMPS):
        field = known.get(place.text or "")
        if field and field.type not in MOMENTS:
            yield place.path, f"{quote(place.text)} is a {field.type.value}: name a date or a timestamp."


def _elements(document: Document) -> Iterator[tuple[Place, str]]:
    for place in (
        document.top["slaDefaultElement"],
        *(item["element"] for item in document.top["slaProperties"].items),
    ):
        yield from ((place, entry.strip()) for entry in (place.text or "").split(",") if entry.strip())
    yield from ((place, place.text) for place in document.named(*TIMESTAMPS) if place.text)


NO_PROBE = "no delivery shows how long the data could be read"
ALIKE = 0.85
"""The least similarity of a name to one of the standard for a hint: other names are allowed."""
USUAL = ("timeOfAvailability",)
"""Names that the examples of ODCS have besides."""


def unknown_level(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A service level has a standard name."""
    known = {*KNOWN, *KNOWN.values()}
    for place in document.top["slaProperties"].items:
        name = place["property"].text
        if name and level_of(name) not in {*known, *USUAL}:
            near = closest(name, sorted(known), cutoff=ALIKE)
            hint = f" Did you mean `{near}`?" if near else ""
            yield f"{place.path}.property", f"{quote(name)} is not a service level that is known.{hint}"
    for name, place in document.top["servicelevels"].entries.items():
        if level_of(name) not in KNOWN_TO_DCS:
            yield place.path, f"{quote(name)} is not a service level that is known.{did_you_mean(name, KNOWN_TO_DCS)}"


def unknown_unit(_contract: Contract, document: Document) -> Iterator[Finding]:
    """The unit of a level is one of time, or percent."""
    for place in document.top["slaProperties"].items:
        unit = place["unit"].text
        if unit == AMBIGUOUS:
            yield f"{place.path}.unit", "`M` is a minute here, and a month in ISO 8601: write `min` or `months`."
        elif unit and unit.casefold() not in {*SECONDS_BY_UNIT, "percent", "%"}:
            yield (
                f"{place.path}.unit",
                f"{quote(unit)} is not a unit of time.{did_you_mean(unit, sorted(SECONDS_BY_UNIT))}",
            )


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
        match = PERCENTAGE.fullmatch(place.written)
        if match and Decimal(match[1]) > HUNDRED:
            yield place.path, f"{quote(place.written)} is more than all of the time: write at most 100."


def not_a_duration(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A threshold, a period or a notice is a duration: `25h`, `1 year` or `P1Y`."""
    for place in document.top["slaProperties"].items:
        number = place["value"].number
        if number is not None and number < 0 and level_of(place["property"].text or "") in LASTING:
            yield f"{place.path}.value", f"{quote(place['value'].written)} is no length of time: write a number from 0."
    for level in document.top["servicelevels"].entries.values():
        for place in (level[key] for key in DURATION_KEYS):
            if place.text and duration(place.text, None) is None:
                yield place.path, f"{quote(place.text)} is not a duration: write `25h`, `30 days` or `P1Y`."
    notice = document.top["terms"]["noticePeriod"]
    if notice.text and notice_of(notice) is None:
        yield notice.path, f"{quote(notice.text)} is not a duration of at most ten years: write `P3M` or `90 days`."


def unwatched(contract: Contract, document: Document) -> Iterator[Finding]:
    """A service level of DCM is one that the gate can watch: an `intervalOfChange` or `timeliness` of a second to ten years."""
    levels = document.top["serviceLevelAgreements"].entries
    for rule in rules_of(contract):
        name = str(rule.arguments.get("property"))
        if rule.kind == KIND and name in levels and not service_levels_of([rule]):
            is_in_time = level_name(rule) in LEVELS_IN_TIME
            wanted = "write a length of time of a second to ten years, e.g. `1h30m`" if is_in_time else NO_PROBE
            yield levels[name].path, f"{quote(name)} is recorded and not watched: {wanted}."

"""The keys of a document that the model leaves out: those that ODCS has too, and those without an equivalent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lakegate.contracts.compare.remainder import ALIASES, remainder
from lakegate.contracts.compare.service_levels import service_levels
from lakegate.contracts.compile.rules.nested_fields import with_parts
from lakegate.contracts.documents.rule_schedules import QUARTZ

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.compare.version import ContractVersion
    from lakegate.contracts.convert.odcs_document import Rest
    from lakegate.contracts.documents.nodes import Place

PASSED = {
    "root": ("price",),
    "dataset": ("description", "businessName", "tags", "physicalType"),
    "field": ("businessName", "tags"),
    "rule": ("description", "scheduler", "schedule"),
    "level": ("description",),
}
"""The keys of each element that are written as they are."""
HAS_LISTS = ("root", "dataset", "field")
"""Elements that have definitions elsewhere and properties of their own in ODCS."""
NAMES = {**ALIASES, "pricing": "price"}
"""Other names of keys of ODCS."""
LINKS, CONFIG = "links", "config"
"""Keys of DCS with an equivalent of another form: `authoritativeDefinitions` and `customProperties`."""
_URL = re.compile(r"[a-z][a-z0-9+.-]*:\S+", re.IGNORECASE)
OF_DATASETS = {"type": "physicalType"}
CARRIED = {
    ("DCS", "root"): {"definitions", "tags"},
    ("DCS", "field"): {"precision", "scale"},
    ("DCM", "root"): {"tags"},
    ("DCM", "field"): {"dataLength"},
    ("ODCS", "root"): {"tags"},
}
"""Keys that are rules or texts of the model, which is compared."""
PRICE = {"priceAmount", "priceCurrency", "priceUnit"}


def passed_keys(version: ContractVersion) -> Rest:
    """What an element of a version keeps beside the model."""

    def rest(element: str, path: str) -> Mapping[str, Any]:
        keys = _defined(version, element, path) | version.rest(element, path)
        return {
            name: value
            for key, each in keys.items()
            if element in PASSED and (found := _equivalent(element, key, each)) is not None
            for name, value in (found,)
        }

    return rest


def _equivalent(element: str, key: str, value: Any) -> tuple[str, Any] | None:  # noqa: ANN401 - what a document holds
    """The key of ODCS with the meaning of a key, and its value; None if there is none."""
    if key == LINKS and element in HAS_LISTS and (found := definitions_of(value)) is not None:
        return "authoritativeDefinitions", found
    if key == CONFIG and element in HAS_LISTS and isinstance(value, Mapping):
        return "customProperties", [{"property": str(name), "value": each} for name, each in value.items()]
    name = next(iter(_renamed(element, {key: value})))
    return (name, value) if _is_passed(element, name, value) else None


def definitions_of(links: object) -> list[dict[str, object]] | None:
    """Links of DCS as `authoritativeDefinitions`; None for what is no mapping of names to addresses."""
    if not isinstance(links, Mapping) or not all(
        isinstance(url, str) and _URL.fullmatch(url) for url in links.values()
    ):
        return None
    return [{"type": str(name), "url": url} for name, url in links.items()]


def _defined(version: ContractVersion, element: str, path: str) -> dict[str, Any]:
    """What a field of DCS has by the definition that it refers to, and by those that this one refers to."""
    place, found, seen = version.document.at(path), dict[str, Any](), set[str]()
    while element == "field" and version.family == "DCS":
        reference = place["$ref"].text or ""
        if not reference.startswith("#/definitions/") or reference in seen:
            break
        seen.add(reference)
        place = version.document.top["definitions"][reference.removeprefix("#/definitions/")]
        found = (remainder("DCS", "field", place.node.plain()) if place.node else {}) | found
    return found


def unread_keys(version: ContractVersion) -> Iterator[str]:
    """The keys without an equivalent, by their addresses in the document.

    Schedules that are followed are rules of the model, which is compared.
    """
    followed = {each.origin.path for dataset in version.contract.datasets for each in dataset.rules if each.schedule}
    for element, path in elements(version):
        carried = CARRIED.get((version.family, element), ())
        for key, value in version.rest(element, path).items():
            is_followed = key == QUARTZ and path in followed
            if key not in carried and not is_followed and _equivalent(element, key, value) is None:
                yield f"{path}.{key}"
    yield from (f"{path}.{key}" for path, key in _of_definitions(version.document.top["definitions"]))


def elements(version: ContractVersion) -> Iterator[tuple[str, str]]:
    """Every element with its address, once."""
    found = [("root", "$")]
    for dataset in version.contract.datasets:
        found.append(("dataset", dataset.origin.path))
        found += [("field", each.origin.path) for each in with_parts(dataset.fields)]
        found += [("rule", each.origin.path) for each in dataset.rules if ".quality[" in each.origin.path]
    found += [("level", each.origin.path) for each in service_levels(version.contract)]
    yield from dict.fromkeys(found)


def _renamed(element: str, keys: Mapping[str, Any]) -> dict[str, Any]:
    names = NAMES | (OF_DATASETS if element == "dataset" else {})
    return {names.get(key, key): each for key, each in keys.items()}


def _is_passed(element: str, key: str, value: object) -> bool:
    """Whether a key is one of ODCS, with a value that ODCS accepts there."""
    if key not in PASSED[element]:
        return False
    if key == "price":
        return isinstance(value, Mapping) and set(value) <= PRICE
    if key == "tags":
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    return isinstance(value, str)


def _of_definitions(place: Place) -> Iterator[tuple[str, str]]:
    """What definitions have beside what fields read through them."""
    for each in place.entries.values():
        keys = remainder("DCS", "field", each.node.plain()) if each.node else {}
        lost = (key for key, value in keys.items() if _equivalent("field", key, value) is None)
        yield from ((each.path, key) for key in lost if key not in CARRIED["DCS", "field"])
        yield from _of_definitions(each["fields"])

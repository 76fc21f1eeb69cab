"""The keys of a document that the model leaves out: those that ODCS has too, and those without an equivalent."""

from __future__ import annotations

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
NAMES = {**ALIASES, "pricing": "price"}
"""Other names of keys of ODCS."""
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
        keys = _renamed(element, version.rest(element, path))
        return {key: each for key, each in keys.items() if _is_passed(element, key, each)}

    return rest


def unread_keys(version: ContractVersion) -> Iterator[str]:
    """The keys without an equivalent, by their addresses in the document.

    Schedules that are followed are rules of the model, which is compared.
    """
    followed = {each.origin.path for dataset in version.contract.datasets for each in dataset.rules if each.schedule}
    for element, path in elements(version):
        carried = CARRIED.get((version.family, element), ())
        for key, value in version.rest(element, path).items():
            name = next(iter(_renamed(element, {key: value})))
            is_followed = key == QUARTZ and path in followed
            if key not in carried and not is_followed and not _is_passed(element, name, value):
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
        yield from ((each.path, key) for key in keys if key not in CARRIED["DCS", "field"])
        yield from _of_definitions(each["fields"])

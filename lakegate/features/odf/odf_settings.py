"""publishAs, eventTime, mergeStrategy: settings, lints, plan data, checks of the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from lakegate.contract.contract_model import Shape
from lakegate.contract.file_formats import Format
from lakegate.contract.logical_types import LogicalType
from lakegate.features.odf.format.logical_hash import COMMON
from lakegate.plan.dataset_about import (
    LONGEST_ADDRESS,
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    MOST_KEYWORDS,
    DatasetAbout,
    License,
)
from lakegate.rules.compile_plan import planned

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.contract.contract_model import About, Dataset
    from lakegate.plan.plan import PlanField

# ---- Description, keywords and licence of a contract, for the plans of slices --------------------------------------
#
# A document names its licence in one of these places:
#
# * `license`, a text or a mapping of `name`, `shortName`, `spdx` and `url`: a key of the root, or a custom property
# of ODCS.
# * ODCS: an authoritative definition of the type `license`, whose `url` has the terms.
# * DCS: the policy `license` of `terms.policies`, with `description` and `url`; `links.license`.


LICENSE: Final = frozenset({"license", "licence"})


def dataset_about(about: About) -> DatasetAbout | None:
    """None where the document states nothing of it."""
    description = (about.description or about.purpose or "")[:LONGEST_DESCRIPTION]
    keywords = tuple(dict.fromkeys(each[:LONGEST_NAME] for each in about.tags))[:MOST_KEYWORDS]
    found = DatasetAbout(description, keywords, _license(about.sections))
    return None if found == DatasetAbout() else found


def _license(sections: Mapping[str, object]) -> License | None:
    """The first name that is stated, and the first address."""
    names, addresses = list(_named(sections)), list(_addresses(sections))
    if not names:
        return License(addresses[0], url=addresses[0]) if addresses else None
    name = names[0]
    url = next((each for each in (name.url, *addresses) if each), "")
    return License(name.name, name.short_name, name.spdx, url)


def _named(sections: Mapping[str, object]) -> Iterator[License]:
    custom = (
        each.get("value") for each in _mappings(sections.get("customProperties")) if _is_license(each, "property")
    )
    for value in (*(sections.get(key) for key in sorted(LICENSE)), *custom):
        if isinstance(value, Mapping) and (name := _text(value, "name") or _text(value, "spdx")):
            yield License(name, _text(value, "shortName"), _text(value, "spdx"), _text(value, "url", LONGEST_ADDRESS))
        elif isinstance(value, str) and value:
            yield License(value[:LONGEST_NAME])
    for each in _policies(sections):
        if name := _text(each, "description"):
            yield License(name, url=_text(each, "url", LONGEST_ADDRESS))


def _addresses(sections: Mapping[str, object]) -> Iterator[str]:
    links = sections.get("links")
    stated = [links.get(key) for key in sorted(LICENSE)] if isinstance(links, Mapping) else []
    yield from (each[:LONGEST_ADDRESS] for each in stated if isinstance(each, str) and each)
    definitions = (each for each in _mappings(sections.get("authoritativeDefinitions")) if _is_license(each, "type"))
    for each in (*definitions, *_policies(sections)):
        if url := _text(each, "url", LONGEST_ADDRESS):
            yield url


def _policies(sections: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    terms = sections.get("terms")
    if isinstance(terms, Mapping):
        yield from (each for each in _mappings(terms.get("policies")) if _is_license(each, "name"))


def _mappings(value: object) -> Iterable[Mapping[str, object]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list | tuple) else ()


def _is_license(value: Mapping[str, object], key: str) -> bool:
    return _text(value, key).lower() in LICENSE


def _text(value: Mapping[str, object], key: str, longest: int = LONGEST_NAME) -> str:
    found = value.get(key)
    return found[:longest] if isinstance(found, str) else ""


# ---- Whether the accepted rows of a dataset can be slices of Open Data Fabric: names of columns, and types that
# ODF's hash knows


TIMES = {LogicalType.DATE, LogicalType.TIMESTAMP}


def misfits(dataset: Dataset) -> Iterator[tuple[str, str]]:
    """The fields that no slice can have, each with the reason and the remedy."""
    fields = planned(dataset.fields, with_inner=True)
    opened = {each.path[:-1] for each in fields if each.path}
    for each in fields:
        if not each.path and each.name.lower() in COMMON:
            yield each.name, "every slice has a column of this name: rename the field"
        elif each.shape is not Shape.VALUE and dataset.storage.format is Format.CSV:
            yield each.name, "a CSV file has no parts of values: declare a text, or say which `format` is delivered"
        elif each.shape is Shape.MAP:
            yield each.name, "ODF's logical hash does not know maps: declare a record, or a list of texts"
        elif each.shape is Shape.RECORD and each.level:
            yield each.name, "ODF's logical hash does not know records in lists: declare lists of plain values"
        elif each.shape is Shape.ANY or (each.shape is not Shape.VALUE and each.place not in opened):
            yield each.name, "a column of a slice has one type: declare the fields, or the items, of the values"


def merge_key(dataset: Dataset) -> tuple[str, ...]:
    """The columns by which rows are merged: those of the primary key; none where parts of values are in it."""
    keys = [rule.fields for rule in dataset.rules if rule.kind == "primaryKey"]
    names = {
        each.name for each in planned(dataset.fields, with_inner=True) if not each.path and each.shape is Shape.VALUE
    }
    return keys[0] if len(keys) == 1 and set(keys[0]) <= names else ()


def event_time_misfit(fields: tuple[PlanField, ...], name: str) -> str | None:
    """Why a column has no times of events; None if it has."""
    found = next((each for each in fields if each.name == name and not each.path), None)
    if found is None:
        return "the contract has no such column"
    if found.type not in TIMES or found.shape is not Shape.VALUE:
        return "it is neither a date nor a timestamp"
    return None

"""Description, keywords and licence of a contract, for the plans of slices.

A document names its licence in one of these places:

* `license`, a text or a mapping of `name`, `shortName`, `spdx` and `url`: a key of the root, or a custom property of ODCS.
* ODCS: an authoritative definition of the type `license`, whose `url` has the terms.
* DCS: the policy `license` of `terms.policies`, with `description` and `url`; `links.license`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from lakegate.contracts.plan.about import (
    LONGEST_ADDRESS,
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    MOST_KEYWORDS,
    DatasetAbout,
    License,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.contracts.model.contract import About

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

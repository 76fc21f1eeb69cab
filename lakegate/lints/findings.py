"""Finding of a lint; iterators over contract and document."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from lakegate.contract.contract_model import Contract, Dataset, Field, Rule
from lakegate.contract.documents.document_tree import Document, Place
from lakegate.contract.documents.extension_settings import EXTENSION
from lakegate.rules.compile_plan import with_parts

# ---- Findings and rows of the table of lints ----


T = TypeVar("T")
Finding = tuple[str, str]
"""Path and message. If the path does not exist in the document, its longest existing part is reported."""
MAX_FINDINGS = 100
"""The most findings of one code: hints for thousands of findings would take minutes."""


class LintLevel(Enum):
    """Whether a finding makes a contract unusable."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Lint:
    """One code: its level, and the function that yields its findings."""

    level: LintLevel
    find: Callable[[Contract, Document], Iterator[Finding]]


# ---- Iterators over a contract and its document ----


def fields_of(contract: Contract) -> Iterator[Field]:
    """All fields of all datasets, including nested fields."""
    for dataset in contract.datasets:
        yield from with_parts(dataset.fields)


def rules_of(contract: Contract) -> Iterator[Rule]:
    """All rules of all datasets."""
    return (rule for dataset in contract.datasets for rule in dataset.rules)


def pairs(dataset: Dataset) -> Iterator[tuple[Rule, Field]]:
    """Every rule with each of its fields."""
    fields = {field.name: field for field in with_parts(dataset.fields)}
    return ((rule, fields[name]) for rule in dataset.rules for name in rule.fields if name in fields)


def find_repeated(items: Iterable[T], key: Callable[[T], Hashable]) -> Iterator[T]:
    """The items that have the key of an earlier one; None is no key."""
    seen: set[Hashable] = set()
    for item in items:
        if (own := key(item)) in seen:
            yield item
        elif own is not None:
            seen.add(own)


def properties_of(document: Document) -> Iterator[list[Place]]:
    """The groups of sibling properties of each ODCS object, including nested ones."""
    return (place.items for place in document.named("properties") if place.steps[:1] == ("schema",) and place.items)


def extensions_of(document: Document) -> Iterator[Place]:
    """The places of the `lakegate` extension, in each format."""
    top = document.top
    if top["specific"].present:
        yield top["specific"][EXTENSION]
    for owner in (top, *top["models"].entries.values()):
        yield owner["config"][EXTENSION]
    for owner in (top, *top["schema"].items):
        for item in owner["customProperties"].items:
            if item["property"].text == EXTENSION:
                yield item["value"]


def settings_of(contract: Contract, document: Document, *keys: str) -> Iterator[tuple[Place, tuple[Dataset, ...]]]:
    """The places of a setting of the extension, each with the datasets that have it from there, of which there are some.

    A dataset has a setting from its own extension, or else from that of the contract.
    """
    places = [place for extension in extensions_of(document) if (place := extension.below(*keys)).present]
    own = {
        place.path: tuple(dataset for dataset in contract.datasets if place.path.startswith(f"{dataset.origin.path}."))
        for place in places
    }
    apart = {dataset.name for datasets in own.values() for dataset in datasets}
    others = tuple(dataset for dataset in contract.datasets if dataset.name not in apart)
    return ((place, found) for place in places if (found := own[place.path] or others))


def is_odcs(contract: Contract) -> bool:
    """Whether a document is of ODCS."""
    return contract.format.startswith("ODCS")

"""Names and ids: duplicates, missing names, and references to unknown names."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from lakegate.contracts.compile.dataset import names_by_arguments
from lakegate.contracts.compile.rules.nested_fields import with_parts
from lakegate.contracts.compile.rules.table import RULES
from lakegate.contracts.lint.walk import fields_of, rules_of
from lakegate.contracts.model.contract import COMMON
from lakegate.contracts.words import did_you_mean, listed, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.lint.finding import Finding
    from lakegate.contracts.model.contract import Contract, Field, Origin

SEMANTIC = re.compile(
    r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){2}(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z.-]+)?"
)
PUBLIC = "public"
METRICS = ("nullValues", "missingValues", "invalidValues", "duplicateValues", "rowCount")
PERSONAL = re.compile(
    r"e_?mail|(?:first|last|full|sur|maiden)_?name|phone|mobile|ssn|cpf|passport|birth|iban|credit_?card|ip_?address",
    re.IGNORECASE,
)


def version(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A contract's version is semantic: its major number is part of the line's name."""
    if contract.version and not SEMANTIC.fullmatch(contract.version):
        path = "$.info.version" if contract.format.startswith("DCS") else "$.version"
        yield path, f"{shown(contract.version)} is not a semantic version: write `major.minor.patch`, e.g. `1.0.0`."


def no_dataset(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A contract has a dataset."""
    if not contract.datasets:
        yield "$", "The contract has no dataset, so it covers no delivery: describe one."


def no_field(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A dataset has fields: without them it accepts any data."""
    for dataset in contract.datasets:
        if not dataset.fields and dataset.name != COMMON:
            yield dataset.origin.path, f"The dataset {shown(dataset.name)} names no fields: list them."


def duplicate_dataset(contract: Contract, _document: Document) -> Iterator[Finding]:
    """The names of datasets are unique, ignoring case: they are paths in the lake."""
    for name, origin in _repeated((each.name, each.origin) for each in contract.datasets):
        yield origin.path, f"The dataset {shown(name)} is described twice: give each its own name."


def duplicate_field(contract: Contract, _document: Document) -> Iterator[Finding]:
    """The names of a dataset's fields are unique, ignoring case: engines do not distinguish them."""
    for siblings in _siblings(contract):
        for name, origin in _repeated((each.name, each.origin) for each in siblings):
            yield origin.path, f"The field {shown(name)} is described twice: keep one."


def duplicate_rule(contract: Contract, _document: Document) -> Iterator[Finding]:
    """The ids of a dataset's rules are unique: results refer to them."""
    for dataset in contract.datasets:
        seen: Counter[str] = Counter()
        for rule in dataset.rules:
            seen[rule.id] += 1
            if rule.id and seen[rule.id] > 1:
                yield f"{rule.origin.path}.id", f"The id {shown(rule.id)} is taken by another rule: give each its own."


def unnamed(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A name is not blank, and has no surrounding space and no invisible character."""
    for dataset in contract.datasets:
        named = [(dataset.name, dataset.origin), *((each.name, each.origin) for each in dataset.fields)]
        for name, origin in named:
            if name and (name != name.strip() or not name.isprintable()):
                yield f"{origin.path}.name", "The name begins or ends with a space, or holds what nobody sees."


def unknown_column(contract: Contract, document: Document) -> Iterator[Finding]:
    """A key, and every rule of DCM, names only fields that its dataset has."""
    for dataset in contract.datasets:
        names = {each.name: None for each in with_parts(dataset.fields)}
        for rule in (each for each in dataset.rules if not names_by_arguments(each)):
            for index, name in enumerate(rule.fields):
                if name not in names:
                    path = _named_at(rule.origin.path, index, document)
                    yield path, f"The dataset has no field {shown(name)}.{did_you_mean(name, names)}"


def repeated_column(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A rule contains each field once."""
    for dataset in contract.datasets:
        for rule in dataset.rules:
            for name in [name for name, count in Counter(rule.fields).items() if count > 1]:
                yield f"{rule.origin.path}.columns", f"The rule names the field {shown(name)} twice: once is enough."


def unclassified(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A field with personal data, or with a name that suggests it, has a classification."""
    if contract.format.startswith("DCM"):
        return
    for each in fields_of(contract):
        sounds = each.personal is None and PERSONAL.search(each.name.rpartition(".")[2]) is not None
        if (each.personal or sounds) and not each.classification and not each.parts:
            message = f"{shown(each.name)} {'sounds like' if sounds else 'is'} personal data: add a `classification`."
            yield each.origin.path, message


def personal_but_public(contract: Contract, document: Document) -> Iterator[Finding]:
    """Personal data is not public: samples of public fields show raw values."""
    for each in fields_of(contract):
        if each.personal and (each.classification or "").casefold() == PUBLIC:
            place = document.at(each.origin.path)["classification"]
            yield place.path, f"{shown(each.name)} is personal data: its values would be shown in samples."


def empty_rule(contract: Contract, document: Document) -> Iterator[Finding]:
    """A text rule has a description, and any other rule has a metric or a query."""
    for rule in rules_of(contract):
        if rule.kind == "text" and not rule.name and ".quality" in rule.origin.path:
            place = document.at(rule.origin.path)
            yield place.path, "The rule is empty: give it a `metric`, a `query`, or a `description`."


def unknown_metric(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A metric is one of the library."""
    for rule in rules_of(contract):
        if rule.kind not in RULES and not contract.format.startswith("DCM"):
            hint = did_you_mean(rule.kind, METRICS)
            yield (
                rule.origin.path,
                f"{shown(rule.kind)} is not a metric that is known.{hint} Known are {listed(METRICS)}.",
            )


def _siblings(contract: Contract) -> Iterator[tuple[Field, ...]]:
    """The sibling fields: of a dataset, and of each record."""
    for dataset in contract.datasets:
        yield dataset.fields
    yield from (each.parts for each in fields_of(contract) if each.parts)


def _named_at(path: str, index: int, document: Document) -> str:
    """The place of a rule's columns: each format has its own key."""
    found = (f"{path}{key}[{index}]" for key in (".columns", ".arguments.properties", ""))
    return next((each for each in found if document.at(each).present), path)


def _repeated(names: Iterable[tuple[str, Origin]]) -> Iterator[tuple[str, Origin]]:
    seen: set[str] = set()
    for name, origin in names:
        if name and name.casefold() in seen:
            yield name, origin
        seen.add(name.casefold())

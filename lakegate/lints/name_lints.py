"""Names, ids and keys: duplicate, missing, unknown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from lakegate.base.text import did_you_mean, join_words, quote
from lakegate.contract.contract_model import COMMON, Contract, Dataset, Field, split_release
from lakegate.contract.documents.document_tree import Document, Place, Step
from lakegate.lints.findings import Finding, fields_of, find_repeated, is_odcs, properties_of, rules_of
from lakegate.rules.compile_plan import names_by_arguments, with_parts
from lakegate.rules.odcs_metrics import METRICS
from lakegate.rules.rule_kinds import RULES

# ---- Keys and ids ----


POSITIONS = {"primaryKeyPosition": "primaryKey", "partitionKeyPosition": "partitioned"}
"""Each position with the flag it belongs to."""


def repeated_position(_contract: Contract, document: Document) -> Iterator[Finding]:
    """No two parts of a key stand at one position of it."""
    for siblings in properties_of(document):
        for key, flag in POSITIONS.items():
            for place in _repeated_places(sibling[key] for sibling in siblings if sibling[flag].flag):
                yield place.path, "Another part of the key has this position."


def idle_position(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A position in a key is that of a part of the key."""
    for siblings in properties_of(document):
        for sibling in siblings:
            for key, flag in POSITIONS.items():
                if (sibling[key].number or 0) > 0 and not sibling[flag].flag:
                    message = f"The property is not part of the key: add `{flag}: true`, or remove the position."
                    yield sibling[key].path, message


def optional_key(contract: Contract, document: Document) -> Iterator[Finding]:
    """A field of a primary key is not declared optional."""
    for dataset in contract.datasets:
        named = {name for rule in dataset.rules if rule.kind == "primaryKey" for name in rule.fields}
        for field in dataset.fields:
            place = document.at(field.origin.path)["required"]
            if field.name in named and place.flag is False:
                yield place.path, "A part of the primary key is never missing: remove `required: false`."


def repeated_rule(contract: Contract, _document: Document) -> Iterator[Finding]:
    """No rule duplicates another rule of the same fields."""
    for dataset in contract.datasets:
        for rule in find_repeated(
            (rule for rule in dataset.rules if rule.kind not in {"text", "nested", "serviceLevel"}),
            lambda rule: repr(
                (rule.kind, rule.fields, sorted(rule.arguments.items(), key=str), rule.comparison, rule.tolerance)
            ),
        ):
            yield rule.origin.path, "Another rule is identical, with the same fields: remove one."


def repeated_id(contract: Contract, document: Document) -> Iterator[Finding]:
    """An id is unique among its neighbours: references by id must find one thing."""
    ids: dict[tuple[Step, ...], list[Place]] = {}
    for place in document.named("id") if is_odcs(contract) else ():
        *around, item = place.steps[:-1] or ("",)
        if isinstance(item, int) and around[-1:] != ["quality"]:
            ids.setdefault(tuple(around), []).append(place)
    for siblings in ids.values():
        for entry in _repeated_places(siblings):
            yield entry.path, f"The id {quote(entry.written)} is taken by a neighbour: give each its own."


def repeated_physical_name(_contract: Contract, document: Document) -> Iterator[Finding]:
    """No two properties of an object are one column of the table behind it."""
    for siblings in properties_of(document):
        for place in _repeated_places(item["physicalName"] for item in siblings):
            yield place.path, f"Another property is the column {quote(place.written)} too."


def _repeated_places(places: Iterable[Place]) -> Iterator[Place]:
    """The places whose text occurred before."""
    return find_repeated(places, lambda place: place.written if place.present else None)


# ---- Names and references ----


SEMANTIC = re.compile(
    r"(?:0|[1-9][0-9]{0,8})(?:\.(?:0|[1-9][0-9]{0,8})){2}(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z.-]+)?"
)


def version(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A contract's version is semantic: its major number is part of the line's name."""
    if contract.version and not SEMANTIC.fullmatch(contract.version):
        path = "$.info.version" if contract.format.startswith("DCS") else "$.version"
        yield path, f"{quote(contract.version)} is not a semantic version: write `major.minor.patch`, e.g. `1.0.0`."


def versioned_id(contract: Contract, _document: Document) -> Iterator[Finding]:
    """An id of DCM ends in the version (table A.1), and without it no id ends in one: versions of a contract share its id."""
    numbers = split_release(contract.id)
    if contract.format.startswith("DCM") and not contract.document_id:
        if contract.id and SEMANTIC.fullmatch(contract.version):
            whole = f"{numbers[0] if numbers else contract.id}-{contract.version}"
            yield (
                "$.id",
                f"The id does not end in the version of the document (table A.1 of DCM): write {quote(whole)}.",
            )
    elif numbers:
        message = "so that each version would be a contract of its own: leave it out."
        yield "$.id", f"The id {quote(contract.id)} ends in a version, {message}"


NO_DATASET = "The contract has no dataset, so it covers no delivery"


def no_id(_contract: Contract, document: Document) -> Iterator[Finding]:
    """A contract has an id that is not blank: paths, versions and routes have it."""
    written = document.top["id"].text
    if written is not None and not any(text.isprintable() and not text.isspace() for text in written):
        yield "$.id", "The id is blank: name the contract, all versions alike, for example `shop-orders`."


def no_dataset(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A contract has a dataset."""
    if all(dataset.is_whole_document for dataset in contract.datasets):
        if contract.require or any(dataset.rules or dataset.declared for dataset in contract.datasets):
            yield "$", f"{NO_DATASET}. What it requires holds for every dataset of the contracts that inherit from it."
        else:
            yield "$", f"{NO_DATASET}: describe one."


def no_field(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A dataset has fields: without them it accepts any data."""
    for dataset in contract.datasets:
        if not dataset.fields and dataset.name != COMMON:
            yield dataset.origin.path, f"The dataset {quote(dataset.name)} names no fields: list them."


def duplicate_dataset(contract: Contract, _document: Document) -> Iterator[Finding]:
    """The names of datasets are unique, ignoring case: they are paths in the lake."""
    for dataset in find_repeated(contract.datasets, _folded_name):
        yield dataset.origin.path, f"The dataset {quote(dataset.name)} is described twice: give each its own name."


def duplicate_field(contract: Contract, _document: Document) -> Iterator[Finding]:
    """The names of a dataset's fields are unique, ignoring case: engines do not distinguish them."""
    nested = (field.parts for field in fields_of(contract) if field.parts)
    for siblings in (*(dataset.fields for dataset in contract.datasets), *nested):
        for field in find_repeated(siblings, _folded_name):
            yield field.origin.path, f"The field {quote(field.name)} is described twice: keep one."


def duplicate_rule(contract: Contract, _document: Document) -> Iterator[Finding]:
    """The ids of a dataset's rules are unique: results refer to them."""
    for dataset in contract.datasets:
        for rule in find_repeated(dataset.rules, lambda rule: rule.id or None):
            yield f"{rule.origin.path}.id", f"The id {quote(rule.id)} is taken by another rule: give each its own."


def unnamed(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A name is not blank, and has no surrounding space and no invisible character."""
    for dataset in contract.datasets:
        named = [(dataset.name, dataset.origin), *((field.own_name, field.origin) for field in dataset.fields)]
        for name, origin in named:
            if name and (name != name.strip() or not name.isprintable()):
                yield f"{origin.path}.name", "The name begins or ends with a space, or holds what nobody sees."


def unknown_column(contract: Contract, document: Document) -> Iterator[Finding]:
    """A key, and every rule of DCM, names only fields that its dataset has."""
    for dataset in contract.datasets:
        names = {part.name: None for part in with_parts(dataset.fields)}
        for rule in (entry for entry in dataset.rules if not names_by_arguments(entry)):
            for index, name in enumerate(rule.fields):
                if name not in names:
                    # the place of a rule's columns: each format has its own key
                    found = (f"{rule.origin.path}{key}[{index}]" for key in (".columns", ".arguments.properties", ""))
                    path = next((entry for entry in found if document.at(entry).present), rule.origin.path)
                    yield path, f"The dataset has no field {quote(name)}.{did_you_mean(name, names)}"


def repeated_column(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A rule contains each field once."""
    for rule in rules_of(contract):
        for name in [name for name, count in Counter(rule.fields).items() if count > 1]:
            yield f"{rule.origin.path}.columns", f"The rule names the field {quote(name)} twice: once is enough."


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
                f"{quote(rule.kind)} is not a metric that is known.{hint} Known are {join_words(METRICS)}.",
            )


def _folded_name(named: Dataset | Field) -> str | None:
    return named.name.casefold() or None

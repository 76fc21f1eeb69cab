"""Where a contract is weaker than its parent: the comparison of versions judges, this module selects and locates.

A child is compared with each template of its parent: the fields, rules, service levels and settings that the parent declares for
a dataset. What a child adds is not a weakness, nor is what it declares more strictly.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.compare.compare import compare
from lakegate.contracts.compare.kinds import KINDS
from lakegate.contracts.compare.requirements import requirements
from lakegate.contracts.compare.service_levels import level_name, service_levels
from lakegate.contracts.compare.version import ContractVersion
from lakegate.contracts.compile.rules.nested_fields import with_parts
from lakegate.contracts.documents.extension import CSV, POLICY, STORAGE
from lakegate.contracts.documents.service_levels import KIND as SERVICE_LEVEL
from lakegate.contracts.errors import Problem
from lakegate.contracts.inherit.merge import templates
from lakegate.contracts.inherit.sources import source_of
from lakegate.contracts.lint.walk import extensions_of
from lakegate.contracts.model.contract import Origin
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.compare.change import Change
    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.model.contract import Contract, Dataset, Rule

WEAKER = "weaker-than-parent"
UNJUDGED = ("contract-id", "dataset-renamed", "dataset-removed", "field-position")
"""Kinds that a child may differ in: it is another contract, and its file has other fields beside the inherited ones."""
FOR_CHILDREN = (
    *("limit-raised", "personal-unmarked", "classification-lowered", "classification-changed"),
    *("warning-looser", "warning-changed", "warning-removed", "policy-changed", "quarantine-lengthened"),
)
"""Kinds that affect no consumer of two versions, and are weaknesses of a child."""
WEAKNESSES = frozenset({kind for kind, effect in KINDS.items() if effect.consumer and kind not in UNJUDGED}) | {
    *FOR_CHILDREN
}
STRICTER = {("additionalFields", "allow", "warn"), ("samples", "true", "false")}
"""Settings whose change rejects nothing, and is stricter nevertheless."""
NEGATED = {"required": "required", "unique": "unique"}
"""Keys of fields that say `false` where the parent has a rule of this kind."""


def weaknesses(parent: Contract, child: ContractVersion, document: Document) -> Iterator[Problem]:
    """The places where a child, with all that it inherits, is weaker than its parent."""
    own = (each for each in child.contract.all_datasets if source_of(child.contract, each.origin) is None)
    child = replace(child, contract=replace(child.contract, datasets=tuple(own), common=None))
    places = _places(child)
    for views in zip(*(_views(parent, each) for each in child.contract.datasets), strict=True):
        whole = replace(child.contract, datasets=tuple(views))
        for change in compare(ContractVersion(whole, document), child).changes:
            if change.kind in WEAKNESSES and not _is_stricter(change):
                yield _problem(parent, change, places, child)
    for dataset in child.contract.datasets:
        for template in templates(parent, dataset.name):
            yield from _negated(parent, template, dataset, child.document)


def _views(parent: Contract, dataset: Dataset) -> tuple[Dataset, Dataset]:
    """What the parent declares for a dataset, in the common one and in that of its name; the dataset itself if nothing."""
    common, named = parent.common, parent.dataset(dataset.name)
    return tuple(dataset if each is None else _view(each, dataset) for each in (common, named))  # type: ignore[return-value]  # of two


def _view(template: Dataset, dataset: Dataset) -> Dataset:
    """A template as a version of the dataset: what it does not declare is as the dataset has it."""
    parts = {
        part: replace(
            getattr(dataset, part),
            **{
                name: getattr(getattr(template, part), name)
                for name in template.declared
                if hasattr(getattr(dataset, part), name)
            },
        )
        for part in ("policy", "csv", "storage")
    }
    rules = tuple(rule for each in template.rules for rule in _level_views(each, dataset))
    notice_days = (template if "notice_days" in template.declared else dataset).notice_days
    return replace(dataset, fields=template.fields, rules=rules, notice_days=notice_days, **parts)


def _level_views(rule: Rule, dataset: Dataset) -> Iterator[Rule]:
    """A service level of all data, once for each level of the dataset with its name, and with the fields of that one."""
    if rule.kind != SERVICE_LEVEL:
        yield rule
        return
    for each in dataset.rules:
        if each.kind == SERVICE_LEVEL and level_name(each) == level_name(rule):
            yield replace(rule, fields=rule.fields or each.fields, origin=each.origin)


def _is_stricter(change: Change) -> bool:
    before, after = change.before or "", change.after or ""
    if change.kind == "classification-changed":
        return before.strip().casefold() == after.strip().casefold()
    return (change.path.rpartition(".")[2], before, after) in STRICTER


def _problem(parent: Contract, change: Change, places: dict[str, Origin], child: ContractVersion) -> Problem:
    inherits = child.contract.inherits
    assert inherits is not None
    origin = places.get(change.path, inherits.origin)
    before, after = (shown("none" if each is None else each) for each in (change.before, change.after))
    message = (
        f"{shown(change.path)} is weaker than in {shown(f'{parent.id}@{parent.version}')}: {before} there, {after} here."
        f" Make it at least as strict, or remove it to inherit it."
    )
    return Problem(WEAKER, origin.path, origin.line, message)


def _places(child: ContractVersion) -> dict[str, Origin]:
    """The place of each path in changes, in the child's own document."""
    found: dict[str, Origin] = {}
    for dataset in child.contract.datasets:
        found.setdefault(dataset.name, dataset.origin)
        for field in with_parts(dataset.fields):
            path, place = f"{dataset.name}.{field.name}", child.document.at(field.origin.path)
            found.setdefault(path, field.origin)
            found.setdefault(f"{path}.classification", place["classification"].origin)
        for each in requirements(child.contract, dataset):
            found.setdefault(each.path, each.rule.origin)
            found.setdefault(each.rule_path, each.rule.origin)
        found |= {f"{dataset.name}.lakegate.{key}": origin for key, origin in _settings(child.document, dataset)}
    return found | {each.path: each.origin for each in service_levels(child.contract)}


def _settings(document: Document, dataset: Dataset) -> Iterator[tuple[str, Origin]]:
    """The keys of the extension that hold for a dataset; those of the dataset override those of the contract."""
    for place in extensions_of(document):
        of_dataset = place.path.startswith((f"{dataset.origin.path}.", f"{dataset.origin.path}["))
        if of_dataset or place.steps[0] not in {"schema", "models"}:
            yield from (
                (key, place[key].origin)
                for key in (*POLICY, *STORAGE, "critical", "noticePeriod")
                if place[key].present
            )
            yield from ((f"csv.{key}", place["csv"][key].origin) for key in CSV if place["csv"][key].present)


def _negated(parent: Contract, template: Dataset, dataset: Dataset, document: Document) -> Iterator[Problem]:
    """Fields that deny what the parent requires of them."""
    required = {(name, rule.kind) for rule in template.rules for name in rule.fields if len(rule.fields) == 1}
    for field in with_parts(dataset.fields):
        for key, kind in NEGATED.items():
            place = document.at(field.origin.path)[key]
            if place.flag is False and (field.name, kind) in required:
                message = (
                    f"{shown(f'{dataset.name}.{field.name}')} is `{key}` in {shown(f'{parent.id}@{parent.version}')}:"
                    f" write `{key}: true`, or remove the key."
                )
                yield Problem(WEAKER, place.path, place.mark.line, message)

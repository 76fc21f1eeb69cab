"""Parts that a contract inherits: their origin, what is merged, and where the contract is weaker than its parent."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass, replace

from lakegate.base.errors import Problem
from lakegate.base.text import quote
from lakegate.contract.contract_model import COMMON, Contract, Dataset, Field, Origin, Rule
from lakegate.contract.documents.document_tree import Document, address, steps_of
from lakegate.contract.documents.extension_settings import CSV, POLICY, STORAGE
from lakegate.contract.service_levels import KIND as SERVICE_LEVEL
from lakegate.contract.service_levels import level_name
from lakegate.diff.change_kinds import KINDS, Change
from lakegate.diff.compared_versions import ContractVersion
from lakegate.diff.diff_contracts import compare
from lakegate.diff.rule_changes import OF_TYPES, Requirement, measure_of, requirements
from lakegate.diff.service_level_changes import service_levels
from lakegate.lints.findings import extensions_of
from lakegate.rules.compile_plan import with_parts

# ---- The origin of inherited elements ----
# The address of an inherited element is the address of `inherits`, followed by that version and that address. So a problem of
# it is located at `inherits`, and the address alone shows where a value comes from.


@dataclass(frozen=True, slots=True)
class DeclaringVersion:
    """The contract version that declares an inherited element."""

    version: str
    """e.g. `acme-policies@1.2.0`"""
    path: str
    """In the document of that version."""


def source_of(contract: Contract, origin: Origin) -> DeclaringVersion | None:
    """The source of an element of a contract; None if the contract declares it itself."""
    if contract.inherits is None:
        return None
    own, steps = steps_of(contract.inherits.origin.path), steps_of(origin.path)
    if steps[: len(own)] != own or len(steps) != len(own) + 2:
        return None
    return DeclaringVersion(str(steps[-2]), str(steps[-1]))


def inherited_origin(parent: Contract, origin: Origin, child: Contract) -> Origin:
    """The origin of an element of the parent in a child."""
    assert child.inherits is not None
    source = source_of(parent, origin) or DeclaringVersion(f"{parent.id}@{parent.version}", origin.path)
    at = child.inherits.origin
    return Origin(address((*steps_of(at.path), source.version, source.path)), at.line)


# ---- Inherited fields, rules, service levels and settings ----


def templates(parent: Contract, name: str) -> tuple[Dataset, ...]:
    """The datasets of a parent whose requirements hold for a child's dataset: the common one, then that of its name."""
    found = (parent.common, parent.dataset(name) if name != COMMON else None)
    return tuple(replace(entry, name=name) for entry in found if entry is not None)


def inherit_parts(parent: Contract, child: Contract) -> Contract:
    """The child with everything that it inherits; what it declares itself is kept, whether weaker or not."""
    names = {dataset.name for dataset in child.all_datasets}
    missing = (_move_origins(parent, dataset, child) for dataset in parent.all_datasets if dataset.name not in names)
    own = [_with_templates(parent, child, dataset) for dataset in child.all_datasets]
    merged = {entry.name: entry for entry in (*own, *missing)}
    common = merged.pop(COMMON, None)
    return replace(
        child,
        datasets=tuple(merged.values()),
        common=common,
        require=tuple(dict.fromkeys((*parent.require, *child.require))),
    )


def _with_templates(parent: Contract, child: Contract, dataset: Dataset) -> Dataset:
    for template in reversed(templates(parent, dataset.name)):
        moved = _move_origins(parent, template, child)
        known = {part.name for part in with_parts(dataset.fields)}
        own = replace(dataset, fields=_merge_fields(moved.fields, dataset.fields))
        settings = {
            part: replace(
                getattr(own, part),
                **{
                    name: getattr(getattr(moved, part), name)
                    for name in moved.declared - own.declared
                    if hasattr(getattr(own, part), name)
                },
            )
            for part in ("policy", "csv", "storage")
        }
        dataset = replace(
            own,
            rules=(*own.rules, *_missing_rules(parent, moved, child, own, known)),
            declared=own.declared | moved.declared,
            notice_days=(moved if "notice_days" in moved.declared - own.declared else own).notice_days,
            **settings,
        )
    return dataset


def _move_origins(parent: Contract, dataset: Dataset, child: Contract) -> Dataset:
    """A dataset of the parent, with the origins that its elements have in the child."""
    return replace(
        dataset,
        origin=inherited_origin(parent, dataset.origin, child),
        fields=tuple(_moved_field(parent, field, child) for field in dataset.fields),
        rules=tuple(replace(rule, origin=inherited_origin(parent, rule.origin, child)) for rule in dataset.rules),
    )


def _moved_field(parent: Contract, field: Field, child: Contract) -> Field:
    return replace(
        field,
        origin=inherited_origin(parent, field.origin, child),
        parts=tuple(_moved_field(parent, part, child) for part in field.parts),
        examples=(),
    )


def _merge_fields(inherited_fields: tuple[Field, ...], own: tuple[Field, ...]) -> tuple[Field, ...]:
    """The own fields with what they leave open, then the fields that are missing."""
    given = {field.name: field for field in inherited_fields}
    names = {field.name for field in own}
    missing = (field for field in inherited_fields if field.name not in names)
    return (*(_fill_field(given[field.name], field) if field.name in given else field for field in own), *missing)


def _fill_field(given: Field, own: Field) -> Field:
    return replace(
        own,
        classification=own.classification or given.classification,
        personal=given.personal if own.personal is None else own.personal,
        physical=own.physical or given.physical,
        parts=_merge_fields(given.parts, own.parts),
    )


def _missing_rules(
    parent: Contract, template: Dataset, child: Contract, own: Dataset, known: Collection[str]
) -> Iterator[Rule]:
    """The rules of a template that the dataset has neither by id nor by what they measure."""
    levels = {level_name(entry) for entry in own.rules if entry.kind == SERVICE_LEVEL}
    declared = requirements(child, own)
    ids = {entry.own_id for entry in declared} - {None}
    measures = {_measure(entry) for entry in declared}
    needed = {id(requirement.rule): False for requirement in requirements(parent, template)}
    for requirement in requirements(parent, template):
        needed[id(requirement.rule)] |= requirement.own_id not in ids and _measure(requirement) not in measures
    for rule in template.rules:
        if rule.kind == SERVICE_LEVEL:
            if level_name(rule) not in levels:
                yield rule
        elif rule.kind in OF_TYPES and not rule.arguments:
            if rule.fields[0] not in known:
                yield rule
        elif needed.get(id(rule), True):
            yield rule


def _measure(requirement: Requirement) -> Hashable:
    """The measure of a requirement, and the kind of its condition; of one that is not measured, its declaration."""
    return requirement.content if requirement.check.skip is not None else measure_of(requirement)


# ---- Weaker than the parent ----
# A child is compared with each template of its parent: the fields, rules, service levels and settings that the parent declares
# for a dataset. What a child adds is not a weakness, nor is what it declares more strictly.


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
STRICTER = {
    *((key, "allow", "warn") for key in ("additionalFields", "missingFields")),
    ("samples", "true", "false"),
    *(("anomalies", *change) for change in (("ignore", "decrease"), ("ignore", "both"), ("decrease", "both"))),
}
"""Settings whose change rejects nothing, and is stricter nevertheless."""
NEGATED = {"required": "required", "unique": "unique"}
"""Keys of fields that say `false` where the parent has a rule of this kind."""


def weaknesses(parent: Contract, child: ContractVersion, document: Document) -> Iterator[Problem]:
    """The places where a child, with all that it inherits, is weaker than its parent."""
    own = (entry for entry in child.contract.all_datasets if source_of(child.contract, entry.origin) is None)
    child = replace(child, contract=replace(child.contract, datasets=tuple(own), common=None))
    places = _places(child)
    for views in zip(*(_views(parent, entry) for entry in child.contract.datasets), strict=True):
        whole = replace(child.contract, datasets=tuple(views))
        for change in compare(ContractVersion(whole, document), child).changes:
            if change.kind in WEAKNESSES and not _is_stricter(change):
                yield _problem(parent, change, places, child)
    for dataset in child.contract.datasets:
        for template in templates(parent, dataset.name):
            required = {(name, rule.kind) for rule in template.rules for name in rule.fields if len(rule.fields) == 1}
            for field in with_parts(dataset.fields):
                for key, kind in NEGATED.items():
                    place = child.document.at(field.origin.path)[key]
                    if place.flag is False and (field.name, kind) in required:
                        message = (
                            f"{quote(f'{dataset.name}.{field.name}')} is `{key}` in {quote(f'{parent.id}@{parent.version}')}:"
                            f" write `{key}: true`, or remove the key."
                        )
                        yield Problem(WEAKER, place.path, place.mark.line, message)


def _views(parent: Contract, dataset: Dataset) -> tuple[Dataset, Dataset]:
    """The parent's declarations for a dataset, in the common one and in that of its name; the dataset itself if none."""
    common, named = parent.common, parent.dataset(dataset.name)
    return tuple(dataset if side is None else _view(side, dataset) for side in (common, named))  # type: ignore[return-value]  # of two


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
    rules = tuple(rule for entry in template.rules for rule in _level_views(entry, dataset))
    notice_days = (template if "notice_days" in template.declared else dataset).notice_days
    return replace(dataset, fields=_without_ids(template.fields), rules=rules, notice_days=notice_days, **parts)


def _without_ids(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """The fields without their ids, which are those of another contract."""
    return tuple(replace(field, stable_id=None, parts=_without_ids(field.parts)) for field in fields)


def _level_views(rule: Rule, dataset: Dataset) -> Iterator[Rule]:
    """A service level of all data, once for each level of the dataset with its name, and with the fields of that one."""
    if rule.kind != SERVICE_LEVEL:
        yield rule
        return
    for entry in dataset.rules:
        if entry.kind == SERVICE_LEVEL and level_name(entry) == level_name(rule):
            yield replace(rule, fields=rule.fields or entry.fields, origin=entry.origin)


def _is_stricter(change: Change) -> bool:
    before, after = change.before or "", change.after or ""
    if change.kind == "classification-changed":
        return before.strip().casefold() == after.strip().casefold()
    return (change.path.rpartition(".")[2], before, after) in STRICTER


def _problem(parent: Contract, change: Change, places: dict[str, Origin], child: ContractVersion) -> Problem:
    inherits = child.contract.inherits
    assert inherits is not None
    origin = places.get(change.path, inherits.origin)
    before, after = (quote("none" if side is None else side) for side in (change.before, change.after))
    message = (
        f"{quote(change.path)} is weaker than in {quote(f'{parent.id}@{parent.version}')}: {before} there, {after} here."
        f" Make it at least as strict, or remove it to inherit it."
    )
    return Problem(WEAKER, origin.path, origin.line, message)


def _places(child: ContractVersion) -> dict[str, Origin]:
    """The place of each path in changes, in the child's own document."""
    origins: dict[str, Origin] = {}
    for dataset in child.contract.datasets:
        origins.setdefault(dataset.name, dataset.origin)
        for field in with_parts(dataset.fields):
            path, place = f"{dataset.name}.{field.name}", child.document.at(field.origin.path)
            origins.setdefault(path, field.origin)
            origins.setdefault(f"{path}.classification", place["classification"].origin)
        for requirement in requirements(child.contract, dataset):
            origins.setdefault(requirement.path, requirement.rule.origin)
            origins.setdefault(requirement.rule_path, requirement.rule.origin)
        origins |= {f"{dataset.name}.lakegate.{key}": origin for key, origin in _settings(child.document, dataset)}
    return origins | {level.path: level.origin for level in service_levels(child.contract)}


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

"""Adds to a contract what it inherits: the fields, rules, service levels and settings that it does not declare itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.compare.requirements import OF_TYPES, measured, requirements
from lakegate.contracts.compare.service_levels import level_name
from lakegate.contracts.compile.rules.nested_fields import with_parts
from lakegate.contracts.documents.service_levels import KIND as SERVICE_LEVEL
from lakegate.contracts.inherit.sources import inherited_origin
from lakegate.contracts.model.contract import COMMON

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from lakegate.contracts.compare.requirement import Requirement
    from lakegate.contracts.model.contract import Contract, Dataset, Field, Rule


def templates(parent: Contract, name: str) -> tuple[Dataset, ...]:
    """The datasets of a parent whose requirements hold for a child's dataset: the common one, then that of its name."""
    found = (parent.common, parent.dataset(name) if name != COMMON else None)
    return tuple(replace(each, name=name) for each in found if each is not None)


def inherited(parent: Contract, child: Contract) -> Contract:
    """The child with everything that it inherits; what it declares itself is kept, whether weaker or not."""
    names = {each.name for each in child.all_datasets}
    missing = (_moved(parent, each, child) for each in parent.all_datasets if each.name not in names)
    own = [_with_templates(parent, child, each) for each in child.all_datasets]
    merged = {each.name: each for each in (*own, *missing)}
    common = merged.pop(COMMON, None)
    return replace(
        child,
        datasets=tuple(merged.values()),
        common=common,
        require=tuple(dict.fromkeys((*parent.require, *child.require))),
    )


def _with_templates(parent: Contract, child: Contract, dataset: Dataset) -> Dataset:
    for template in reversed(templates(parent, dataset.name)):
        dataset = _merged(parent, _moved(parent, template, child), child, dataset)
    return dataset


def _moved(parent: Contract, dataset: Dataset, child: Contract) -> Dataset:
    """A dataset of the parent, with the origins that its elements have in the child."""
    return replace(
        dataset,
        origin=inherited_origin(parent, dataset.origin, child),
        fields=tuple(_moved_field(parent, each, child) for each in dataset.fields),
        rules=tuple(replace(each, origin=inherited_origin(parent, each.origin, child)) for each in dataset.rules),
    )


def _moved_field(parent: Contract, field: Field, child: Contract) -> Field:
    return replace(
        field,
        origin=inherited_origin(parent, field.origin, child),
        parts=tuple(_moved_field(parent, each, child) for each in field.parts),
        examples=(),
    )


def _merged(parent: Contract, template: Dataset, child: Contract, own: Dataset) -> Dataset:
    known = {each.name for each in with_parts(own.fields)}
    own = replace(own, fields=_merged_fields(template.fields, own.fields))
    settings = {
        part: replace(
            getattr(own, part),
            **{
                name: getattr(getattr(template, part), name)
                for name in template.declared - own.declared
                if hasattr(getattr(own, part), name)
            },
        )
        for part in ("policy", "csv", "storage")
    }
    return replace(
        own,
        rules=(*own.rules, *_missing_rules(parent, template, child, own, known)),
        declared=own.declared | template.declared,
        notice_days=(template if "notice_days" in template.declared - own.declared else own).notice_days,
        **settings,
    )


def _merged_fields(inherited_fields: tuple[Field, ...], own: tuple[Field, ...]) -> tuple[Field, ...]:
    """The own fields with what they leave open, then the fields that are missing."""
    given = {each.name: each for each in inherited_fields}
    names = {each.name for each in own}
    missing = (each for each in inherited_fields if each.name not in names)
    return (*(_filled(given[each.name], each) if each.name in given else each for each in own), *missing)


def _filled(given: Field, own: Field) -> Field:
    return replace(
        own,
        classification=own.classification or given.classification,
        personal=given.personal if own.personal is None else own.personal,
        physical=own.physical or given.physical,
        parts=_merged_fields(given.parts, own.parts),
    )


def _missing_rules(
    parent: Contract, template: Dataset, child: Contract, own: Dataset, known: set[str]
) -> Iterator[Rule]:
    """The rules of a template that the dataset has neither by id nor by what they measure."""
    levels = {level_name(each) for each in own.rules if each.kind == SERVICE_LEVEL}
    declared = requirements(child, own)
    ids = {each.own_id for each in declared} - {None}
    measures = {_measure(each) for each in declared}
    needed = {id(each.rule): False for each in requirements(parent, template)}
    for each in requirements(parent, template):
        needed[id(each.rule)] |= each.own_id not in ids and _measure(each) not in measures
    for rule in template.rules:
        if rule.kind == SERVICE_LEVEL:
            if level_name(rule) not in levels:
                yield rule
        elif rule.kind in OF_TYPES and not rule.arguments:
            if rule.fields[0] not in known:
                yield rule
        elif needed.get(id(rule), True):
            yield rule


def _measure(each: Requirement) -> Hashable:
    """What a requirement measures, and the kind of its condition; of one that is not measured, what it declares."""
    return each.content if each.check.skip is not None else measured(each)

"""Every difference of two versions, as changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from lakegate.contract.contract_model import Contract, Dataset, Field
from lakegate.contract.field_paths import FieldPath, steps_of
from lakegate.diff.change_kinds import Change, Pairs, VersionComparison, pair_elements
from lakegate.diff.compared_versions import ContractVersion
from lakegate.diff.field_changes import FieldPairs, Side, compare_fields, pair_fields, stable_id, unique
from lakegate.diff.metadata_changes import Metadata, compare_settings
from lakegate.diff.rule_changes import compare_requirements, demanded_fields, match, requirements
from lakegate.diff.service_level_changes import compare_levels, pair_levels
from lakegate.rules.compile_plan import with_parts


def compare(old: ContractVersion, new: ContractVersion) -> VersionComparison:
    """All differences between two versions, the larger bump first, each once."""
    changes = dict.fromkeys(_changes(old, new))
    ordered = sorted(
        changes,
        key=lambda change: (-change.bump.rank, change.path, change.kind, change.before or "", change.after or ""),
    )
    return VersionComparison(old.contract.version, new.contract.version, tuple(ordered))


def _changes(old: ContractVersion, new: ContractVersion) -> Iterator[Change]:
    metadata = Metadata(old, new)
    yield from metadata.of_contract()
    levels, gone, come = pair_levels(old.contract, new.contract)
    yield from compare_levels(levels, gone, come)
    for before, after in levels:
        yield from metadata.of_element("level", after.path, before.origin.path, after.origin.path)
    pairs, removed, added = _paired_datasets(old.contract, new.contract)
    yield from (
        Change(entry.name, "dataset-removed", entry.name, None) for entry in removed if not entry.is_whole_document
    )
    yield from (Change(entry.name, "dataset-added", None, entry.name) for entry in added if not entry.is_whole_document)
    for was, now in pairs:
        if was.name != now.name:
            yield Change(now.name, "dataset-renamed", was.name, now.name)
        yield from _of_dataset(old, new, was, now, metadata)


def _paired_datasets(old: Contract, new: Contract) -> tuple[Pairs[Dataset], list[Dataset], list[Dataset]]:
    """The datasets by stable id and name; the only other one of each version is renamed if most of its fields are the same."""
    by_id = unique(stable_id, old.datasets, new.datasets)
    pairs, removed, added = pair_elements(old.datasets, new.datasets, by_id, lambda dataset: dataset.name)
    if len(removed) == len(added) == 1:
        before, after = ({field.name for field in side.fields} for side in (removed[0], added[0]))
        if 2 * len(before & after) > max(len(before), len(after)):
            return [*pairs, (removed[0], added[0])], [], []
    return pairs, removed, added


def _of_dataset(
    old: ContractVersion, new: ContractVersion, was: Dataset, now: Dataset, metadata: Metadata
) -> Iterator[Change]:
    fields = pair_fields(was, now)
    before, after = requirements(old.contract, _rename_fields(was, fields)), requirements(new.contract, now)
    sides = Side(was, demanded_fields(before, fields.removed)), Side(now, demanded_fields(after, fields.added))
    yield from compare_settings(was, now)
    yield from compare_fields(*sides, fields, is_one_format=old.family == new.family)
    if not was.is_whole_document and not now.is_whole_document:
        yield from metadata.of_element("dataset", now.name, was.origin.path, now.origin.path)
    for field, other in fields.same:
        yield from metadata.of_element("field", f"{now.name}.{other.name}", field.origin.path, other.origin.path)
    removed = _all_names(fields.removed) - fields.paths.keys()
    added = _all_names(fields.added) - set(fields.paths.values())
    matched = match(before, after, removed, added)
    yield from compare_requirements(matched, before, after)
    for first, second in matched.pairs:
        if first.is_quality and second.is_quality:
            origins = first.rule.origin.path, second.rule.origin.path
            yield from metadata.of_element("rule", second.rule_path, *origins)


def _all_names(fields: Iterable[Field]) -> frozenset[str]:
    """The paths of fields, and of all fields inside them."""
    return frozenset(part.name for part in with_parts(fields))


def _rename_fields(dataset: Dataset, pairs: FieldPairs) -> Dataset:
    """The dataset with its fields where they are now; queries and calls of other engines keep the names that they contain."""
    paths = pairs.paths
    if all(old == new for old, new in paths.items()):
        return dataset
    taken = set(paths.values()) - _all_names(dataset.fields)
    names = {**{name: FieldPath(f"{name} (undeclared)") for name in taken}, **paths}
    away = {old.name for old, _ in pairs.moved}
    fields = _rename_parts(dataset.fields, paths, away)
    for old, new in sorted(pairs.moved, key=lambda pair: pair[1].name):
        fields = _place_field(fields, replace(old, name=new.name, parts=_rename_parts(old.parts, paths, away)))
    return replace(
        dataset,
        fields=fields,
        rules=tuple(
            replace(rule, fields=tuple(names.get(name, name) for name in rule.fields)) for rule in dataset.rules
        ),
    )


def _rename_parts(
    fields: tuple[Field, ...], paths: Mapping[FieldPath, FieldPath], away: Collection[str]
) -> tuple[Field, ...]:
    """The fields that are still where they were, by their new paths."""
    return tuple(
        replace(field, name=paths.get(field.name, field.name), parts=_rename_parts(field.parts, paths, away))
        for field in fields
        if field.name not in away
    )


def _place_field(fields: tuple[Field, ...], field: Field) -> tuple[Field, ...]:
    """The fields with another one, inside the one whose path its own begins with."""
    for place, entry in enumerate(fields):
        steps = steps_of(entry.name) or ()
        if (steps_of(field.name) or ())[: len(steps)] == steps:
            return (*fields[:place], replace(entry, parts=_place_field(entry.parts, field)), *fields[place + 1 :])
    return (*fields, field)

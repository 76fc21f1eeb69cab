"""Every difference of two versions, as changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from lakegate.contract.contract_model import About, Contract, Dataset, Field, Server
from lakegate.contract.documents.document_root import DEPRECATION_KEYS
from lakegate.contract.field_paths import FieldPath, steps_of
from lakegate.diff.change_kinds import Change, Pairs, VersionComparison, meaning, paired, text_of
from lakegate.diff.field_changes import FieldPairs, Side, compare_fields, pair_fields, stable_id, unique
from lakegate.diff.metadata_changes import ALIASES, ContractVersion, compare_settings
from lakegate.diff.rule_changes import compare_requirements, demanded_fields, match, requirements
from lakegate.diff.service_level_changes import compare_levels, pair_levels
from lakegate.rules.compile_plan import with_parts

# ---- Names, descriptions, servers and other keys ----


KINDS_OF_KEYS = {"physicalType": "physical-type", "description": "description", "deprecated": "deprecation"}
ABOUT = {
    "description": "description",
    "owner": "owner",
    "purpose": "description",
    "usage": "description",
    "limitations": "description",
}


class Metadata:
    """Compares the keys of two documents that the model leaves out."""

    def __init__(self, old: ContractVersion, new: ContractVersion) -> None:
        self._old, self._new = old, new
        self._is_one_format = old.family == new.family

    def of_contract(self) -> Iterator[Change]:
        """The changes of the root."""
        old, new = self._old.contract, self._new.contract
        yield from _unless_same("id", "contract-id", old.id, new.id)
        yield from _unless_same("name", "metadata", old.name, new.name)
        yield from _unless_same("status", "status", old.status, new.status)
        for key, kind in ABOUT.items():
            yield from _unless_same(key, kind, getattr(old.about, key), getattr(new.about, key))
        yield from _unless_same("lakegate.inherits", "metadata", _parent(old), _parent(new))
        yield from _unless_same("lakegate.require", "metadata", list(old.require), list(new.require))
        yield from _unless_same("lakegate.sharedWith", "metadata", list(old.shared_with), list(new.shared_with))
        yield from _deprecation(old.about, new.about)
        yield from _servers(old, new)
        yield from self.of_element("root", "", "$", "$")

    def of_element(self, element: str, path: str, old: str, new: str) -> Iterator[Change]:
        """The changes of the remaining keys of an element, at its addresses in both documents."""
        before, after = self._old.rest(element, old), self._new.rest(element, new)
        if not self._is_one_format:
            before, after = ({ALIASES.get(key, key): each for key, each in side.items()} for side in (before, after))
        keys = before.keys() | after.keys() if self._is_one_format else before.keys() & after.keys()
        for key in sorted(keys):
            kind = KINDS_OF_KEYS.get(key, "metadata")
            yield from _unless_same(f"{path}.{key}".removeprefix("."), kind, before.get(key), after.get(key))


def _unless_same(path: str, kind: str, before: object, after: object) -> Iterator[Change]:
    if meaning(before) != meaning(after):
        yield Change(path, kind, text_of(before), text_of(after))


def _parent(contract: Contract) -> str | None:
    return None if contract.inherits is None else contract.inherits.name


def _deprecation(old: About, new: About) -> Iterator[Change]:
    for key in DEPRECATION_KEYS:
        before, after = (getattr(each.deprecation, key, None) for each in (old, new))
        yield from _unless_same(f"deprecation.{key}", "deprecation", before, after)


def _servers(old: Contract, new: Contract) -> Iterator[Change]:
    before, after = ({server.name: _settings(server) for server in side.about.servers} for side in (old, new))
    for name in sorted(before.keys() | after.keys()):
        yield from _unless_same(f"servers.{name}", "server", before.get(name), after.get(name))


def _settings(server: Server) -> Mapping[str, object]:
    return {"type": server.type, **server.settings}


# ---- The comparison ----


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
    yield from (Change(each.name, "dataset-removed", each.name, None) for each in removed if not each.is_whole_document)
    yield from (Change(each.name, "dataset-added", None, each.name) for each in added if not each.is_whole_document)
    for was, now in pairs:
        if was.name != now.name:
            yield Change(now.name, "dataset-renamed", was.name, now.name)
        yield from _of_dataset(old, new, was, now, metadata)


def _paired_datasets(old: Contract, new: Contract) -> tuple[Pairs[Dataset], list[Dataset], list[Dataset]]:
    """The datasets by stable id and name; the only other one of each version is renamed if most of its fields are the same."""
    by_id = unique(stable_id, old.datasets, new.datasets)
    pairs, removed, added = paired(old.datasets, new.datasets, by_id, lambda each: each.name)
    if len(removed) == len(added) == 1:
        before, after = ({field.name for field in each.fields} for each in (removed[0], added[0]))
        if 2 * len(before & after) > max(len(before), len(after)):
            return [*pairs, (removed[0], added[0])], [], []
    return pairs, removed, added


def _of_dataset(
    old: ContractVersion, new: ContractVersion, was: Dataset, now: Dataset, metadata: Metadata
) -> Iterator[Change]:
    fields = pair_fields(was, now)
    before, after = requirements(old.contract, _renamed(was, fields)), requirements(new.contract, now)
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


def _renamed(dataset: Dataset, found: FieldPairs) -> Dataset:
    """The dataset with its fields where they are now; queries and calls of other engines keep the names that they contain."""
    paths = found.paths
    if all(old == new for old, new in paths.items()):
        return dataset
    taken = set(paths.values()) - _all_names(dataset.fields)
    names = {**{name: FieldPath(f"{name} (undeclared)") for name in taken}, **paths}
    away = {old.name for old, _ in found.moved}
    fields = _renamed_fields(dataset.fields, paths, away)
    for old, new in sorted(found.moved, key=lambda pair: pair[1].name):
        fields = _placed(fields, replace(old, name=new.name, parts=_renamed_fields(old.parts, paths, away)))
    return replace(
        dataset,
        fields=fields,
        rules=tuple(
            replace(rule, fields=tuple(names.get(name, name) for name in rule.fields)) for rule in dataset.rules
        ),
    )


def _renamed_fields(
    fields: tuple[Field, ...], paths: Mapping[FieldPath, FieldPath], away: Collection[str]
) -> tuple[Field, ...]:
    """The fields that are still where they were, by their new paths."""
    return tuple(
        replace(field, name=paths.get(field.name, field.name), parts=_renamed_fields(field.parts, paths, away))
        for field in fields
        if field.name not in away
    )


def _placed(fields: tuple[Field, ...], field: Field) -> tuple[Field, ...]:
    """The fields with another one, inside the one whose path its own begins with."""
    for place, each in enumerate(fields):
        steps = steps_of(each.name) or ()
        if (steps_of(field.name) or ())[: len(steps)] == steps:
            return (*fields[:place], replace(each, parts=_placed(each.parts, field)), *fields[place + 1 :])
    return (*fields, field)

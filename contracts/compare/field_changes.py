"""Compares the fields of two versions of a dataset: their existence, types and descriptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.contracts.compare.change import Change
from lakegate.contracts.compare.fields import type_of, typed_fields
from lakegate.contracts.compare.texts import text_of
from lakegate.contracts.model.storage import Format

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from lakegate.contracts.compare.fields import FieldPairs, Typed
    from lakegate.contracts.model.contract import Dataset, Field


DESCRIBED = (
    ("description", "description", "description"),
    ("physical", "physicalName", "physical-name"),
)
"""The texts of a field: in the model, in documents, and their kinds of change."""


LEVELS = {"public": 1, "internal": 2, "confidential": 3, "restricted": 4, "secret": 5}
"""The usual classifications, in order; no other has a place among them."""


@dataclass(frozen=True, slots=True)
class Side:
    """A version of a dataset."""

    dataset: Dataset
    required: Collection[str]
    """Those of its removed or added fields without which a file may be rejected."""

    @property
    def typed(self) -> Typed:
        """The fields whose values have a grammar."""
        return typed_fields(self.dataset)

    def path(self, field: Field) -> str:
        """The path of a field in changes."""
        return f"{self.dataset.name}.{field.name}"

    def existence(self, field: Field, end: str) -> str:
        """The kind of an added or removed field."""
        return f"{'required' if field.name in self.required else 'optional'}-field-{end}"


def compare_fields(old: Side, new: Side, pairs: FieldPairs, *, is_one_format: bool) -> Iterator[Change]:
    """The changes of the fields of a dataset, except their rules."""
    old_typed, new_typed = old.typed, new.typed
    for each in pairs.removed:
        yield Change(old.path(each), old.existence(each, "removed"), type_of(each, old_typed), None)
    for each in pairs.added:
        yield Change(new.path(each), new.existence(each, "added"), None, type_of(each, new_typed))
    for before, after in pairs.renamed:
        yield Change(new.path(after), "field-renamed", before.name, after.name)
    for before, after in pairs.moved:
        yield Change(new.path(after), "field-moved", before.name, after.name)
    for before, after in pairs.same:
        words = (type_of(before, old_typed), type_of(after, new_typed))
        yield from _changed(new.path(after), before, after, words, is_one_format=is_one_format)
    yield from _orders(old.dataset, new.dataset, pairs)


def _changed(path: str, old: Field, new: Field, types: tuple[str, str], *, is_one_format: bool) -> Iterator[Change]:
    if types[0] != types[1]:
        yield Change(path, "type-changed", *types)
    elif is_one_format and old.declared != new.declared:
        yield Change(path, "type-spelling", old.declared, new.declared)
    for name, key, kind in DESCRIBED:
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield Change(f"{path}.{key}", kind, before, after)
    if old.classification != new.classification:
        kind = _classified(old.classification, new.classification)
        yield Change(f"{path}.classification", kind, old.classification, new.classification)
    if bool(old.personal) != bool(new.personal):
        kind = "personal-marked" if new.personal else "personal-unmarked"
        yield Change(path, kind, text_of(bool(old.personal)), text_of(bool(new.personal)))
    examples = tuple([example.written for example in each.examples] for each in (old, new))
    if examples[0] != examples[1]:
        yield Change(f"{path}.examples", "examples", *map(text_of, examples))


def _classified(old: str | None, new: str | None) -> str:
    """The kind of a changed classification: any is higher than none."""
    before, after = (LEVELS.get((each or "").strip().casefold()) for each in (old, new))
    if before is None or after is None:
        return "classification-changed" if old and new else f"classification-{'raised' if new else 'lowered'}"
    if before == after:
        return "classification-changed"
    return f"classification-{'raised' if after > before else 'lowered'}"


def _orders(old: Dataset, new: Dataset, pairs: FieldPairs) -> Iterator[Change]:
    """The changes of the order of fields; without a header the position of a column decides its field."""
    paths = pairs.paths
    levels = [(new.name, old.fields, new.fields)]
    levels += [(f"{new.name}.{after.name}", before.parts, after.parts) for before, after in pairs.same]
    for path, before, after in levels:
        names = {each.name for each in after}
        was = [paths[each.name] for each in before if paths.get(each.name) in names]
        now = [each.name for each in after if each.name in was]
        if was != now:
            yield Change(path, "field-order", text_of(was), text_of(now))
    if _has_no_header(old) or _has_no_header(new):
        places = {paths.get(each.name): place for place, each in enumerate(old.fields, start=1)}
        for place, each in enumerate(new.fields, start=1):
            before_place = places.get(each.name, place)
            if before_place != place:
                yield Change(f"{new.name}.{each.name}", "field-position", str(before_place), str(place))


def _has_no_header(dataset: Dataset) -> bool:
    return dataset.storage.format is Format.CSV and not dataset.csv.header

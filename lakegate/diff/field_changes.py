"""Fields added, removed, renamed, retyped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from lakegate.contract.contract_model import Dataset, Field, Shape, shape_of
from lakegate.contract.field_paths import ELEMENTS, FieldPath, step_to, steps_of
from lakegate.contract.file_formats import Format
from lakegate.contract.logical_types import PRECISION, SCALE
from lakegate.diff.change_kinds import Change, pair_elements, text_of
from lakegate.rules.compile_plan import with_parts

if TYPE_CHECKING:
    Key = Callable[[Field], Hashable | None]
Element = TypeVar("Element", Field, Dataset)

# ---- Pairs of fields ----


Typed = frozenset[str]
"""The paths of the fields whose values have a grammar."""


@dataclass(slots=True)
class FieldPairs:
    """The fields of two versions of a dataset."""

    same: list[tuple[Field, Field]] = field(default_factory=list)
    renamed: list[tuple[Field, Field]] = field(default_factory=list)
    """Also in `same`."""
    moved: list[tuple[Field, Field]] = field(default_factory=list)
    """Also in `same`."""
    removed: list[Field] = field(default_factory=list)
    """Without the fields inside them."""
    added: list[Field] = field(default_factory=list)

    @property
    def paths(self) -> Mapping[FieldPath, FieldPath]:
        """The new path of each old one."""
        return {old.name: new.name for old, new in self.same}


def typed_fields(dataset: Dataset) -> Typed:
    """The fields with a rule about the type of their values."""
    return frozenset(name for rule in dataset.rules if rule.kind == "type" for name in rule.fields)


def type_of(entry: Field, typed: Typed) -> str:
    """The type of a field's values in words of the model: `integer`, `record`, `date as text`."""
    shape = shape_of(entry)
    if shape is not Shape.VALUE:
        return str(shape.value)
    word = entry.type.value if entry.scale == SCALE else f"{entry.type.value}({PRECISION},{entry.scale})"
    return word if entry.name in typed else f"{entry.declared or 'anything'} as text"


def pair_fields(old: Dataset, new: Dataset) -> FieldPairs:
    """The fields of two datasets by their stable ids and by name, then renamed and moved ones."""
    pairing = _Pairing(typed_fields(old), typed_fields(new))
    pairing.pair(old.fields, new.fields)
    pairing.pair_moved()
    return pairing.found


@dataclass(slots=True)
class _Pairing:
    """Collects the pairs of all levels."""

    old_typed: Typed
    new_typed: Typed
    found: FieldPairs = field(default_factory=FieldPairs)

    def pair(self, old: tuple[Field, ...], new: tuple[Field, ...]) -> None:
        """Pair the fields of one level, and of all levels inside it."""
        same, removed, added = pair_elements(old, new, unique(stable_id, old, new), _step)
        self.found.renamed += [(before, after) for before, after in same if _step(before) != _step(after)]
        for before, after in same:
            self._add(before, after)
        # a field is renamed if the type is the same, and the physical name, the description, or the place and description
        places = {id(field): place for fields in (old, new) for place, field in enumerate(fields)}

        def signature(entry: Field) -> tuple[Hashable, ...]:
            return self._kind(entry), tuple(map(_step, entry.parts))

        def by_physical(item: Field) -> Hashable | None:
            return item.physical and (signature(item), item.physical)

        def by_description(member: Field) -> Hashable | None:
            return member.description and (signature(member), member.description)

        def by_place(each: Field) -> Hashable:
            return signature(each), each.description, places[id(each)]

        keys = [unique(key, removed, added) for key in (by_physical, by_description, by_place)]
        renamed, gone, come = pair_elements(removed, added, *keys)
        for before, after in renamed:
            self.found.renamed.append((before, after))
            self._add(before, after)
        self.found.removed += gone
        self.found.added += come

    def pair_moved(self) -> None:
        """Pair fields that are inside other fields now, or were before: the only ones of their name and type."""
        before, after = list(with_parts(self.found.removed)), list(with_parts(self.found.added))
        while moved := self._find_moved(before, after):
            old, new = moved
            self.found.moved.append(moved)
            self.found.removed = [entry for entry in self.found.removed if entry is not old]
            self.found.added = [entry for entry in self.found.added if entry is not new]
            self._add(old, new)
            inside = {id(part) for part in with_parts(moved)}
            before = [entry for entry in before if id(entry) not in inside]
            after = [entry for entry in after if id(entry) not in inside]

    def _add(self, before: Field, after: Field) -> None:
        self.found.same.append((before, after))
        self.pair(before.parts, after.parts)

    def _find_moved(self, before: list[Field], after: list[Field]) -> tuple[Field, Field] | None:
        def key(entry: Field) -> Hashable | None:
            step = _step(entry)
            return None if step == ELEMENTS else (step, self._kind(entry), tuple(map(_step, entry.parts)))

        pairs, _, _ = pair_elements(before, after, *(unique(side, before, after) for side in (stable_id, key)))
        # the names in an order that does not depend on which version is the old one
        return min(
            pairs,
            key=lambda pair: (
                sum(len(steps_of(item.name) or ()) for item in pair),
                *sorted(member.name for member in pair),
            ),
            default=None,
        )

    def _kind(self, entry: Field) -> str:
        return type_of(entry, self.old_typed | self.new_typed)


def _step(entry: Field) -> str:
    """The last step of a path."""
    return step_to(entry.name)


def stable_id(entry: Field | Dataset) -> Hashable | None:
    """The id that an element keeps when its name changes."""
    return entry.stable_id


def unique(
    key: Callable[[Element], Hashable | None], *sides: Iterable[Element]
) -> Callable[[Element], Hashable | None]:
    """The key, or None if it is not that of exactly one element on each side."""
    counts = [Counter(map(key, side)) for side in sides]

    def of_one(element: Element) -> Hashable | None:
        found = key(element)
        return found if all(count[found] == 1 for count in counts) else None

    return of_one


# ---- Changes of fields ----


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
    for entry in pairs.removed:
        yield Change(old.path(entry), old.existence(entry, "removed"), type_of(entry, old_typed), None)
    for item in pairs.added:
        yield Change(new.path(item), new.existence(item, "added"), None, type_of(item, new_typed))
    for before, after in pairs.renamed:
        yield Change(new.path(after), "field-renamed", before.name, after.name)
    for before, after in pairs.moved:
        yield Change(new.path(after), "field-moved", before.name, after.name)
    for before, after in pairs.same:
        words = (type_of(before, old_typed), type_of(after, new_typed))
        yield from _compare_field(new.path(after), before, after, words, is_one_format=is_one_format)
    yield from _orders(old.dataset, new.dataset, pairs)


def _compare_field(
    path: str, old: Field, new: Field, types: tuple[str, str], *, is_one_format: bool
) -> Iterator[Change]:
    if types[0] != types[1]:
        yield Change(path, "type-changed", *types)
    elif is_one_format and old.declared != new.declared:
        yield Change(path, "type-spelling", old.declared, new.declared)
    for name, key, kind in DESCRIBED:
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield Change(f"{path}.{key}", kind, before, after)
    if old.classification != new.classification:
        kind = _compare_classifications(old.classification, new.classification)
        yield Change(f"{path}.classification", kind, old.classification, new.classification)
    if bool(old.personal) != bool(new.personal):
        kind = "personal-marked" if new.personal else "personal-unmarked"
        yield Change(path, kind, text_of(bool(old.personal)), text_of(bool(new.personal)))
    examples = tuple([example.written for example in side.examples] for side in (old, new))
    if examples[0] != examples[1]:
        yield Change(f"{path}.examples", "examples", *map(text_of, examples))


def _compare_classifications(old: str | None, new: str | None) -> str:
    """The kind of a changed classification: any is higher than none."""
    before, after = (LEVELS.get((side or "").strip().casefold()) for side in (old, new))
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
        names = {entry.name for entry in after}
        was = [paths[entry.name] for entry in before if paths.get(entry.name) in names]
        now = [entry.name for entry in after if entry.name in was]
        if was != now:
            yield Change(path, "field-order", text_of(was), text_of(now))
    if _has_no_header(old) or _has_no_header(new):
        places = {paths.get(field.name): place for place, field in enumerate(old.fields, start=1)}
        for place, field in enumerate(new.fields, start=1):
            before_place = places.get(field.name, place)
            if before_place != place:
                yield Change(f"{new.name}.{field.name}", "field-position", str(before_place), str(place))


def _has_no_header(dataset: Dataset) -> bool:
    return dataset.storage.format is Format.CSV and not dataset.csv.header

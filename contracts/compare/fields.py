"""Pairs the fields of two versions of a dataset, at every level; renamed and moved fields are recognised."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakegate.contracts.compare.pairs import paired
from lakegate.contracts.compile.rules.nested_fields import shape_of, with_parts
from lakegate.contracts.plan.plan import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from lakegate.contracts.model.contract import Dataset, Field

    Key = Callable[[Field], Hashable | None]

ITEMS = "[]"
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
    def paths(self) -> Mapping[str, str]:
        """The new path of each old one."""
        return {old.name: new.name for old, new in self.same}


def typed_fields(dataset: Dataset) -> Typed:
    """The fields with a rule about the type of their values."""
    return frozenset(name for rule in dataset.rules if rule.kind == "type" for name in rule.fields)


def type_of(each: Field, typed: Typed) -> str:
    """The type of a field's values in words of the model: `integer`, `record`, `date as text`."""
    shape = shape_of(each)
    if shape is not Shape.VALUE:
        return str(shape.value)
    return each.type.value if each.name in typed else f"{each.declared or 'anything'} as text"


def pair_fields(old: Dataset, new: Dataset) -> FieldPairs:
    """The fields of two datasets by name, then renamed and moved ones."""
    pairing = _Pairing(typed_fields(old), typed_fields(new))
    pairing.pair(old.fields, new.fields, "", "")
    pairing.pair_moved()
    return pairing.found


@dataclass(slots=True)
class _Pairing:
    """Collects the pairs of all levels."""

    old_typed: Typed
    new_typed: Typed
    found: FieldPairs = field(default_factory=FieldPairs)

    def pair(self, old: tuple[Field, ...], new: tuple[Field, ...], old_parent: str, new_parent: str) -> None:
        """Pair the fields of one level, and of all levels inside it."""
        by_name, removed, added = paired(
            [(each, each.name.removeprefix(old_parent)) for each in old],
            [(each, each.name.removeprefix(new_parent)) for each in new],
            lambda pair: pair[1],
        )
        for (before, _), (after, _) in by_name:
            self._add(before, after)
        left = ([each for each, _ in removed], [each for each, _ in added])
        renamed, gone, come = self._renamed(old, new, *left)
        for before, after in renamed:
            self.found.renamed.append((before, after))
            self._add(before, after)
        self.found.removed += gone
        self.found.added += come

    def pair_moved(self) -> None:
        """Pair fields that are inside other fields now, or were before: the only ones of their name and type."""
        before, after = list(with_parts(self.found.removed)), list(with_parts(self.found.added))
        while moved := self._moved(before, after):
            old, new = moved
            self.found.moved.append(moved)
            self.found.removed = [each for each in self.found.removed if each is not old]
            self.found.added = [each for each in self.found.added if each is not new]
            self._add(old, new)
            inside = {id(each) for each in with_parts(moved)}
            before = [each for each in before if id(each) not in inside]
            after = [each for each in after if id(each) not in inside]

    def _add(self, before: Field, after: Field) -> None:
        self.found.same.append((before, after))
        self.pair(before.parts, after.parts, before.name, after.name)

    def _renamed(
        self, old: tuple[Field, ...], new: tuple[Field, ...], removed: list[Field], added: list[Field]
    ) -> tuple[list[tuple[Field, Field]], list[Field], list[Field]]:
        """A field is renamed if the type is the same, and the physical name, the description, or the place and description."""
        places = {id(each): place for fields in (old, new) for place, each in enumerate(fields)}

        def signature(each: Field) -> tuple[Hashable, ...]:
            return self._kind(each), tuple(part.name.removeprefix(each.name) for part in each.parts)

        def by_physical(each: Field) -> Hashable | None:
            return each.physical and (signature(each), each.physical)

        def by_description(each: Field) -> Hashable | None:
            return each.description and (signature(each), each.description)

        def by_place(each: Field) -> Hashable:
            return signature(each), each.description, places[id(each)]

        keys = [_unique(key, removed, added) for key in (by_physical, by_description, by_place)]
        return paired(removed, added, *keys)

    def _moved(self, before: list[Field], after: list[Field]) -> tuple[Field, Field] | None:
        def key(each: Field) -> Hashable | None:
            leaf = _leaf(each)
            return None if leaf == ITEMS else (leaf, self._kind(each), tuple(map(_leaf, each.parts)))

        pairs, _, _ = paired(before, after, _unique(key, before, after))
        return min(pairs, key=lambda pair: (sum(each.name.count(".") for each in pair), *_names(pair)), default=None)

    def _kind(self, each: Field) -> str:
        return type_of(each, self.old_typed | self.new_typed)


def _names(pair: tuple[Field, Field]) -> list[str]:
    """The names in an order that does not depend on which version is the old one."""
    return sorted(each.name for each in pair)


def _leaf(each: Field) -> str:
    """The last part of a path."""
    return ITEMS if each.name.endswith(ITEMS) else each.name.rpartition(".")[2]


def _unique(key: Key, *sides: Iterable[Field]) -> Key:
    """The key, or None if it is not that of exactly one field on each side."""
    counts = [Counter(map(key, side)) for side in sides]

    def unique(each: Field) -> Hashable | None:
        found = key(each)
        return found if all(count[found] == 1 for count in counts) else None

    return unique

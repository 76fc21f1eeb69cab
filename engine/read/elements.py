"""Parts of Arrow columns: members of records, and the elements of lists and maps with their rows and places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.contracts.plan.plan import ENTRIES
from lakegate.engine.type.physical import Kind, Physical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.contracts.plan.plan import PlanField
    from lakegate.engine.read.chunk import Level

Part = tuple[pa.Array, Physical]
_OPENED = {"[]": (Kind.LIST, "[]"), ENTRIES: (Kind.MAP, "{value}")}
"""The kind that a step opens, and the part of its elements that contains deeper levels."""


@dataclass(frozen=True, slots=True)
class Elements:
    """The records of a batch, or the elements of one level in it."""

    parts: Mapping[str, Part]
    """By step: columns of records; of elements of a list `[]`, of entries of a map `{key}` and `{value}`."""
    rows: pa.Array
    """The row of each."""
    depth: int = 0
    """Steps of a field's place before the one that `parts` knows."""
    at: pa.Array | None = None
    """The place of each element in its row (`items[2]`); records have none."""

    def column(self, field: PlanField) -> pa.Array:
        """The values of a field that the file has."""
        first, *rest = field.place[self.depth :]
        found: Part | None = self.parts[first]
        for step in rest:
            assert found is not None
            found = _member(found, step)
        assert found is not None
        return found[0]

    def level(self, level: Level) -> Elements | None:
        """The elements of one level, opening lists from the outside in; None if the file has none."""
        elements, words = self, ""
        here: Part | None = self.parts.get(level[0])
        for depth, step in enumerate(level):
            if here is None:
                return None
            if step in _OPENED:
                kind, part = _OPENED[step]
                if here[1].kind is not kind:
                    return None
                elements, words = elements._opened(here, words, depth), ""
                here = elements.parts[part]
            else:
                words += step if depth else step[1:]
                here = _member(here, step) if depth else here
        return elements

    def _opened(self, part: Part, words: str, depth: int) -> Elements:
        array, kind = part
        lists = _lists(array, kind)
        parts = {step: (pc.list_flatten(each), inner) for (step, inner), each in zip(kind.parts, lists, strict=True)}
        parents, places = _stand(lists[-1])
        texts = (pc.cast(places, pa.string()), pa.scalar("]"), pa.scalar(""))
        before = pa.scalar("") if self.at is None else self.at.take(parents)
        at = pc.binary_join_element_wise(before, pa.scalar(f"{words}["), *texts)
        return Elements(parts, self.rows.take(parents), depth, at)


def count_inside(array: pa.Array, *, is_inside: bool = False) -> int:
    """The number of values in lists and maps, at every level: elements, keys, and members of records that are elements."""
    own = len(array) if is_inside else 0
    if pa.types.is_struct(array.type):
        members = (array.field(at) for at in range(array.type.num_fields))
        return own + sum(count_inside(each, is_inside=is_inside) for each in members)
    if pa.types.is_map(array.type):
        whole = pa.concat_arrays([array.slice(0, 0), array])
        return own + sum(count_inside(each, is_inside=True) for each in (whole.keys, whole.items))
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type) or pa.types.is_fixed_size_list(array.type):
        return own + count_inside(pc.list_flatten(array), is_inside=True)
    return own


def sizes(array: pa.Array, kind: Physical) -> pa.Array:
    """The number of elements of each list, of entries of each map, or of members of each record that have a value."""
    if kind.kind is not Kind.RECORD:
        return pc.list_value_length(_lists(array, kind)[0]).cast(pa.int64())
    found = pa.array([0] * len(array), pa.int64())
    for at in range(len(kind.parts)):
        found = pc.add(found, pc.struct_field(array, [at]).is_valid().cast(pa.int64()))
    return pc.if_else(array.is_valid(), found, pa.scalar(None, pa.int64()))


def repeats(array: pa.Array, kind: Physical) -> pa.Array:
    """Whether two elements of each list are equal, which nulls are; elements with parts are compared as texts."""
    lists = _lists(array, kind)[0]
    values, (parents, _) = pc.list_flatten(lists), _stand(lists)
    if pa.types.is_nested(values.type):
        values = pa.array([repr(_zeroed(each)) for each in values.to_pylist()], pa.string())
    elif pa.types.is_floating(values.type):
        values = pc.add(values, pa.scalar(0.0, values.type))
    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode(null_encoding="encode")
    pairs = pa.table({"list": parents, "element": coded.indices})
    counted = pairs.group_by(["list", "element"]).aggregate([([], "count_all")])
    twice = counted.filter(pc.greater(counted["count_all"], 1))["list"]
    found = pc.is_in(pa.arange(0, len(lists)), value_set=twice.combine_chunks().cast(pa.int64()))
    return pc.if_else(lists.is_valid(), found, pa.scalar(None, pa.bool_()))


def _zeroed(value: Any) -> Any:  # noqa: ANN401 - any value of Arrow
    """A value in which no zero is negative."""
    match value:
        case float():
            return value + 0.0
        case dict():
            return {key: _zeroed(each) for key, each in value.items()}
        case list() | tuple():
            return [_zeroed(each) for each in value]
        case _:
            return value


def _lists(array: pa.Array, kind: Physical) -> tuple[pa.Array, ...]:
    """A list as it is; a map as a list of keys and one of values."""
    if kind.kind is Kind.LIST:
        return (array if pa.types.is_large_list(array.type) else array.cast(pa.list_(array.type.value_type)),)
    whole = pa.concat_arrays([array.slice(0, 0), array])
    return tuple(
        pa.ListArray.from_arrays(whole.offsets, each, mask=whole.is_null()) for each in (whole.keys, whole.items)
    )


def _stand(lists: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The list of each element, and its place there, from 0; a null may have elements below it, which do not count."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).cast(pa.int64())
    ends = pc.cumulative_sum(lengths)
    begins = pc.subtract(ends, lengths)
    count = ends[-1].as_py() if len(ends) else 0
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends])
    parents = pc.list_parent_indices(pa.LargeListArray.from_arrays(offsets, pa.nulls(count)))
    return parents, pc.subtract(pa.arange(0, count), begins.take(parents))


def _member(part: Part, step: str) -> Part | None:
    """The part of a record after a step; None if it has none."""
    array, kind = part
    names = [name for name, _ in kind.parts]
    if kind.kind is not Kind.RECORD or step[1:] not in names:
        return None
    at = names.index(step[1:])
    return pc.struct_field(array, [at]), kind.parts[at][1]

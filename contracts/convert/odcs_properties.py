"""Fields as properties of ODCS: types by the physical types that distinguish them, and parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.nested_fields import NESTED_KIND, shape_of
from lakegate.contracts.convert.odcs_site import own_properties
from lakegate.contracts.convert.promises import own_name, part
from lakegate.contracts.documents.odcs_properties import PERSONAL
from lakegate.contracts.documents.physical_types import PHYSICAL, type_word
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.plan import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.contracts.convert.odcs_document import Rest
    from lakegate.contracts.convert.odcs_site import OwnKeys, Plain
    from lakegate.contracts.model.contract import Dataset, Field

WITHOUT_LOGICAL = {LogicalType.DECIMAL: ("number", "decimal"), LogicalType.BINARY: ("string", "binary")}
"""Types for which ODCS has no logical type: the one that it has, and the physical type that distinguishes it."""
_NESTED = {Shape.RECORD: "object", Shape.LIST: "array", Shape.MAP: "map"}


def properties_of(dataset: Dataset, found: Mapping[str, OwnKeys], rest: Rest) -> list[Plain]:
    """The properties of a dataset; `found` are the keys that its rules become."""
    typed = frozenset(each.fields[0] for each in dataset.rules if each.kind in {"type", NESTED_KIND} and each.fields)
    return [{"name": each.name} | _content(each, typed, found, rest) for each in dataset.fields]


def _content(each: Field, typed: frozenset[str], found: Mapping[str, OwnKeys], rest: Rest) -> Plain:
    """A property without its name."""
    own, passed = found.get(each.name), rest("field", each.origin.path)
    keys = {
        "physicalName": each.physical,
        **(_types(each) if each.name in typed else {"physicalType": each.declared}),
        "description": each.description,
        **passed,
        **(own.keys if own else {}),
        "logicalTypeOptions": (own.options or None) if own else None,
        "classification": each.classification,
        **own_properties(passed, PERSONAL, each.personal),
        "examples": [example.written for example in each.examples] or None,
        **dict(_parts(each, typed, found, rest)),
        "relationships": (own.relationships or None) if own else None,
        "quality": (own.quality or None) if own else None,
    }
    return {key: value for key, value in keys.items() if value is not None}


def _types(each: Field) -> Plain:
    """The logical type; and the physical one, where it is of the same family or distinguishes a decimal or bytes."""
    shape = shape_of(each)
    if shape in _NESTED:
        return {"logicalType": _NESTED[shape]}
    if shape is Shape.ANY:
        return {"physicalType": each.declared}
    word, physical = WITHOUT_LOGICAL.get(each.type, (each.type.value, None))
    if PHYSICAL.get(type_word(each.declared)) is each.type and (each.declared or "").lower() != word:
        physical = each.declared
    return {"logicalType": word} | ({"physicalType": physical} if physical else {})


def _parts(
    each: Field, typed: frozenset[str], found: Mapping[str, OwnKeys], rest: Rest
) -> Iterator[tuple[str, object]]:
    """The members of a record, the items of a list, the keys and values of a map."""
    match shape_of(each):
        case Shape.RECORD:
            yield (
                "properties",
                [{"name": own_name(one, each)} | _content(one, typed, found, rest) for one in each.parts],
            )
        case Shape.LIST:
            items = part(each, "[]")
            yield "items", None if items is None else _content(items, typed, found, rest)
        case Shape.MAP:
            inner = {step: part(each, f".{step}") for step in ("key", "value")}
            contents = {step: {} if one is None else _content(one, typed, found, rest) for step, one in inner.items()}
            yield "map", contents
        case _:
            return

"""Nested fields of records, lists and maps: their paths, and the population of their checks.

A list has a nesting *level* of its own: `items[].sku` is not a value of a row but of each element, so that its checks are
measured over elements. Fields of records (`address.street`) are values of their row. A nested field is required only if its
parent is present: a row without an address has no street.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from lakegate.contracts.compile.rules.build import skipped
from lakegate.contracts.plan.metrics import Metric
from lakegate.contracts.plan.plan import PlanField, Shape
from lakegate.contracts.plan.predicate import All, Not, Present

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.contracts.model.contract import Field, Rule
    from lakegate.contracts.plan.check import Check, Tier

    ByPlace: TypeAlias = dict[tuple[str, ...], PlanField]

NESTED_KIND = "nested"
"""The kind of rules that values are records, lists or maps; with an option that is not measured, the rule is skipped."""
OF_WHOLE = ("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "requiredMember")
"""Kinds of rules about a whole list, map or object."""
NO_SHAPE = "this file format, or the contract, leaves open what the values consist of"
NO_PARTS = "a CSV file has no parts of values to measure"
SEVERAL_LEVELS = "fields of several levels of a value are not measured together"
_SHAPES = {
    **dict.fromkeys(("object", "record", "struct"), Shape.RECORD),
    **dict.fromkeys(("array", "list", "vector"), Shape.LIST),
    "map": Shape.MAP,
    **dict.fromkeys(("variant", "json", "union"), Shape.ANY),
}
"""The shape of the values of a type, by its declared name."""


def shape_of(field: Field) -> Shape:
    """The shape of a field's values."""
    word = (field.declared or "").strip().lower()
    if word == "json" and not field.parts:
        return Shape.VALUE
    return _SHAPES.get(word, Shape.VALUE)


def with_parts(fields: Iterable[Field]) -> Iterator[Field]:
    """The fields, each followed by its nested fields."""
    for field in fields:
        yield field
        yield from with_parts(field.parts)


def planned(fields: tuple[Field, ...], *, with_inner: bool) -> tuple[PlanField, ...]:
    """The fields of a plan, columns first; nested fields only if the file format supports them."""
    columns = [(field, (f".{field.name}",)) for field in fields]
    inner = [each for field, path in columns for each in _inner(field, path)] if with_inner else []
    return tuple(
        PlanField(
            field.name,
            f"c{ordinal}",
            field.type,
            field.classification,
            shape_of(field) if with_inner else Shape.VALUE,
            path if len(path) > 1 else (),
            field.physical if len(path) == 1 and field.physical != field.name else None,
        )
        for ordinal, (field, path) in enumerate([*columns, *inner])
    )


def _inner(field: Field, path: tuple[str, ...]) -> Iterator[tuple[Field, tuple[str, ...]]]:
    for part in field.parts:
        step = part.name.removeprefix(field.name)
        place = (*path, f"{{{step[1:]}}}" if shape_of(field) is Shape.MAP else step)
        yield part, place
        yield from _inner(part, place)


def of_parts(
    rule: Rule, fields: tuple[Field, ...], checks: tuple[Check, ...], plan: dict[str, PlanField], by_place: ByPlace
) -> tuple[Check, ...]:
    """The checks of a rule; those that cannot be measured at the level of their fields are skipped.

    `plan` has the planned fields by their names, `by_place` by their places.
    """
    if any(field.name not in plan for field in fields):
        return (skipped(rule, fields, NO_PARTS),)
    if rule.kind in OF_WHOLE and any(plan[field.name].shape is Shape.VALUE for field in fields):
        return tuple(check if check.skip else skipped(rule, fields, NO_PARTS) for check in checks)
    if rule.kind == NESTED_KIND and any(plan[field.name].shape in {Shape.VALUE, Shape.ANY} for field in fields):
        return tuple(replace(check, skip=check.skip or NO_SHAPE) for check in checks)
    return tuple(_placed(check, plan, by_place) for check in checks)


def _placed(check: Check, plan: dict[str, PlanField], by_place: ByPlace) -> Check:
    levels = {plan[name].level for name in check.reads} | (set() if check.fields else {()})
    if check.skip is None and (len(levels) > 1 or (check.metric.is_query and levels - {()})):
        return replace(check, skip=SEVERAL_LEVELS)
    accept = _of_parent(check.accept, plan, by_place) if check.metric is Metric.FAILING_ROWS else check.accept
    return replace(check, accept=accept, of_elements=levels - {()} != set())


def _of_parent(tier: Tier, plan: dict[str, PlanField], by_place: ByPlace) -> Tier:
    """A nested field must be present if its parent is."""
    if not isinstance(tier.predicate, Present):
        return tier
    field = plan[tier.predicate.field]
    parent = by_place.get(field.place[:-1])
    if parent is None or parent.level != field.level:
        return tier
    return replace(tier, predicate=Not(All((Present(parent.name), Not(tier.predicate)))))

"""Parts of values: records in records, lists, maps; where each part is found, and what a rule about one is measured over.

A list brings a *level* of its own: `items[].sku` is not a value of a row but one of each element, so that its checks are
measured over elements. Parts of records (`address.street`) are values of the row they stand in. A part is required of
every parent that is there, for a row without an address has no street to give.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from contracts.check import Metric
from contracts.plan import PlanField, Shape
from contracts.predicate import All, Not, Present
from contracts.rules.build import skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from contracts.check import Check, Tier
    from contracts.model import Field, Rule

NESTED = "nested"
NO_SHAPE = "this file format, or the contract, leaves open what the values consist of"
NO_PARTS = "a CSV file has no parts of values to measure"
SEVERAL_LEVELS = "fields of several levels of a value are not measured together"
_SHAPES = {
    **dict.fromkeys(("object", "record", "struct"), Shape.RECORD),
    **dict.fromkeys(("array", "list", "vector"), Shape.LIST),
    "map": Shape.MAP,
    **dict.fromkeys(("variant", "json", "union"), Shape.ANY),
}
"""What a document's own word for a type says of the parts of its values."""


def shape_of(field: Field) -> Shape:
    """Whether the values of a field have parts, and which."""
    word = (field.declared or "").strip().lower()
    if word == "json" and not field.parts:
        return Shape.VALUE
    return _SHAPES.get(word, Shape.VALUE)


def with_parts(fields: Iterable[Field]) -> Iterator[Field]:
    """The fields, each before its parts."""
    for field in fields:
        yield field
        yield from with_parts(field.parts)


def planned(fields: tuple[Field, ...], *, with_inner: bool) -> tuple[PlanField, ...]:
    """The fields of a plan, columns first; inner parts only of a format that can hold them."""
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
    rule: Rule, fields: tuple[Field, ...], checks: tuple[Check, ...], plan: dict[str, PlanField]
) -> tuple[Check, ...]:
    """The checks of a rule, as far as they can be measured where their fields stand."""
    if any(field.name not in plan for field in fields):
        return (skipped(rule, fields, NO_PARTS),)
    if rule.kind == NESTED and any(plan[field.name].shape in {Shape.VALUE, Shape.ANY} for field in fields):
        return tuple(replace(check, skip=check.skip or NO_SHAPE) for check in checks)
    return tuple(_placed(check, plan) for check in checks)


def _placed(check: Check, plan: dict[str, PlanField]) -> Check:
    levels = {plan[name].level for name in check.reads} | (set() if check.fields else {()})
    if check.skip is None and (len(levels) > 1 or (check.metric.asked and levels - {()})):
        return replace(check, skip=SEVERAL_LEVELS)
    accept = _of_parent(check.accept, plan) if check.metric is Metric.FAILING_ROWS else check.accept
    return replace(check, accept=accept, of_elements=levels - {()} != set())


def _of_parent(tier: Tier, plan: dict[str, PlanField]) -> Tier:
    """A part must be present where its parent is."""
    if not isinstance(tier.predicate, Present):
        return tier
    field = plan[tier.predicate.field]
    parent = next((each for each in plan.values() if each.place == field.place[:-1]), None)
    if parent is None or parent.level != field.level:
        return tier
    return replace(tier, predicate=Not(All((Present(parent.name), Not(tier.predicate)))))

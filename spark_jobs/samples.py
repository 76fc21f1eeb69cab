"""Samples: where a failed check failed, without the values that failed it.

The first and the last failing row of each failed check are found in the narrow frame; their values are read again and shown as
masked shapes (`aaa-99`). A raw value is shown only for a field the contract classifies `public`.
"""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.check import Metric
from contracts.result import Sample
from spark_jobs.keys import frequencies, keyed_rows, keys_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, Row

    from contracts.check import Check
    from contracts.plan import Plan, PlanField
    from spark_jobs.delivery import Delivery
    from spark_jobs.frame import Census, Narrow

LONGEST_SHAPE = 40
Place = tuple[int, int]
"""Part and identity of a record."""


def samples_of(
    plan: Plan, delivery: Delivery, narrowed: Narrow, census: Census, failed: tuple[Check, ...]
) -> dict[str, tuple[Sample, ...]]:
    """Samples of each failed check, by check id."""
    places = _failing_places(narrowed, [check for check in failed if check.metric is Metric.FAILING_ROWS])
    for check in failed:
        if check.metric is Metric.DUPLICATE_ROWS:
            places[check.id] = _duplicate_places(plan, narrowed, check)
    records = _records(delivery, plan, {place for found in places.values() for place in found})
    fields = {check.id: [plan.field(name) for name in check.fields] for check in failed}
    return {
        name: tuple(_sample(records[place], fields[name], census) for place in found) for name, found in places.items()
    }


def mask(text: str | None) -> str:
    """The shape of a text: letters as `a`, digits as `9`, controls as `?`, the rest as it is; `null` for none."""
    if text is None:
        return "null"
    shape = "".join(_mask_character(each) for each in text[:LONGEST_SHAPE])
    return shape + ("…" if len(text) > LONGEST_SHAPE else "")


def _mask_character(character: str) -> str:
    if character.isdigit():
        return "9"
    if character.isalpha():
        return "a"
    return character if character.isprintable() and character.isascii() else "?"


def _failing_places(narrowed: Narrow, checks: list[Check]) -> dict[str, list[Place]]:
    if not checks:
        return {}
    ends: list[Column] = []
    for number, check in enumerate(checks):
        assert check.accept.predicate is not None
        place = F.when(~F.col(narrowed.predicates[check.accept.predicate]), F.struct("part", "id"))
        ends += [F.min(place).alias(f"first{number}"), F.max(place).alias(f"last{number}")]
    row = narrowed.judged.agg(*ends).collect()[0]
    return {check.id: _places(row, str(number)) for number, check in enumerate(checks)}


def _duplicate_places(plan: Plan, narrowed: Narrow, check: Check) -> list[Place]:
    """Two rows that share the smallest key that occurs more than once."""
    keys = keys_of(check)
    assert keys is not None
    names = keys.columns(plan)
    shared = frequencies(plan, narrowed, keys).where("n > 1").select(*names).orderBy(*names).limit(1)
    same_key = reduce(and_, (F.col(f"one.{name}").eqNullSafe(F.col(f"other.{name}")) for name in names))
    sharing = keyed_rows(narrowed, keys).alias("one").join(F.broadcast(shared).alias("other"), same_key)
    place = F.struct("part", "id")
    return _places(sharing.agg(F.min(place).alias("first"), F.max(place).alias("last")).collect()[0], "")


def _places(row: Row, suffix: str) -> list[Place]:
    found = [row[f"first{suffix}"], row[f"last{suffix}"]]
    return list(dict.fromkeys((place["part"], place["id"]) for place in found if place is not None))


def _records(delivery: Delivery, plan: Plan, places: Iterable[Place]) -> dict[Place, Row]:
    wanted = sorted(places)
    if not wanted:
        return {}
    at = F.struct("part", "id").isin([F.struct(F.lit(part), F.lit(identity).cast("long")) for part, identity in wanted])
    aliases = [field.alias for field in plan.fields if field.level == delivery.level]
    names = ["part", "id", *(("row", "at") if delivery.level else ()), *aliases]
    return {(row["part"], row["id"]): row for row in delivery.frame.where(at).select(*names).collect()}


def _sample(record: Row, fields: list[PlanField], census: Census) -> Sample:
    shapes = tuple(
        record[field.alias] or "" if _shown(field, record) else mask(record[field.alias]) for field in fields
    )
    is_element = "at" in record
    line = census.line(record["part"], record["row" if is_element else "id"])
    return Sample(line, shapes, record["part"], record["at"] if is_element else "")


def _shown(field: PlanField, record: Row) -> bool:
    return field.public and record[field.alias] is not None and len(record[field.alias]) <= LONGEST_SHAPE

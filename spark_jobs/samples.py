"""Samples: where a failed check failed, without the values that failed it.

The first failing rows of each failed check are found in the narrow frame (`spark_jobs.places`); their values are read again and
shown as masked shapes (`aaa-99`). A raw value is shown only for a field the contract classifies `public`. Values that pass
are read with them, for their shapes.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.check import Metric
from contracts.faults import SEEN_OF_A_LINE, readable_in, record_of, values_in
from contracts.masks import LONGEST_SHAPE, cut, hexadecimal, mask
from contracts.model import Format
from contracts.outcome import OF_TYPES
from contracts.result import Sample
from contracts.types import LogicalType
from contracts.writing import form_of
from spark_jobs.places import failing_places, passing_places

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from pyspark.sql import Column, DataFrame, Row

    from contracts.check import Check
    from contracts.plan import Plan, PlanField
    from contracts.result import Form, Malformed, Measurement
    from spark_jobs.delivery import Delivery
    from spark_jobs.frame import Census, Narrow
    from spark_jobs.places import Place

SAMPLES = 20
"""Failing rows of a check that are shown, unless more are asked for."""
GOOD_VALUES = 40
"""Values that pass whose shapes are counted."""
GOOD_SHAPES = 3
_BYTES_OF_A_LINE = 4 * SEEN_OF_A_LINE


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is shown of a failed check."""

    samples: tuple[Sample, ...]
    good: tuple[str, ...] = ()
    form: Form | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where the rows of failed checks are read again."""

    plan: Plan
    delivery: Delivery
    narrowed: Narrow
    census: Census
    """That of the records, by which rows are numbered."""
    checks: tuple[Check, ...]
    """What was measured of them."""

    def samples_of(self, bad: Collection[str], most: int) -> dict[str, Evidence]:
        """The evidence of each failed check, by check id."""
        failed = tuple(check for check in self.checks if check.id in bad)
        single = [each for each in failed if each.metric is Metric.FAILING_ROWS and len(each.fields) == 1]
        good = passing_places(self.narrowed, single, GOOD_VALUES)
        return self.shown(failed, failing_places(self.plan, self.narrowed, failed, most), good)

    def shown(
        self, failed: tuple[Check, ...], bad: Mapping[str, list[Place]], good: Mapping[str, list[Place]]
    ) -> dict[str, Evidence]:
        """What the rows at those places are, of checks that failed in some and held in others."""
        records = _records(self, {place for found in (*bad.values(), *good.values()) for place in found})
        by_id = {check.id: check for check in failed}
        rows = {name: [records[each] for each in places] for name, places in bad.items()}
        passed = {name: [records[each] for each in places] for name, places in good.items()}
        return {name: _evidence(self, by_id[name], found, passed.get(name, [])) for name, found in rows.items()}


def with_evidence(measurements: Iterable[Measurement], found: Mapping[str, Evidence]) -> tuple[Measurement, ...]:
    """The measurements with what was found of their checks."""
    nothing = Evidence(())
    evidence = [(each, found.get(each.check, nothing)) for each in measurements]
    return tuple(replace(each, samples=it.samples, good=it.good, form=it.form) for each, it in evidence)


def with_first_records(source: Source) -> tuple[Malformed, ...]:
    """The malformed records by reason, each with what its first one tells."""
    plan, delivery, census = source.plan, source.delivery, source.census
    if not plan.storage.format.is_text or not census.malformed:
        return census.malformed
    rows = delivery.frame.where(F.col("malformed").isNotNull())
    line = F.substring(F.col("line").cast("binary"), 1, _BYTES_OF_A_LINE).alias("line")
    lines = {
        (row["part"], row["id"]): bytes(row["line"] or b"") for row in _at_places(rows, census.first.values(), line)
    }
    return tuple(_told(plan, delivery, each, lines[census.first[each.reason]]) for each in census.malformed)


def _told(plan: Plan, delivery: Delivery, found: Malformed, line: bytes) -> Malformed:
    is_utf_8 = plan.storage.format is Format.CSV and plan.csv.encoding.startswith("utf-8")
    if found.reason == "encoding" and is_utf_8:
        return replace(found, encoding=readable_in(line, plan.csv.encoding))
    if found.reason == "fields":
        text = line.decode(errors="replace")
        record = record_of(text, delivery.header, plan.csv)
        return replace(found, values=values_in(text, plan.csv), wanted=len(delivery.columns.found), record=record)
    return found


def _evidence(source: Source, check: Check, bad: list[Row], good: list[Row]) -> Evidence:
    plan, fields = source.plan, [source.plan.field(name) for name in check.fields]
    samples = tuple(_sample(source, row, fields) for row in bad)
    if len(fields) != 1:
        return Evidence(samples)
    field = fields[0]
    texts = [row[field.alias] for row in bad if row[field.alias] is not None]
    is_typed = check.kind in OF_TYPES or field.type is LogicalType.STRING
    form = form_of(field.type, texts, is_json=plan.storage.format.is_json) if texts and is_typed else None
    shapes = Counter(_masked(plan, field, row) for row in good if row[field.alias] is not None)
    return Evidence(samples, tuple(shape for shape, _ in shapes.most_common(GOOD_SHAPES)) if texts else (), form)


def _records(source: Source, places: Iterable[Place]) -> dict[Place, Row]:
    """The records at some places: the beginning of each text, and of the line where there is one."""
    plan, delivery = source.plan, source.delivery
    aliases = [field.alias for field in plan.fields if field.level == delivery.level]
    texts = [F.substring(alias, 1, LONGEST_SHAPE + 1).alias(alias) for alias in aliases]
    is_csv = plan.storage.format is Format.CSV
    line = [F.substring("line", 1, SEEN_OF_A_LINE + 1).alias("line")] if is_csv else []
    own = [F.col("row"), F.col("at")] if delivery.level else []
    return {(row["part"], row["id"]): row for row in _at_places(delivery.frame, places, *own, *texts, *line)}


def _at_places(frame: DataFrame, places: Iterable[Place], *columns: Column) -> list[Row]:
    wanted = sorted(set(places))
    if not wanted:
        return []
    text = F.lit(json.dumps([{"part": part, "id": identity} for part, identity in wanted]))
    session = frame.sparkSession
    listed = session.range(1).select(
        F.explode(F.from_json(text, "array<struct<part: int, id: bigint>>")).alias("place")
    )
    at = F.broadcast(listed.select("place.*"))
    return frame.join(at, ["part", "id"]).select("part", "id", *columns).collect()


def _sample(source: Source, row: Row, fields: list[PlanField]) -> Sample:
    plan, delivery, is_element = source.plan, source.delivery, bool(source.delivery.level)
    shapes = tuple(_shape(plan, field, row) for field in fields)
    return Sample(
        row=source.census.line(row["part"], row["row" if is_element else "id"]),
        shapes=tuple(shape for shape, _ in shapes),
        part=row["part"],
        at=row["at"] if is_element else "",
        raw=tuple(raw for _, raw in shapes),
        record=record_of(row["line"], delivery.header, plan.csv) if "line" in row else None,
    )


def _shape(plan: Plan, field: PlanField, row: Row) -> tuple[str, bool]:
    """What is shown of a value, and whether that is the value itself."""
    text = _written(plan, field, row)
    return (cut(text), True) if text is not None and field.public else (_masked(plan, field, row), False)


def _masked(plan: Plan, field: PlanField, row: Row) -> str:
    """The shape of a value; of bytes only their number is told."""
    text = _written(plan, field, row)
    return mask("9" * len(text) if text and _is_bytes(plan, field) else text)


def _written(plan: Plan, field: PlanField, row: Row) -> str | None:
    text: str | None = row[field.alias]
    return hexadecimal(text) if text is not None and _is_bytes(plan, field) else text


def _is_bytes(plan: Plan, field: PlanField) -> bool:
    return field.type is LogicalType.BINARY and not plan.storage.format.is_text

"""Files that bring their own schema: Parquet, ORC, Avro. It is read, never assumed, and compared with the declared fields.

Columns are bound by name. Elements of lists and entries of maps become frames of their own, one for each level.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.kinds import UnreadableError
from contracts.model import OnReject
from contracts.plan import ENTRIES, OF_MAPS
from contracts.result import Columns, Foreign
from spark_jobs.delivery import Delivery, object_number
from spark_jobs.json_rows import levels
from spark_jobs.physical import Kind, Physical, holds, named_type
from spark_jobs.table_columns import member, raw_name, too_long, with_values

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from contracts.plan import Plan, PlanField
    from contracts.request import Request
    from spark_jobs.table_columns import Found

UNWRITTEN = {Kind.TIME, Kind.OTHER, Kind.NOTHING}
"""Kinds whose values Spark cannot write as they came."""


@dataclass(frozen=True, slots=True)
class Table:
    """A file's own account of itself."""

    schema: Physical
    rows: int


class TableFormat(Protocol):
    """A format with a schema of its own."""

    def describe(self, address: str) -> Table:
        """What the file says of itself; UnreadableError where it is damaged, or a bomb."""
        ...

    def frame(self, spark: SparkSession, address: str, table: Table, names: list[str]) -> DataFrame:
        """Those columns of a file, in order, as `x0`, `x1`, … of the types of their kinds; `broken` ends what cannot be read."""
        ...


def open_table(spark: SparkSession, plan: Plan, request: Request, reader: TableFormat) -> Delivery:
    """The delivery as a lazy frame."""
    tables = [_described(number, part.uri, reader) for number, part in enumerate(request.parts)]
    schema = tables[0].schema
    if any(each.schema != schema for each in tables):
        raise UnreadableError(
            "schema", "the objects of the delivery have different schemas: give all of them the same one"
        )
    names = _needed(schema, plan)
    frames = [
        reader.frame(spark, part.uri, table, names).select("*", F.lit(number).alias("part"))
        for number, (part, table) in enumerate(zip(request.parts, tables, strict=True))
    ]
    numbered = reduce(DataFrame.union, frames).withColumn("id", F.monotonically_increasing_id())
    found = [(field, _physical(schema, field)) for field in plan.fields]
    return Delivery(
        _records(numbered, schema, names, found, plan),
        _columns(schema, plan, found),
        header=None,
        sizes=tuple(table.rows for table in tables),
        unit="rows",
        levels={level: _elements(numbered, schema, names, level, found) for level in levels(plan.fields)},
    )


def _described(number: int, address: str, reader: TableFormat) -> Table:
    with object_number(number):
        return reader.describe(address)


def _needed(schema: Physical, plan: Plan) -> list[str]:
    """The columns that are read: the declared ones, and all of them where rows may have to be written anew."""
    names = [name for name, _ in schema.parts]
    if len(set(names)) < len(names):
        raise UnreadableError("header", "the file names a column twice: every column needs a name of its own")
    if plan.policy.on_reject is not OnReject.ROWS:
        return [name for name in names if name in {field.name for field in plan.columns}]
    for name, column in schema.parts:
        if {leaf.kind for leaf in column.leaves()} & UNWRITTEN:
            words = f"the column {name} has a type that rows cannot be written anew with"
            raise UnreadableError("schema", f"{words}: give it another one, or refuse whole files")
    return names


def _physical(schema: Physical, field: PlanField) -> Physical | None:
    found: Physical | None = schema
    for step in field.place:
        found = found.part(step) if found is not None else None
    return found


def _columns(schema: Physical, plan: Plan, found: list[Found]) -> Columns:
    names = [name for name, _ in schema.parts]
    declared = [field.name for field in plan.columns]
    known = [name for name in names if name in declared]
    if not known:
        raise UnreadableError("header", "the file has none of the declared columns: is it of this dataset?")
    foreign = [(field, each) for field, each in found if each is not None and not holds(each, field)]
    return Columns(
        found=tuple(names),
        absent=tuple(field.name for field, each in found if each is None and not _is_in_foreign(field, foreign)),
        extra=tuple(_extra(schema, plan, found)),
        reordered=known != [name for name in declared if name in names],
        foreign=tuple(Foreign(field.name, each.words) for field, each in foreign),
    )


def _is_in_foreign(field: PlanField, foreign: list[tuple[PlanField, Physical]]) -> bool:
    """Whether a part is missing because what should hold it is something else: that is said of its holder."""
    return any(field.place[: len(each.place)] == each.place for each, _ in foreign)


def _extra(schema: Physical, plan: Plan, found: list[Found]) -> list[str]:
    """Columns and members of records that nobody declared."""
    declared = {field.place for field in plan.fields}
    extra = [name for name, _ in schema.parts if (f".{name}",) not in declared]
    for field, physical in found:
        if physical is not None and physical.kind is Kind.RECORD and field.shape.value == "record":
            extra += [
                f"{field.name}.{name}" for name, _ in physical.parts if (*field.place, f".{name}") not in declared
            ]
    return extra


# --- frames


@dataclass(frozen=True, slots=True)
class _Start:
    """Where the fields of a level are looked for: a column, what it holds, and the steps to it."""

    column: Column | None
    """None: the columns of the file themselves."""
    kind: Physical
    place: tuple[str, ...] = ()


def _records(frame: DataFrame, schema: Physical, names: list[str], found: list[Found], plan: Plan) -> DataFrame:
    own = [(field, physical) for field, physical in found if not field.level]
    line = _line(schema, names) if plan.policy.on_reject is OnReject.ROWS else F.lit("")
    raw = frame.select("part", "id", "broken", line.alias("line"), *_raw(_Start(None, schema), names, own))
    judged = raw.withColumns({**_judged(bytes=1), "malformed": F.coalesce("broken", too_long(own))})
    return with_values(judged, ["part", "id", "bytes", "no_record", "malformed", "plain", "line"], own)


def _elements(
    frame: DataFrame, schema: Physical, names: list[str], level: tuple[str, ...], found: list[Found]
) -> DataFrame:
    """The elements of one level; `id` is their own, `row` that of their record."""
    own = [(field, physical) for field, physical in found if field.level == level]
    rows = frame.select(
        "part", F.col("id").alias("row"), F.lit("").alias("at"), *(f"x{at}" for at in range(len(names)))
    )
    opened, start = _opened(rows, schema, names, level)
    if start is None:
        own, start = [(field, None) for field, _ in own], _Start(None, schema)
    numbered = opened.withColumn("id", F.monotonically_increasing_id())
    raw = numbered.select("part", "row", "at", "id", *_raw(start, names, own)).withColumns(_judged(bytes=0))
    return with_values(raw, ["part", "row", "at", "id", "bytes", "no_record", "malformed", "plain"], own)


def _judged(**sizes: int) -> dict[str, Column]:
    none = F.lit(None).cast("string")
    flags = {"no_record": F.lit(False), "plain": F.lit(False), "malformed": none}
    return flags | {name: F.lit(size) for name, size in sizes.items()}


def _opened(
    frame: DataFrame, schema: Physical, names: list[str], level: tuple[str, ...]
) -> tuple[DataFrame, _Start | None]:
    """The elements of a level, lists opened one after the other from the outside in; none where the file has no such list."""
    start: _Start | None = _Start(None, schema)
    said = ""
    for step in level:
        assert start is not None
        if step not in {"[]", ENTRIES}:
            said += f".{step[1:]}" if start.place else step[1:]
            start = _step(start, step, names)
        elif start.column is not None and start.kind.kind is (Kind.LIST if step == "[]" else Kind.MAP):
            listed = start.column if step == "[]" else F.map_entries(start.column)
            at = F.concat("at", F.lit(f"{said}["), F.col("place").cast("string"), F.lit("]"))
            exploded = frame.select("part", "row", "at", F.posexplode(listed).alias("place", "element"))
            frame, said = exploded.select("part", "row", at.alias("at"), "element"), ""
            start = _inside(start, step, is_last=(*start.place, step) == level)
        else:
            start = None
        if start is None:
            return frame.where(F.lit(False)), None
    return frame, start


def _inside(start: _Start, step: str, *, is_last: bool) -> _Start:
    """What an element is: an item, or an entry of a map, of which deeper levels lie in the value."""
    element, place = F.col("element"), (*start.place, step)
    if step == "[]":
        return _Start(element, dict(start.kind.parts)["[]"], place)
    if is_last:
        return _Start(element, start.kind, place)
    return _Start(element.getField("value"), dict(start.kind.parts)["{value}"], place)


def _step(start: _Start, step: str, names: list[str]) -> _Start | None:
    """One step on from a place; None where the file has nothing there."""
    inner, place = start.kind.part(step), (*start.place, step)
    if inner is None:
        return None
    if start.column is None:
        return _Start(F.col(f"x{names.index(step[1:])}"), inner, place)
    if step in OF_MAPS:
        return _Start(start.column.getField(step[1:-1]), inner, place)
    return _Start(member(start.column, start.kind, step), inner, place)


def _raw(start: _Start, names: list[str], own: list[Found]) -> list[Column]:
    """The raw columns of fields that the file has."""
    return [_reached(start, names, field).alias(raw_name(field.alias)) for field, physical in own if physical]


def _reached(start: _Start, names: list[str], field: PlanField) -> Column:
    begun = len(start.place) - (start.place[-1:] == (ENTRIES,))
    at: _Start | None = start
    for step in field.place[begun:]:
        assert at is not None
        at = _step(at, step, names)
    assert at is not None
    assert at.column is not None
    return at.column


def _line(schema: Physical, names: list[str]) -> Column:
    """The record as it came, under the file's own names."""
    kinds = dict(schema.parts)
    return F.struct(*(F.col(f"x{at}").cast(named_type(kinds[name])).alias(name) for at, name in enumerate(names)))

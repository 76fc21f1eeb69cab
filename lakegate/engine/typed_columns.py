"""Typed columns of a plan: a delivery, read by its plan, as Arrow tables with the types that the contract declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.contract.contract_model import Shape
from lakegate.contract.field_paths import ELEMENTS, member_step
from lakegate.contract.logical_types import PRECISION, LogicalType
from lakegate.engine.evaluate.predicate_sql import SOURCE
from lakegate.engine.evaluate.typed_values import value_name
from lakegate.engine.measure.chunk_queries import ChunkQueries
from lakegate.engine.measure.duckdb_tables import database
from lakegate.engine.read.csv import CsvSource
from lakegate.engine.read.data_source import AT, ROW, Chunk, Level, Source
from lakegate.engine.read.json import JsonSource
from lakegate.plan.plan import OF_MAPS, Plan, PlanField

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A text that is no value of its field's type is null: only a contract that tolerates it lets it through. Times and timestamps
# have microseconds, as in `lakegate convert --to odf`.


_TYPES: Final = {
    LogicalType.STRING: (pa.string(), "CAST({} AS VARCHAR)"),
    LogicalType.INTEGER: (pa.int64(), "CAST({} AS BIGINT)"),
    LogicalType.NUMBER: (pa.float64(), "CAST({} AS DOUBLE)"),
    LogicalType.BOOLEAN: (pa.bool_(), "CAST({} AS BOOLEAN)"),
    LogicalType.DATE: (pa.date32(), "CAST({} AS DATE)"),
    LogicalType.TIME: (pa.time64("us"), "CAST(left({}, 15) AS TIME)"),
    LogicalType.TIMESTAMP: (pa.timestamp("us", "UTC"), "CAST({} AS TIMESTAMP)"),
    LogicalType.BINARY: (pa.binary(), "CAST({} AS VARCHAR)"),
}
"""Of each logical type but decimals that of the column, and the value in SQL."""
_TIME_OF_TABLES: Final = (
    pa.string(),
    "strftime(DATE '2000-01-01' + CAST(left({}, 15) AS TIME), '%H:%M:%S.%f')",
)
"""Likewise, in tables: Spark and Athena read no table that has a column of the type `time`."""
_LAST_INDEX = r"\[[0-9]+\]$"


@dataclass(frozen=True)
class PlanColumns:
    """The types of the columns of a plan."""

    plan: Plan
    of_tables: bool = dataclass_field(default=False, kw_only=True)
    """Whether they are columns of tables: moments that the contract declares without a zone have a type without one, and times of
    day are texts (`23:59:59.500000`). Else all moments are in UTC, and times of day have their own type."""

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the plan."""
        return pa.schema([(column.column, self._type(column)) for column in self.plan.columns])

    def parts(self, field: PlanField) -> list[PlanField]:
        """The fields of a record, what a list consists of, or the keys and the values of a map."""
        return self._parts.get(field.place, [])

    @cached_property
    def _parts(self) -> dict[tuple[str, ...], list[PlanField]]:
        found: dict[tuple[str, ...], list[PlanField]] = {}
        for field in self.plan.fields:
            if not field.is_column:
                found.setdefault(field.path[:-1], []).append(field)
        return found

    def _type(self, field: PlanField) -> pa.DataType:
        if field.shape is Shape.VALUE:
            return self.kind(field)
        inner = {part.place[-1]: self._type(part) for part in self.parts(field)}
        match field.shape:
            case Shape.RECORD:
                return pa.struct([(step[1:], kind) for step, kind in inner.items()])
            case Shape.MAP:
                return pa.map_(*map(inner.__getitem__, OF_MAPS))
            case _:
                return pa.list_(inner[ELEMENTS])

    def kind(self, field: PlanField) -> pa.DataType:
        """The type of plain values; of records, lists and maps that of whether they are there."""
        if field.shape is not Shape.VALUE:
            return pa.bool_()
        if field.type is LogicalType.DECIMAL:
            return pa.decimal128(PRECISION, field.scale)
        if field.type is LogicalType.TIMESTAMP and field.zone is False and self.of_tables:
            return pa.timestamp("us")
        return self.plain(field.type)[0]

    def plain(self, kind: LogicalType) -> tuple[pa.DataType, str]:
        """The type of the column of a logical type that is no decimal, and the value in SQL."""
        return _TIME_OF_TABLES if kind is LogicalType.TIME and self.of_tables else _TYPES[kind]


@dataclass(frozen=True)
class TypedColumns(PlanColumns):
    """The plan's columns in the chunks of a source."""

    source: Source

    def table(self, chunk: Chunk, queries: ChunkQueries) -> pa.Table:
        """All records of a chunk."""
        levels = {(): chunk.records, **chunk.levels}
        values = {level: self._values(level, levels[level], queries) for level in self._queries}
        return pa.table([_array(column, self, values) for column in self.plan.columns], schema=self.schema)

    def tables(self, folder: Path) -> Iterator[pa.Table]:
        """All records of the delivery; DuckDB spills to the folder."""
        with database(folder) as connection:
            queries = ChunkQueries(connection)
            for share in self.source.shares:
                for chunk in self.source.chunks(share):
                    yield self.table(chunk, queries)

    @cached_property
    def _queries(self) -> dict[Level, str]:
        """The SELECT of each level; of records and lists whether they are there."""
        fields: dict[Level, list[PlanField]] = {(): []}
        for field in self.plan.fields:
            fields.setdefault(field.level, []).append(field)
        return {
            level: f"SELECT {', '.join([ROW, *([AT] if level else []), *map(self._select, own)])} FROM {SOURCE}"  # noqa: S608 - generated names
            for level, own in fields.items()
        }

    def _select(self, field: PlanField) -> str:
        value = self.source.expressions[field.alias].value
        if field.shape is not Shape.VALUE:
            value = f"({value}) IS NOT NULL"
        elif field.type is not LogicalType.DECIMAL:
            value = self.plain(field.type)[1].format(value)
        return f"{value} AS {value_name(field.alias)}"

    def _values(self, level: Level, table: pa.Table, queries: ChunkQueries) -> Mapping[str, pa.Array]:
        if not table.num_rows:
            own = [field for field in self.plan.fields if field.level == level]
            kinds = {value_name(field.alias): self.kind(field) for field in own}
            return {name: pa.array([], kind) for name, kind in {ROW: pa.int64(), AT: pa.string(), **kinds}.items()}
        found = queries.table(table, self._queries[level])
        return {name: in_one_array(found.column(name)) for name in found.column_names}

    def value(self, field: PlanField, values: pa.Array) -> pa.Array:
        """Values of DuckDB as those of the column."""
        kind = self.kind(field)
        if field.type is LogicalType.BINARY and not isinstance(self.source, CsvSource | JsonSource):
            return pa.array([None if entry is None else entry.encode("latin-1") for entry in values.to_pylist()], kind)
        return values.cast(kind)


def _array(field: PlanField, columns: TypedColumns, values: Mapping[Level, Mapping[str, pa.Array]]) -> pa.Array:
    """The column of a field with all below it."""
    found = values[field.level][value_name(field.alias)]
    if field.shape is Shape.VALUE:
        return columns.value(field, found)
    inner = {part.place[-1]: _array(part, columns, values) for part in columns.parts(field)}
    absent = pc.invert(found)
    if field.shape is Shape.RECORD:
        return pa.StructArray.from_arrays(list(inner.values()), [step[1:] for step in inner], mask=absent)
    elements = values[columns.parts(field)[0].level]
    if field.shape is Shape.LIST:
        ends = _ends(field, values[field.level], elements)
        return pa.ListArray.from_arrays(ends, inner[ELEMENTS], mask=absent)
    # a key that is no value of its type is none: its entry is left out
    keys, entries = (inner[step] for step in OF_MAPS)
    known = keys.is_valid()
    keys, entries = keys.filter(known), entries.filter(known)
    ends = _ends(field, values[field.level], {name: elements[name].filter(known) for name in (ROW, AT)})
    return pa.MapArray.from_arrays(ends, keys, entries, mask=absent)


def _ends(field: PlanField, parents: Mapping[str, pa.Array], elements: Mapping[str, pa.Array]) -> pa.Array:
    """Offsets of lists or maps in their elements: those of the same row and, where they are elements, of the same place."""
    rows, owners = parents[ROW].to_numpy(), elements[ROW].to_numpy()
    if AT in parents and len(rows):
        steps = "".join(member_step(step[1:]) for step in field.place[len(field.level) :])
        lists = _keys(parents[ROW], pc.binary_join_element_wise(parents[AT], steps, ""))
        outer = pc.replace_substring_regex(elements[AT], _LAST_INDEX, "")
        rows, owners = np.arange(len(lists)), pc.index_in(_keys(elements[ROW], outer), lists).to_numpy()
    lengths: NDArray[np.int64] = np.searchsorted(owners, rows, "right") - np.searchsorted(owners, rows, "left")
    return pa.array(np.concatenate(([0], np.cumsum(lengths))).astype(np.int32))


def _keys(rows: pa.Array, places: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(rows.cast(pa.string()), places, ":")


def in_one_array(column: pa.ChunkedArray) -> pa.Array:
    """The values of a column without its division into chunks."""
    return pa.concat_arrays(column.chunks)

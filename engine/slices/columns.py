"""The rows of a chunk as typed columns of a slice: values of the plan's fields, with records and lists put together again.

A text that is no value of its field's type is null: only a contract that tolerates it lets it through. Times and timestamps
have microseconds, as in `lakegate convert --to odf`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.plan import Shape
from lakegate.engine.evaluate.program import SOURCE
from lakegate.engine.read.chunk import AT, ROW
from lakegate.engine.read.csv import CsvSource
from lakegate.engine.read.json import JsonSource
from lakegate.engine.type.values import value_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb
    from numpy.typing import NDArray

    from lakegate.contracts.plan.plan import Plan, PlanField
    from lakegate.engine.read.chunk import Chunk, Level, Source

_TYPES: Final = {
    LogicalType.STRING: (pa.string(), "CAST({} AS VARCHAR)"),
    LogicalType.INTEGER: (pa.int64(), "CAST({} AS BIGINT)"),
    LogicalType.NUMBER: (pa.float64(), "CAST({} AS DOUBLE)"),
    LogicalType.DECIMAL: (pa.decimal128(38, 18), "CAST({} AS DECIMAL(38,18))"),
    LogicalType.BOOLEAN: (pa.bool_(), "CAST({} AS BOOLEAN)"),
    LogicalType.DATE: (pa.date32(), "CAST({} AS DATE)"),
    LogicalType.TIME: (pa.time64("us"), "CAST(left({}, 15) AS TIME)"),
    LogicalType.TIMESTAMP: (pa.timestamp("us", "UTC"), "CAST({} AS TIMESTAMP)"),
    LogicalType.BINARY: (pa.binary(), "CAST({} AS VARCHAR)"),
}
"""Of each logical type that of the column, and the value in SQL."""
_LAST_INDEX = r"\[[0-9]+\]$"


@dataclass(frozen=True)
class PlanColumns:
    """The types of the plan's columns."""

    plan: Plan

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of a slice after the common ones."""
        return pa.schema([(each.name, self._type(each)) for each in self.plan.columns])

    def parts(self, field: PlanField) -> list[PlanField]:
        """The fields of a record, or what a list consists of."""
        return self._parts.get(field.place, [])

    @cached_property
    def _parts(self) -> dict[tuple[str, ...], list[PlanField]]:
        found: dict[tuple[str, ...], list[PlanField]] = {}
        for each in self.plan.fields:
            if each.path:
                found.setdefault(each.path[:-1], []).append(each)
        return found

    def _type(self, field: PlanField) -> pa.DataType:
        if field.shape is Shape.VALUE:
            return _TYPES[field.type][0]
        inner = [(each.place[-1][1:], self._type(each)) for each in self.parts(field)]
        return pa.struct(inner) if field.shape is Shape.RECORD else pa.list_(inner[0][1])


@dataclass(frozen=True)
class SliceColumns(PlanColumns):
    """The plan's columns in the chunks of a source."""

    source: Source

    def table(self, chunk: Chunk, connection: duckdb.DuckDBPyConnection) -> pa.Table:
        """All records of a chunk."""
        levels = {(): chunk.records, **chunk.levels}
        values = {level: self._values(level, levels[level], connection) for level in self._queries}
        return pa.table([_array(each, self, values) for each in self.plan.columns], schema=self.schema)

    @cached_property
    def _queries(self) -> dict[Level, str]:
        """The SELECT of each level; of records and lists whether they are there."""
        fields: dict[Level, list[PlanField]] = {(): []}
        for each in self.plan.fields:
            fields.setdefault(each.level, []).append(each)
        return {
            level: f"SELECT {', '.join([ROW, *([AT] if level else []), *map(self._select, own)])} FROM {SOURCE}"  # noqa: S608 - generated names
            for level, own in fields.items()
        }

    def _select(self, field: PlanField) -> str:
        value = self.source.expressions[field.alias].value
        sql = _TYPES[field.type][1] if field.shape is Shape.VALUE else "({}) IS NOT NULL"
        return f"{sql.format(value)} AS {value_name(field.alias)}"

    def _values(self, level: Level, table: pa.Table, connection: duckdb.DuckDBPyConnection) -> Mapping[str, pa.Array]:
        if not table.num_rows:
            own = [each for each in self.plan.fields if each.level == level]
            kinds = {value_name(each.alias): _kind(each) for each in own}
            return {name: pa.array([], kind) for name, kind in {ROW: pa.int64(), AT: pa.string(), **kinds}.items()}
        connection.register(SOURCE, table)
        found = connection.sql(self._queries[level]).to_arrow_table()
        return {name: _whole(found.column(name)) for name in found.column_names}

    def value(self, field: PlanField, values: pa.Array) -> pa.Array:
        """Values of DuckDB as those of the column."""
        kind = _TYPES[field.type][0]
        if field.type is LogicalType.BINARY and not isinstance(self.source, CsvSource | JsonSource):
            return pa.array([None if each is None else each.encode("latin-1") for each in values.to_pylist()], kind)
        return values.cast(kind)


def _kind(field: PlanField) -> pa.DataType:
    return _TYPES[field.type][0] if field.shape is Shape.VALUE else pa.bool_()


def _array(field: PlanField, columns: SliceColumns, values: Mapping[Level, Mapping[str, pa.Array]]) -> pa.Array:
    """The column of a field with all below it."""
    found = values[field.level][value_name(field.alias)]
    if field.shape is Shape.VALUE:
        return columns.value(field, found)
    inner = [_array(each, columns, values) for each in columns.parts(field)]
    absent = pc.invert(found)
    if field.shape is Shape.RECORD:
        names = [each.place[-1][1:] for each in columns.parts(field)]
        return pa.StructArray.from_arrays(inner, names, mask=absent)
    lengths = _lengths(values[field.level], values[columns.parts(field)[0].level])
    ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), inner[0], mask=absent)


def _lengths(parents: Mapping[str, pa.Array], elements: Mapping[str, pa.Array]) -> NDArray[np.int64]:
    """How many elements each list has: those of the same row and, of lists in lists, in the place of the list."""
    rows, owners = parents[ROW].to_numpy(), elements[ROW].to_numpy()
    if AT in parents and len(rows):
        lists = _keys(parents[ROW], parents[AT])
        outer = pc.replace_substring_regex(elements[AT], _LAST_INDEX, "")
        rows, owners = np.arange(len(lists)), pc.index_in(_keys(elements[ROW], outer), lists).to_numpy()
    found: NDArray[np.int64] = np.searchsorted(owners, rows, "right") - np.searchsorted(owners, rows, "left")
    return found


def _keys(rows: pa.Array, places: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(rows.cast(pa.string()), places, ":")


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks)

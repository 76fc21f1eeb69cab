"""Values that predicates of one field have passed: in a chunk that has no others these predicates are not evaluated again.

A predicate of one field depends on the value of one raw column alone. Whether it fails is found out by evaluating it
(`lakegate.engine.evaluate.predicate_sql`), never here. What is known of later chunks then:

* A value that has passed passes again. Of columns whose values repeat, the distinct ones are compared.
* Numbers, days and moments between two of the field's type are of it, too, and within bounds that both are within. Of such
  columns the least and the greatest value are compared.

Compared are the columns of files with a schema, the values of texts that `text_values` computes, and texts of CSV that
repeat. Other texts cost as much to compare as to evaluate.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.contract.logical_types import LogicalType
from lakegate.engine.evaluate.predicate_sql import NumericColumn, Program
from lakegate.engine.evaluate.typed_values import value_name
from lakegate.engine.measure.duckdb_tables import table_columns
from lakegate.engine.measure.partial_results import LevelCounts, Moments
from lakegate.engine.measure.text_values import ORDERED, count_texts
from lakegate.engine.read.data_source import Expression
from lakegate.engine.read.stored_columns import valid_name
from lakegate.plan.check import Population
from lakegate.plan.predicates import (
    Length,
    NoRepeats,
    OneOf,
    Predicate,
    Present,
    Size,
    Typed,
    Within,
    fields_of,
    leaves,
)

MOST_VALUES: Final = 1024
"""Distinct values of a column that are compared."""


@dataclass(frozen=True)
class ColumnValues:
    """The values of a raw column in a chunk; those that are not finite have no order."""

    column: pa.ChunkedArray
    type: LogicalType
    """Of the field."""
    texts: pa.ChunkedArray | None = None
    """The texts that these are the values of; None: they are raw values."""
    is_typed: bool | None = None
    """Whether each of the texts is one of the type."""

    @property
    def nulls(self) -> int:
        """Records without a value."""
        return int(self.column.null_count)

    @property
    def count(self) -> int:
        """Records with a value."""
        return len(self.column) - self.nulls

    @cached_property
    def ends(self) -> tuple[Any, Any] | None:
        """The least and the greatest value, days and moments as numbers; None where there is none, or no order."""
        kind = self.column.type
        if not self.count or not any(is_ordered(kind) for is_ordered in ORDERED.get(self.type, ())):
            return None
        found = pc.min_max(_numbers(self.column))
        low, high = found["min"].as_py(), found["max"].as_py()
        is_finite = math.isfinite(low) and math.isfinite(high)
        has_nan = pa.types.is_floating(kind) and pc.any(pc.is_nan(self.column)).as_py()
        return (low, high) if is_finite and not has_nan else None

    @cached_property
    def lengths(self) -> tuple[Any, Any] | None:
        """The least and the greatest length of the texts, in characters."""
        if self.texts is None or not self.count:
            return None
        found = pc.min_max(pc.utf8_length(self.texts))
        return found["min"].as_py(), found["max"].as_py()

    @cached_property
    def distinct(self) -> frozenset[Any] | None:
        """The distinct values; None where they are too many, or too many to be looked for."""
        kind = self.column.type
        is_narrow = self.ends is not None and self.ends[1] - self.ends[0] < MOST_VALUES
        if not (is_narrow and not pa.types.is_floating(kind)) and not pa.types.is_dictionary(kind):
            return None
        found = _numbers(self.column).unique()
        return frozenset(found.to_pylist()) - {None} if len(found) <= MOST_VALUES else None


def _numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Days and moments as the numbers that they are stored as."""
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32())
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


@dataclass(frozen=True, slots=True)
class KnownValues:
    """Values that a predicate has passed."""

    ends: tuple[Any, Any] | None = None
    """Each value, or length of a text, between these has passed, too."""
    values: frozenset[Any] = frozenset()
    has_null: bool = False

    def has(self, found: ColumnValues, ends: tuple[Any, Any] | None) -> bool:
        """Whether these are all values of a column with such ends."""
        if found.nulls and not self.has_null:
            return False
        if not found.count:
            return True
        if self.ends is not None and ends is not None and self.ends[0] <= ends[0] and ends[1] <= self.ends[1]:
            return True
        return bool(self.values) and found.distinct is not None and found.distinct <= self.values

    def with_values(self, found: ColumnValues, ends: tuple[Any, Any] | None) -> KnownValues:
        """These, and those of a column with such ends in which no record failed."""
        pairs = [each for each in (self.ends, ends) if each is not None]
        ends = (min(low for low, _ in pairs), max(high for _, high in pairs)) if pairs else None
        distinct = found.distinct or frozenset()
        # predicates of one field have one set, as long as all of them pass
        values = distinct if self.values <= distinct else self.values | distinct
        if len(values) > MOST_VALUES:
            values = self.values
        return KnownValues(ends, values, self.has_null or found.nulls > 0)


@dataclass(slots=True)
class Known:
    """The columns of a result that are known of a chunk without an evaluation."""

    names: set[str] = field(default_factory=set)
    """Columns of the program's result that need not be computed."""
    bitmaps: dict[str, pa.ChunkedArray] = field(default_factory=dict)
    """Of these the predicates that some record breaks; no record breaks the others."""
    counts: LevelCounts = field(default_factory=LevelCounts)
    """Of populations and numbers among these."""


@dataclass(frozen=True, slots=True)
class PassedValues:
    """The values that the predicates of a program have passed, in any share; threads may use it at once."""

    program: Program
    expressions: Mapping[str, Expression]
    _passed: dict[Predicate, KnownValues] = field(default_factory=dict)
    """Its entries are replaced, never changed."""

    def columns(self, table: pa.Table) -> dict[str, ColumnValues]:
        """The columns of a chunk that are compared, by field: raw ones, or the values of texts (`with_values`)."""
        there, found = set(table.column_names), {}
        for own in self.program.own:
            expression, value = self.expressions[own.alias], value_name(own.alias)
            if value in there:
                values, count = table.column(value), count_texts(own, expression, table)
                texts = table.column(expression.raw) if expression.column == expression.raw else None
                found[own.name] = ColumnValues(values, own.type, texts, len(values) - values.null_count == count)
            elif expression.raw in there:
                raw = table.column(expression.raw)
                if pa.types.is_dictionary(raw.type) or valid_name(own.alias) not in there:
                    found[own.name] = ColumnValues(raw, own.type)
        return found

    def known(self, table: pa.Table, columns: Mapping[str, ColumnValues]) -> Known:
        """Find what is known of a chunk with these columns; nothing that is stored for each record."""
        found, program = Known(), self.program
        stored = set(table_columns(program))
        passes = {predicate for predicate in program.predicates if self._has_passed(predicate, columns)}
        empty = {
            own.name: table.column(column) for own in program.own if (column := self.expressions[own.alias].column)
        }
        for predicate, name in program.predicates.items():
            if name in stored:
                continue
            if predicate in passes:
                found.names.add(name)
            elif isinstance(predicate, Present) and predicate.field in empty:
                found.names.add(name)
                if empty[predicate.field].null_count:
                    found.bitmaps[name] = pc.is_null(empty[predicate.field])
        # words for null are texts of a raw column, and no values
        of_type = {
            own: values for own, values in columns.items() if Typed(own) in passes and (values.is_typed or own in empty)
        }
        for population, name in program.populations.items():
            if name not in stored and (own := of_type.get(_only_field(population))) is not None:
                found.names.add(name)
                found.counts.bits[name] = own.count
        for number, name in program.numbers.items():
            own = of_type.get(_only_field(number.population))
            moments = self._moments(number, own, passes) if own is not None and name not in stored else None
            if moments is not None:
                found.names.add(name)
                found.counts.numbers[name] = moments
        return found

    def add(self, columns: Mapping[str, ColumnValues], known: Known, counts: LevelCounts) -> None:
        """Add the values of a chunk, given what was known of it, and the counts of what was evaluated."""
        passed = {
            predicate
            for predicate, name in self.program.predicates.items()
            if (name in known.names and name not in known.bitmaps) or counts.bits.get(name) == 0
        }
        for predicate in passed:
            name = _compared_field(predicate)
            if self.program.predicates[predicate] in known.names or name not in columns or Typed(name) not in passed:
                continue
            before = self._passed.get(predicate, KnownValues())
            self._passed[predicate] = before.with_values(columns[name], _ends(predicate, columns[name]))

    def _has_passed(self, predicate: Predicate, columns: Mapping[str, ColumnValues]) -> bool:
        own, passed = columns.get(_compared_field(predicate)), self._passed.get(predicate)
        if own is None or own.is_typed is False:
            return False
        if own.is_typed and isinstance(predicate, Typed):
            return True
        return passed is not None and passed.has(own, _ends(predicate, own))

    def _moments(self, number: NumericColumn, own: ColumnValues, passes: Collection[Predicate]) -> Moments | None:
        """The numbers of a column all of whose values are of their field's type; None if they have to be computed."""
        if number.kind == "extremes" and (own.ends is not None or not own.count):
            low, high = (float(end) + 0.0 for end in own.ends) if own.ends else (None, None)
            return Moments(own.count, least=low, greatest=high)
        if number.kind == "members" and OneOf(number.fields[0], number.values) in passes:
            return Moments(own.count)  # the chunks in which these values have passed have named them
        return None


def _ends(predicate: Predicate, values: ColumnValues) -> tuple[Any, Any] | None:
    """The ends between which all values pass a predicate if both do; None: others decide it."""
    match predicate:
        case Typed() | Within():
            return values.ends
        case Length():
            return values.lengths
        case _:
            return None


def _compared_field(predicate: Predicate) -> str:
    """The only field whose single values decide a predicate; an empty text: others do, or it is known without comparing."""
    fields = fields_of(predicate)
    parts = Present, Size, NoRepeats
    is_of_parts = isinstance(predicate, Present) or any(isinstance(leaf, parts) for leaf in leaves(predicate))
    return "" if len(fields) > 1 or is_of_parts else next(iter(fields))


def _only_field(population: Population) -> str:
    """The field whose values are a population; an empty text: others or a condition decide it."""
    return population.fields[0] if len(population.fields) == 1 and population.condition is None else ""

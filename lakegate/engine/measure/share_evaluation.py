"""A share, chunk by chunk, to a partial result."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.engine.evaluate.predicate_sql import FIELDS_OF_QUERY, SOURCE, Program, Programs
from lakegate.engine.evaluate.typed_values import present_name, value_name
from lakegate.engine.measure.chunk_queries import ChunkQueries
from lakegate.engine.measure.delivered_period import PeriodColumn, periods_of_chunk
from lakegate.engine.measure.partial_results import AscendingLines, Bit, Broken, LevelCounts, Moments, Partial
from lakegate.engine.measure.passed_values import Known, PassedValues
from lakegate.engine.measure.text_values import with_values
from lakegate.engine.read.data_source import AT, ROW, Chunk, Expression, Level, Source, of_object, values_repeat
from lakegate.engine.read.json_rows import bounded_keys
from lakegate.plan.plan import Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Keep = Callable[[Program, pa.Table, int], None]
    """Takes a program, its result for a chunk, and the number of the share."""

# ---- Patterns in distinct values ----
# A text depends on the value of one raw column only: equal values have equal texts, for which a search has the same result.


def with_searches(
    program: Program, table: pa.Table, expressions: Mapping[str, Expression], queries: ChunkQueries
) -> tuple[pa.Table, tuple[str, ...]]:
    """The raw columns of a chunk with the searches of fields whose values repeat, and the aliases of these fields."""
    raws = {alias: expressions[alias].raw for alias in program.searches}
    searched = tuple(alias for alias, raw in raws.items() if raw and values_repeat(table.column(raw)))
    for alias in searched:
        raw = expressions[alias].raw
        encoded = table.column(raw).combine_chunks().dictionary_encode()
        search = program.search(alias, expressions[alias].text)
        found = queries.table(pa.table({raw: encoded.dictionary}), search)
        for name in found.column_names:
            table = table.append_column(name, found.column(name).take(encoded.indices))
    return table, searched


# ---- The evaluation of a share ----
# Keys, and values that queries or quantiles need, are appended to tables of the database, which spills to disk; everything else
# is a few numbers and a bit for each record and broken predicate. The order in which shares are evaluated changes nothing.


PASSING = 40
"""Passing records of each predicate whose values are shown."""
PASSING_SHARES = 2
"""Shares at the beginning of the delivery in which such records are noted."""
PASSING_RECORDS = 4096
"""Records at the beginning of a share, and of a chunk, among which they are noted."""
_OF_FIELD = re.compile(r"[a-z]?(c[0-9]+)(?:_[0-9a-f]+)?")
"""A raw column: the alias of its field, between what it is of it and what was searched for."""


@dataclass(slots=True)
class Evaluation:
    """The evaluation of a delivery's shares, in any order and by several threads."""

    plan: Plan
    source: Source
    programs: Programs
    samples: int
    """The most failing records of each predicate that are noted in a share."""
    period: PeriodColumn | None = None
    """None: periods are not noted."""
    _absent: dict[tuple[Level, int, bool], pa.Table] = field(default_factory=dict)
    """The results of parts of programs for a record without any value."""
    _passed: dict[Level, PassedValues] = field(default_factory=dict)

    def share(
        self, number: int, queries: ChunkQueries, keep: Keep, read: Callable[[int], None] | None = None
    ) -> Partial:
        """Evaluate one share; `keep` takes the results of programs whose rows are stored.

        `read` is called after each chunk with its size (bytes of the object; of a table, rows).

        UnreadableError if its object is damaged, OSError if the storage fails.
        """
        partial, share = Partial(number), self.source.shares[number]
        with of_object(share.part):
            for chunk in self.source.chunks(share):
                self._add(chunk, partial, queries, keep)
                if read is not None:
                    read(chunk.size)
        return partial

    def _add(self, chunk: Chunk, partial: Partial, queries: ChunkQueries, keep: Keep) -> None:
        bitmaps: dict[Bit, pa.BooleanArray] = {}
        rows: NDArray[np.int64] = chunk.records.column(ROW).combine_chunks().to_numpy()
        for level, program in self.programs.items():
            table = chunk.levels[level] if level else chunk.records
            counts = partial.levels.setdefault(level, LevelCounts())
            is_noted = partial.number < PASSING_SHARES and counts.rows < PASSING_RECORDS
            counts.rows += table.num_rows
            if table.num_rows:
                passed = self._passed.setdefault(level, PassedValues(program, self.source.expressions))
                table = with_values(program, table, self.source.expressions, queries)
                columns = passed.columns(table)
                known = Known() if is_noted else passed.known(table, columns)
                bits = self._bits(program, known, table, queries, with_present=is_noted)
                if is_noted:
                    _note_passing(program, bits, table, partial)
                keep(program, bits, partial.number)
                found = _counts(program, known, bits, queries)
                passed.add(columns, known, found)
                counts.add(found)
                bitmaps |= self._failing(program, table, bits, rows, partial)
        for malformed in chunk.malformed:
            before = partial.malformed.get(malformed.reason)
            partial.malformed[malformed.reason] = before.with_more(malformed) if before else malformed
        partial.lines += chunk.lines
        partial.tail = chunk.tail if chunk.lines else partial.tail
        partial.size += chunk.size
        partial.extra = bounded_keys(partial.extra | chunk.extra, self.plan.fields)
        partial.keys |= chunk.keys
        partial.evidence |= chunk.evidence
        partial.broken.append(Broken(AscendingLines.of(rows), bitmaps))
        if self.period is not None:
            partial.periods.append(periods_of_chunk(chunk.records, self.period, queries.connection))

    def _bits(
        self,
        program: Program,
        known: Known,
        table: pa.Table,
        queries: ChunkQueries,
        *,
        with_present: bool,
    ) -> pa.Table:
        """The result of a program, without the columns that are known and no record breaks: that of its parts, side by side."""
        if len(program.parts) == 1:
            rest = program.without(known.names)
            bits = self._selected(rest, table, queries, with_present=with_present)
            for name, bitmap in known.bitmaps.items():
                bits = bits.append_column(name, bitmap)
            return bits
        by_field: dict[str, list[str]] = {}
        for name in table.column_names:
            owner = _OF_FIELD.fullmatch(name)
            by_field.setdefault(owner[1] if owner else "", []).append(name)
        found: dict[str, pa.ChunkedArray] = {}
        for at, part in enumerate(program.parts):
            raw = [name for each in part.own for name in by_field.get(each.alias, ())]
            own = table.select([*by_field[""], *raw])
            if any(column.null_count < len(column) for column in map(own.column, raw) if not _is_false(column)):
                bits = self._selected(part.without(known.names), own, queries, with_present=with_present)
            else:
                key = program.level, at, with_present
                if key not in self._absent:
                    self._absent[key] = self._selected(part, own.slice(0, 1), queries, with_present=with_present)
                bits = _repeated(self._absent[key], own)
            found |= dict(zip(bits.column_names, bits.columns, strict=True))
        return pa.table(found | known.bitmaps)

    def _selected(self, program: Program, table: pa.Table, queries: ChunkQueries, *, with_present: bool) -> pa.Table:
        if program.is_empty and not with_present:
            return table.select([ROW])
        typed, there = self.source.expressions, set(table.column_names)
        table, searched = with_searches(program, table, typed, queries)

        def value(alias: str) -> str:
            return value_name(alias) if value_name(alias) in there else typed[alias].value

        query = program.select(typed, value, searched, with_present=with_present)
        return queries.table(table, query)

    def _failing(
        self, program: Program, table: pa.Table, bits: pa.Table, rows: NDArray[np.int64], partial: Partial
    ) -> dict[Bit, pa.BooleanArray]:
        """The bitmap of each predicate that some record breaks; the first of them are noted."""
        found: dict[Bit, pa.BooleanArray] = {}
        there = set(bits.column_names)
        for name in (each for each in program.predicates.values() if each in there):
            bitmap = bits.column(name).combine_chunks()
            if bitmap.true_count == 0:
                continue
            bit = program.level, name
            noted = partial.failing.setdefault(bit, [])
            missing = self.samples - len(noted)
            if missing > 0:
                first = np.flatnonzero(bitmap.to_numpy(zero_copy_only=False))[:missing]
                noted += _places(program, bits, table, first)
            found[bit] = _of_records(rows, table, bitmap) if program.level else bitmap
        return found


def _is_false(column: pa.ChunkedArray) -> bool:
    """Whether a column says of no value that it is something, which means nothing where all values are absent."""
    return bool(pa.types.is_boolean(column.type) and not pc.any(column).as_py())


def _repeated(one: pa.Table, table: pa.Table) -> pa.Table:
    """The result for one record as that of all records of a table, which have their own lines and places."""
    columns = {
        name: table.column(name) if name in {ROW, AT} else pa.repeat(column[0], len(table))
        for name, column in zip(one.column_names, one.columns, strict=True)
    }
    return pa.table(columns)


def _note_passing(program: Program, bits: pa.Table, table: pa.Table, partial: Partial) -> None:
    """Note the first records in which a field has a value that passes, for each predicate of one field."""
    head = bits.slice(0, PASSING_RECORDS)
    for name, alias in program.single.items():
        noted = partial.passing.setdefault((program.level, name), [])
        missing = PASSING - len(noted)
        present = head.column(present_name(alias))
        if missing > 0 and pc.any(present).as_py():
            passes = pc.and_not(present, head.column(name))
            first = np.flatnonzero(passes.combine_chunks().to_numpy(zero_copy_only=False))[:missing]
            noted += _places(program, bits, table, first)


def _places(program: Program, bits: pa.Table, table: pa.Table, first: NDArray[np.int64]) -> Iterator[tuple[int, str]]:
    """Line and place of some records or elements; only elements have a place."""
    lines = bits.column(ROW).take(pa.array(first)).to_pylist()
    places = table.column(AT).take(pa.array(first)).to_pylist() if program.level else [""] * len(lines)
    return zip(lines, places, strict=True)


def _of_records(rows: NDArray[np.int64], elements: pa.Table, bitmap: pa.BooleanArray) -> pa.BooleanArray:
    """Records that have an element that is set."""
    owners = elements.column(ROW).combine_chunks().filter(bitmap).to_numpy()
    found = np.zeros(len(rows), np.bool_)
    found[np.searchsorted(rows, owners)] = True
    return pa.array(found)


def _counts(program: Program, known: Known, bits: pa.Table, queries: ChunkQueries) -> LevelCounts:
    """The counts of a chunk: what is known, and what its result adds up to."""
    there = set(bits.column_names)
    names = (*program.predicates.values(), *program.populations.values())
    counts = {name: pc.sum(bits.column(name)).as_py() or 0 for name in names if name in there} | known.counts.bits
    moments = dict(known.counts.numbers)
    numbers = [(name, column.kind) for column, name in program.numbers.items() if name in there - moments.keys()]
    for start in range(0, len(numbers), FIELDS_OF_QUERY):
        some = numbers[start : start + FIELDS_OF_QUERY]
        columns = ", ".join(_aggregates(*each) for each in some)
        row = queries.row(bits.select([name for name, _ in some]), f"SELECT {columns} FROM {SOURCE}")  # noqa: S608 - generated names
        moments |= {name: Moments(*row[6 * at : 6 * at + 6]) for at, (name, _) in enumerate(some)}
    return LevelCounts(0, counts, moments)


def _aggregates(name: str, kind: str) -> str:
    """Count, sum, least, greatest, and squares about the mean of a column of numbers, and bits of members."""
    if kind == "members":
        return f"count({name}), 0, NULL, NULL, 0, coalesce(bit_or({name}), 0)"
    if kind == "extremes":
        return f"count({name}), 0, min({name}), max({name}), 0, 0"
    total = f"fsum({name})" if kind == "float" else f"sum({name})"
    return f"count({name}), coalesce({total}, 0), min({name}), max({name}), coalesce(var_pop({name}) * count({name}), 0), 0"

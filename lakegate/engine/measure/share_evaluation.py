"""A share, chunk by chunk, to a partial result."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.contract.logical_types import GRAMMARS
from lakegate.engine.evaluate.predicate_sql import FIELDS_OF_QUERY, SOURCE, Program, Programs
from lakegate.engine.evaluate.typed_values import LONGEST_PLAIN, PLAIN, present_name
from lakegate.engine.measure.delivered_period import PeriodColumn, periods_of_chunk
from lakegate.engine.measure.duckdb_tables import BITS
from lakegate.engine.read.data_source import AT, ROW, Chunk, Expression, Level, Malformed, Source, of_object
from lakegate.engine.read.json_rows import bounded_keys
from lakegate.plan.plan import Plan

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    from lakegate.engine.measure.delivered_period import ChunkPeriods

    Keep = Callable[[Program, pa.Table, int], None]
    """Takes a program, its result for a chunk, and the number of the share."""

# ---- The partial result of a share ----


Bit = tuple["Level", str]
"""A predicate of a program: the level, and the name of its bit."""


@dataclass(slots=True)
class Moments:
    """Sums and extremes of numbers: exact for whole numbers, otherwise almost independent of their order."""

    count: int = 0
    total: float | int = 0
    least: float | int | None = None
    greatest: float | int | None = None
    squares: float = 0.0
    """The sum of the squared distances from the mean."""
    members: int = 0
    """Of members of a list the bits of those that occur; then there are no other numbers."""

    def add(self, other: Moments) -> None:
        """Add the numbers of another share, which is not changed (Chan, Golub and LeVeque 1979 for the squares)."""
        if not other.count:
            return
        if self.count:
            distance = other.mean - self.mean
            self.squares += distance * distance * (self.count * other.count / (self.count + other.count))
        known = [self] if self.count else []
        self.squares += other.squares
        self.least = min((moments.least for moments in (*known, other) if moments.least is not None), default=None)
        self.greatest = max(
            (moments.greatest for moments in (*known, other) if moments.greatest is not None), default=None
        )
        self.members |= other.members
        self.total += other.total
        self.count += other.count

    @property
    def mean(self) -> float:
        """The mean of at least one number."""
        return float(self.total / self.count)


@dataclass(slots=True)
class LevelCounts:
    """The counts of the records (or the elements) of a level."""

    rows: int = 0
    """Judged ones."""
    bits: dict[str, int] = field(default_factory=dict)
    """The number of records in which each bit of the program is set."""
    numbers: dict[str, Moments] = field(default_factory=dict)

    def over(self, bit: str | None) -> int:
        """Records in which a bit is set; without a bit, all judged ones."""
        return self.rows if bit is None else self.bits.get(bit, 0)

    def add(self, other: LevelCounts) -> None:
        """Add those of another share."""
        self.rows += other.rows
        for name, count in other.bits.items():
            self.bits[name] = self.bits.get(name, 0) + count
        for name, moments in other.numbers.items():
            self.numbers.setdefault(name, Moments()).add(moments)


@dataclass(frozen=True, slots=True)
class AscendingLines:
    """Ascending lines of records. The driver has those of all records, which are as a rule one after the other."""

    first: int
    count: int
    steps: NDArray[np.unsignedinteger[Any]] | None = None
    """From each to the next; None: one."""

    @staticmethod
    def of(lines: NDArray[np.int64]) -> AscendingLines:
        """The lines of an array."""
        if not len(lines):
            return AscendingLines(0, 0)
        steps = np.diff(lines)
        if (steps == 1).all():
            return AscendingLines(int(lines[0]), len(lines))
        return AscendingLines(int(lines[0]), len(lines), steps.astype(np.min_scalar_type(int(steps.max()))))

    def numbers(self) -> NDArray[np.int64]:
        """The lines as an array."""
        if self.steps is None:
            return np.arange(self.first, self.first + self.count, dtype=np.int64)
        numbers: NDArray[np.int64] = np.cumsum(np.concatenate([[self.first], self.steps]), dtype=np.int64)
        return numbers


@dataclass(frozen=True, slots=True)
class Broken:
    """Records of a chunk that break predicates: a bitmap for each; without one no record breaks it."""

    rows: AscendingLines
    """The line of each record in its share."""
    bitmaps: dict[Bit, pa.BooleanArray]


@dataclass(slots=True)
class Partial:
    """One share."""

    number: int
    """Of the share, in the order of the delivery."""
    lines: int = 0
    tail: int = 1
    """Lines of the last record."""
    size: int = 0
    levels: dict[Level, LevelCounts] = field(default_factory=dict)
    malformed: dict[str, Malformed] = field(default_factory=dict)
    """By reason."""
    failing: dict[Bit, list[tuple[int, str]]] = field(default_factory=dict)
    """The first failing records or elements: line in the share, and place in the record."""
    passing: dict[Bit, list[tuple[int, str]]] = field(default_factory=dict)
    """The same of the first ones that have a value and pass, of the first shares and of predicates of one field."""
    broken: list[Broken] = field(default_factory=list)
    periods: list[ChunkPeriods] = field(default_factory=list)
    """Of each chunk, in the order of `broken`."""
    extra: set[str] = field(default_factory=set)
    """Undeclared keys, in formats without a header; at most `MAX_COMPARED` of each chunk."""
    keys: set[tuple[str, ...]] = field(default_factory=set)
    """Places of declared keys that occur, in these formats."""
    evidence: frozenset[str] = frozenset()
    """Of the encoding, as in chunks."""
    cpu_seconds: float = 0.0
    """Processor seconds of the worker that evaluated it; 0 where the judge's own process did."""


# ---- Patterns in distinct values ----
# A text depends on the value of one raw column only: equal values have equal texts, for which a search has the same result.


LOOKED_AT = 4096
"""Rows at the beginning of a chunk that decide whether values repeat; smaller chunks are searched directly."""
MAX_DISTINCT = LOOKED_AT // 8
"""Distinct values among them at the most."""


def with_searches(
    program: Program, table: pa.Table, expressions: Mapping[str, Expression], connection: duckdb.DuckDBPyConnection
) -> tuple[pa.Table, tuple[str, ...]]:
    """The raw columns of a chunk with the searches of fields whose values repeat, and the aliases of these fields."""
    searched = tuple(alias for alias in program.searches if _repeats(table, expressions[alias].raw))
    for alias in searched:
        raw = expressions[alias].raw
        encoded = table.column(raw).combine_chunks().dictionary_encode()
        connection.register(SOURCE, pa.table({raw: encoded.dictionary}))
        found = connection.sql(program.search(alias, expressions[alias].text)).to_arrow_table()
        for name in found.column_names:
            table = table.append_column(name, found.column(name).take(encoded.indices))
    return table, searched


def _repeats(table: pa.Table, raw: str) -> bool:
    """Whether the values of a raw column repeat; 0 and -0 would count as one float, but have two texts."""
    if not raw or table.num_rows < LOOKED_AT or pa.types.is_floating(table.column(raw).type):
        return False
    return len(table.column(raw).slice(0, LOOKED_AT).unique()) <= MAX_DISTINCT


# ---- The evaluation of a share ----
# Keys, and values that queries or quantiles need, are appended to tables of the database, which spills to disk; everything else
# is a few numbers and a bit for each record and broken predicate. The order in which shares are evaluated changes nothing.


PASSING = 40
"""Passing records of each predicate whose values are shown."""
PASSING_SHARES = 2
"""Shares at the beginning of the delivery in which such records are noted."""
PASSING_RECORDS = 4096
"""Records at the beginning of a chunk among which they are noted."""
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

    def share(
        self, number: int, connection: duckdb.DuckDBPyConnection, keep: Keep, read: Callable[[int], None] | None = None
    ) -> Partial:
        """Evaluate one share; `keep` takes the results of programs whose rows are stored.

        `read` is called after each chunk with its size (bytes of the object; of a table, rows).

        UnreadableError if its object is damaged, OSError if the storage fails.
        """
        partial, share = Partial(number), self.source.shares[number]
        with of_object(share.part):
            for chunk in self.source.chunks(share):
                self._add(chunk, partial, connection, keep)
                if read is not None:
                    read(chunk.size)
        return partial

    def _add(self, chunk: Chunk, partial: Partial, connection: duckdb.DuckDBPyConnection, keep: Keep) -> None:
        bitmaps: dict[Bit, pa.BooleanArray] = {}
        rows: NDArray[np.int64] = chunk.records.column(ROW).combine_chunks().to_numpy()
        for level, program in self.programs.items():
            table = chunk.levels[level] if level else chunk.records
            counts = partial.levels.setdefault(level, LevelCounts())
            counts.rows += table.num_rows
            if table.num_rows:
                is_noted = partial.number < PASSING_SHARES
                bits = self._bits(program, table, connection, with_present=is_noted)
                if is_noted:
                    _note_passing(program, bits, table, partial)
                keep(program, bits, partial.number)
                counts.add(_counts(program, bits, connection))
                bitmaps |= self._failing(program, table, bits, rows, partial)
        for malformed in chunk.malformed:
            known = partial.malformed.get(malformed.reason)
            partial.malformed[malformed.reason] = known.with_more(malformed) if known else malformed
        partial.lines += chunk.lines
        partial.tail = chunk.tail if chunk.lines else partial.tail
        partial.size += chunk.size
        partial.extra = bounded_keys(partial.extra | chunk.extra, self.plan.fields)
        partial.keys |= chunk.keys
        partial.evidence |= chunk.evidence
        partial.broken.append(Broken(AscendingLines.of(rows), bitmaps))
        if self.period is not None:
            partial.periods.append(periods_of_chunk(chunk.records, self.period, connection))

    def _bits(
        self, program: Program, table: pa.Table, connection: duckdb.DuckDBPyConnection, *, with_present: bool
    ) -> pa.Table:
        """The result of a program: that of its parts, side by side."""
        if len(program.parts) == 1:
            return self._selected(program, table, connection, with_present=with_present)
        by_field: dict[str, list[str]] = {}
        for name in table.column_names:
            owner = _OF_FIELD.fullmatch(name)
            by_field.setdefault(owner[1] if owner else "", []).append(name)
        found: dict[str, pa.ChunkedArray] = {}
        for at, part in enumerate(program.parts):
            raw = [name for each in part.own for name in by_field.get(each.alias, ())]
            own = table.select([*by_field[""], *raw])
            if any(column.null_count < len(column) for column in map(own.column, raw) if not _is_false(column)):
                bits = self._selected(part, own, connection, with_present=with_present)
            else:
                key = program.level, at, with_present
                if key not in self._absent:
                    self._absent[key] = self._selected(part, own.slice(0, 1), connection, with_present=with_present)
                bits = _repeated(self._absent[key], own)
            found |= dict(zip(bits.column_names, bits.columns, strict=True))
        return pa.table(found)

    def _selected(
        self, program: Program, table: pa.Table, connection: duckdb.DuckDBPyConnection, *, with_present: bool
    ) -> pa.Table:
        plain = frozenset(self._plain(program, table))
        typed = self.source.expressions
        table, searched = with_searches(program, table, typed, connection)
        query = program.select(
            typed,
            lambda alias: typed[alias].plain if alias in plain else typed[alias].value,
            searched,
            with_present=with_present,
        )
        connection.register(SOURCE, table)
        return connection.sql(query).to_arrow_table()

    def _plain(self, program: Program, table: pa.Table) -> Iterator[str]:
        """The fields whose texts in this chunk consist of their type's plain alphabet, so that the cast alone decides."""
        for own in program.own:
            expression, alphabet = self.source.expressions[own.alias], PLAIN.get(GRAMMARS[own.type].cast)
            if alphabet and expression.plain and _consists_of(table.column(expression.raw), alphabet):
                yield own.alias

    def _failing(
        self, program: Program, table: pa.Table, bits: pa.Table, rows: NDArray[np.int64], partial: Partial
    ) -> dict[Bit, pa.BooleanArray]:
        """The bitmap of each predicate that some record breaks; the first of them are noted."""
        found: dict[Bit, pa.BooleanArray] = {}
        for name in program.predicates.values():
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


def _consists_of(texts: pa.ChunkedArray, alphabet: bytes) -> bool:
    """Whether all texts of a column consist of these characters, and are no longer than the grammars allow."""
    for chunk in texts.chunks:
        data = chunk.buffers()[2]
        if data is None or not len(chunk):
            continue
        bounds = np.frombuffer(chunk.buffers()[1], np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
        if bytes(memoryview(data)[bounds[0] : bounds[-1]]).translate(None, alphabet):
            return False
        if np.diff(bounds).max() > LONGEST_PLAIN:
            return False
    return True


def _counts(program: Program, bits: pa.Table, connection: duckdb.DuckDBPyConnection) -> LevelCounts:
    names = (*program.predicates.values(), *program.populations.values())
    counts = {name: pc.sum(bits.column(name)).as_py() or 0 for name in names}
    if not program.numbers:
        return LevelCounts(0, counts)
    moments: dict[str, Moments] = {}
    numbers = [(name, column.kind) for column, name in program.numbers.items()]
    for start in range(0, len(numbers), FIELDS_OF_QUERY):
        some = numbers[start : start + FIELDS_OF_QUERY]
        connection.register(BITS, bits.select([name for name, _ in some]))
        columns = [_aggregates(*each) for each in some]
        (row,) = connection.execute(f"SELECT {', '.join(columns)} FROM {BITS}").fetchall()  # noqa: S608 - generated names
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

"""Reads files that contain their own schema, as chunks of columns of the file's own types."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.contracts.plan.population import read_as
from lakegate.contracts.plan.predicate import NoRepeats, Size
from lakegate.engine.read.bounds import LONGEST_RECORD, MAX_INSIDE
from lakegate.engine.read.chunk import AT, MAX_LINES, ROW, Chunk, Malformed, Share
from lakegate.engine.read.elements import Elements, count_inside, repeats, sizes
from lakegate.engine.read.json_rows import levels
from lakegate.engine.read.schema import columns_of, found_in, names_of, schema_of
from lakegate.engine.read.table_columns import counted_expression, is_binary, raw_name, valid_name
from lakegate.engine.type.arrow import present
from lakegate.engine.type.physical import Kind, Physical
from lakegate.engine.type.values import repeats_name, size_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from lakegate.contracts.plan.plan import Plan, PlanField
    from lakegate.contracts.plan.request import StagedPart
    from lakegate.contracts.plan.result import Columns
    from lakegate.engine.read.chunk import Expression, Level
    from lakegate.engine.read.schema import Found, Table

_SURROGATE, _REPLACED = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]"), "\ufffd".encode()
"""Half of a pair is shown as one character, as Java shows it."""


class Reader(Protocol):
    """A format with a schema of its own."""

    def described(self, address: str) -> Table:
        """Schema and size of a file; UnreadableError if it is damaged, or a decompression bomb."""
        ...

    def batches(self, share: Share, names: list[str]) -> Iterator[pa.RecordBatch]:
        """These columns of a share; UnreadableError if the file is damaged."""
        ...


@dataclass(frozen=True, slots=True)
class TableSource:
    """A delivery of such files (`lakegate.engine.read.chunk.Source`)."""

    reader: Reader
    tables: tuple[Table, ...]
    names: list[str]
    """The columns that are read."""
    found: list[Found]
    levels: tuple[Level, ...]
    columns: Columns
    shares: tuple[Share, ...]
    expressions: Mapping[str, Expression]
    header: None = None
    is_marked: bool = False

    @property
    def kinds(self) -> dict[str, Physical]:
        """See `Source`."""
        kinds = dict(self.tables[0].schema.parts)
        return {name: kinds[name] for name in self.names}

    @property
    def sizes(self) -> tuple[int, ...]:
        """See `Source`."""
        return tuple(table.rows for table in self.tables)

    def chunks(self, share: Share) -> Iterator[Chunk]:
        """See `Source`."""
        row = 0
        for batch in self.reader.batches(share, self.names):
            for piece in self._pieces(batch):
                yield self._chunk(piece, row)
                row += piece.num_rows

    def originals(self, share: Share) -> Iterator[pa.Table]:
        """See `Source`."""
        row = 0
        for batch in self.reader.batches(share, self.names):
            columns = self._columns(batch)
            names = [f"x{at}" for at in range(len(columns))]
            yield pa.table([pa.arange(row, row + batch.num_rows), *columns], names=[ROW, *names])
            row += batch.num_rows

    def _columns(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """The columns that are read, in the order of `names`."""
        return [batch.column(batch.schema.get_field_index(name)) for name in self.names]

    def _pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows in pieces with a bounded number of values in lists, which take far more memory there than in a batch."""
        half = batch.num_rows // 2
        if half == 0 or not self._has_too_many(batch):
            yield batch
        else:
            yield from self._pieces(batch.slice(0, half))
            yield from self._pieces(batch.slice(half))

    def _has_too_many(self, batch: pa.RecordBatch) -> bool:
        return sum(map(count_inside, self._columns(batch))) > MAX_INSIDE

    def _chunk(self, batch: pa.RecordBatch, first: int) -> Chunk:
        if batch.num_rows == 1 and self._has_too_many(batch):
            nothing = self._chunk(batch.slice(0, 0), first)
            return replace(nothing, lines=1, size=1, malformed=(Malformed("elements", 1, (first,)),))
        columns = zip(self.kinds.items(), self._columns(batch), strict=True)
        parts = {f".{name}": (column, kind) for (name, kind), column in columns}
        records = Elements(parts, pa.arange(first, first + batch.num_rows))
        long = _too_long(records, self._of(()))
        malformed: tuple[Malformed, ...] = ()
        if long is not None:
            rows = records.rows.filter(long)
            malformed = (Malformed("too_long", len(rows), tuple(rows[:MAX_LINES].to_pylist())),)
            keep = pc.invert(long)
            kept = {step: (column.filter(keep), kind) for step, (column, kind) in parts.items()}
            records = Elements(kept, records.rows.filter(keep))
        tables = {level: self._table(records.level(level), level) for level in self.levels}
        return Chunk(self._table(records, ()), batch.num_rows, batch.num_rows, malformed, tables)

    def _of(self, level: Level) -> list[tuple[PlanField, Physical]]:
        """The fields of a level that the file has."""
        return [(field, kind) for field, kind in self.found if kind is not None and field.level == level]

    def _table(self, elements: Elements | None, level: Level) -> pa.Table:
        if elements is None:
            return pa.table({ROW: pa.array([], pa.int64()), AT: pa.array([], pa.string())})
        columns = {ROW: elements.rows}
        if level:
            columns[AT] = elements.at
        for field, kind in self._of(level):
            array, read = elements.column(field), self.expressions[field.alias]
            columns |= _raw(array, kind, field)
            if read.size == size_name(field.alias):
                columns[read.size] = sizes(array, kind)
            if read.repeats == repeats_name(field.alias):
                columns[read.repeats] = repeats(array, kind)
        return pa.table(columns)


def open_tables(reader: Reader, plan: Plan, parts: tuple[StagedPart, ...]) -> TableSource:
    """The delivery as a source; UnreadableError where its files are damaged, bombs, or of other columns."""
    tables = tuple(reader.described(part.uri) for part in parts)
    schema = schema_of(tables)
    found = found_in(schema, plan)
    sized, compared = read_as(plan, Size), read_as(plan, NoRepeats)
    return TableSource(
        reader,
        tables,
        names_of(schema, plan),
        found,
        levels(plan.fields),
        columns_of(schema, plan, found),
        tuple(
            share
            for at, (part, table) in enumerate(zip(parts, tables, strict=True))
            for share in _shares(at, part, table)
        ),
        {field.alias: counted_expression(field, kind, sized, compared) for field, kind in found},
    )


def _shares(number: int, part: StagedPart, table: Table) -> Iterator[Share]:
    for start, end in pairwise(table.bounds):
        yield Share(number, part.uri, start, end)


def _too_long(records: Elements, found: Iterable[Found]) -> pa.Array | None:
    """The rows with a text beyond the longest record; None if there are none."""
    long = None
    for field, kind in found:
        if kind is None or kind.kind is not Kind.TEXT:
            continue
        lengths = pc.binary_length(_decoded(records.column(field)))
        if (pc.max(lengths).as_py() or 0) > LONGEST_RECORD:
            over = pc.fill_null(pc.greater(lengths, LONGEST_RECORD), fill_value=False)
            long = over if long is None else pc.or_(long, over)
    return long


# --- columns of a kind as DuckDB can read them


def _raw(array: pa.Array, kind: Physical, field: PlanField) -> dict[str, pa.Array]:
    """The raw columns of a field: of texts a second one, in which what is no UTF-8 is null."""
    alias = field.alias
    if is_binary(field, kind):
        return {raw_name(alias): _characters(_decoded(array))}
    if kind.kind is not Kind.TEXT:
        return {} if kind.kind is Kind.NOTHING else {raw_name(alias): _READ.get(kind.kind, _decoded)(_decoded(array))}
    texts = _decoded(array)
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        shown, valid = _repaired(texts)
        return {raw_name(alias): shown, valid_name(alias): valid}
    return {raw_name(alias): texts, valid_name(alias): texts}


def _characters(array: pa.Array) -> pa.Array:
    """Bytes, or texts as their UTF-8 bytes: one character for each byte."""
    return pa.array(
        [each if each is None else each.decode("latin-1") for each in _binary(array).to_pylist()], pa.string()
    )


def _binary(array: pa.Array) -> pa.Array:
    is_large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    return array.cast(pa.large_binary() if is_large else pa.binary())


def _repaired(texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    binary = _binary(texts).to_pylist()
    shown = [each if each is None else _SURROGATE.sub(_REPLACED, each).decode(errors="replace") for each in binary]
    return pa.array(shown, pa.string()), pa.array([_valid(each) for each in binary], pa.string())


def _valid(text: bytes | None) -> str | None:
    try:
        return None if text is None else text.decode()
    except UnicodeDecodeError:
        return None


def _decoded(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _moment(array: pa.Array) -> pa.Array:
    """Digits past the microsecond are cut off; a moment with a zone is one of UTC, as one without is."""
    return array.cast(pa.timestamp("us", array.type.tz), safe=False).cast(pa.timestamp("us"))


_READ: dict[Kind, Callable[[pa.Array], pa.Array]] = {
    **dict.fromkeys((Kind.BYTES, Kind.OTHER, Kind.RECORD, Kind.LIST, Kind.MAP), present),
    Kind.FLOAT: lambda array: array.cast(pa.float32()),
    Kind.DATE: lambda array: array.cast(pa.date32()),
    Kind.TIME: lambda array: array.cast(pa.string()),
    Kind.MOMENT: _moment,
}

"""Records as they came: of text the line, of a table its own columns. Headers and blank lines are no records."""

from __future__ import annotations

from functools import singledispatch
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from lakegate.contracts.door.file_signatures import BOM
from lakegate.engine.read.chunk import ROW, Share, Source
from lakegate.engine.read.csv import CsvSource
from lakegate.engine.read.grammar import Dialect, record_ends
from lakegate.engine.read.json import JsonSource
from lakegate.engine.read.tables import TableSource

if TYPE_CHECKING:
    from collections.abc import Iterator

LINE = "line"
_SPACE = b" \t\r\n"


@singledispatch
def originals(source: Source, share: Share) -> Iterator[pa.Table]:
    """The records of a share: `row` (line in the share, from 0), and the bytes of the `line`, or columns `x0`, … of a table."""
    raise NotImplementedError(type(source))


@originals.register(CsvSource)
def _(source: CsvSource, share: Share) -> Iterator[pa.Table]:
    csv, before = source.plan.csv, 0
    dialect, width = Dialect.of(csv), len(source.columns.found)
    for block, _size in source.blocks(share):
        ends = record_ends(block, dialect.raw_quote if dialect.multi_line else None).tolist()
        if block and (not ends or ends[-1] < len(block)):
            ends.append(len(block))
        lines = [block[start:end] for start, end in pairwise([0, *ends])]
        is_first = share.start == 0 and before == 0
        if is_first and lines and csv.encoding == "utf-8-sig":
            lines[0] = lines[0].removeprefix(BOM)
        whole = [(before + at, line.removesuffix(b"\n").removesuffix(b"\r")) for at, line in enumerate(lines)]
        found = whole[1:] if is_first and csv.header else whole
        yield _table([(row, line) for row, line in found if line or width == 1])
        before += len(lines)


@originals.register(JsonSource)
def _(source: JsonSource, share: Share) -> Iterator[pa.Table]:
    before = 0
    for texts, _ in source.texts(share):
        yield _table([(before + at, text) for at, text in enumerate(texts) if text.strip(_SPACE)])
        before += len(texts)


@originals.register(TableSource)
def _(source: TableSource, share: Share) -> Iterator[pa.Table]:
    before = 0
    for batch in source.reader.batches(share, source.names):
        columns = [batch.column(batch.schema.get_field_index(name)) for name in source.names]
        names = [f"x{at}" for at in range(len(columns))]
        yield pa.table([pa.arange(before, before + batch.num_rows), *columns], names=[ROW, *names])
        before += batch.num_rows


def _table(found: list[tuple[int, bytes]]) -> pa.Table:
    rows, lines = zip(*found, strict=True) if found else ((), ())
    return pa.table({ROW: pa.array(rows, pa.int64()), LINE: pa.array(lines, pa.binary())})

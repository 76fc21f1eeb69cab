"""CSV records by pyarrow: the strict ones of a block mean the same to every parser; the others are counted as malformed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from lakegate.contracts.door.file_signatures import UnreadableError
from lakegate.engine.read.chunk import MAX_LINES, Malformed
from lakegate.engine.read.csv_records import Dialect, Lines, is_plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FREE = [chr(code) for code in range(1, 32) if chr(code) not in "\t\n\r"]
"""Characters that replace a delimiter or quote beyond ASCII, which pyarrow does not accept."""


@dataclass(slots=True)
class Parsed:
    """The records of a block."""

    table: pa.Table
    """Texts by position (`x0`, `x1`, …); null is the empty unquoted value."""
    rows: NDArray[np.int64]
    """The line of each record in the block, from 0: the first one of several."""
    lines: int
    """Lines of the block."""
    malformed: list[Malformed] = field(default_factory=list)
    """By reason, lines of the block."""
    tail: int = 1
    """Lines of the last record."""


def parse(block: bytes, dialect: Dialect, width: int, wanted: list[int]) -> Parsed:
    """The records of a block that ends with a line feed: the texts at the `wanted` of `width` positions."""
    quote = dialect.quote.encode()
    if is_plain(block, dialect, width):
        table, ragged = _arrow(block, dialect, width, wanted, is_quoted=False)
        lines = block.count(b"\n")
        found = Parsed(table, np.arange(lines), lines)
        index = found.rows
    else:
        texts = Lines.of(block, dialect)
        strict = texts.strict(dialect, width)
        content = _content(texts.array.filter(pa.array(strict)))
        table, ragged = _arrow(content, dialect, width, wanted, is_quoted=quote in content)
        begins, lines = _begins(block, texts)
        index = begins[strict]
        flaws = [_at(begins, each) for each in texts.flaws(width, strict, dialect.quote)]
        found = Parsed(table, index, lines, flaws, lines - int(begins[-1]))
    if ragged:
        numbers = np.array(ragged, np.int64)
        found.rows = np.delete(index, numbers)
        found.malformed.append(Malformed("fields", len(ragged), tuple(index[numbers[:MAX_LINES]].tolist())))
    return found


def _begins(block: bytes, texts: Lines) -> tuple[NDArray[np.int64], int]:
    """The line in which each record begins, and the number of lines."""
    feeds = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    return np.searchsorted(feeds, texts.starts), len(feeds)


def _at(begins: NDArray[np.int64], found: Malformed) -> Malformed:
    return Malformed(found.reason, found.rows, tuple(begins[list(found.lines)].tolist()))


def _content(lines: Any) -> bytes:  # noqa: ANN401 - Arrow ships no types
    """The bytes of texts, one after the other."""
    chunk = pa.concat_arrays(lines.chunks) if isinstance(lines, pa.ChunkedArray) else lines
    _, offsets, data = chunk.buffers()
    if data is None or len(chunk) == 0:
        return b""
    bounds = np.frombuffer(offsets, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
    return bytes(memoryview(data)[bounds[0] : bounds[-1]])


def _arrow(
    content: bytes, dialect: Dialect, width: int, wanted: list[int], *, is_quoted: bool
) -> tuple[pa.Table, list[int]]:
    """Strict records by pyarrow: the wanted texts, and the numbers (from 0) of records with another number of values."""
    ragged: list[int] = []

    def skip(row: Any) -> str:  # noqa: ANN401 - Arrow ships no types
        ragged.append(row.number - 1)
        return "skip"

    delimiter, quote, content = _stand_ins(content, dialect)
    names = [f"x{at}" for at in wanted]
    if not content:
        return pa.table({name: pa.array([], pa.string()) for name in names}), []
    table = arrow_csv.read_csv(
        pa.BufferReader(content),
        read_options=arrow_csv.ReadOptions(
            column_names=[f"x{at}" for at in range(width)], use_threads=False, block_size=len(content) + 1
        ),
        parse_options=arrow_csv.ParseOptions(
            delimiter=delimiter,
            quote_char=quote if is_quoted else False,
            double_quote=is_quoted,
            newlines_in_values=dialect.multi_line,
            ignore_empty_lines=False,
            invalid_row_handler=skip,
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=names or ["x0"],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
            check_utf8=False,
        ),
    )
    for mark, stand_in in ((dialect.delimiter, delimiter), (dialect.quote, quote)):
        if mark != stand_in:
            columns = [pc.replace_substring(column, stand_in, mark) for column in table.columns]
            table = pa.table(columns, names=table.column_names)
    return table, ragged


def _stand_ins(content: bytes, dialect: Dialect) -> tuple[str, str, bytes]:
    """Delimiter and quote as single bytes: those beyond ASCII are replaced by characters that the content does not use."""
    marks = []
    for mark in (dialect.delimiter, dialect.quote):
        if mark.isascii():
            marks.append(mark)
            continue
        stand_in = next((each for each in _FREE if each.encode() not in content), None)
        if stand_in is None:
            raise UnreadableError("not-text", "the file holds every control character: is this text?")
        content = content.replace(mark.encode(), stand_in.encode())
        marks.append(stand_in)
    return marks[0], marks[1], content

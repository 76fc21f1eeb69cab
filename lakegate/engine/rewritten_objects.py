"""An object of a delivery written again with some of its records left out, or others in their places.

Whatever is not changed stays as it is: of text the bytes of each record and what is between them, of Parquet the schema, the
metadata, the codecs and the row groups. Of one JSON object only the array of its records stays: nobody has searched what is
beside it. Records are numbered as reasons number them, but from 0: a record of CSV by the first
of its lines. Changes come in the order of their numbers, and are read as they are needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from lakegate.admission.file_signatures import BOM
from lakegate.base.errors import InputError
from lakegate.contract.file_formats import Format
from lakegate.engine.read.compressed_streams import ARROW_CODECS
from lakegate.engine.read.csv import CsvSource
from lakegate.engine.read.data_source import AddressedFile, Share, Source, Store
from lakegate.engine.read.json import JsonSource
from lakegate.engine.read.parquet_footer import CODEC_NAMES, INT96, read_footer

Value = TypeVar("Value")


class RecordChange(NamedTuple, Generic[Value]):
    """What becomes of one record."""

    number: int
    instead: Value | None
    """None: it is left out."""


class TableRow(NamedTuple):
    """A row of a table."""

    table: pa.Table
    at: int


class _Changes(Generic[Value]):
    """Changes that are taken as their records come."""

    def __init__(self, changes: Iterable[RecordChange[Value]]) -> None:
        self._changes = iter(changes)
        self._next = next(self._changes, None)

    def below(self, end: int) -> Iterator[RecordChange[Value]]:
        """Those of records before this one that were not taken yet."""
        while self._next is not None and self._next.number < end:
            taken, self._next = self._next, next(self._changes, None)
            yield taken


def rewrite_text(
    source: CsvSource | JsonSource, part: int, changes: Iterable[RecordChange[bytes]], target: Path
) -> None:
    """Write an object of text with changes, compressed as it was; what comes in the place of a record has no line end."""
    shares = [share for share in source.shares if share.part == part]
    codec, left = ARROW_CODECS.get(source.plan.storage.compression), _Changes(changes)
    with target.open("wb") as plain, pa.CompressedOutputStream(plain, codec) if codec else plain as file:
        if isinstance(source, CsvSource):
            file.writelines(_lines(source, shares, left))
        elif source.plan.storage.format is Format.JSON:
            texts = _texts(source, shares, left)
            path = source.plan.storage.path
            above = "".join(f"{{{json.dumps(name, ensure_ascii=False)}:" for name in path).encode() + b"["
            file.write(above)
            file.writelines((b",\n" if number else b"") + text for number, text in enumerate(texts))
            file.write(b"]" + b"}" * len(path) + b"\n")
        else:
            file.writelines(text + b"\n" for text in _texts(source, shares, left))


def _lines(source: CsvSource, shares: list[Share], changes: _Changes[bytes]) -> Iterator[bytes]:
    first = 0
    for share in shares:
        end = first
        for lines in source.lines(share):
            if not lines:
                continue
            last, text = lines[-1]
            end = first + last + max(1, text.count(b"\n"))
            own = {change.number - first: change.instead for change in changes.below(end)}
            if not own:
                yield b"".join(line for _, line in lines)
                continue
            for row, line in lines:
                if row not in own:
                    yield line
                elif (instead := own[row]) is not None:
                    yield _in_place_of(line, instead)
        first = end


def _in_place_of(line: bytes, instead: bytes) -> bytes:
    """A record with the line end of another, and its byte order mark."""
    content = line.removesuffix(b"\n").removesuffix(b"\r")
    mark = BOM if line.startswith(BOM) and not instead.startswith(BOM) else b""
    return mark + instead + line[len(content) :]


def _texts(source: JsonSource, shares: list[Share], changes: _Changes[bytes]) -> Iterator[bytes]:
    first = 0
    for share in shares:
        for texts, _ in source.texts(share):
            own = {change.number - first: change.instead for change in changes.below(first + len(texts))}
            for row, text in enumerate(texts):
                if (instead := own.get(row, text)) is not None:
                    yield instead
            first += len(texts)


def rewrite_parquet(
    source: Source, store: Store, part: int, changes: Iterable[RecordChange[TableRow]], target: Path
) -> None:
    """Write a Parquet file with changes, row group by row group. InputError where a value does not fit its column."""
    from pyarrow.parquet import ParquetFile, ParquetWriter  # noqa: PLC0415 - other formats do not need its 30 ms

    shares = [share for share in source.shares if share.part == part]
    file, left, first = AddressedFile(store, shares[0].address), _Changes(changes), 0
    footer, opened = read_footer(file), ParquetFile(file, page_checksum_verification=True)
    footer.refuse(footer.groups, {leaf.path[0] for leaf in footer.leaves})
    chunks = zip(footer.leaves, footer.groups[0].chunks, strict=True)
    codecs = {".".join(leaf.path): CODEC_NAMES[chunk.codec] for leaf, chunk in chunks}
    is_old = any(leaf.kind == INT96 for leaf in footer.leaves)
    with ParquetWriter(
        target, opened.schema_arrow, compression=codecs, use_deprecated_int96_timestamps=is_old
    ) as writer:
        for group in (group for share in shares for group in range(share.start, share.end)):
            table = opened.read_row_group(group)
            own = [change._replace(number=change.number - first) for change in left.below(first + table.num_rows)]
            writer.write_table(_changed(table, own) if own else table)
            first += table.num_rows


def _changed(table: pa.Table, changes: list[RecordChange[TableRow]]) -> pa.Table:
    """A table with changes of its rows."""
    rows = np.arange(table.num_rows)
    begins: dict[int, int] = {}
    tables, end = [table], table.num_rows
    for number, instead in changes:
        if instead is None:
            rows[number] = -1
            continue
        if id(instead.table) not in begins:
            begins[id(instead.table)] = end
            tables.append(as_stored(instead.table, table.schema))
            end += instead.table.num_rows
        rows[number] = begins[id(instead.table)] + instead.at
    joined = pa.concat_tables(tables) if len(tables) > 1 else table
    return joined.take(pa.array(rows[rows >= 0]))


def as_stored(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table with the columns of a file. InputError where they are others, or of other types."""
    if sorted(table.column_names) != sorted(schema.names):
        raise InputError("the corrected rows have other columns than the file")
    try:
        return table.select(schema.names).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(f"the corrected rows have a value that does not fit its column: {error}") from error

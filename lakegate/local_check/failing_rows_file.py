"""Rows that fail, whole, as a file: in the delivery's format, or as CSV, CSV for spreadsheets, JSON lines or Parquet."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa

from lakegate.base.errors import InputError
from lakegate.base.text import plural, printable
from lakegate.contract.file_formats import Csv, Format
from lakegate.engine.read.data_source import LINE, Source
from lakegate.engine.read.stored_columns import TableSource
from lakegate.engine.rejected_rows import Rejected, rejected_records
from lakegate.plan.plan import Plan

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetWriter

SUFFIXES: Final = (".csv", ".jsonl", ".parquet")
SPREADSHEET: Final = ".excel.csv"
"""The end of the name of a file for spreadsheets."""
PLACE: Final = ("_row", "_part", "_reasons")
"""The first columns: the line of the file (of tables and arrays the record) as reasons name it; the file, from 0; the rules."""
RECORD: Final = "_record"
"""The whole record, where it has no columns, or other values than its columns."""
FORMULA: Final = re.compile(r"(?:^|(?<=[;,|\n]))(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Beginnings of cells that a spreadsheet would compute."""
NUMBER: Final = re.compile(r"-[0-9]+([.,][0-9]+)?")
BATCH: Final = 10_000
"""Rows that are made objects at once."""


def cell(text: str) -> str:
    """A cell that no spreadsheet computes: what begins like a formula gets an apostrophe in front, numbers apart, also behind a
    separator or a line break, because some spreadsheets divide cells there. Other characters that are not printed are escapes.
    """
    text = "\n".join(map(printable, text.replace("\r\n", "\n").split("\n")))
    return text if NUMBER.fullmatch(text) else FORMULA.sub("'", text)


@dataclass(slots=True)
class FailingRowsFile:
    """A file that failing rows are written into, some at a time; it replaces another one when the first of them are known."""

    option: str
    """That names it, for errors."""
    path: Path
    plan: Plan
    rows: int = 0

    def keep(self, source: Source, rejected: Rejected, lines_before: list[int]) -> None:
        """Write the rejected records of a delivery. InputError where the file cannot be written."""
        if isinstance(source, TableSource):  # measured by the declared columns alone
            source = replace(source, names=[name for name, _ in source.tables[0].schema.parts])
        found = rejected_records(source, rejected, lines_before)
        try:
            with self.path.open("wb") as file:
                writer = _writer(self.path, self.plan, source, file)
                for part, rows, reasons, records in found:
                    writer.add(part, rows, reasons, records)
                    self.rows += len(rows)
                writer.close()
        except OSError as error:
            raise InputError(f"{self.option} {self.path} cannot be written: {error.strerror or error}") from error
        if not self.rows:
            self.path.unlink()

    @property
    def words(self) -> str:
        """What was written."""
        if not self.rows:
            return f"{self.path}: not written, because no single row is to blame"
        return f"{self.path}: {plural(self.rows, 'row')} written"


class _Writer(Protocol):
    """Writes records of one delivery; `add` is given their part, and of each its row, its reasons and itself."""

    def add(self, part: int, rows: list[int], reasons: list[str], records: pa.Table) -> None: ...

    def close(self) -> None: ...


def _writer(path: Path, plan: Plan, source: Source, file: IO[bytes]) -> _Writer:
    if path.suffix == ".parquet":
        return _Table(plan, source, file)
    if path.suffix == ".jsonl":
        return _Unchanged(plan, source, file) if plan.storage.format.is_json else _JsonLines(plan, source, file)
    if plan.storage.format is Format.CSV and not path.name.endswith(SPREADSHEET):
        return _Unchanged(plan, source, file)
    return _Cells(plan, source, file, for_spreadsheets=path.name.endswith(SPREADSHEET))


class _Unchanged:
    """Lines of text as they came, after their place and reasons: what is corrected here can be delivered again."""

    def __init__(self, plan: Plan, source: Source, file: IO[bytes]) -> None:
        self._csv, self._file, self._is_json = plan.csv, file, plan.storage.format.is_json
        if source.header is not None and not self._is_json:
            self._write(*PLACE, source.header.encode(self._csv.encoding))

    def add(self, part: int, rows: list[int], reasons: list[str], records: pa.Table) -> None:
        for row, why, line in zip(rows, reasons, records.column(LINE).to_pylist(), strict=True):
            if self._is_json:
                self._file.write(_json_record(row, part, why, line))
            else:
                self._write(str(row), str(part), _quoted(why, self._csv), line)

    def _write(self, row: str, part: str, reasons: str, line: bytes) -> None:
        before = self._csv.delimiter.join((row, part, reasons, ""))
        self._file.write(before.encode(self._csv.encoding, errors="backslashreplace") + line + b"\n")

    def close(self) -> None: ...


def _quoted(text: str, dialect: Csv) -> str:
    quote = dialect.quote
    return f"{quote}{text.replace(quote, quote * 2)}{quote}" if quote else text.replace(dialect.delimiter, " ")


def _json_record(row: int, part: int, reasons: str, line: bytes) -> bytes:
    """The record unchanged in `_record`; as a text where it is no JSON."""
    place = json.dumps(dict(zip(PLACE, (row, part, reasons), strict=True)), ensure_ascii=False)
    try:
        json.loads(line)
    except ValueError:
        line = json.dumps(line.decode(errors="replace")).encode()
    return f'{place[:-1]}, "{RECORD}": '.encode() + on_one_line(line) + b"}\n"


def on_one_line(record: bytes) -> bytes:
    """A record of JSON without the blanks around it and the line breaks in it: no value has one, they stand escaped there."""
    return record.strip().replace(b"\r", b" ").replace(b"\n", b" ")


class _JsonLines:
    """Each row as an object of its columns."""

    def __init__(self, plan: Plan, source: Source, file: IO[bytes]) -> None:
        self._rows, self._file = _Rows(plan, source), file

    def add(self, part: int, rows: list[int], reasons: list[str], records: pa.Table) -> None:
        for place, values in self._rows.of(part, rows, reasons, records):
            found = dict(zip(self._rows.names, (*place, *values), strict=True))
            self._file.write(json.dumps(found, ensure_ascii=False, default=_text).encode() + b"\n")

    def close(self) -> None: ...


class _Cells:
    """CSV in UTF-8, with commas; for spreadsheets with a mark of the encoding, and without formulas."""

    def __init__(self, plan: Plan, source: Source, file: IO[bytes], *, for_spreadsheets: bool) -> None:
        self._rows, self._cell = _Rows(plan, source), cell if for_spreadsheets else str
        self._file = TextIOWrapper(file, "utf-8-sig" if for_spreadsheets else "utf-8", newline="", write_through=True)
        self._csv = csv.writer(self._file, lineterminator="\n")
        self._csv.writerow(map(self._cell, self._rows.names))

    def add(self, part: int, rows: list[int], reasons: list[str], records: pa.Table) -> None:
        for place, values in self._rows.of(part, rows, reasons, records):
            self._csv.writerow([self._cell(_text(each)) for each in (*place, *values)])

    def close(self) -> None:
        self._file.detach()


class _Table:
    """Parquet, with the types of the file; values of text are texts."""

    def __init__(self, plan: Plan, source: Source, file: IO[bytes]) -> None:
        self._rows, self._file = _Rows(plan, source), file
        self._writer: ParquetWriter | None = None

    def add(self, part: int, rows: list[int], reasons: list[str], records: pa.Table) -> None:
        from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 - for this format alone

        if self._rows.is_text:
            values = list(zip(*(each for _, each in self._rows.of(part, rows, reasons, records)), strict=True))
            columns = [pa.array(each, pa.string()) for each in values]
        else:
            columns = records.columns[1:]
        place = [pa.array(rows, pa.int64()), pa.array([part] * len(rows), pa.int64()), pa.array(reasons, pa.string())]
        table = pa.table([*place, *columns], names=list(self._rows.names)).unify_dictionaries()
        if self._writer is None:
            self._writer = ParquetWriter(self._file, table.schema)
        try:
            self._writer.write_table(table.cast(self._writer.schema))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError("files of the delivery store a column with different types: write a .csv file") from error

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class _Rows:
    """Records as values of columns."""

    def __init__(self, plan: Plan, source: Source) -> None:
        self._csv, self._is_csv = plan.csv, plan.storage.format is Format.CSV
        self.is_text = plan.storage.format.is_text
        columns: Sequence[str] = ()
        if self._is_csv:
            columns = [] if source.header is None else self._split(source.header) or []
            columns = columns or [field.column for field in plan.columns]
        elif not self.is_text:
            columns = tuple(source.kinds)
        self.names = (*PLACE, *columns, *((RECORD,) if self.is_text else ()))

    def of(
        self, part: int, rows: list[int], reasons: list[str], records: pa.Table
    ) -> Iterator[tuple[tuple[int, int, str], Sequence[Any]]]:
        """Place and values of each record."""
        for start in range(0, len(rows), BATCH):
            columns = [each.to_pylist() for each in records.slice(start, BATCH).columns[1:]]
            some = zip(rows[start : start + BATCH], reasons[start : start + BATCH], *columns, strict=True)
            yield from (((row, part, why), self._of_line(*own) if self.is_text else own) for row, why, *own in some)

    def _of_line(self, line: bytes) -> Sequence[str | None]:
        """The values of a line, or nulls and the line where it has not one for each column."""
        text, width = (
            line.decode(self._csv.encoding if self._is_csv else "utf-8", errors="replace"),
            len(self.names) - 4,
        )
        found = self._split(text) if self._is_csv else None
        return [*found, None] if found is not None and len(found) == width else [*[None] * width, text]

    def _split(self, text: str) -> list[str] | None:
        quote = self._csv.quote
        try:
            (found,) = csv.reader(
                [text],
                delimiter=self._csv.delimiter,
                quotechar=quote or None,
                quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
                strict=True,
            )
        except (csv.Error, TypeError, ValueError):  # a quote that is open, a delimiter of several characters
            return None
        return found


def _text(value: object) -> str:
    """A value in words: of a list or a record JSON, of bytes their digits."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=_text)
    return "" if value is None else str(value)

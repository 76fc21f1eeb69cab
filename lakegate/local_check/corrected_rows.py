"""Corrected rows as a person hands them back: a file of failing rows (`failing_rows_file.py`), or of quarantined ones, edited.

The columns that were put before each row are taken off again; a row of text is what stands behind them, byte for byte. The file
is read once, from its beginning to its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa

from lakegate.admission.file_signatures import (
    BOM,
    UTF_8,
    UnreadableError,
    beginning,
    encoding_evidence,
    is_wide,
    saved_as,
)
from lakegate.admission.header import HEAD, MAX_LINES, SEPARATORS, cells, differences, first_line
from lakegate.base.errors import InputError
from lakegate.base.text import plural
from lakegate.contract.delivery_policy import OnReject
from lakegate.contract.file_formats import ENCODING_TITLES, Compression, Csv, Format, Storage
from lakegate.contract.logical_types import LogicalType
from lakegate.engine.read.csv import CsvSource
from lakegate.engine.read.data_source import LocalStore, Share, Source
from lakegate.engine.read.json import JsonSource
from lakegate.engine.read.open_delivery import open_source
from lakegate.engine.rewritten_objects import TableRow
from lakegate.local_check.failing_rows_file import PLACE, RECORD
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.request import StagedPart

REASONS: Final = PLACE[-1:]
"""The column before rows that were rejected alone (`onReject: rows`)."""
_NUMBER: Final = re.compile("[0-9]{1,15}", re.ASCII)
_BATCH: Final = 10_000
"""Rows of a table that are read at once."""
_ZEROS: Final = bytes(4)
"""The beginning of a file whose copy broke off."""
_decoder: Final = json.JSONDecoder()


class RowPlace(NamedTuple):
    """The place of a row in its delivery."""

    part: int
    row: int

    def __str__(self) -> str:
        return f"row {self.row:,}" + (f" of part {self.part}" if self.part else "")


class CorrectedRow(NamedTuple):
    """A row behind its columns of a place and reasons."""

    place: RowPlace | None
    """None where it has none: rows that were rejected alone."""
    record: bytes | TableRow


@dataclass(frozen=True, slots=True)
class CorrectedRows:
    """A file of corrected rows of a delivery with this plan."""

    path: Path
    plan: Plan
    columns: tuple[str, ...]
    """Before each row: `PLACE`, or `REASONS` alone."""
    names: tuple[str, ...] = ()
    """Of CSV with a header, the columns of the delivery in their order."""

    def rows(self) -> Iterator[CorrectedRow]:
        """Its rows. Raises InputError where it is none of this kind."""
        with self._readable():
            if self.plan.storage.format is Format.CSV:
                yield from self._of_csv()
            elif self.plan.storage.format.is_json:
                yield from self._of_json()
            else:
                yield from self._of_parquet()

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except UnreadableError as error:
            raise InputError(f"{self.path} is not written as the delivery is: {error.finding.message}") from None
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror or error}") from None

    def _refuse(self, line: int, why: str) -> InputError:
        return InputError(f"{self.path}, line {line:,}: {why}")

    def _part(self) -> StagedPart:
        return StagedPart(self.path.resolve().as_uri(), self.path.stat().st_size, self.path.name)

    def _storage(self, form: Format) -> Storage:
        """Quarantined rows are compressed as their delivery was, those that a command has written are not."""
        with self.path.open("rb") as file:
            compression = self.plan.storage.compression
            is_packed = compression is not Compression.NONE and file.read(8).startswith(compression.spec.signature)
        return Storage(form, compression if is_packed else Compression.NONE)

    def _of_csv(self) -> Iterator[CorrectedRow]:
        # a command writes no titles above the rows, a job writes those of the delivery
        csv = self.plan.csv if self.columns == REASONS else replace(self.plan.csv, skip_rows=0)
        before = tuple(PlanField(name, f"p{at}", LogicalType.STRING) for at, name in enumerate(self.columns))
        plan = replace(
            self.plan,
            csv=csv,
            storage=self._storage(Format.CSV),
            fields=self.plan.fields if csv.header else (*before, *self.plan.fields),
            checks=(),
            policy=replace(self.plan.policy, on_reject=OnReject.FILE),
        )
        source = self._opened(plan)
        assert isinstance(source, CsvSource)
        evidence = encoding_evidence(source.titles + (source.header or "").encode(csv.encoding))
        first = 1
        for share in source.shares:
            end = first
            for line, record in records_of(source, share):
                end = first + line + max(1, record.count(b"\n"))
                evidence |= encoding_evidence(record)
                content = record.removesuffix(b"\n").removesuffix(b"\r")
                if content.strip():
                    try:
                        values, rest = behind(content, len(self.columns), csv)
                    except ValueError as error:
                        raise self._refuse(first + line, str(error)) from None
                    yield CorrectedRow(self._place(values, first + line), rest)
            first = end
        if csv.encoding != UTF_8 and evidence == {UTF_8}:
            raise self._other_encoding("is UTF-8", csv)

    def _opened(self, plan: Plan) -> Source:
        """The file as CSV. InputError where it has another encoding or another header than it should."""
        with self.path.open("rb") as file:
            head = beginning(file.read(HEAD), plan.storage.compression, HEAD) or b""
        if head.startswith(BOM) and plan.csv.encoding != UTF_8:
            raise self._other_encoding("begins with the byte order mark of UTF-8", plan.csv)
        if is_wide(head) and not head.startswith(_ZEROS):
            raise self._other_encoding("is UTF-16 or UTF-32", plan.csv)
        try:
            source = open_source(plan, (self._part(),), LocalStore())
        except UnreadableError as error:
            if not plan.csv.header or is_wide(head) or error.finding.code not in {"header", "encoding"}:
                raise
        else:
            if not plan.csv.header or source.columns.found == (*self.columns, *self.names):
                return source
        raise self._other_header(head, plan.csv)

    def _other_encoding(self, what: str, csv: Csv) -> InputError:
        title = ENCODING_TITLES[csv.encoding]
        return InputError(f"{self.path} {what}, and the delivery is {title}: {saved_as(csv.encoding)}")

    def _other_header(self, head: bytes, csv: Csv) -> InputError:
        """What became of the header that the file was written with."""
        wanted, skipped = (*self.columns, *self.names), csv.skip_rows
        for encoding in dict.fromkeys((csv.encoding, *reversed(ENCODING_TITLES))):
            lines = head.removeprefix(BOM).decode(encoding, errors="replace").split("\n", MAX_LINES)[:MAX_LINES]
            for (number, line), mark in product(enumerate(lines), dict.fromkeys((csv.delimiter, *SEPARATORS))):
                is_as_written = (encoding, mark, number) == (csv.encoding, csv.delimiter, skipped)
                if is_as_written or self.plan.paths_of(cells(line.removesuffix("\r"), mark, csv.quote)) != wanted:
                    continue
                if encoding != csv.encoding:
                    return self._other_encoding(f"is {ENCODING_TITLES[encoding]}", csv)
                if mark != csv.delimiter:
                    own = SEPARATORS.get(csv.delimiter, repr(csv.delimiter))
                    words = f"has {SEPARATORS[mark]} between its columns, and the delivery has {own}: save it so"
                else:
                    words = f"has {plural(number, 'line')} above its header, and not {skipped:,}: "
                    words += "remove what is too much" if number > skipped else "put them back, as they were written"
                return InputError(f"{self.path} {words}")
        found = self.plan.paths_of(cells(first_line(head, csv), csv.delimiter, csv.quote))
        names = csv.delimiter.join(self.columns)
        if 2 * len(set(found) & set(wanted)) < len(wanted):
            return InputError(
                f"{self.path} has no header: line {skipped + 1} names {names} and the columns of the delivery, as it was written"
            )
        how = " and ".join(differences(found, wanted)) or "names them in another order, or twice"
        return InputError(
            f"{self.path} has another header than {names} and that of the delivery: it {how}. Keep its columns and their order; "
            "a wrong header is corrected in the whole file, which is uploaded again"
        )

    def _place(self, values: list[str], line: int) -> RowPlace | None:
        if self.columns == REASONS:
            return None
        row, part = (value.strip() for value in values[:2])
        if not _NUMBER.fullmatch(row) or not _NUMBER.fullmatch(part):
            raise self._refuse(
                line, "it has no number in `_row` or `_part`: it is none of the rejected rows; deliver new rows apart"
            )
        return RowPlace(int(part), int(row))

    def _of_json(self) -> Iterator[CorrectedRow]:
        source = open_source(replace(self.plan, storage=self._storage(Format.JSONL)), (self._part(),), LocalStore())
        assert isinstance(source, JsonSource)
        line = 0
        for texts in (texts for share in source.shares for texts, _ in source.texts(share)):
            for line, text in enumerate(texts, line + 1):  # noqa: B020 - it counts on over batches
                if not text.strip():
                    continue
                try:
                    members = raw_members(text.decode())
                    record = members.pop(RECORD)
                    values = [members.get(name, "") for name in self.columns]
                    whole = (json.loads(record) if record.startswith('"') else record).encode()
                except (ValueError, KeyError, RecursionError):
                    raise self._refuse(line, f"it is no object with a member `{RECORD}`") from None
                yield CorrectedRow(self._place(values, line), whole)

    def _of_parquet(self) -> Iterator[CorrectedRow]:
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - for this format alone

        try:
            with ParquetFile(self.path) as file:
                names = [name for name in self.columns if name not in file.schema_arrow.names]
                if names:
                    raise InputError(f"{self.path} has no column {names[0]}")
                before = 0
                for batch in file.iter_batches(_BATCH):
                    table = pa.Table.from_batches([batch])
                    places = [table.column(name).to_pylist() for name in self.columns[:2]]
                    rest = table.drop_columns([name for name in PLACE if name in table.column_names])
                    for at, values in enumerate(zip(*places, strict=True)):
                        texts = [f"{value:.0f}" if isinstance(value, float) else str(value) for value in values]
                        place = self._place(texts, before + at + 1)
                        yield CorrectedRow(place, TableRow(rest, at))
                    before += table.num_rows
        except pa.ArrowInvalid as error:
            raise InputError(f"{self.path} is not a Parquet file that can be read: {error}") from None


def records_of(source: CsvSource, share: Share) -> Iterator[tuple[int, bytes]]:
    """The records of a share of CSV, each with its line from 0 and its line end; without the header, and what is above it."""
    has_head = share.start == 0 and (source.plan.csv.header or source.plan.csv.skip_rows > 0)
    for lines in source.lines(share):
        yield from lines[1:] if has_head else lines
        has_head = False


def behind(record: bytes, count: int, csv: Csv) -> tuple[list[str], bytes]:
    """The first values of a record of CSV, and the bytes behind them. Raises ValueError where it has not so many."""
    delimiter, quote = csv.delimiter.encode(csv.encoding), csv.quote.encode(csv.encoding)
    values, at = [], 0
    for _ in range(count):
        if quote and record.startswith(quote, at):
            begin = at = at + len(quote)
            while record.startswith(quote, at := _found(record, quote, at) + len(quote)):
                at += len(quote)
            value = record[begin : at - len(quote)].replace(quote * 2, quote)
            if not record.startswith(delimiter, at):
                raise ValueError("something stands behind a quoted value")
        else:
            begin, at = at, _found(record, delimiter, at)
            value = record[begin:at]
        values.append(value.decode(csv.encoding, errors="replace"))
        at += len(delimiter)
    return values, record[at:]


def _found(record: bytes, mark: bytes, at: int) -> int:
    found = record.find(mark, at)
    if found < 0:
        raise ValueError("it has fewer columns than stand before each row")
    return found


def raw_members(text: str) -> dict[str, str]:
    """The members of a JSON object, each as it is written. Raises ValueError where it is none, RecursionError."""
    members: dict[str, str] = {}
    at = _behind_space(text, 0)
    if text[at : at + 1] != "{":
        raise ValueError("no object")
    mark = ","
    at = _behind_space(text, at + 1)
    if text[at : at + 1] == "}":
        mark, at = "}", at + 1
    while mark == ",":
        name, at = _decoder.raw_decode(text, at)
        at = _behind_space(text, at)
        if not isinstance(name, str) or text[at : at + 1] != ":":
            raise ValueError("no member")
        begin = _behind_space(text, at + 1)
        _, end = _decoder.raw_decode(text, begin)
        members[name] = text[begin:end]
        at = _behind_space(text, end)
        mark, at = text[at : at + 1], _behind_space(text, at + 1)
    if mark != "}" or text[at:].strip():
        raise ValueError("no end")
    return members


def _behind_space(text: str, at: int) -> int:
    while text[at : at + 1] in {" ", "\t", "\r"}:
        at += 1
    return at

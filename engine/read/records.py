"""The grammar of CSV records (docs/data.md), for whole blocks of bytes at a time.

A record is a line (LF or CRLF), or several where the contract allows line breaks in quoted values. It is split at the delimiter;
quotes are those of RFC 4180: a quoted value begins right after a delimiter, ends right before one, and doubles the quotes inside.
A CR elsewhere than before an LF is a line break too: other readers would split there. A record that keeps to none of this is
*malformed* and never guessed at. A record that keeps to it means the same to every parser: one regular expression of RE2 decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from contracts.kinds import UnreadableError
from contracts.result import Malformed
from engine.read.limits import LONGEST_RECORD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from contracts.model import Csv

CRLF = "\r\n"
REPLACEMENT = "\ufffd"
"""What a decoder writes where bytes are none of its encoding."""
_FREE = [chr(code) for code in range(1, 32) if chr(code) not in "\t\n\r"]
"""Characters that stand for a delimiter or quote beyond ASCII, which pyarrow does not take."""


@dataclass(frozen=True)
class Dialect:
    """How records are written."""

    delimiter: str
    quote: str
    encoding: str
    multi_line: bool

    @staticmethod
    def of(csv: Csv) -> Dialect:
        """The dialect that a contract declares."""
        return Dialect(csv.delimiter, csv.quote, csv.encoding, csv.multi_line)

    @property
    def is_utf_8(self) -> bool:
        """Whether bytes are texts of Arrow as they stand."""
        return self.encoding.startswith("utf-8")

    @cached_property
    def raw_quote(self) -> bytes:
        """The quote as the file writes it."""
        return self.quote.encode("utf-8" if self.is_utf_8 else self.encoding)

    @cached_property
    def strict(self) -> str:
        """The pattern (RE2) of a whole record of any number of values, its line end included."""
        delimiter, quote = re.escape(self.delimiter), re.escape(self.quote)
        breaks = "" if self.multi_line else r"\r\n"
        value = rf"(?:[^{delimiter}{quote}\r\n\x00]*|{quote}(?:[^{quote}{breaks}\x00]|{quote}{quote})*{quote})"
        return rf"\A{value}(?:{delimiter}{value})*\r?\n\z"


@dataclass(slots=True)
class Parsed:
    """The records of a block."""

    table: pa.Table
    """Texts by position (`x0`, `x1`, …); null is the empty unquoted value."""
    rows: NDArray[np.int64]
    """The line of each record in the block, from 0."""
    lines: int
    """Lines (records, where values may hold line breaks) of the block."""
    malformed: list[Flaw] = field(default_factory=list)


@dataclass(slots=True)
class Flaw:
    """Malformed records of one reason."""

    reason: str
    rows: int
    first: int
    """The line of the first one in the block."""
    text: bytes
    """Of the first one, in UTF-8 where it can be decoded."""


def parse(block: bytes, dialect: Dialect, width: int, wanted: list[int]) -> Parsed:
    """The records of a block that ends with a line feed: the texts at the `wanted` of `width` positions."""
    quote = dialect.quote.encode()
    if _is_plain(block, dialect, width):
        table, ragged = _arrow(block, dialect, width, wanted, is_quoted=False)
        lines = block.count(b"\n")
        found = Parsed(table, np.arange(lines), lines)
        index = found.rows
    else:
        texts = _Lines.of(block, dialect)
        strict = texts.strict(dialect, width)
        index = np.flatnonzero(strict)
        content = _content(texts.array.filter(pa.array(strict)))
        table, ragged = _arrow(content, dialect, width, wanted, is_quoted=quote in content)
        found = Parsed(table, index, len(texts.array), texts.flaws(width, strict))
    if ragged:
        numbers = np.array([number for number, _ in ragged], np.int64)
        found.rows = np.delete(index, numbers)
        found.malformed.append(Flaw("fields", len(ragged), int(index[numbers[0]]), ragged[0][1].encode()))
    return found


def record_ends(data: bytes, quote: bytes | None) -> NDArray[np.int64]:
    """Where the whole records of bytes end (after their line feed); `quote`: the one that keeps a record open.

    A record with an open quote that is longer than any record may be ends at its line: it is malformed, and the next one is not.
    """
    octets = np.frombuffer(data, np.uint8)
    feeds = np.flatnonzero(octets == ord("\n"))
    if quote is None or quote not in data:
        return feeds + 1
    marks = (
        np.flatnonzero(octets == quote[0])
        if len(quote) == 1
        else np.array([found.start() for found in re.finditer(re.escape(quote), data)], np.int64)
    )
    before = np.searchsorted(marks, feeds)
    ends = feeds[before % 2 == 0] + 1
    sizes = np.diff(ends, prepend=0, append=len(data))
    return ends if sizes.max(initial=0) <= LONGEST_RECORD else _bounded_ends(feeds + 1, before)


def _bounded_ends(lines: NDArray[np.int64], marks: NDArray[np.int64]) -> NDArray[np.int64]:
    ends, begun, closed = [], 0, 0
    for end, count in zip(lines.tolist(), marks.tolist(), strict=True):
        if (count - closed) % 2 == 0 or end - begun > LONGEST_RECORD:
            ends.append(end)
            begun, closed = end, count
    return np.array(ends, np.int64)


def _is_plain(block: bytes, dialect: Dialect, width: int) -> bool:
    """Whether nothing in a block needs a second look."""
    if b"\0" in block or dialect.raw_quote in block or not (dialect.delimiter.isascii() and dialect.quote.isascii()):
        return False
    if b"\r" in block and block.count(b"\r") != block.count(b"\r\n"):
        return False
    if width > 1 and (b"\n\n" in block or b"\n\r\n" in block or block.startswith((b"\n", b"\r\n"))):
        return False
    if has_long_line(block):
        return False
    return block.isascii() or (dialect.is_utf_8 and _is_utf_8(block))


def has_long_line(block: bytes) -> bool:
    """Whether a line of the block is longer than any record may be."""
    at = 0
    while len(block) - at > LONGEST_RECORD:
        end = block.rfind(b"\n", at, at + LONGEST_RECORD + 1)
        if end < 0:
            return True
        at = end + 1
    return False


def _is_utf_8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


@dataclass(slots=True)
class _Lines:
    """The lines (or records) of a block, each with its line feed, as texts; those that are none are listed."""

    array: Any
    bad: dict[int, tuple[str, bytes]]
    """By line: why it is no text, and its bytes."""

    @staticmethod
    def of(block: bytes, dialect: Dialect) -> _Lines:
        ends = record_ends(block, dialect.raw_quote if dialect.multi_line else None)
        if len(ends) == 0 or ends[-1] < len(block):
            ends = np.append(ends, len(block))
        bad: dict[int, tuple[str, bytes]] = {}
        starts = np.concatenate([[0], ends[:-1]])
        for at in np.flatnonzero(ends - starts - 1 > LONGEST_RECORD).tolist():
            if len(block[starts[at] : ends[at]].removesuffix(b"\n")) > LONGEST_RECORD:
                bad[at] = ("too_long", b"")
        is_text = dialect.is_utf_8 and _is_utf_8(block)
        if not is_text or bad:
            lines = [block[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
            lines = [b"\n" if at in bad else _decoded(line, dialect, at, bad) for at, line in enumerate(lines)]
            return _Lines(pa.array(lines, pa.binary()).cast(pa.string()), bad)
        offsets = pa.py_buffer(np.concatenate([[0], ends]).astype(np.int32))
        return _Lines(pa.StringArray.from_buffers(len(ends), offsets, pa.py_buffer(block)), bad)

    def strict(self, dialect: Dialect, width: int) -> NDArray[np.bool_]:
        """Which of them are records that keep to the grammar; blank lines are none where a record has several values."""
        found: NDArray[np.bool_] = np.array(pc.match_substring_regex(self.array, dialect.strict))
        if width > 1:
            found &= ~self.blank(width)
        if self.bad:
            found[list(self.bad)] = False
        return found

    def blank(self, width: int) -> NDArray[np.bool_]:
        """Which of them are blank lines, where these are no records."""
        if width == 1:
            return np.zeros(len(self.array), np.bool_)
        sizes = np.array(pc.binary_length(self.array))
        blank: NDArray[np.bool_] = sizes == 1
        for at in np.flatnonzero(sizes == len(CRLF)).tolist():
            blank[at] = self.array[at].as_py() == CRLF
        return blank

    def flaws(self, width: int, strict: NDArray[np.bool_]) -> list[Flaw]:
        """The others, by reason."""
        flaws: dict[str, Flaw] = {}
        others = ~strict & ~self.blank(width)
        if self.bad:
            others[list(self.bad)] = True
        for at in np.flatnonzero(others).tolist():
            reason, text = self.bad.get(at) or _reason(self.array[at].as_py())
            flaw = flaws.setdefault(reason, Flaw(reason, 0, at, text))
            flaw.rows += 1
        return list(flaws.values())


def _decoded(line: bytes, dialect: Dialect, at: int, bad: dict[int, tuple[str, bytes]]) -> bytes:
    """A line in UTF-8; an empty one where its bytes are none of the encoding, or a NUL is in it."""
    text = line.decode("utf-8" if dialect.is_utf_8 else dialect.encoding, errors="replace")
    if b"\0" in line:
        bad[at] = ("nul", line)
    elif (text.encode() != line) if dialect.is_utf_8 else (REPLACEMENT in text):
        bad[at] = ("encoding", line)
    return b"\n" if at in bad else text.encode()


def _reason(text: str) -> tuple[str, bytes]:
    """Why a text that breaks the grammar is no record."""
    return ("nul" if "\0" in text else "quotes"), text.encode()


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
) -> tuple[pa.Table, list[tuple[int, str]]]:
    """Strict records by pyarrow: the wanted texts, and number (from 0) and text of records with another number of values."""
    ragged: list[tuple[int, str]] = []

    def skip(row: Any) -> str:  # noqa: ANN401 - Arrow ships no types
        ragged.append((row.number - 1, row.text))
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
        stand_in = mark if mark.isascii() else next((each for each in _FREE if each.encode() not in content), None)
        if stand_in is None:
            raise UnreadableError("not-text", "the file holds every control character: is this text?")
        content = content.replace(mark.encode(), stand_in.encode())
        marks.append(stand_in)
    return marks[0], marks[1], content


def merged(flaws: Iterator[tuple[int, Flaw]]) -> tuple[Malformed, ...]:
    """Flaws of several blocks, each with the line at which its block begins, by reason."""
    found: dict[str, Malformed] = {}
    for before, flaw in flaws:
        known = found.get(flaw.reason)
        first = flaw.first + before
        found[flaw.reason] = Malformed(
            flaw.reason, flaw.rows + (known.rows if known else 0), min(first, known.first_row) if known else first
        )
    return tuple(found[reason] for reason in sorted(found))

"""CSV: grammar of records, separators, quotes, encodings, limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from lakegate.admission.file_signatures import BOM, UTF_8, UnreadableError, encoding_evidence, has_mark
from lakegate.admission.header import (
    first_line,
    header_end,
    header_of,
    refuse_header,
    refuse_other_header,
    titles_end,
)
from lakegate.contract.file_formats import Csv
from lakegate.engine.evaluate.typed_values import plain_number, text_literal, typed_value
from lakegate.engine.read.data_source import (
    MAX_LINES,
    ROW,
    Chunk,
    Expression,
    Malformed,
    Share,
    Store,
    line_table,
    of_object,
    values_repeat,
)
from lakegate.engine.read.read_bounds import LONGEST_RECORD, PIECE
from lakegate.engine.read.text_source import Block, TextSource, record_ends, shares_of
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.request import StagedPart
from lakegate.plan.result import Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

# ---- The grammar of records (docs/data.md) ----
# A record is a line (LF or CRLF), or several where the contract allows line breaks in quoted values. It is split at the
# delimiter; quotes are those of RFC 4180: a quoted value begins right after a delimiter, ends right before one, and doubles the
# quotes inside. A CR elsewhere than before an LF is a line break too: other readers would split there. Any other record is
# *malformed*, and never repaired. One regular expression of RE2 decides; all parsers read the accepted records in the same way.


CRLF = "\r\n"
FIRST_OF_SEVERAL = 0x80
"""The least byte of UTF-8 that is no character of its own."""
REPLACEMENT = "\ufffd"
"""The character that a decoder writes for bytes outside of its encoding."""


@dataclass(frozen=True)
class Dialect:
    """The form of records."""

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
        """Whether bytes are texts of Arrow without conversion."""
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


def is_plain(block: bytes, dialect: Dialect, width: int) -> bool:
    """Whether no record of a block needs the regular expression."""
    if b"\0" in block or dialect.raw_quote in block or not (dialect.delimiter.isascii() and dialect.quote.isascii()):
        return False
    has_returns = b"\r" in block
    if has_returns and block.count(b"\r") != block.count(b"\r\n"):
        return False
    if width > 1 and (block.startswith((b"\n", b"\r\n")) or _has_blank_line(block, has_returns=has_returns)):
        return False
    if has_long_line(block):
        return False
    return block.isascii() or (dialect.is_utf_8 and _is_utf_8(block))


def _has_blank_line(block: bytes, *, has_returns: bool) -> bool:
    """Whether a line after the first one is blank."""
    feeds = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    return bool((np.diff(feeds) == 1).any()) or (has_returns and b"\n\r\n" in block)


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
class Lines:
    """The lines (or records) of a block, each with its line feed, as texts; `bad` names undecodable ones."""

    array: Any
    bad: dict[str, NDArray[np.bool_]]
    """By reason, which of them are no texts."""
    starts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """The beginning of each in the block."""

    @staticmethod
    def of(block: bytes, dialect: Dialect) -> Lines:
        """The lines of a block, or its records if values may contain line breaks."""
        ends = record_ends(block, dialect.raw_quote if dialect.multi_line else None)
        if len(ends) == 0 or ends[-1] < len(block):
            ends = np.append(ends, len(block))
        starts = np.concatenate([[0], ends[:-1]])
        bad: dict[str, NDArray[np.bool_]] = {}
        for at in np.flatnonzero(ends - starts - 1 > LONGEST_RECORD).tolist():
            if len(block[starts[at] : ends[at]].removesuffix(b"\n")) > LONGEST_RECORD:
                bad.setdefault("too_long", np.zeros(len(ends), np.bool_))[at] = True
        if not dialect.is_utf_8:
            return Lines(_decoded(block, starts.tolist(), ends.tolist(), dialect.encoding, bad), bad, starts)
        if bad or not _is_utf_8(block):
            return Lines(_checked(block, starts, ends, bad), bad, starts)
        offsets = pa.py_buffer(np.concatenate([[0], ends]).astype(np.int32))
        return Lines(pa.StringArray.from_buffers(len(ends), offsets, pa.py_buffer(block)), bad, starts)

    def strict(self, dialect: Dialect, width: int) -> NDArray[np.bool_]:
        """Lines that are records by the grammar; blank lines are not if a record has several values."""
        array: NDArray[np.bool_] = np.array(pc.match_substring_regex(self.array, dialect.strict))
        if width > 1:
            array &= ~self.blank(width)
        for each in self.bad.values():
            array &= ~each
        return array

    def blank(self, width: int) -> NDArray[np.bool_]:
        """Blank lines, if these are not records."""
        if width == 1:
            return np.zeros(len(self.array), np.bool_)
        return np.array(pc.or_(pc.equal(self.array, "\n"), pc.equal(self.array, CRLF)))

    def flaws(self, width: int, strict: NDArray[np.bool_], quote: str) -> list[Malformed]:
        """The others, by reason; a line that is no record has a NUL, a quote in the wrong place, or a CR that is no line end."""
        others = ~strict & ~self.blank(width)
        for each in self.bad.values():
            others &= ~each
        has_nul = others & np.array(pc.match_substring(self.array, "\0"))
        has_quote = others & ~has_nul & np.array(pc.match_substring(self.array, quote))
        nul = has_nul | self.bad.get("nul", has_nul)
        reasons = {**self.bad, "nul": nul, "quotes": has_quote, "line-ends": others & ~has_nul & ~has_quote}
        found = ((reason, np.flatnonzero(each)) for reason, each in reasons.items())
        return [Malformed(reason, len(at), tuple(at[:MAX_LINES].tolist())) for reason, at in found if len(at)]


def _checked(
    block: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64], bad: dict[str, NDArray[np.bool_]]
) -> Any:  # noqa: ANN401 - Arrow ships no types
    """Lines of UTF-8 as they are; as `_decoded` does, `bad` gets the reasons, and an empty line stands for each of them."""
    octets = np.frombuffer(block, np.uint8)
    lost = bad.get("too_long", np.zeros(len(ends), np.bool_))
    nul = np.logical_or.reduceat(octets == 0, starts) & ~lost
    other = np.zeros(len(ends), np.bool_)
    for at in np.flatnonzero(np.logical_or.reduceat(octets >= FIRST_OF_SEVERAL, starts) & ~lost & ~nul).tolist():
        try:
            block[starts[at] : ends[at]].decode()
        except UnicodeDecodeError:
            other[at] = True
    bad |= {reason: found for reason, found in (("nul", nul), ("encoding", other)) if found.any()}
    lost = lost | nul | other
    sizes = ends - starts
    kept, content = np.repeat(~lost, sizes), octets.copy()
    last = ends[lost] - 1
    kept[last], content[last] = True, ord("\n")
    offsets = np.concatenate([[0], np.cumsum(np.where(lost, 1, sizes))]).astype(np.int32)
    return pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(content[kept]))


def _decoded(block: bytes, starts: list[int], ends: list[int], encoding: str, bad: dict[str, NDArray[np.bool_]]) -> Any:  # noqa: ANN401 - Arrow ships no types
    """Lines of another encoding in UTF-8; an empty one for each whose bytes are not of it, or contain a NUL, or are too many.

    `bad` gets the reasons.
    """
    too_long = bad.get("too_long")
    lines: list[bytes] = []
    for at, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if too_long is not None and too_long[at]:
            lines.append(b"\n")
            continue
        line = block[start:end]
        text = line.decode(encoding, errors="replace")
        reason = "nul" if b"\0" in line else "encoding" if REPLACEMENT in text else ""
        if reason:
            bad.setdefault(reason, np.zeros(len(starts), np.bool_))[at] = True
        lines.append(b"\n" if reason else text.encode())
    return pa.array(lines, pa.binary()).cast(pa.string())


# ---- Records by pyarrow, for blocks that every parser reads alike ----


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
        feeds = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
        begins, lines = np.searchsorted(feeds, texts.starts), len(feeds)
        index = begins[strict]
        flaws = [
            replace(flaw, lines=tuple(begins[list(flaw.lines)].tolist()))
            for flaw in texts.flaws(width, strict, dialect.quote)
        ]
        found = Parsed(table, index, lines, flaws, lines - int(begins[-1]))
    if ragged:
        numbers = np.array(ragged, np.int64)
        found.rows = np.delete(index, numbers)
        found.malformed.append(Malformed("fields", len(ragged), tuple(index[numbers[:MAX_LINES]].tolist())))
    return found


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
    if content.startswith(BOM):  # Arrow takes the mark off the bytes that it is given, wherever in the file they are
        content = BOM + content
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


# ---- Shares as columns of text ----


SHARE_BYTES = 8 << 20
"""Bytes of an object that one share, and one block of a share, holds."""
BLOCK_LINES = 1 << 18
"""Lines of a block: each costs memory, however short it is."""


@dataclass(frozen=True, slots=True)
class CsvSource(TextSource):
    """A delivery of CSV files."""

    def chunks(self, share: Share) -> Iterator[Chunk]:
        before = 0
        for block, size in self.blocks(share):
            chunk = self._chunk(block, size, before, is_first=share.start == 0 and before == 0)
            before += chunk.lines
            yield chunk

    def blocks(self, share: Share) -> Iterator[Block]:
        """The bytes of a share, some MiB and some lines at a time."""
        dialect = Dialect.of(self.plan.csv)
        quote = dialect.raw_quote if dialect.multi_line else None
        above = self.above[share.part] if self.above and share.start == 0 else 0
        for block, size in self.read_blocks(share, quote):
            starts = [0]
            if block.count(b"\n") > BLOCK_LINES:
                records = block[above:]
                some = (
                    _every_so_often(records)
                    if quote is None
                    else record_ends(records, quote)[BLOCK_LINES - 1 :: BLOCK_LINES].tolist()
                )
                starts += [above + end for end in some]
            for start, end in pairwise([*starts, len(block)]):
                if end > start or start == 0:
                    yield block[start:end], 0 if start else size
            above = 0

    def originals(self, share: Share) -> Iterator[pa.Table]:
        csv, has_one_column = self.plan.csv, len(self.columns.found) == 1
        has_head, mark = (csv.header or csv.skip_rows) and share.start == 0, BOM if csv.encoding == UTF_8 else b""
        for lines in self.lines(share):
            own = lines[1:] if has_head else lines
            has_head = False
            records = [(row, line.removesuffix(b"\n").removesuffix(b"\r")) for row, line in own]
            if records and records[0][0] == share.start == 0:
                records[0] = 0, records[0][1].removeprefix(mark)
            yield line_table([(row, line) for row, line in records if line or has_one_column])

    def lines(self, share: Share) -> Iterator[list[tuple[int, bytes]]]:
        """All bytes of a share, a block at a time: each record with the number of its first line, from 0, and its line end.

        The header is one of them, with the lines above it; a byte order mark belongs to the first.
        """
        before, dialect = 0, Dialect.of(self.plan.csv)
        for block, _ in self.blocks(share):
            text, skipped = self._without_header(block, is_first=share.start == 0 and before == 0)
            begin = len(block) - len(text)
            ends = (record_ends(text, dialect.raw_quote if dialect.multi_line else None) + begin).tolist()
            if text and (not ends or ends[-1] < len(block)):
                ends.append(len(block))
            starts = [0, begin] if skipped else [0]
            found, at = [], before
            for start, end in pairwise([*starts, *ends]):
                found.append((at, block[start:end]))
                at += max(1, found[-1][1].count(b"\n"))
            yield found
            before = at

    def _without_header(self, block: bytes, *, is_first: bool) -> tuple[bytes, int]:
        """A block without a byte order mark, skipped lines and a header, and the number of lines of both."""
        csv = self.plan.csv
        if is_first and csv.encoding == UTF_8:
            block = block.removeprefix(BOM)
        if not (is_first and (csv.header or csv.skip_rows)):
            return block, 0
        end = (header_end(block, csv) if csv.header else titles_end(block, csv)) or len(block)
        return block[end:], max(1, block.count(b"\n", 0, end) + (not block.endswith(b"\n", 0, end)))

    def _chunk(self, block: bytes, size: int, lines: int, *, is_first: bool) -> Chunk:
        """The chunk of a block that follows `lines` lines of the share."""
        csv = self.plan.csv
        text, skipped = self._without_header(block, is_first=is_first)
        if text and not text.endswith(b"\n"):
            text += b"\n"
        names = {name: at for at, name in enumerate(self.columns.found)}
        aliases = {f"x{names[column.name]}": column.alias for column in self.plan.columns if column.name in names}
        numbers = {column.alias for column in self.plan.columns if column.type.numeric}
        parsed = parse(text, Dialect.of(csv), len(names), sorted(int(name[1:]) for name in aliases))
        before = lines + skipped
        columns = {aliases[name]: parsed.table.column(name) for name in parsed.table.column_names if name in aliases}
        for alias in columns.keys() - numbers:
            if values_repeat(columns[alias]):
                columns[alias] = columns[alias].dictionary_encode()
        return Chunk(
            pa.table({ROW: pa.array(parsed.rows + before, pa.int64()), **columns}),
            parsed.lines + skipped,
            size,
            tuple(
                replace(flaw, lines=tuple(line + before for line in flaw.lines))
                for flaw in sorted(parsed.malformed, key=lambda flaw: flaw.reason)
            ),
            tail=parsed.tail,
            evidence=frozenset() if csv.encoding == UTF_8 else encoding_evidence(text if csv.skip_rows else block),
        )


def _every_so_often(block: bytes) -> list[int]:
    """The ends of every so many lines; a block of empty lines has millions of them, which are not looked at together."""
    found: list[int] = []
    seen = 0
    for at in range(0, len(block), PIECE):
        ends = record_ends(block[at : at + PIECE], None)
        found += (ends[(BLOCK_LINES - 1 - seen) % BLOCK_LINES :: BLOCK_LINES] + at).tolist()
        seen += len(ends)
    return found


def open_csv(plan: Plan, parts: tuple[StagedPart, ...], store: Store, heads: list[bytes]) -> CsvSource:
    """The delivery as a source; `heads` are the first unpacked bytes of each object.

    UnreadableError where the objects have no header of this dataset, or different ones.
    """
    header = _header(plan, heads)
    columns = _columns(plan, header, 0, heads[0])
    found = set(columns.found)
    expressions = {each.alias: _expression(each, plan, is_found=each.name in found) for each in plan.fields}
    titles = [_titles(plan.csv, head) for head in heads] if plan.csv.skip_rows else []
    above = tuple(map(len, titles))
    return CsvSource(
        plan,
        store,
        tuple(shares_of(plan, parts, SHARE_BYTES, above)),
        tuple(part.size for part in parts),
        SHARE_BYTES,
        columns,
        expressions,
        has_mark(heads),
        header,
        titles=titles[0].removeprefix(BOM).replace(b"\r\n", b"\n") if titles else b"",
        above=above,
    )


def _titles(csv: Csv, head: bytes) -> bytes:
    """The bytes of an object before its header: a byte order mark, and the lines that are skipped."""
    mark = BOM if csv.encoding == UTF_8 and head.startswith(BOM) else b""
    return mark + head[len(mark) :][: titles_end(head[len(mark) :], csv)]


def _header(plan: Plan, heads: list[bytes]) -> str | None:
    lines = []
    for number, head in enumerate(heads):
        with of_object(number):
            lines.append(first_line(head, plan.csv))
    if not plan.csv.header:
        return None
    if len(set(lines)) > 1:
        for line in dict.fromkeys(lines):
            number = lines.index(line)
            _columns(plan, line, number, heads[number])
        refuse_other_header(lines, plan.csv)
    return lines[0]


def _columns(plan: Plan, header: str | None, number: int, head: bytes) -> Columns:
    """The columns that the header line of an object names; without one, the declared ones."""
    with of_object(number):
        if header is not None:
            return header_of(header, plan, head)
        refuse_header(first_line(head, plan.csv), plan.csv, tuple(field.column for field in plan.columns))
        return Columns(tuple(field.name for field in plan.columns))


def _expression(field: PlanField, plan: Plan, *, is_found: bool) -> Expression:
    if not is_found:
        text = "NULL::VARCHAR"
        return Expression(text, typed_value(field, text))
    words, text = plan.csv.null_words(field.column), field.alias
    if words:
        nulls = ", ".join(text_literal(word) for word in words)
        text = f"CASE WHEN {field.alias} NOT IN ({nulls}) THEN {field.alias} END"
    column = "" if words else field.alias
    if field.type.numeric and not plan.csv.has_plain_numbers:
        return Expression(text, typed_value(field, plain_number(text, plan.csv)), field.alias, column=column)
    return Expression(text, typed_value(field, text), field.alias, typed_value(field, text, plain=True), column)

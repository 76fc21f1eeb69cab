"""Checks the first bytes of a delivery: its file signature and its header.

Everything here is decided from at most `HEAD` bytes of each object: at the door, before any job, and again by the engine, before
it reads a record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.door.file_signatures import (
    BOM,
    SIGNATURE_REFUSALS,
    TEXT_REFUSALS,
    UTF_8,
    UnreadableError,
    refuse,
)
from lakegate.contracts.door.unpack import beginning
from lakegate.contracts.judge.column_causes import NO_NAMES, plain
from lakegate.contracts.judge.faults import encoding_remedy, readable_in, saved_as
from lakegate.contracts.judge.no_header import cells, why_no_header
from lakegate.contracts.model.storage import ENCODING_TITLES
from lakegate.contracts.plan.result import Columns
from lakegate.contracts.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.contracts.model.storage import Csv, Storage

HEAD = 1 << 18
"""The number of bytes read of each object; a header must end within them."""


def text_of(first: bytes, storage: Storage, csv: Csv) -> bytes | None:
    """The beginning of a file's text, unpacked; None where there is none to see: another format, or too few bytes.

    UnreadableError where the first bytes are those of another kind of file than the contract promises.
    """
    refuse(SIGNATURE_REFUSALS, first, storage, csv)
    text = beginning(first, storage.compression, HEAD) if storage.format.is_text else None
    if text is not None:
        refuse(TEXT_REFUSALS, text, storage, csv)
    return text


def header_end(text: bytes, csv: Csv) -> int:
    """Where the first record of a text ends, after its line feed; 0 where it does not. Its quotes may hold line breaks."""
    end = text.find(b"\n") + 1
    if csv.multi_line:
        quote = csv.quote.encode(csv.encoding)
        marks = text.count(quote, 0, end)
        while end and marks % 2:
            begin, end = end, text.find(b"\n", end) + 1
            marks += text.count(quote, begin, end)
    return end


def first_line(head: bytes, csv: Csv) -> str:
    """The header line of a text as it begins, without its line end; UnreadableError where it is not a line of the encoding."""
    text = head.removeprefix(BOM if csv.encoding == UTF_8 else b"")
    end = header_end(text, csv)
    if not end and len(head) >= HEAD:
        raise UnreadableError("too-long", f"the first line does not end within {HEAD:,} bytes: is this a CSV file?")
    line = (text[:end] if end else text).removesuffix(b"\n").removesuffix(b"\r")
    if csv.header and (b"\r" in line.replace(b"\r\n", b"") if csv.multi_line else b"\r" in line):
        doubled = line.rstrip(b"\r") + b"\r" == line
        ends = "CR CR LF, as programs write that add a CR to CR LF" if doubled and end else "CR alone"
        raise UnreadableError("line-ends", f"the lines end in {ends}: save the file with LF or CRLF line ends")
    try:
        return line.decode(csv.encoding)
    except UnicodeDecodeError:
        other = readable_in(line, csv.encoding)
        title, also = ENCODING_TITLES[csv.encoding], encoding_remedy(other)
        raise UnreadableError("encoding", f"the header is not valid {title}: {saved_as(csv.encoding)}{also}") from None


def refuse_header(line: str, csv: Csv, declared: tuple[str, ...]) -> None:
    """UnreadableError where the first record is a header, although the contract declares none."""
    found = [plain(each) for each in cells(line, csv.delimiter, csv.quote)]
    names = set(found)
    if len(found) == len(names) > 1 and names <= {plain(each) for each in declared}:
        words = "the first line names the declared columns, although the contract declares csv.header: false"
        raise UnreadableError("header", f"{words}: remove it, or declare csv.header: true")


def columns_of(
    line: str, csv: Csv, declared: tuple[str, ...], head: bytes = b"", physical: Mapping[str, str] = NO_NAMES
) -> Columns:
    """The header's columns against the declared ones; UnreadableError where it is not a header of this dataset.

    `head`: the beginning of the file, which may explain what the line is instead, as `physical` names by declared ones may.
    """
    found = cells(line, csv.delimiter, csv.quote)
    if found == (line,) and csv.quote in line:
        words = "the header has quotes that do not close: write each name plainly"
        also = "" if csv.multi_line else " (a name with a line break needs csv.multiLine: true)"
        raise UnreadableError("header", words + also)
    known = [name for name in found if name in declared]
    if not known:
        raise UnreadableError("header", why_no_header(line, csv, declared, head, physical))
    if len(set(found)) != len(found):
        raise UnreadableError("header", _named_twice(found))
    return Columns(
        found=found,
        absent=tuple(name for name in declared if name not in found),
        extra=tuple(name for name in found if name not in declared),
        reordered=known != [name for name in declared if name in found],
    )


def _named_twice(found: tuple[str, ...]) -> str:
    if (empty := sum(not name.strip() for name in found)) > 1:
        return f"the header has {counted(empty, 'column')} without a name: remove the empty columns (spreadsheets export them)"
    twice = next(name for name in found if found.count(name) > 1)
    return f"the header names the column {twice!r} twice: every column needs a name of its own"

"""The first bytes of a delivery: is it text at all, and which columns does it say it has?

Everything here is decided from at most `HEAD` bytes of each object: at the door, before any job, and again by the job, before
Spark reads anything.
"""

from __future__ import annotations

import csv as stdlib_csv
from typing import TYPE_CHECKING

from contracts.kinds import BOM, UnreadableError, refuse_other_kinds, refuse_other_text
from contracts.result import Columns
from contracts.unpack import beginning

if TYPE_CHECKING:
    from contracts.model import Csv, Storage

HEAD = 1 << 18
"""Bytes read of each object; a header must end within them."""

_SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}


def text_of(first: bytes, storage: Storage, csv: Csv) -> bytes | None:
    """The beginning of a file's text, unpacked; None where there is none to see: another format, or too few bytes.

    UnreadableError where the first bytes are those of another kind of file than the contract promises.
    """
    refuse_other_kinds(first, storage)
    text = beginning(first, storage.compression, HEAD) if storage.format.is_text else None
    if text is not None:
        refuse_other_text(text, storage, csv)
    return text


def first_line(head: bytes, csv: Csv) -> str:
    """The header line of a text as it begins, without its line end; UnreadableError where it is no line of the encoding."""
    line, end, _ = head.removeprefix(BOM).partition(b"\n")
    if not end and len(head) >= HEAD:
        raise UnreadableError("too-long", f"the first line does not end within {HEAD:,} bytes: is this a CSV file?")
    line = line.removesuffix(b"\r")
    if csv.header and b"\r" in line:
        raise UnreadableError("line-ends", "the lines end in CR alone: save the file with LF or CRLF line ends")
    try:
        return line.decode(csv.encoding)
    except UnicodeDecodeError:
        raise UnreadableError(
            "encoding",
            f"the header is not valid {csv.encoding}: save the file as {csv.encoding}, or declare csv.encoding",
        ) from None


def columns_of(line: str, csv: Csv, declared: tuple[str, ...]) -> Columns:
    """The header's columns against the declared ones; UnreadableError where it is no header of this dataset."""
    found = _split(line, csv)
    known = [name for name in found if name in declared]
    if not known:
        raise UnreadableError("header", _no_header(line, csv, declared))
    if len(set(found)) != len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise UnreadableError(
            "header", f"the header names the column {twice!r} twice: every column needs a name of its own"
        )
    return Columns(
        found=found,
        absent=tuple(name for name in declared if name not in found),
        extra=tuple(name for name in found if name not in declared),
        reordered=known != [name for name in declared if name in found],
    )


def _split(line: str, csv: Csv) -> tuple[str, ...]:
    try:
        rows = list(stdlib_csv.reader([line], delimiter=csv.delimiter, quotechar=csv.quote, strict=True))
    except stdlib_csv.Error:
        raise UnreadableError("header", "the header has quotes that do not close: write each name plainly") from None
    return tuple(rows[0]) if rows else ()


def _no_header(line: str, csv: Csv, declared: tuple[str, ...]) -> str:
    for mark, words in _SEPARATORS.items():
        if mark != csv.delimiter and set(declared) & set(line.split(mark)):
            ours = _SEPARATORS.get(csv.delimiter, repr(csv.delimiter))
            promise = f"although the contract says {ours}: write the file so, or declare csv.delimiter"
            return f"the columns are separated by {words}, {promise}"
    return "the first line names none of the declared columns: the file needs a header line"

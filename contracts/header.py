"""The first bytes of a delivery: is it text at all, and which columns does it say it has?

Everything here is decided from at most `HEAD` bytes of each object: at the door, before any job, and again by the job, before
Spark reads anything.
"""

from __future__ import annotations

import csv as stdlib_csv
from typing import TYPE_CHECKING

from contracts.errors import LakegateError
from contracts.result import Columns, Unreadable

if TYPE_CHECKING:
    from contracts.model import Csv

HEAD = 1 << 18
"""Bytes read of each object; a header must end within them."""

_MAGIC = {
    b"\x1f\x8b": ("gzip", "gzip-compressed"),
    b"BZh": ("bzip2", "bzip2-compressed"),
    b"\x28\xb5\x2f\xfd": ("zstd", "zstd-compressed"),
    b"\xfd7zXZ": ("xz", "xz-compressed"),
    b"PK\x03\x04": ("zip", "a zip archive (an Excel workbook is one too)"),
    b"PAR1": ("parquet", "a Parquet file"),
    b"Obj\x01": ("avro", "an Avro file"),
    b"ORC": ("orc", "an ORC file"),
    b"%PDF": ("pdf", "a PDF document"),
    b"\xd0\xcf\x11\xe0": ("office", "an old Office document"),
}
BOM = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}


class UnreadableError(LakegateError):
    """The delivery cannot be measured; the verdict will say why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code)
        self.finding = Unreadable(code, message)


def refuse_other_formats(head: bytes, csv: Csv) -> None:
    """UnreadableError where the first bytes, be they few, are those of another kind of file."""
    if not head:
        raise UnreadableError("empty", "the file is empty: it has not even a header")
    for magic, (code, words) in _MAGIC.items():
        if head.startswith(magic):
            raise UnreadableError(
                code, f"the file is {words}, although the contract promises plain CSV: upload the CSV itself"
            )
    if head.startswith(_UTF_16):
        raise UnreadableError("encoding", "the file is UTF-16: save it as UTF-8")
    if head.startswith(BOM) and csv.encoding != "utf-8-sig":
        raise UnreadableError(
            "bom",
            "the file begins with a byte order mark: save it as UTF-8 without one, or declare csv.encoding: utf-8-sig",
        )


def first_line(head: bytes, csv: Csv) -> str:
    """The header line as text, without its line end; UnreadableError where the bytes are no text of the promised kind."""
    refuse_other_formats(head, csv)
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

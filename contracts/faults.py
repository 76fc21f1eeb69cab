"""Known faults of text files, told from single lines: a repeated header, a line of delimiters alone, a wrong encoding."""

from __future__ import annotations

import csv as stdlib_csv
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contracts.model import Csv

SEEN_OF_A_LINE = 2000
"""Characters of a line that are looked at."""
HEADER, BLANK = "header", "blank"
_ENCODINGS = ("utf-8", "windows-1252", "iso-8859-1")
_CONTROLS = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))} - set("\t\r\n")
"""Characters that no text holds: a decoding that yields one is a wrong one."""


def record_of(line: str, header: str | None, csv: Csv) -> str | None:
    """What a line is, where it holds no data: the header once more, or nothing but delimiters, quotes and blanks."""
    seen = line.removesuffix("\r")[:SEEN_OF_A_LINE]
    if header is not None and seen == header[:SEEN_OF_A_LINE]:
        return HEADER
    return BLANK if seen and not seen.strip(f"{csv.delimiter}{csv.quote} \t\xa0") else None


def values_in(line: str, csv: Csv) -> int | None:
    """How many values a line has; None where its quotes do not close, or it is too long to be looked at."""
    if len(line) >= SEEN_OF_A_LINE:
        return None
    try:
        rows = stdlib_csv.reader([line.removesuffix("\r")], delimiter=csv.delimiter, quotechar=csv.quote, strict=True)
        return len(next(rows)) or 1
    except stdlib_csv.Error:
        return None


def readable_in(content: bytes, declared: str) -> str | None:
    """An encoding that reads bytes which are none of the declared one; None where none of the usual ones does."""
    return next((each for each in _ENCODINGS if each != declared.removesuffix("-sig") and _reads(content, each)), None)


def _reads(content: bytes, encoding: str) -> bool:
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        return False
    return not _CONTROLS & set(text)

"""Known faults of text files that single lines show: a repeated header, a line of only delimiters, a wrong encoding."""

from __future__ import annotations

import csv as stdlib_csv
from typing import TYPE_CHECKING

from lakegate.contracts.model.storage import ENCODING_TITLES

if TYPE_CHECKING:
    from lakegate.contracts.model.storage import Csv

SEEN_OF_A_LINE = 2000
"""The most characters of a line that are examined."""
HEADER, BLANK, TOTAL, WRAPPED = "header", "blank", "total", "wrapped"
_TOTALS = frozenset(
    "total totals subtotal subtotals grand total sum summe gesamt gesamtsumme zwischensumme somme totale totali suma razem "
    "totaal som".replace("grand total", "grand\u00a0total").split(" ")
)
"""Words, without case, that stand in rows of totals."""
_ENCODINGS = ("utf-8", "windows-1252", "iso-8859-1")
_CONTROLS = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))} - set("\t\r\n")
"""Characters that no text contains: a decoding that yields one is wrong."""


def record_of(line: str, header: str | None, csv: Csv) -> str | None:
    """The fault of a line without data: a repeated header, only delimiters, quotes and spaces, or a row of totals."""
    seen = line.removeprefix("\ufeff").removesuffix("\r")[:SEEN_OF_A_LINE]
    if header is not None and seen == header[:SEEN_OF_A_LINE]:
        return HEADER
    if seen and not seen.strip(f"{csv.delimiter}{csv.quote} \t\xa0"):
        return BLANK
    cells = (each.strip(f"{csv.quote} \t\xa0:").casefold().replace(" ", "\xa0") for each in seen.split(csv.delimiter))
    return TOTAL if any(each in _TOTALS for each in cells) else None


def values_in(line: str, csv: Csv) -> int | None:
    """The number of values of a line; None if a quote is not closed or the line is too long."""
    if len(line) >= SEEN_OF_A_LINE:
        return None
    try:
        rows = stdlib_csv.reader([line.removesuffix("\r")], delimiter=csv.delimiter, quotechar=csv.quote, strict=True)
        return len(next(rows)) or 1
    except stdlib_csv.Error:
        return None


def readable_in(content: bytes, declared: str) -> str | None:
    """A common encoding that decodes bytes that the declared one cannot decode; None if there is none."""
    return next((each for each in _ENCODINGS if each != declared and _reads(content, each)), None)


def saved_as(encoding: str) -> str:
    """The remedy in the file."""
    return f"save the file as {ENCODING_TITLES[encoding]}{' (in Excel: CSV UTF-8)' if encoding == 'utf-8' else ''}"


def encoding_remedy(readable: str | None) -> str:
    """The remedy in the contract, where the file can be read in another encoding."""
    return f", or declare csv.encoding: {readable}, in which it can be read" if readable else ""


def _reads(content: bytes, encoding: str) -> bool:
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        return False
    return not _CONTROLS & set(text)

"""Format, compression, CSV separator and encoding recognised."""

from __future__ import annotations

import csv as stdlib_csv
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from itertools import islice

from lakegate.admission.file_signatures import BOM, WIDE, UnreadableError, is_declarable, is_wide, signature_of
from lakegate.admission.header import HEAD, HEADER_BELOW, MAX_LINES, separator_note
from lakegate.contract.file_formats import FORMATS, Compression, Csv, Format, Storage
from lakegate.engine.read.data_source import Store
from lakegate.engine.read.open_delivery import unpacked_beginning
from lakegate.plan.request import StagedPart

# ---- CSV dialect ----


DELIMITERS = (",", ";", "\t", "|", "^", "~", ":")
"""Characters that are tried, in order."""
SPACE = " "
"""Tried last, for numbers alone."""
QUOTES = ('"', "'")
LONGEST_CHARACTER = 4
MAX_RECORDS = 500
PAIR = 2
"""Values of a record; of two names in a header, one may be empty."""
REGULAR = 0.9
"""The share of records with one number of values that a delimiter must reach."""
NUMBERED = "column_"
"""Names of the columns of a file without a header, from 1."""
_VALUE = re.compile(r"[-+]?[0-9][0-9.,:/TZ+ -]*|(?i:true|false)")
"""TextTables that are never names of columns: numbers, dates, times of day."""
_NUMBER = re.compile(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?")
_UNUSED = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
"""Bytes that windows-1252 does not have."""


def dialect(head: bytes) -> Csv:
    """The dialect of a text that begins so."""
    encoding = encoding_of(head)
    text = head.removeprefix(BOM).decode(encoding, errors="replace")
    quote = _quote(text)
    delimiter, multi_line = _delimiter(text, quote)
    csv = Csv(delimiter=delimiter, quote=quote, encoding=encoding, multi_line=multi_line)
    return replace(csv, header=_has_header(text, csv))


def refuse_titles(text: bytes, csv: Csv) -> None:
    """UnreadableError where titles, empty lines or a note to Excel stand above the header, as `check` diagnoses them.

    A title has at most half as many values as most records, or one and empty ones; the first other record has names.
    """
    lines = text.removeprefix(BOM).decode(csv.encoding.removesuffix("-sig"), errors="replace")
    reader = stdlib_csv.reader(StringIO(lines, newline=""), delimiter=csv.delimiter, quotechar=csv.quote)
    widths = Counter(map(len, _records(lines, csv.delimiter, csv.quote)))
    width = max(widths, key=lambda each: (widths[each], each), default=0)
    for record in islice(_read(reader), MAX_LINES):
        is_padded = width > PAIR and sum(map(bool, record)) == 1
        if len(record) > width // 2 and not is_padded:
            if reader.line_num > 1 and len(record) == width and _are_names(record):
                first = lines.splitlines()[0]
                raise UnreadableError("header", separator_note(first) or HEADER_BELOW.format(reader.line_num))
            return


def encoding_of(text: bytes) -> str:
    """The encoding of a text: UTF-8 where it can be; a character that the end of `HEAD` bytes cuts does not count."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        if error.start < len(text) - LONGEST_CHARACTER or len(text) < HEAD:
            return other_encoding(text)
    return "utf-8"


def other_encoding(text: bytes) -> str:
    """The encoding of a text that is not UTF-8: windows-1252, which has all letters of ISO 8859-1, unless it lacks a byte."""
    return "iso-8859-1" if _UNUSED.search(text) else "windows-1252"


def first_names(line: str, csv: Csv) -> tuple[str, ...]:
    """The names of columns where no header has them, by a line of values."""
    return tuple(f"{NUMBERED}{at}" for at in range(1, len(next(_records(line, csv.delimiter, csv.quote), [""])) + 1))


def _quote(text: str) -> str:
    """A double quote, unless values are in single quotes only."""
    singles = len(re.findall(r"(?:^|[,;\t|])'[^'\n]*'(?=[,;\t|\r\n])", text, re.MULTILINE))
    return QUOTES[1] if singles and '"' not in text else QUOTES[0]


def _delimiter(text: str, quote: str) -> tuple[str, bool]:
    """The delimiter by which most records have one number of values, and whether quoted values contain line breaks."""
    scores = []
    for order, mark in enumerate(DELIMITERS):
        records = list(_records(text, mark, quote))
        if len(records) > 1 and len(text) > len(records):
            records = records[:-1]
        widths = Counter(map(len, records))
        width, count = max(widths.items(), key=lambda each: (each[1], each[0]), default=(1, 0))
        regular = count / max(1, len(records))
        if width > 1:
            has_breaks = any("\n" in value for record in records if len(record) == width for value in record)
            scores.append((regular >= REGULAR, len(records[0]) == width, regular, width, -order, mark, has_breaks))
    best = max(scores, default=None)
    if best is not None:
        return best[-2], best[-1]
    return (SPACE if _has_numbers_between_spaces(text) else DELIMITERS[0]), False


def _has_numbers_between_spaces(text: str) -> bool:
    """Whether a text has several numbers in each line, as many in each: words with spaces between them are one value."""
    records = list(_records(text, SPACE, QUOTES[0]))
    complete = records[:-1] if len(text) >= HEAD else records
    widths = {len(each) for each in complete}
    are_numbers = all(_NUMBER.fullmatch(value) for each in complete for value in each)
    return len(widths) == 1 and widths != {1} and are_numbers


def _records(text: str, delimiter: str, quote: str) -> Iterator[list[str]]:
    reader = stdlib_csv.reader(StringIO(text, newline=""), delimiter=delimiter, quotechar=quote)
    return islice(filter(None, _read(reader)), MAX_RECORDS)


def _read(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """Records up to one that cannot be read."""
    with suppress(stdlib_csv.Error):
        yield from reader


def _has_header(text: str, csv: Csv) -> bool:
    """Whether the first line has names: each differs, none is empty or a value."""
    first = next(_records(text, csv.delimiter, csv.quote), [])
    return bool(first) and _are_names(first)


def _are_names(record: list[str]) -> bool:
    return not any(_VALUE.fullmatch(each.strip()) for each in record)


# ---- Format and compression ----


_SPACE = b" \t\r\n"
_JSON = {b"{": Format.JSONL, b"[": Format.JSON}


def recognised(parts: tuple[StagedPart, ...], store: Store) -> tuple[Storage, list[bytes]]:
    """The storage of all files, and the first bytes of each, unpacked.

    UnreadableError for files that no contract can declare, and for files of different formats.
    """
    found = [_recognised(part, store) for part in parts]
    storages = {storage for storage, _ in found}
    if len(storages) > 1:
        raise UnreadableError("forms", "the files have different formats: draft a contract for each of them")
    return storages.pop(), [head for _, head in found]


def _recognised(part: StagedPart, store: Store) -> tuple[Storage, bytes]:
    first = store.part(part.uri, 0, min(HEAD, part.size)) if part.size else b""
    if not first:
        raise UnreadableError("empty", "the file is empty: it has not even a header")
    code, words = signature_of(first)
    if not is_declarable(code):
        raise UnreadableError(code, f"the file is {words}, which no contract can declare")
    kind = next((each for each in FORMATS if each.value == code and not each.is_text), None)
    if kind is not None:
        return Storage(kind), first
    compression = Compression(code)
    text = first if compression is Compression.NONE else unpacked_beginning(part, compression, store)
    inner, words = signature_of(text)
    if inner != Compression.NONE.value:
        packed = f"the file is packed twice: unpacked with {code}, it is {words}"
        raise UnreadableError("packed-twice", f"{packed}; pack the text itself, once")
    if is_wide(text):
        raise UnreadableError("encoding", WIDE)
    return Storage(_format_of(text), compression), text


def _format_of(text: bytes) -> Format:
    """JSON by its first character, where the first record is an object; else CSV."""
    bare = text.removeprefix(BOM).lstrip(_SPACE)
    found = _JSON.get(bare[:1], Format.CSV)
    follows = bare[1:].lstrip(_SPACE)[:1]
    begins = {Format.JSONL: (b'"', b"}"), Format.JSON: (b"{", b"]", b"")}.get(found, (follows,))
    return found if follows in begins else Format.CSV

"""Format, compression, CSV separator and encoding recognised."""

from __future__ import annotations

import csv as stdlib_csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from itertools import islice

from lakegate.admission.file_signatures import (
    BOM,
    SIGNATURE_REFUSALS,
    TEXT_REFUSALS,
    UTF_8,
    UnreadableError,
    declared_format,
    format_remedy,
    is_declarable,
    refuse,
    signature_of,
)
from lakegate.admission.header import HEAD, MAX_LINES, separator_note
from lakegate.contract.file_formats import FORMATS, LONGEST_PATH, Compression, Csv, Format, Storage
from lakegate.engine.read.data_source import Store, of_object
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
_GROUP = re.compile(r"[0-9]{3}(?:[.,][0-9]*)?")
_WHOLE_CHARACTER = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
"""A character beyond ASCII in UTF-8."""
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
GUESSED = "windows-1252"
"""The encoding of texts that are not UTF-8; it has all letters of ISO 8859-1."""
UNKNOWN_ENCODING = (
    "the encoding of the file is not known: {0} is neither UTF-8 nor Windows-1252 (it may be Shift-JIS, GBK or another one); "
    "save the file as UTF-8 (in Excel: CSV UTF-8; elsewhere: iconv -f SHIFT_JIS -t UTF-8, with the encoding that it has)"
)


def dialect(heads: Sequence[bytes]) -> Csv:
    """The dialect of files that begin so; UnreadableError where they have no data, or their encoding is not known."""
    texts = [head.removeprefix(BOM) for head in heads]
    first = next((entry for entry in texts if entry.strip()), None)
    if first is None:
        raise UnreadableError("empty", "there is nothing but blanks and empty lines: draft from a file with data")
    beyond = next((number for number, entry in enumerate(texts) if not entry.isascii()), 0)
    with of_object(beyond):
        encoding = encoding_of(texts[beyond])
    text = first.decode(encoding, errors="replace")
    # a double quote, unless values are in single quotes only
    singles = len(re.findall(r"(?:^|[,;\t|])'[^'\n]*'(?=[,;\t|\r\n])", text, re.MULTILINE))
    quote = QUOTES[1] if singles and '"' not in text else QUOTES[0]
    delimiter, multi_line = _delimiter(text, quote)
    csv = Csv(delimiter=delimiter, quote=quote, encoding=encoding, multi_line=multi_line)
    return replace(csv, header=_has_header(text, csv))


def dialect_below_titles(heads: Sequence[bytes], filled: int) -> Csv:
    """The dialect of files that begin so, of which the one with this number has data; titles above its header are skipped."""
    csv = dialect(heads)
    with of_object(filled):
        skipped = _titles(heads[filled], csv)
    if not skipped:
        return csv
    below = [head.removeprefix(BOM).split(b"\n", skipped)[-1] for head in heads]
    return replace(dialect(below), encoding=csv.encoding, skip_rows=skipped)


def _titles(text: bytes, csv: Csv) -> int:
    """The number of lines above the header: titles and empty ones. UnreadableError where it is a note to Excel.

    A title has at most half as many values as most records, or one and empty ones; the first other record has names.
    """
    lines = text.removeprefix(BOM).decode(csv.encoding, errors="replace")
    if note := separator_note(lines.partition("\n")[0].removesuffix("\r")):
        raise UnreadableError("header", note)
    reader = stdlib_csv.reader(StringIO(lines, newline=""), delimiter=csv.delimiter, quotechar=csv.quote)
    widths = Counter(map(len, _records(lines, csv.delimiter, csv.quote)))
    width = max(widths, key=lambda entry: (widths[entry], entry), default=0)
    above = 0
    for record in islice(_read(reader), MAX_LINES):
        is_padded = width > PAIR and sum(map(bool, record)) == 1
        if len(record) > width // 2 and not is_padded:
            return above if len(record) == width and _are_names(record) else 0
        above = reader.line_num
    return 0


def encoding_of(text: bytes) -> str:
    """The encoding of a text: UTF-8 where it can be, or has more whole characters of UTF-8 than other bytes beyond ASCII.

    A character that the end of `HEAD` bytes cuts does not count. Any other encoding is a guess; UnreadableError where the guess
    lacks a byte of the text, so that it is wrong.
    """
    try:
        text.decode()
    except UnicodeDecodeError as error:
        if error.start >= len(text) - LONGEST_CHARACTER and len(text) >= HEAD:
            return UTF_8
        rest, whole = _WHOLE_CHARACTER.subn(b"", text)
        return UTF_8 if whole > len(_BEYOND_ASCII.findall(rest)) else _guess_encoding(text)
    return UTF_8


def _guess_encoding(text: bytes) -> str:
    try:
        text.decode(GUESSED)
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise UnreadableError("encoding", UNKNOWN_ENCODING.format(f"line {line:,}")) from None
    return GUESSED


def first_names(line: str, csv: Csv) -> tuple[str, ...]:
    """The names of columns where no header has them, by a line of values."""
    return tuple(f"{NUMBERED}{at}" for at in range(1, len(next(_records(line, csv.delimiter, csv.quote), [""])) + 1))


def _delimiter(text: str, quote: str) -> tuple[str, bool]:
    """The delimiter by which most records have one number of values, and whether quoted values contain line breaks."""
    scores = []
    for order, mark in enumerate(DELIMITERS):
        records = list(_records(text, mark, quote))
        if len(records) > 1 and len(text) > len(records):
            records = records[:-1]
        widths = Counter(map(len, records))
        width, count = max(widths.items(), key=lambda entry: (entry[1], entry[0]), default=(1, 0))
        regular = count / max(1, len(records))
        if width > 1:
            has_breaks = any("\n" in value for record in records if len(record) == width for value in record)
            scores.append((regular >= REGULAR, len(records[0]) == width, regular, width, -order, mark, has_breaks))
    best = max(scores, default=None)
    if best is not None:
        return best[-2], best[-1]
    return (SPACE if _has_numbers_between_spaces(text) else DELIMITERS[0]), False


def _has_numbers_between_spaces(text: str) -> bool:
    """Whether a text has several numbers in each line, as many in each, below names or not, and perhaps a space at each end.

    Words with spaces between them are one value, and so are numbers with spaces between thousands.
    """
    records = list(_records(text, SPACE, QUOTES[0]))
    complete = records[:-1] if len(text) >= HEAD else records
    last = -1 if all(record[-1] == "" for record in complete) else None
    rows = [record[:last] for record in complete[1:] or complete]
    widths = {len(record[:last]) for record in complete}
    are_numbers = all(_NUMBER.fullmatch(value) for row in rows for value in row)
    are_groups = all(_GROUP.fullmatch(value) for row in rows for value in row[1:])
    return len(widths) == 1 and widths != {1} and are_numbers and not are_groups


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
    return not any(_VALUE.fullmatch(text.strip()) for text in record)


# ---- Format and compression ----


_SPACE = b" \t\r\n"
JSON_SUFFIXES = (".json", ".jsonl", ".ndjson", ".geojson")
_PAGE = re.compile(rb"(?i)<(?:\?xml|!doctype|!--|html|[a-z][\w:.-]*(?:\s[^<>]*)?>\s*<[a-z])")
"""The beginning of HTML or XML; a header such as `<DATE>,<TIME>` is none."""
_NESTED = re.compile(r"\[\s*[\[{]")
_AFTER_ELEMENT = re.compile(r"\s*(?:,\s*[-\"\[{0-9tfn]|\]\s*(?:\Z|\[))")
NO_OBJECTS = (
    "the file is JSON whose records are no objects (they are arrays, texts, numbers or the like), and a contract describes "
    "values by their names: write each record as an object"
)
NOT_JSON = "the file is named as JSON, but holds neither objects nor an array of them: rename it if it is CSV"


def recognise_format(parts: tuple[StagedPart, ...], store: Store) -> tuple[Storage, list[bytes]]:
    """The storage of all files, and the first bytes of each, unpacked; files without a byte say nothing of it.

    UnreadableError for files that no contract can declare, and for files of different formats.
    """
    found: dict[int, tuple[Storage, bytes]] = {}
    for number, part in enumerate(parts):
        if part.size:
            with of_object(number):
                found[number] = _recognise_storage(part, store)
    if not found:
        raise UnreadableError("empty", "the file is empty: it has not even a header").of_part(0)
    found = _in_one_form(found)
    commonest, _ = Counter(storage for storage, _ in found.values()).most_common(1)[0]
    for number, (storage, _) in found.items():
        if storage != commonest:
            words = f"it is {declared_format(storage)}, and others are {declared_format(commonest)}"
            raise UnreadableError("forms", f"{words}: draft a contract for each format").of_part(number)
    return commonest, [found[number][1] if number in found else b"" for number in range(len(parts))]


def _in_one_form(found: dict[int, tuple[Storage, bytes]]) -> dict[int, tuple[Storage, bytes]]:
    """Storages of files; an object with few records is of the form that others have with many, as the last page of a list."""
    wrapped = next((storage for storage, _ in found.values() if storage.records), None)
    if wrapped is None:
        return found
    bare = Storage(Format.JSONL, wrapped.compression)
    return {number: (wrapped if storage == bare else storage, text) for number, (storage, text) in found.items()}


def _recognise_storage(part: StagedPart, store: Store) -> tuple[Storage, bytes]:
    first = store.part(part.uri, 0, min(HEAD, part.size))
    code, words = signature_of(first)
    if not is_declarable(code):
        remedy = format_remedy(code, Storage(Format.CSV), Csv())
        raise UnreadableError(code, f"the file is {words}, which no contract can declare: {remedy}")
    kind = next((entry for entry in FORMATS if entry.value == code and not entry.is_text), None)
    if kind is not None:
        return Storage(kind), first
    compression, text = Compression(code), first
    packed = Storage(Format.CSV, compression)
    if compression is not Compression.NONE:
        refuse(SIGNATURE_REFUSALS, first, packed, Csv())
        text = unpacked_beginning(part, compression, store)
    refuse(TEXT_REFUSALS, text, packed, Csv())
    if _PAGE.match(text.removeprefix(BOM).lstrip(_SPACE)):
        raise UnreadableError("page", "the file is HTML or XML, such as a page with a login or an error: deliver data")
    name = part.name.casefold().removesuffix(compression.spec.suffix)
    for spec in FORMATS.values():
        if spec.signature and name.endswith(spec.suffix):
            words = f"the file is named as {spec.title}, but does not begin as one: is it damaged, or another file?"
            raise UnreadableError("other-format", words)
    form = _format_of(text, is_named=name.endswith(JSON_SUFFIXES))
    path = path_of_records(text) if form is Format.JSONL else ""
    return Storage(Format.JSON if path else form, compression, path), text


LEAST_RECORDS = 2
"""Objects of a list that may be the records of the object around it."""

BESIDE = frozenset({"included", "errors", "warnings", "links"})
"""Lists that stand beside the records (JSON:API, and responses of other interfaces)."""


def path_of_records(head: bytes) -> str:
    """The member of one object, or `a.b` of a member of it, that has a list of more objects than the object has other members.

    Empty where a text begins otherwise, or is several objects: JSON lines.
    """
    text = head.removeprefix(BOM).decode(errors="replace").strip()
    is_whole = len(head) < HEAD
    if not text.startswith("{") or (is_whole and not _is_json(text.encode())):
        return ""
    walk = _Members(text)
    lists = list(walk.lists(0, ()))
    if walk.is_closed is not is_whole:
        return ""
    objects, path = max((entry for entry in lists if entry[1][-1] not in BESIDE), default=(0, ()))
    is_named = all(re.fullmatch(r"[^.\x00-\x1f]+", name) for name in path) and len(".".join(path)) <= LONGEST_PATH
    return ".".join(path) if objects >= LEAST_RECORDS and objects >= walk.count and is_named else ""


class _Members:
    """The members of an object that a text begins with, of which the end may be cut off."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.count = 0
        """Members of the whole object, that with the list among them."""
        self.is_closed = False
        """Whether the text has the end of the object."""

    def lists(self, at: int, above: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
        """The lists of objects in the object at a position: how many objects of it are there, and the path to it."""
        at = self._past_space(at + 1)
        while (key := self._value(at)) is not None and isinstance(key[0], str):
            self.count += not above
            at = self._past_space(self._past_space(key[1]) + 1)
            value, path = self._value(at), (*above, key[0])
            mark = self._text[at : at + 1]
            if mark == "[" and (objects := self._objects(at)):
                yield objects, path
            elif mark == "{" and not above:
                yield from self.lists(at, path)
            if value is None:
                return
            at = self._past_space(value[1])
            if self._text[at : at + 1] != ",":
                break
            at = self._past_space(at + 1)
        self.is_closed = self.is_closed or (not above and self._text[at : at + 1] == "}")

    def _objects(self, at: int) -> int:
        """The number of objects at the beginning of a list; 0 where it has another element."""
        count, at = 0, self._past_space(at + 1)
        while (value := self._value(at)) is not None:
            if not isinstance(value[0], dict):
                return 0
            count, at = count + 1, self._past_space(value[1])
            if self._text[at : at + 1] != ",":
                break
            at = self._past_space(at + 1)
        return count

    def _value(self, at: int) -> tuple[object, int] | None:
        """The value at a position and its end; None where the text ends before."""
        try:
            return _DECODE(self._text, at)
        except (ValueError, RecursionError):
            return None

    def _past_space(self, at: int) -> int:
        return _PAST_SPACE(self._text, at).end()  # type: ignore[union-attr] # no space is a match too


_DECODE = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode
_PAST_SPACE = re.compile(r"[ \t\r\n]*").match


def _format_of(text: bytes, *, is_named: bool) -> Format:
    """JSON by its first characters, else CSV; `is_named`: by the name of the file, which decides nothing else, it is JSON.

    UnreadableError for JSON whose records are no objects.
    """
    bare = text.removeprefix(BOM).lstrip(_SPACE)
    follows = bare[1:].lstrip(_SPACE)[:1]
    if bare[:1] == b"{" and (is_named or follows in {b'"', b"'", b"}", b""}):
        return Format.JSONL
    if bare[:1] == b"[" and follows in {b"{", b"]", b""}:
        return Format.JSON
    if bare[:1] == b"[" and (is_named or _is_array(bare.decode(errors="replace"), is_whole=len(text) < HEAD)):
        raise UnreadableError("records", NO_OBJECTS)
    if is_named and bare:
        raise UnreadableError("not-json", NO_OBJECTS if _is_json(bare) else NOT_JSON)
    return Format.CSV


def _is_array(text: str, *, is_whole: bool) -> bool:
    """Whether a text begins as a JSON array does: its first element ends at a comma, or before the end of the array."""
    begin = len(text) - len(text[1:].lstrip())
    try:
        _, end = json.JSONDecoder().raw_decode(text, begin)
    except RecursionError:
        return True
    except ValueError:
        return not is_whole and _NESTED.match(text) is not None
    return _AFTER_ELEMENT.match(text, end) is not None


def _is_json(text: bytes) -> bool:
    """Whether a text is one JSON value."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True

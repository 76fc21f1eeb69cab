"""Header line: checked and explained (separator, missing, misspelled columns)."""

from __future__ import annotations

import csv as stdlib_csv
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING

from lakegate.admission.file_signatures import (
    BOM,
    SIGNATURE_REFUSALS,
    TEXT_REFUSALS,
    UTF_8,
    UnreadableError,
    beginning,
    encoding_remedy,
    readable_in,
    refuse,
    saved_as,
)
from lakegate.admission.value_masks import mask
from lakegate.base.text import closest, limit_hints, plural
from lakegate.contract.file_formats import ENCODING_TITLES, Csv, Storage
from lakegate.plan.plan import Plan
from lakegate.plan.result import Columns

if TYPE_CHECKING:
    Found = tuple[str, str, tuple[str, ...], tuple[str, ...]]
    """Code, message, fields, ids of the outcomes it explains."""
    Explain = Callable[["_Text"], str | None]

# ---- Causes in the columns of a file ----


MAX_NAMED = 5
MAX_COMPARED = 200
LONGEST_COMPARED = 100
NO_NAMES: Mapping[str, str] = MappingProxyType({})
INDEX = re.compile(r"|Unnamed: [0-9]+(?:_level_[0-9]+)?|__index_level_[0-9]+__|index|level_[0-9]+|X|\.\.\.1")
"""Names that pandas and R give to a column of row numbers."""
_INVISIBLE = re.compile(r"[\s\u00a0\u200b\u200c\u200d\ufeff]+")


def plain(name: str) -> str:
    """A name without spaces, case, accents, separators and quotes."""
    letters = unicodedata.normalize("NFKD", name[:LONGEST_COMPARED]).casefold()
    return "".join(letter for letter in letters if letter.isalnum())[:LONGEST_COMPARED]


def match_physical(
    found: Iterable[str], lacking: Iterable[str], physical: Mapping[str, str] = NO_NAMES
) -> dict[str, str]:
    """The missing declared names that the file has in another spelling, or as their `physical` names, by declared name."""
    found, lacking = tuple(islice(found, MAX_COMPARED)), tuple(islice(lacking, MAX_COMPARED))
    there = set(found)
    own = {name: physical[name] for name in lacking if physical.get(name) in there}
    lacking = tuple(name for name in lacking if name not in own)
    pairs = own | match_spelling(tuple(each for each in found if each not in own.values()), lacking)
    taken = set(pairs.values())
    left = {plain(each): each for each in found if each not in taken}
    left.pop("", None)
    for name in lacking:
        near = None if name in pairs else closest(plain(name), left)
        if near is not None:
            pairs[name] = left.pop(near)
    return pairs


def match_spelling(found: Sequence[str], lacking: Sequence[str]) -> dict[str, str]:
    """Those that the file has but for blanks, case, accents and separators, by declared name."""
    left = {plain(each): each for each in reversed(found[:MAX_COMPARED])}
    left.pop("", None)
    return {name: left.pop(short) for name in lacking[:MAX_COMPARED] if (short := plain(name)) in left}


def differ_in(pairs: dict[str, str], physical: Mapping[str, str] = NO_NAMES) -> str:
    """The differences between the names of a file and the declared ones."""
    if all(physical.get(name) == there for name, there in pairs.items()):
        return "physical names (`physicalName`), where files have the `name`"
    if all(_INVISIBLE.sub("", there) == _INVISIBLE.sub("", name) for name, there in pairs.items()):
        return "blanks in the names"
    return (
        "another case"
        if all(there.casefold() == name.casefold() for name, there in pairs.items())
        else "another spelling"
    )


def quote_names(names: Iterable[str]) -> str:
    """A list of names, for messages."""
    every = list(names)
    more = f" and {len(every) - MAX_NAMED} more" if len(every) > MAX_NAMED else ""
    return ", ".join(every[:MAX_NAMED]) + more


def shown_pairs(pairs: dict[str, str]) -> str:
    """Pairs of the file's names and the declared ones, for messages."""
    return quote_names(f"{there!r} should be {name}" for name, there in pairs.items())


# ---- A first line that is not the header ----


SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}
MAX_LINES = 50
"""The number of lines that are searched for a header."""
_VALUE = re.compile(r"[-+]?[0-9][0-9.,:/TZ -]*|(?i:true|false)")
"""Texts that are never column names: numbers, dates, times of day."""
_JSON = re.compile(r'(?:\{\s*(?:"[^"]*"\s*:|\}|$)|\[\s*(?:[\[{]|$))')
"""The beginning of a JSON object, or of an array of objects or arrays."""
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")


class _Text:
    """The beginning of a file."""

    def __init__(
        self, line: str, csv: Csv, declared: tuple[str, ...], head: bytes, physical: Mapping[str, str]
    ) -> None:
        self.line, self.csv, self.declared, self.physical = line, csv, declared, physical
        lines = head.removeprefix(BOM).decode(csv.encoding, "replace").split("\n", MAX_LINES)[:MAX_LINES]
        numbered = ((number, other.removesuffix("\r")) for number, other in enumerate(lines, start=1))
        self.others = [(number, other) for number, other in numbered if number != csv.skip_rows + 1]
        """The lines around that of the header, with their numbers."""

    @property
    def delimiter(self) -> str:
        """The description of the contract's delimiter."""
        return SEPARATORS.get(self.csv.delimiter, repr(self.csv.delimiter))

    def cells(self, line: str, mark: str | None = None) -> tuple[str, ...]:
        return cells(line, mark or self.csv.delimiter, self.csv.quote)


def cells(line: str, delimiter: str, quote: str) -> tuple[str, ...]:
    """The values of a line; the whole line if a quote is not closed."""
    try:
        return tuple(next(stdlib_csv.reader([line], delimiter=delimiter, quotechar=quote, strict=True)))
    except stdlib_csv.Error:
        return (line,)


@limit_hints()
def why_no_header(
    line: str, csv: Csv, declared: tuple[str, ...], head: bytes = b"", physical: Mapping[str, str] = NO_NAMES
) -> str:
    """The first matching explanation; `head` is the beginning of the file, `physical` has physical names by declared ones."""
    text = _Text(line, csv, declared, head, physical)
    return next(filter(None, (explain(text) for explain in _EXPLANATIONS)), None) or _other_file(text)


def other_names(found: Iterable[str], declared: Iterable[str], physical: Mapping[str, str]) -> str | None:
    """The difference of a file's names to the declared ones; None where none of them resembles one."""
    pairs = match_physical(found, declared, physical)
    return f"the header has {differ_in(pairs, physical)}: {shown_pairs(pairs)}" if pairs else None


@limit_hints()
def why_no_keys(
    records: Sequence[Mapping[str, object]],
    declared: tuple[str, ...],
    physical: Mapping[str, str] = NO_NAMES,
    *,
    of_lines: bool = False,
) -> str:
    """The reason why records have none of the declared keys; `of_lines`: each of them is a line of its file."""
    keys = tuple(dict.fromkeys(key for record in records for key in record))
    if not keys:
        return f"the records are empty objects, with none of the declared keys ({quote_names(declared)}): deliver their values"
    pairs = match_physical(keys, declared, physical)
    if pairs:
        return f"the keys have {differ_in(pairs, physical)}: {shown_pairs(pairs)}"
    for key in keys:
        values = [record[key] for record in records if key in record]
        inner = next((value[0] if isinstance(value, list) else value for value in values if value), None)
        if isinstance(inner, dict) and match_physical(inner, declared):
            shown = shown_key(key)
            if any(isinstance(value, list) for value in values):
                words = f"the records are a list in the key {shown} of one object: write each of them as a record of its own"
                return (
                    f"{words}, or declare format: json and records: {key}"
                    if of_lines and len(records) == 1 and _KEY.fullmatch(key)
                    else words
                )
            return f"each record is wrapped in the key {shown}: write the inner object alone"
    return f"the records have none of the declared keys ({quote_names(declared)}): is the file of this dataset?"


def shown_key(key: str) -> str:
    """A key for messages, in quotes; its letters and digits are masked where it may be a value."""
    return repr(key if _KEY.fullmatch(key) else mask(key))


def separator_note(line: str) -> str | None:
    """The fault of a first line that names the delimiter for Excel; None for any other line."""
    if re.fullmatch(r'"?sep=.?"?', line, re.IGNORECASE):
        return "the first line is a note to Excel (`sep=`): remove it, so that the file begins with its header line"
    return None


def _other_kind(text: _Text) -> str | None:
    """The line begins another kind of text; its words are values then, and not shown."""
    begin = text.line.strip()
    if not begin and not any(other.strip() for _, other in text.others):
        return f"the file has nothing but blanks: it needs a header line ({quote_names(text.declared)})"
    if _JSON.match(begin):
        declare = "format: json" if begin[0] == "[" else "format: jsonl"
        return f"the file is JSON, although the contract promises CSV: deliver CSV, or declare {declare}"
    if begin.startswith("<"):
        return "the file is HTML or XML, such as a page with a login or an error: deliver CSV"
    return None


def _other_delimiter(text: _Text) -> str | None:
    for mark, words in SEPARATORS.items():
        names = text.cells(text.line, mark)
        if mark != text.csv.delimiter and len(names) > 1 and match_physical(names, text.declared, text.physical):
            declare = f"csv.delimiter: {json.dumps(mark)}"
            required = f"although the contract declares {text.delimiter}: write the file so, or declare {declare}"
            return f"the columns are separated by {words}, {required}"
    return None


def _header_elsewhere(text: _Text) -> str | None:
    for number, line in text.others:
        if len(match_spelling(text.cells(line), text.declared)) * 2 > len(text.declared):
            if not text.csv.skip_rows:
                remedy = "remove what is above it, for the file needs a header line first"
                return f"the header stands in line {number}: {remedy}, or declare csv.skipRows: {number - 1}"
            declared = f"although the contract declares it in line {text.csv.skip_rows + 1}"
            remedy = f"write {plural(text.csv.skip_rows, 'line')} above it, or declare csv.skipRows: {number - 1}"
            return f"the header stands in line {number}, {declared} (csv.skipRows: {text.csv.skip_rows}): {remedy}"
    return None


def _one_column(text: _Text) -> str | None:
    """The line uses another delimiter, and its names are not those of the dataset either."""
    for mark, words in SEPARATORS.items():
        if (
            len(text.declared) > 1
            and len(text.cells(text.line)) == 1
            and text.line.count(mark) >= len(text.declared) - 1
        ):
            return (
                f"the values are separated by {words}, although the contract declares {text.delimiter}, and {_place(text.csv)} "
                f"names none of the declared columns ({quote_names(text.declared)}): the file needs a header line"
            )
    return None


def _data(text: _Text) -> str | None:
    if any(_VALUE.fullmatch(cell.strip()) for cell in text.cells(text.line)):
        words = "holds values, and names none of the declared columns: the file needs a header line"
        return f"{_place(text.csv)} {words} ({quote_names(text.declared)}), or the contract csv.header: false"
    return None


def _other_file(text: _Text) -> str:
    words = f"{_place(text.csv)} names none of the declared columns ({quote_names(text.declared)})"
    if len(text.cells(text.line)) == len(text.declared):
        return f"{words}: the file needs a header line with them, or the contract csv.header: false; or is it of another dataset?"
    return f"{words}: the file needs a header line with them, or is it of another dataset, or checked against a wrong contract?"


def _place(csv: Csv) -> str:
    """The line of the header, in words."""
    return f"line {csv.skip_rows + 1} (csv.skipRows: {csv.skip_rows})" if csv.skip_rows else "the first line"


_EXPLANATIONS: tuple[Explain, ...] = (
    lambda text: None if text.declared else "the contract names no columns of this dataset: list them there",
    lambda text: separator_note(text.line),
    _other_kind,
    _other_delimiter,
    lambda text: other_names(text.cells(text.line), text.declared, text.physical),
    _header_elsewhere,
    _one_column,
    _data,
)


# ---- The first bytes of a delivery ----
# Everything here is decided from at most `HEAD` bytes of each object: at the door, before any job, and again by the engine,
# before it reads a record.


HEAD = 1 << 18
"""The number of bytes read of each object; a header must end within them."""


def text_of(first: bytes, storage: Storage, csv: Csv) -> bytes | None:
    """The beginning of a file's text, unpacked; None where there is none to see: another format, or too few bytes.

    UnreadableError where the first bytes are those of another format than the contract declares.
    """
    refuse(SIGNATURE_REFUSALS, first, storage, csv)
    text = beginning(first, storage.compression, HEAD) if storage.format.is_text else None
    if text is not None:
        refuse(TEXT_REFUSALS, text, storage, csv)
    return text


def titles_end(text: bytes, csv: Csv) -> int | None:
    """The end of the lines that are skipped above the header; None where a text has fewer. Quotes mean nothing in them."""
    end = 0
    for _ in range(csv.skip_rows):
        end = text.find(b"\n", end) + 1
        if not end:
            return None
    return end


def header_end(text: bytes, csv: Csv) -> int:
    """The end of the first record of a text, after its line feed; 0 where there is none. Its quotes may hold line breaks."""
    begin = titles_end(text, csv)
    if begin is None:
        return 0
    end = text.find(b"\n", begin) + 1
    if csv.multi_line:
        quote = csv.quote.encode(csv.encoding)
        marks = text.count(quote, begin, end)
        while end and marks % 2:
            begin, end = end, text.find(b"\n", end) + 1
            marks += text.count(quote, begin, end)
    return end


def first_line(head: bytes, csv: Csv) -> str:
    """The header line of a text as it begins, below skipped lines, without its line end.

    UnreadableError where there is none, or it is not a line of the encoding.
    """
    text = head.removeprefix(BOM if csv.encoding == UTF_8 else b"")
    begin, end = titles_end(text, csv), header_end(text, csv)
    if not end and len(head) >= HEAD:
        raise UnreadableError("too-long", f"{_place(csv)} does not end within {HEAD:,} bytes: is this a CSV file?")
    line = (text[begin:end] if end else text[begin:]).removesuffix(b"\n").removesuffix(b"\r")
    if csv.header and (b"\r" in line.replace(b"\r\n", b"") if csv.multi_line else b"\r" in line):
        doubled = line.rstrip(b"\r") + b"\r" == line
        ends = "CR CR LF, as programs write that add a CR to CR LF" if doubled and end else "CR alone"
        raise UnreadableError("line-ends", f"the lines end in {ends}: save the file with LF or CRLF line ends")
    if begin is None or (csv.skip_rows and csv.header and begin == len(text)):
        lines = plural(text.count(b"\n") + (not text.endswith(b"\n")), "line") if text else "no line"
        wanted = f"the contract skips {csv.skip_rows:,}{' above the header' if csv.header else ''} (csv.skipRows)"
        raise UnreadableError(
            "header", f"the file has {lines}, although {wanted}: write them, or declare how many there are"
        )
    try:
        return line.decode(csv.encoding)
    except UnicodeDecodeError:
        other = readable_in(line, csv.encoding)
        title, also = ENCODING_TITLES[csv.encoding], encoding_remedy(other)
        raise UnreadableError("encoding", f"the header is not valid {title}: {saved_as(csv.encoding)}{also}") from None


def refuse_header(line: str, csv: Csv, declared: tuple[str, ...]) -> None:
    """UnreadableError where the first record is a header, although the contract declares none."""
    found = [plain(cell) for cell in cells(line, csv.delimiter, csv.quote)]
    names = set(found)
    if len(found) == len(names) > 1 and names <= {plain(each) for each in declared}:
        words = "names the declared columns, although the contract declares csv.header: false"
        raise UnreadableError("header", f"{_place(csv)} {words}: remove it, or declare csv.header: true")


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
    there, wanted = set(found), set(declared)
    known = [name for name in found if name in wanted]
    if not known:
        raise UnreadableError("header", why_no_header(line, csv, declared, head, physical))
    if len(there) != len(found):
        raise UnreadableError("header", named_twice(found))
    return Columns(
        found=found,
        absent=tuple(name for name in declared if name not in there),
        extra=tuple(name for name in found if name not in wanted),
        reordered=known != [name for name in declared if name in there],
    )


def header_of(line: str, plan: Plan, head: bytes = b"") -> Columns:
    """The header's columns against those of a plan (`columns_of`), by their paths."""
    declared = {column.column: column.physical for column in plan.columns}
    columns = columns_of(line, plan.csv, tuple(declared), head, {name: each for name, each in declared.items() if each})
    return replace(
        columns,
        found=plan.paths_of(columns.found),
        absent=plan.paths_of(columns.absent),
        extra=plan.paths_of(columns.extra),
    )


def refuse_other_header(lines: Sequence[str], csv: Csv) -> None:
    """UnreadableError for the first object of a delivery whose header line is not the commonest one."""
    common, _ = Counter(lines).most_common(1)[0]
    other = next((number for number, line in enumerate(lines) if line != common), None)
    if other is not None:
        found, wanted = (cells(line, csv.delimiter, csv.quote) for line in (lines[other], common))
        words = " and ".join(differences(found, wanted)) or "has another order or other quotes"
        message = f"the header is not that of the other objects: it {words}"
        raise UnreadableError("header", f"{message}; give all objects of a delivery the same header").of_part(other)


def differences(found: Collection[str], common: Collection[str]) -> list[str]:
    """How the columns of an object differ from those of another."""
    lacking = [name for name in common if name not in found]
    further = [repr(name[:LONGEST_COMPARED]) for name in found if name not in common]
    return [
        *([f"lacks {quote_names(lacking)}"] if lacking else ()),
        *([f"has {quote_names(further)} beside"] if further else ()),
    ]


def named_twice(found: Sequence[str]) -> str:
    """The message for a file that names a column twice, by all its names."""
    if (empty := sum(not name.strip() for name in found)) > 1:
        return f"the header has {plural(empty, 'column')} without a name: remove the empty columns (spreadsheets export them)"
    twice = next(name for name in found if found.count(name) > 1)
    return f"the header names the column {twice!r} twice: every column needs a name of its own"

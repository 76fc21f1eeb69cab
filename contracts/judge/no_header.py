"""Explains why the first line is not the header of the dataset, and how to fix the file."""

from __future__ import annotations

import csv as stdlib_csv
import json
import re
from typing import TYPE_CHECKING

from lakegate.contracts.judge.column_causes import NO_NAMES, differ_in, named, renamed, respelled, shown_pairs
from lakegate.contracts.judge.masks import mask
from lakegate.contracts.words import limited_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lakegate.contracts.model.storage import Csv

    Explain = Callable[["_Text"], str | None]

SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}
MAX_LINES = 50
"""The number of lines that are searched for a header."""
HEADER_BELOW = "the header stands in line {0}: remove what is above it, for the file needs a header line first"
_VALUE = re.compile(r"[-+]?[0-9][0-9.,:/TZ -]*|(?i:true|false)")
"""Texts that are never column names: numbers, dates, times of day."""


_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")


class _Text:
    """The beginning of a file."""

    def __init__(
        self, line: str, csv: Csv, declared: tuple[str, ...], head: bytes, physical: Mapping[str, str]
    ) -> None:
        self.line, self.csv, self.declared, self.physical = line, csv, declared, physical
        self.below = head.decode(csv.encoding, "replace").splitlines()[1:MAX_LINES]

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


@limited_hints()
def why_no_header(
    line: str, csv: Csv, declared: tuple[str, ...], head: bytes = b"", physical: Mapping[str, str] = NO_NAMES
) -> str:
    """The first matching explanation; `head` is the beginning of the file, `physical` has physical names by declared ones."""
    text = _Text(line, csv, declared, head, physical)
    return next(filter(None, (explain(text) for explain in _EXPLANATIONS)), None) or _other_file(text)


def other_names(found: Iterable[str], declared: Iterable[str], physical: Mapping[str, str]) -> str | None:
    """How the names of a file differ from the declared ones; None where none of them resembles one."""
    pairs = renamed(found, declared, physical)
    return f"the header has {differ_in(pairs, physical)}: {shown_pairs(pairs)}" if pairs else None


@limited_hints()
def why_no_keys(
    records: Sequence[Mapping[str, object]], declared: tuple[str, ...], physical: Mapping[str, str] = NO_NAMES
) -> str:
    """Why records have none of the declared keys."""
    keys = tuple(dict.fromkeys(key for record in records for key in record))
    if not keys:
        return (
            f"the records are empty objects, with none of the declared keys ({named(declared)}): deliver their values"
        )
    pairs = renamed(keys, declared, physical)
    if pairs:
        return f"the keys have {differ_in(pairs, physical)}: {shown_pairs(pairs)}"
    for key in keys:
        values = [record[key] for record in records if key in record]
        inner = next((each[0] if isinstance(each, list) else each for each in values if each), None)
        if isinstance(inner, dict) and renamed(inner, declared):
            shown = key if _KEY.fullmatch(key) else mask(key)
            if any(isinstance(each, list) for each in values):
                return f"the records are a list in the key {shown!r} of one object: write each of them as a record of its own"
            return f"each record is wrapped in the key {shown!r}: write the inner object alone"
    return f"the records have none of the declared keys ({named(declared)}): is the file of this dataset?"


def separator_note(line: str) -> str | None:
    """The fault of a first line that names the delimiter for Excel; None for any other line."""
    if re.fullmatch(r'"?sep=.?"?', line, re.IGNORECASE):
        return "the first line is a note to Excel (`sep=`): remove it, so that the file begins with its header line"
    return None


def _other_delimiter(text: _Text) -> str | None:
    for mark, words in SEPARATORS.items():
        names = text.cells(text.line, mark)
        if mark != text.csv.delimiter and len(names) > 1 and renamed(names, text.declared, text.physical):
            declare = f"csv.delimiter: {json.dumps(mark)}"
            promise = f"although the contract declares {text.delimiter}: write the file so, or declare {declare}"
            return f"the columns are separated by {words}, {promise}"
    return None


def _header_below(text: _Text) -> str | None:
    for number, line in enumerate(text.below, start=2):
        if len(respelled(text.cells(line), text.declared)) * 2 > len(text.declared):
            return HEADER_BELOW.format(number)
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
                f"the values are separated by {words}, although the contract declares {text.delimiter}, and the first line "
                f"names none of the declared columns ({named(text.declared)}): the file needs a header line"
            )
    return None


def _data(text: _Text) -> str | None:
    if any(_VALUE.fullmatch(each.strip()) for each in text.cells(text.line)):
        words = "the first line holds values, and names none of the declared columns: the file needs a header line"
        return f"{words} ({named(text.declared)}), or the contract csv.header: false"
    return None


def _other_file(text: _Text) -> str:
    words = f"the first line names none of the declared columns ({named(text.declared)})"
    if len(text.cells(text.line)) == len(text.declared):
        return f"{words}: the file needs a header line with them, or the contract csv.header: false; or is it of another dataset?"
    return f"{words}: the file needs a header line with them, or is it of another dataset, or checked against a wrong contract?"


_EXPLANATIONS: tuple[Explain, ...] = (
    lambda text: separator_note(text.line),
    _other_delimiter,
    lambda text: other_names(text.cells(text.line), text.declared, text.physical),
    _header_below,
    _one_column,
    _data,
)

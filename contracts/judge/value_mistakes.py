"""Known mistakes in texts that are not values of their type, each with its remedy.

Only the code of a mistake is reported, and for null words the word itself, which is from a fixed list.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.contracts.model.storage import Format
from lakegate.contracts.model.types import GRAMMARS, LogicalType
from lakegate.contracts.plan.result import ValueMistake

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from lakegate.contracts.model.storage import Storage

NULL_WORD, BLANKS, QUOTED = "null-word", "blanks", "quoted"
_WORDS = "NULL null Null N/A n/a NA na N.A. n.a. NaN nan NAN None none NONE nil NIL <NA> <null> (null) #N/A #NULL! \\N - -- ."
NULL_WORDS = frozenset(_WORDS.split(" "))
"""Words that programs write for a missing value."""
_NUMBERS = frozenset({LogicalType.INTEGER, LogicalType.NUMBER, LogicalType.DECIMAL})
_DAYS = frozenset({LogicalType.DATE, LogicalType.TIMESTAMP})
_CLOCK = r"(?:[T ,]+[0-9]{1,2}:[0-9]{2}.*)?"
_CURRENCY = r"(?:[$€£¥₹]|[A-Z]{3})"
_NUMBER = r"[-+]?[0-9][0-9.,' ]*"


@dataclass(frozen=True, slots=True)
class Mistake:
    """A known mistake in texts that are not values of their type."""

    types: Collection[LogicalType]
    pattern: str
    """The pattern of the whole text."""
    words: str
    """The problem and the remedy, for a sentence that begins with the fields."""


MISTAKES: dict[str, Mistake] = {
    "thousands": Mistake(
        _NUMBERS,
        r"[-+]?[0-9]{1,3}(?:(?:,[0-9]{3})+(?:\.[0-9]+)?|(?:[' \u00a0\u202f][0-9]{3})+(?:[.,][0-9]+)?|(?:\.[0-9]{3}){2,})",
        "written with separators of thousands: write 1234567, not 1,234,567",
    ),
    "thousands-point": Mistake(
        {LogicalType.INTEGER},
        r"[-+]?[0-9]{1,3}(?:\.[0-9]{3})+",
        "written with points between thousands: write 1234567, not 1.234.567",
    ),
    "decimal-comma": Mistake(
        _NUMBERS,
        r"[-+]?(?:[0-9]*|[0-9]{1,3}(?:\.[0-9]{3})+),[0-9]+",
        "written with a decimal comma: write 1234.5, not 1234,5 or 1.234,5",
    ),
    "whole-as-fraction": Mistake(
        {LogicalType.INTEGER},
        r"[-+]?[0-9]+\.0*",
        "whole numbers written with a fraction (5.0): write 5 "
        "(pandas turns whole numbers with gaps into floats: use the type Int64)",
    ),
    "scientific": Mistake(
        {LogicalType.INTEGER, LogicalType.DECIMAL},
        r"[-+]?[0-9](?:[.,][0-9]+)?[eE][-+]?[0-9]+",
        "written with an exponent (1.2E+12), as spreadsheets show long numbers: write all digits",
    ),
    "percent": Mistake(_NUMBERS, rf"{_NUMBER}%", "written with a percent sign: write the number alone"),
    "currency": Mistake(
        _NUMBERS, rf"{_CURRENCY} ?{_NUMBER}|{_NUMBER} ?{_CURRENCY}", "written with a currency: write the number alone"
    ),
    "boolean-word": Mistake(
        {LogicalType.BOOLEAN},
        r"(?i:yes|no|y|n|t|f|0|1|0\.0|1\.0|on|off|ja|nein|j|oui|non|o|si|sí|s|sim|não|wahr|falsch|vrai|faux|true|false|x)",
        "other words than true and false (yes, no, 0, 1, …): write true and false",
    ),
    "dotted-date": Mistake(
        _DAYS, rf"[0-9]{{1,2}}\.[0-9]{{1,2}}\.[0-9]{{2,4}}{_CLOCK}", "written as day.month.year: write YYYY-MM-DD"
    ),
    "slashed-date": Mistake(
        _DAYS,
        rf"[0-9]{{1,2}}/[0-9]{{1,2}}/[0-9]{{2,4}}{_CLOCK}|[0-9]{{4}}/[0-9]{{1,2}}/[0-9]{{1,2}}{_CLOCK}",
        "dates with slashes, which leave open what is the day and what the month: write YYYY-MM-DD",
    ),
    "day-first": Mistake(
        _DAYS, rf"[0-9]{{1,2}}-[0-9]{{1,2}}-[0-9]{{2,4}}{_CLOCK}", "written with the year last: write YYYY-MM-DD"
    ),
    "month-name": Mistake(
        _DAYS,
        rf"[0-9]{{1,2}}[-. /]+[^\W\d_]{{3,}}\.?[-, /]+[0-9]{{2,4}}{_CLOCK}|[^\W\d_]{{3,}}\.? [0-9]{{1,2}},? [0-9]{{4}}{_CLOCK}",
        "written with the name of the month: write YYYY-MM-DD",
    ),
    "compact-date": Mistake(_DAYS, r"(?:19|20)[0-9]{6}", "written without hyphens (20240131): write YYYY-MM-DD"),
    "epoch": Mistake(
        _DAYS,
        r"[0-9]{10}|[0-9]{13}|[0-9]{16}",
        "seconds or milliseconds since 1970: write YYYY-MM-DDTHH:MM:SS",
    ),
    "serial-date": Mistake(
        _DAYS, r"[1-9][0-9]{4}(?:[.,][0-9]+)?", "numbers of days, as spreadsheets store dates: write YYYY-MM-DD"
    ),
    "date-time": Mistake(
        {LogicalType.DATE},
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ].+",
        "dates with a time of day: write YYYY-MM-DD alone, or declare a timestamp",
    ),
    "date-only": Mistake(
        {LogicalType.TIMESTAMP}, r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "dates without a time of day: write YYYY-MM-DDTHH:MM:SS"
    ),
    "offset": Mistake(
        {LogicalType.TIMESTAMP},
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?(?:\.[0-9]+)? ?"
        r"(?:[-+][0-9]{2}|[-+][0-9]{4}|[A-Z]{2,5}|[A-Z][a-z]+/.+)",
        "timestamps with an offset in another form: write +01:00 or Z after the seconds",
    ),
    "short-time": Mistake(
        {LogicalType.TIME},
        r"[0-9]:[0-9]{2}(?::[0-9]{2})?|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})? ?(?i:[ap]\.?m\.?)",
        "times in another form: write HH:MM:SS of 24 hours, with two digits each",
    ),
}
_SHARED = {
    BLANKS: "values with blanks around them: write them without",
    QUOTED: "written as texts, in quotes: write the values without quotes",
}


def form_of(field_type: LogicalType, texts: Sequence[str], *, is_json: bool = False) -> ValueMistake | None:
    """The mistake of most failing texts; None if most have none."""
    found = Counter(filter(None, (_mistake(field_type, text, is_json=is_json) for text in texts)))
    if not found:
        return None
    (code, word), values = found.most_common(1)[0]
    return ValueMistake(code, values, len(texts), word) if values * 2 > len(texts) else None


def mistake_words(code: str) -> str:
    """The problem of values with a mistake other than a word for null, and the remedy."""
    return _SHARED.get(code) or MISTAKES[code].words


def remedy(form: ValueMistake, storage: Storage) -> str:
    """The problem of the values, and the remedy."""
    if form.code != NULL_WORD:
        return mistake_words(form.code)
    instead = "write null" if storage.format.is_json else "store a null"
    if storage.format is Format.CSV:
        instead = f'write nothing there, or declare csv.nullValues: ["{form.word}"]'
    return f"`{form.word}` where there is no value: {instead}"


def _mistake(field_type: LogicalType, text: str, *, is_json: bool) -> tuple[str, str] | None:
    bare, grammar = text.strip(), GRAMMARS[field_type].pattern
    if bare in NULL_WORDS:
        return NULL_WORD, bare
    if grammar is None or re.fullmatch(grammar, bare):
        if bare != text:
            return BLANKS, ""
        is_token = field_type.numeric or field_type is LogicalType.BOOLEAN
        return (QUOTED, "") if is_json and is_token else None
    codes = (code for code, each in MISTAKES.items() if field_type in each.types and re.fullmatch(each.pattern, bare))
    return next(((code, "") for code in codes), None)

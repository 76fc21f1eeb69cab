"""Known mistakes in values and records (repeated header, quotes, encoding), with remedies."""

from __future__ import annotations

import csv as stdlib_csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime

from lakegate.admission.file_signatures import UTF_8, encoding_evidence
from lakegate.admission.value_masks import LONGEST_SHAPE
from lakegate.contract.file_formats import DECIMAL_SEPARATORS, THOUSANDS_SEPARATORS, Csv, Format, Storage
from lakegate.contract.logical_types import GRAMMARS, LogicalType
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.predicates import OneOf
from lakegate.plan.result import ValueMistake

# ---- Faults that single lines show ----


SEEN_OF_A_LINE = 2000
"""The most characters of a line that are examined."""
HEADER, BLANK, TOTAL, WRAPPED = "header", "blank", "total", "wrapped"
_TOTALS = frozenset(
    [
        *("total", "totals", "subtotal", "subtotals", "sum", "summe", "gesamt", "gesamtsumme", "zwischensumme"),
        *("somme", "totale", "totali", "suma", "razem", "totaal", "som"),
    ]
)
"""Words, without case, that stand in rows of totals, by themselves or beside others of them, currencies and numbers."""
_COUNTS = frozenset(
    [
        "count",
        "rows",
        "affected",
        "selected",
        "records",
        "anzahl",
        "zeilen",
        "datensätze",
        "nombre",
        "lignes",
        "aantal",
        "rijen",
        "liczba",
    ]
)
"""Words that stand there beside a number."""
_ENDS = frozenset(
    [
        *("end of list", "end of file", "end of report", "ende der liste", "ende der datei", "ende des berichts"),
        *("fin de liste", "fin du fichier", "fin du rapport"),
    ]
)
_CODE = re.compile("[A-Z]{3}")
"""A currency."""
_WORD = re.compile(r"[^\W_]+")


def record_of(line: str, header: str | None, csv: Csv) -> str | None:
    """The fault of a line without data: a repeated header, only delimiters, quotes and spaces, or a row of totals."""
    seen = line.removeprefix("\ufeff").removesuffix("\r")[:SEEN_OF_A_LINE]
    if header is not None and seen == header[:SEEN_OF_A_LINE]:
        return HEADER
    if seen and not seen.strip(f"{csv.delimiter}{csv.quote} \t\xa0"):
        return BLANK
    return TOTAL if any(map(_is_total, seen.split(csv.delimiter))) else None


def _is_total(value: str) -> bool:
    """Whether a value is a label of totals or the end of a list, whatever signs are around its words."""
    words = [word for word in _WORD.findall(value) if not word.isdecimal()]
    names = [word.casefold() for word in words]
    if _TOTALS.intersection(names):
        return all(
            name in {*_TOTALS, "grand"} or _CODE.fullmatch(word) for name, word in zip(names, words, strict=True)
        )
    is_counted = bool(names) and _COUNTS.issuperset(names) and re.search("[0-9]", value) is not None
    return is_counted or " ".join(names) in _ENDS


def values_in(line: str, csv: Csv) -> int | None:
    """The number of values of a line; None if a quote is not closed or the line is too long."""
    if len(line) >= SEEN_OF_A_LINE:
        return None
    try:
        rows = stdlib_csv.reader([line.removesuffix("\r")], delimiter=csv.delimiter, quotechar=csv.quote, strict=True)
        return len(next(rows)) or 1
    except stdlib_csv.Error:
        return None


RECORD_MISTAKES = {
    HEADER: ("header-repeated", "repeats the header line: remove it (was the file put together of several?)"),
    BLANK: (
        "blank-records",
        "holds nothing but delimiters, as spreadsheets write below the last row: remove such rows",
    ),
    TOTAL: ("total-records", "holds totals or the end of a list, not a record: remove such rows"),
}


# ---- Mistakes in values ----
# Only the code of a mistake is reported, and for null words the word itself, which is from a fixed list.


NULL_WORD, BLANKS, NARROW, QUOTED = "null-word", "blanks", "non-breaking", "quoted"
EMPTY, TOO_LARGE, NO_DAY, SEPARATORS = "empty", "too-large", "no-day", "separators"
UNQUOTED, NESTED = "unquoted", "nested"
ZEROS, CASE, LOST_WORD, GARBLED = "leading-zeros", "case", "lost-word", "garbled"
_WORDS = "NULL null Null N/A n/a NA na N.A. n.a. NaN nan NAN None none NONE nil NIL <NA> <null> (null) #N/A #NULL! \\N - -- ."
NULL_WORDS = frozenset(_WORDS.split(" "))
"""Words that programs write for a missing value."""
PANDAS_WORDS = frozenset(["NULL", "null", "N/A", "n/a", "NA", "NaN", "nan", "None", "<NA>", "#N/A"])
"""Those that pandas reads as a missing value."""
_NUMBERS = frozenset({LogicalType.INTEGER, LogicalType.NUMBER, LogicalType.DECIMAL})
_DAYS = frozenset({LogicalType.DATE, LogicalType.TIMESTAMP})
_CLOCK = r"(?:[T ,]+[0-9]{1,2}:[0-9]{2}.*)?"
_CURRENCY = r"(?:[$€£¥₹]|[A-Z]{3})"
_DIGITS = r"[0-9][0-9.,' ]*"
_NUMBER = rf"[-+]?{_DIGITS}"
_SEPARATED = re.compile(r"[-+]?[0-9]*(?:[.,'\u2019_ \u00a0\u202f][0-9]{3})*(?:[.,][0-9]*)?")
ISO_DAY = len("YYYY-MM-DD")
_GROUP = 3
"""Digits between separators of thousands."""
_TOKEN = re.compile(r"-?[0-9][0-9.eE+-]*|true|false")
_OBJECTS = frozenset({"{...}", "[...]"})
_BLANKS = "\u00a0\u202f"
_SPEAKING = frozenset({LogicalType.STRING, LogicalType.BINARY})


BEYOND_CALENDARS, BEYOND_TYPE = "beyond all calendars", ", beyond its type"
"""The text of a moment that no calendar has, and the end of the text of a number that its column in the file excludes."""


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
    "sign-behind": Mistake(
        _NUMBERS,
        rf"(?:{_CURRENCY} ?)?{_DIGITS} ?[-+]|{_DIGITS} ?(?:[CD]R|[CD]r)",
        "written with the sign behind the number, as SAP prints it: write -1234.5, not 1234.5-",
    ),
    "parentheses": Mistake(
        _NUMBERS,
        rf"(?:{_CURRENCY} ?)?\( ?(?:{_CURRENCY} ?)?{_DIGITS}%? ?\) ?%?",
        "written in parentheses for less than 0, as in accounting: write -1234.5, not (1234.5)",
    ),
    "other-minus": Mistake(
        _NUMBERS,
        rf"[\u2010-\u2015\u2212\ufe63\uff0d] ?{_DIGITS}",
        "written with another character for minus (such as U+2212): write the hyphen, as in -1234.5",
    ),
    "apostrophe": Mistake(
        _NUMBERS | _DAYS | {LogicalType.TIME, LogicalType.BOOLEAN},
        r"['\u2018\u2019\u00b4`][^'].*",
        "written with an apostrophe before the value, as spreadsheets mark texts: write the value alone",
    ),
    "beyond-type": Mistake(
        _NUMBERS | _DAYS | {LogicalType.TIME},
        rf"{BEYOND_CALENDARS}|.*{BEYOND_TYPE}|<value out of range: .*>",
        "beyond the type of their column in the file, so that readers take them for different values: "
        "write them again, with a type that holds them",
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
_CODES = {kind: [code for code, mistake in MISTAKES.items() if kind in mistake.types] for kind in LogicalType}

_SHARED = {
    BLANKS: "values with blanks around them: write them without",
    NARROW: "values with non-breaking blanks (U+00A0, as web pages and spreadsheets have): write them without",
    QUOTED: "written as texts, in quotes: write the values without quotes",
    GARBLED: "letters of UTF-8 that were read in another encoding (`Ã¼` for `ü`): write them as they are, "
    "in the encoding that the contract declares",
    TOO_LARGE: "whole numbers beyond 64 bits: write smaller ones, or declare a text",
    NO_DAY: "days that the calendar does not have, such as 30 February: write the right ones, as YYYY-MM-DD",
    SEPARATORS: "numbers with other separators than the contract declares: write them as it does, "
    "or declare csv.decimalSeparator and csv.thousandsSeparator as the file has them",
    UNQUOTED: "written without quotes, although a text is declared (numbers lose leading zeros): write the values in quotes",
    NESTED: "objects or lists, although one value is declared: write that value, or declare the fields inside",
    ZEROS: "shorter than the others, as numbers that lost leading zeros: write all digits "
    "(pandas: dtype=str; spreadsheets: format the column as text)",
}


def form_of(  # noqa: PLR0913 - all of it is known of a check
    field_type: LogicalType,
    texts: Sequence[str],
    *,
    is_json: bool = False,
    of_type: bool = True,
    csv: Csv | None = None,
    allowed: Collection[str] = (),
    good: Collection[str] = (),
) -> ValueMistake | None:
    """The mistake of most failing texts; None if most have none.

    `of_type`: they are no values of their type. `allowed` are the words that a list allows, `good` some values that pass.
    """
    dialect = csv or Csv()
    found = Counter(
        filter(None, (_mistake(field_type, text, dialect, is_json=is_json, of_type=of_type) for text in texts))
    )
    if not found:
        found = Counter(filter(None, (_compared(text, allowed, good) for text in texts)))
    if not found:
        return None
    (code, word), values = found.most_common(1)[0]
    if values * 2 <= len(texts):
        return None
    return ValueMistake(code, values, len(texts), word or (_separators(texts) if code in SEPARATING else ""))


def masked_mistake(field_type: LogicalType, text: str, allowed: Collection[str]) -> str | None:
    """What is wrong with a failing text, of `MASKED_MISTAKES`; None if none of them is. `allowed` as for `form_of`."""
    bare = text.strip()
    if bare != text:
        return "blank-behind" if text.rstrip() != text else "blank-before"
    if field_type in _DAYS and re.match("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return NO_DAY if not _is_day(text[:ISO_DAY]) else None if _is_moment(text) else "no-time"
    words = ("true", "false") if field_type is LogicalType.BOOLEAN else allowed
    if any(text.casefold() == each.casefold() for each in words):
        return None if text in words else CASE
    return "unlisted" if words else None


MASKED_WORDS = {
    NO_DAY: "no such day",
    "no-time": "no such time of day",
    CASE: "other capitals",
    "unlisted": "a word that is none of the list",
    "blank-before": "a blank at the beginning",
    "blank-behind": "a blank at the end",
}
"""In place of a shape that would look good."""


def allowed_words(plan: Plan, field: PlanField) -> tuple[str, ...]:
    """The texts that lists of a contract allow in a field."""
    lists = (check.accept.predicate for check in plan.checks if check.fields == (field.name,))
    return tuple(
        word
        for listed in lists
        if isinstance(listed, OneOf) and field.type is LogicalType.STRING
        for word in listed.values
    )


def lost_word(allowed: Collection[str], nulls: int) -> ValueMistake | None:
    """Missing values where a list allows a word that programs read as a missing value."""
    word = next((each for each in allowed if each in PANDAS_WORDS), None)
    return ValueMistake(LOST_WORD, nulls, nulls, word) if word is not None and nulls else None


def mistake_words(code: str) -> str:
    """The problem of values with a mistake other than a word for null, and the remedy."""
    return _SHARED.get(code) or MISTAKES[code].words


def remedy(form: ValueMistake, storage: Storage) -> str:
    """The problem of the values, and the remedy."""
    is_csv = storage.format is Format.CSV
    if form.code == CASE:
        other = form.word.lower() if form.word != form.word.lower() else form.word.upper()
        return (
            f"written in another case: write `{form.word}`, not `{other}`"
            if form.word
            else ("written in another case than good values: write capitals and small letters as they have them")
        )
    if form.code == LOST_WORD:
        return (
            f"no value, although `{form.word}` is one: pandas reads the word as a missing value (keep_default_na=False)"
        )
    instead = "write null" if storage.format.is_json else "store a null"
    if form.code == EMPTY:
        instead = 'write nothing, without quotes, or declare csv.nullValues: [""]' if is_csv else instead
        return f'an empty text (`""`) where there is no value: {instead}'
    if form.code == NULL_WORD:
        if is_csv:
            instead = f'write nothing there, or declare csv.nullValues: ["{form.word}"]'
        return f"`{form.word}` where there is no value: {instead}"
    words = mistake_words(form.code)
    if is_csv and form.word:
        decimal, thousands = form.word[0], form.word[1:]
        declared = [f'csv.decimalSeparator: "{decimal}"'] if decimal != "." else []
        declared += [f'csv.thousandsSeparator: "{thousands}"'] if thousands else []
        return f"{words}, or declare {' and '.join(declared)}"
    return words


SEPARATING = frozenset({"thousands", "thousands-point", "decimal-comma"})
"""Mistakes of which a contract can declare the separators."""


def _separators(texts: Iterable[str]) -> str:
    """The decimal separator of numbers, and after it the one of thousands; empty where not all have the same ones."""
    decimals, thousands = set[str](), set[str]()
    for text in texts:
        digits = text.strip().lstrip("-+")
        marks = [digit for digit in digits if not digit.isdigit()]
        if not marks or _SEPARATED.fullmatch(digits) is None:
            continue
        whole, fraction = digits.rsplit(marks[-1], 1)
        is_group = len(fraction) == _GROUP and len(whole) <= _GROUP and whole != ""
        if marks[-1] not in marks[:-1] and (len(marks) > 1 or not is_group) and marks[-1] in DECIMAL_SEPARATORS:
            decimals.add(marks.pop())
        thousands.update(marks)
    if len(decimals) > 1 or len(thousands) > 1 or not thousands <= {*THOUSANDS_SEPARATORS}:
        return ""
    grouping = next(iter(thousands), "")
    decimal = next(iter(decimals), "," if grouping == "." else ".")
    return f"{decimal}{grouping}" if decimal != grouping else ""


def _mistake(field_type: LogicalType, text: str, csv: Csv, *, is_json: bool, of_type: bool) -> tuple[str, str] | None:
    bare, grammar = text.strip(), GRAMMARS[field_type].pattern
    if bare in NULL_WORDS:
        return NULL_WORD, bare
    if not bare and field_type not in _SPEAKING:
        code = "" if text else EMPTY
    elif is_json and of_type and (bare in _OBJECTS or (field_type in _SPEAKING and _TOKEN.fullmatch(bare))):
        code = NESTED if bare in _OBJECTS else UNQUOTED
    elif field_type.numeric and not csv.has_plain_numbers:
        code = SEPARATORS if _SEPARATED.fullmatch(bare.lstrip("-+")) else _known(field_type, bare)
    elif grammar is None or re.fullmatch(grammar, bare):
        code = _of_value(field_type, text, is_json=is_json) or (_known(field_type, bare) if field_type.numeric else "")
    else:
        code = _known(field_type, bare)
    return (code, "") if code else None


def _known(field_type: LogicalType, text: str) -> str:
    """The first known mistake that a text shows; empty for none."""
    return next((code for code in _CODES[field_type] if re.fullmatch(MISTAKES[code].pattern, text)), "")


def _of_value(field_type: LogicalType, text: str, *, is_json: bool) -> str:
    """The mistake of a text that would be a value of the type, were it written otherwise."""
    bare = text.strip()
    if bare != text:
        return NARROW if set(_BLANKS) & set(text) else BLANKS
    if field_type is LogicalType.INTEGER and not -(2**63) <= _whole(bare) < 2**63:
        return TOO_LARGE
    if field_type in _DAYS and not _is_day(bare[:ISO_DAY]):
        return NO_DAY
    is_token = field_type.numeric or field_type is LogicalType.BOOLEAN
    return QUOTED if is_json and is_token else ""


def _is_day(text: str) -> bool:
    """Whether the calendar has a day, of the years 1 to 9999."""
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_moment(text: str) -> bool:
    """Whether it is a day of the calendar, with or without a time of day that exists."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _whole(text: str) -> int:
    """A whole number; 0 for signs without one. Python refuses very long ones."""
    digits = text.lstrip("+-")
    number = int(digits[:40]) if digits.isdigit() else 0
    return -number if text.startswith("-") else number


def _is_garbled(text: str) -> bool:
    """Whether a text is what UTF-8 becomes in an encoding of single bytes."""
    for encoding in ("windows-1252", "iso-8859-1"):
        with suppress(UnicodeEncodeError):
            return encoding_evidence(text.encode(encoding)) == {UTF_8}
    return False


def _compared(text: str, allowed: Collection[str], good: Collection[str]) -> tuple[str, str] | None:
    """A mistake that shows beside the words that are allowed, and beside other values."""
    if _is_garbled(text) and not any(map(_is_garbled, good)):
        return GARBLED, ""
    if any(text != each and text.casefold() == each.casefold() for each in allowed):
        return CASE, next((each for each in allowed if each.lower() != each.upper() and len(each) <= LONGEST_SHAPE), "")
    if text.isdecimal() and good and all(each.isdecimal() for each in good):
        lengths = {len(each) for each in good}
        return (ZEROS, "") if len(lengths) == 1 and len(text) < min(lengths) else None
    folded = {each.translate(_LETTERS) for each in good}
    if (
        text.casefold().translate(_LETTERS) in {each.casefold() for each in folded}
        and text.translate(_LETTERS) not in folded
    ):
        return CASE, ""
    return None


_LETTERS = str.maketrans(
    {**dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "A"), **dict.fromkeys("abcdefghijklmnopqrstuvwxyz", "a")}
    | dict.fromkeys("0123456789", "9")
)

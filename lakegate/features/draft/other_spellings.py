"""Recognises texts that are values of a type in another spelling, by the diagnosis of `check` (`contracts.judge.value_mistakes`).

The first texts of a column decide what is tried; all of them have to have the spelling. Dates and times have a format that a
contract can declare, if one alone fits: of `01/02/2026` nobody knows which is the month.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from lakegate.contract.file_formats import Csv
from lakegate.contract.logical_types import GRAMMARS, LogicalType
from lakegate.features.draft.found_fields import Spelling
from lakegate.features.draft.suggestions import OF_SOME, numeral
from lakegate.verdict.value_mistakes import BLANKS, MISTAKES, SEPARATING, form_of

COVERED = 0.95
"""The share of the first texts that have to be values of the type, or have its mistake."""
KINDS = (LogicalType.DATE, LogicalType.TIMESTAMP, LogicalType.TIME, LogicalType.NUMBER, LogicalType.BOOLEAN)
_NUMERALS = ("decimal-comma", "thousands", "percent", "currency", BLANKS)
_MONEY = re.compile(
    r"[$€£¥₹]|(?:^|[^A-Z])(?:EUR|USD|GBP|CHF|JPY|CNY|INR|BRL|SEK|NOK|DKK|PLN|CZK|HUF|TRY|CAD|AUD)(?:[^A-Z]|$)"
)
"""A currency by its sign or by a code that is common; other letters before digits are those of a code."""
_CODE = re.compile(r"[-+]?0[0-9]")

_PAIRS = (
    "yes no",
    "y n",
    "ja nein",
    "j n",
    "oui non",
    "o n",
    "si no",
    "sí no",
    "s n",
    "sim não",
    "on off",
    "t f",
    "wahr falsch",
)

_WORDS = frozenset(frozenset(entry.split()) for entry in (*_PAIRS, "vrai faux"))

_DAYS = {
    "dotted-date": ("dd.MM.yyyy", "d.M.yyyy", "dd.MM.yy"),
    "slashed-date": (
        "dd/MM/yyyy",
        "MM/dd/yyyy",
        "d/M/yyyy",
        "M/d/yyyy",
        "yyyy/MM/dd",
        "yyyy/M/d",
        "dd/MM/yy",
        "MM/dd/yy",
    ),
    "day-first": ("dd-MM-yyyy", "MM-dd-yyyy", "d-M-yyyy", "M-d-yyyy"),
    "month-name": (
        *("dd-MMM-yyyy", "d-MMM-yyyy", "dd MMM yyyy", "d MMM yyyy", "d MMMM yyyy", "MMM d, yyyy", "MMMM d, yyyy"),
        *("dd-MMM-yy", "dd/MMM/yyyy", "MMM dd yyyy", "MMM d yyyy"),
    ),
    "offset": ("yyyy-MM-dd",),
    "compact-date": ("yyyyMMdd",),
}
"""Formats of days by the code of a mistake. Of years with two digits, day and month have two, too: others are versions."""
_CLOCKS = (
    *(" HH:mm", " HH:mm:ss", "'T'HH:mm:ss", " H:mm", " H:mm:ss", ", HH:mm", ", HH:mm:ss", " h:mm a", " h:mm:ss a"),
    *(" hh:mm a", " hh:mm:ss a"),
)
_ZONED = tuple(f"{between}HH:mm:ss{zone}" for between in (" ", "'T'") for zone in ("XX", " XX", " XXX", " X"))
"""Offsets of a form that the written grammar does not have; a contract reads `X` after the seconds by the grammar."""
_TIMES = ("H:mm", "H:mm:ss", "h:mm a", "hh:mm a", "h:mm:ss a", "hh:mm:ss a")


def spelling_of(texts: Sequence[str]) -> tuple[Spelling, tuple[str, ...]] | None:
    """The spelling that the first texts of a column seem to have, and the formats that may fit; None if they have none."""
    kinds = (_of_kind(kind, texts) for kind in KINDS) if texts else ()
    return next(filter(None, kinds), None)


def _of_kind(kind: LogicalType, texts: Sequence[str]) -> tuple[Spelling, tuple[str, ...]] | None:
    others = [text for text in texts if not re.fullmatch(GRAMMARS[kind].pattern or "", text)]
    if kind is LogicalType.NUMBER and (code := _mistake_of_some(texts)):
        return Spelling(kind, code), ()
    mistake = form_of(kind, others)
    if mistake is None or len(texts) - len(others) + mistake.values < COVERED * len(texts):
        return None
    spelling = Spelling(kind, mistake.code, separators=mistake.word if mistake.code in SEPARATING else "")
    if mistake.code in _DAYS or kind is LogicalType.TIME:
        formats = tuple(_formats(spelling, texts[0]))
        is_moment = ":" in texts[0]
        return (spelling, formats) if is_moment is (kind is not LogicalType.DATE) and formats else None
    return (spelling, ()) if _is_meant(mistake.code, texts) else None


def _mistake_of_some(texts: Sequence[str]) -> str | None:
    """The mistake that some numbers have, as those below 0, where all texts are numbers, whatever their separators."""
    for code in OF_SOME:
        has_mistake = any(re.fullmatch(MISTAKES[code].pattern, text) and not text.endswith("+") for text in texts)
        if (
            has_mistake
            and all(re.fullmatch(numeral(code), text) for text in texts)
            and not any(map(_CODE.match, texts))
        ):
            return code
    return None


def _formats(spelling: Spelling, text: str) -> Iterator[str]:
    if spelling.type is LogicalType.TIME:
        yield from _TIMES
    elif spelling.type is LogicalType.DATE:
        yield from _DAYS[spelling.code]
    else:
        clocks = (
            _ZONED if spelling.code == "offset" else [item for item in _CLOCKS if item.count(":") == text.count(":")]
        )
        yield from map("".join, product(_DAYS[spelling.code], clocks))


def _is_meant(code: str, texts: Sequence[str]) -> bool:
    """Whether texts of strings, of which no contract says that they are numbers or booleans, are meant as such."""
    if code == "boolean-word":
        return frozenset(map(str.casefold, texts)) in _WORDS
    has_currency = code != "currency" or all(map(_MONEY.search, texts))
    return code in _NUMERALS and has_currency and not any(map(_CODE.match, texts))


def with_separators(csv: Csv, spellings: Iterable[Spelling]) -> Csv | None:
    """The dialect with the separators that all numbers have that are spelled with some; None if there are none, or several."""
    separators = [spelling.separators for spelling in spellings]
    decimals, thousands = {item[:1] for item in separators}, {item[1:] for item in separators if item[1:]}
    if not all(separators) or len(decimals) != 1 or len(thousands) > 1:
        return None
    return replace(csv, decimal_separator=decimals.pop(), thousands_separator=next(iter(thousands), ""))


def whole_pattern(spelling: Spelling) -> str:
    """The pattern, for RE2, of all texts of a spelling without a format."""
    if spelling.type.numeric:
        pattern = numeral(spelling.code)
    elif spelling.code == BLANKS:
        pattern = rf"\s*(?:{GRAMMARS[spelling.type].pattern})\s*"
    else:
        pattern = MISTAKES[spelling.code].pattern
    return re.sub(r"\\u([0-9a-f]{4})", r"\\x{\1}", pattern)


def with_format(spelling: Spelling, fitting: Sequence[str]) -> Spelling:
    """The spelling with the first of the formats that all texts have, unless one has the day first and another the month."""
    meanings = {text.find("d") < text.find("M") for text in fitting}
    return replace(spelling, format=fitting[0] if len(meanings) == 1 else None)

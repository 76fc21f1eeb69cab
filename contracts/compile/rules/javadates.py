"""Date formats of Java's DateTimeFormatter (ODCS), compiled to one pattern for the whole text.

Letters have Java's strict meaning: `MM` is two digits, `M` one or two, `MMM` an English name. The pattern checks the calendar, as
for the formats of `strftime`: no 31 April, and a 29 February in leap years only. Some parts have no exact pattern, so that the
rule is skipped: days of the week (the date decides them), eras, week-based years, zones, optional parts.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.patterns import plain
from lakegate.contracts.compile.rules.strftime import LEAPS, YEARS, numbered, refusals

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 100
MAX_FRACTION = 9
_SHORT = "Jan|Mar|May|Jul|Aug|Oct|Dec|(?:Apr|Jun|Sep|Nov){short}|Feb{february}"
_NAMES = "January|March|May|July|August|October|December|(?:April|June|September|November){short}|February{february}"
_MONTH = "11{short}|1[02]|02{february}|0[469]{short}|0[13578]"
_DAY = "31{31st}|30{30th}|29{29th}|1[0-9]|2[0-8]|0[1-9]"
_HOUR = "2[0-3]|[01][0-9]"
_MINUTE = "[0-5][0-9]"
_OFFSET = "[-+](?:0[0-9]|1[0-8])"
PARTS = {
    **dict.fromkeys(("yyyy", "uuuu"), YEARS),
    **dict.fromkeys(("yy", "uu"), f"{LEAPS}{{leap}}|[0-9]{{2}}"),
    "MM": _MONTH,
    "M": f"{_MONTH}|2{{february}}|[469]{{short}}|[13578]",
    "MMM": _SHORT,
    "MMMM": _NAMES,
    "dd": _DAY,
    "d": f"{_DAY}|[1-9]",
    "HH": _HOUR,
    "H": f"{_HOUR}|[0-9]",
    "hh": "1[0-2]|0[1-9]",
    "h": "1[0-2]|0[1-9]|[1-9]",
    **dict.fromkeys(("mm", "ss"), _MINUTE),
    **dict.fromkeys(("m", "s"), f"{_MINUTE}|[0-9]"),
    "a": "AM|PM",
    "X": f"Z|{_OFFSET}(?:{_MINUTE})?",
    "XX": f"Z|{_OFFSET}{_MINUTE}",
    "XXX": f"Z|{_OFFSET}:{_MINUTE}",
    "Z": f"{_OFFSET}{_MINUTE}",
    **{"S" * digits: f"[0-9]{{{digits}}}" for digits in range(1, MAX_FRACTION + 1)},
}
"""The pattern of each run of letters; a name in braces is a calendar flag."""
_SAME_PART = ("yu", "M", "d", "Hh", "m", "s", "S", "a", "XZ")
_RESERVED = "[]{}#"
_QUOTED = re.compile(r"'((?:[^']|'')*)'")


def compile_java_format(text: str) -> str:
    r"""The pattern of a format, in the dialect of plans; ValueError names a part that is not translated."""
    if len(text) > LONGEST:
        raise ValueError(f"a format has at most {LONGEST} characters")
    flags: list[str] = []
    parts = [numbered(part, flags) for part in _parts(text)]
    return rf"\A(?>{''.join(parts)})\z{refusals(flags)}"


def _parts(text: str) -> Iterator[str]:
    """The pattern of each run of letters and of the text between them."""
    seen: set[str] = set()
    for piece, is_text in _pieces(text):
        if is_text:
            yield "".join(plain(ord(char)) for char in piece)
            continue
        for letter, run in groupby(piece):
            yield _part(letter, "".join(run), seen)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The parts of a format, each with whether it is quoted text; a doubled quote is an escaped one."""
    at = 0
    for found in _QUOTED.finditer(text):
        yield text[at : found.start()], False
        yield found[1].replace("''", "'") or "'", True
        at = found.end()
    rest = text[at:]
    if "'" in rest:
        raise ValueError("a quote of the format is not closed")
    yield rest, False


def _part(letter: str, run: str, seen: set[str]) -> str:
    if letter in _RESERVED:
        raise ValueError(f"the part {letter} of a format is not measured by this version")
    if not (letter.isascii() and letter.isalpha()):
        return "".join(plain(ord(char)) for char in run)
    if run not in PARTS:
        raise ValueError(f"the part {run} of a format is not measured by this version")
    part = next(part for part in _SAME_PART if letter in part)
    if part in seen:
        raise ValueError("the format names one part of a date or time twice")
    seen.add(part)
    return f"(?:{PARTS[run]})"

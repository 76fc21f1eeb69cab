"""Java and strftime date formats as patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from lakegate.patterns.regex_tree import plain, spell_ranges

# ---- Formats of `strftime` as one pattern ----
# 1. The directives become the alternatives of `strptime`, in its order, inside one atomic group: the first reading counts, and
#    it must reach the end of the text.
# 2. What a reading means for the calendar is remembered in empty groups (the day is a 31st, the month has 30 days, the year
#    leaps).
# 3. After the end, back references to these groups refuse what no calendar has: a group that took no part fails.
#
# Narrower than `strptime` on purpose: digits and the case of letters are ASCII only. Names are English, as in the C locale.


LONGEST_FORMAT = 100
_SPACE_CODES = ((9, 13), (28, 32), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029))
_SPACE = f"[{spell_ranges((*_SPACE_CODES, (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)))}]+"
LEAPS = "(?:[02468][048]|[13579][26])"
_LEAPS_OF_CENTURY = "(?:0[48]|[2468][048]|[13579][26])"
_SHORT = "apr|jun|sep|nov"
_LONG = "jan|mar|may|jul|aug|oct|dec"
YEARS = f"0000{{zero}}|(?:[0-9]{{2}}{_LEAPS_OF_CENTURY}|{LEAPS}00){{leap}}|[0-9]{{4}}"
"""Years of four digits."""


# A name in braces is a flag: an empty group that records what was matched.
_DIRECTIVES = {
    "Y": YEARS,
    "y": f"{LEAPS}{{leap}}|[0-9]{{2}}",
    "m": "11{short}|1[02]|02{february}|0[469]{short}|0[1-9]|2{february}|[469]{short}|[1-9]",
    "b": f"feb{{february}}|(?:{_SHORT}){{short}}|{_LONG}",
    "B": "september{short}|february{february}|november{short}|december|january|october|august|"
    "april{short}|march|july|june{short}|may",
    "d": "31{31st}|30{30th}|29{29th}|1[0-9]|2[0-8]|0[1-9]|[1-9]| [1-9]",
    "H": "2[0-3]|[01][0-9]|[0-9]",
    "I": "1[0-2]|0[1-9]|[1-9]",
    "M": "[0-5][0-9]|[0-9]",
    "S": "6[01]{leap second}|[0-5][0-9]|[0-9]",
    "f": "[0-9]{1,6}",
    "p": "am|pm",
    "%": "%",
}

_FLAG = re.compile(r"\{([0-9]*[a-z][a-z ]*)\}")
_REFUSED = (("zero",), ("leap second",), ("31st", "short"), ("31st", "february"), ("30th", "february"))
_SAME_PART = ("Yy", "mbB", "HI", "d", "M", "S", "f", "p")


def compile_format(text: str) -> str:
    r"""The pattern of a format, in the dialect of plans; ValueError names a part that is not supported."""
    if len(text) > LONGEST_FORMAT:
        raise ValueError(f"a format has at most {LONGEST_FORMAT} characters")
    names = _directives(text)
    if any(sum(map(names.count, part)) > 1 for part in _SAME_PART):
        raise ValueError("the format names one part of a date or time twice")
    flags: list[str] = []
    parts = []
    at = 0
    while at < len(text):
        part, at = _part(text, at)
        parts.append(number_flags(part, flags))
    return rf"\A(?i:(?>{''.join(parts)}))\z{refusals(flags)}"


def _directives(text: str) -> list[str]:
    names = [after[:1] for after in text.replace("%%", "").split("%")[1:]]
    unknown = [name for name in names if name not in _DIRECTIVES]
    if unknown:
        raise ValueError(f"the directive %{unknown[0]} is not measured by this version")
    return names


def _part(text: str, at: int) -> tuple[str, int]:
    """The pattern of the next directive, run of spaces or letter, and where the following one starts."""
    char = text[at]
    if char == "%":
        return f"(?:{_DIRECTIVES[text[at + 1]]})", at + 2
    if char.isspace():
        return _SPACE, at + len(text[at:]) - len(text[at:].lstrip())
    if not char.isascii() and char.lower() != char.upper():
        raise ValueError("letters of a format outside ASCII are not measured by this version")
    return plain(ord(char)), at + 1


def number_flags(part: str, flags: list[str]) -> str:
    """The pattern with its flags as empty groups, listed in the order of their numbers."""

    def note(match: re.Match[str]) -> str:
        flags.append(match[1])
        return "()"

    return _FLAG.sub(note, part)


def refusals(flags: list[str]) -> str:
    """The suffix of the pattern: a text whose flags contradict the calendar does not match."""

    def any_of(name: str) -> str:
        return "(?:" + "|".join(f"\\{at}" for at, flag in enumerate(flags, start=1) if flag == name) + ")"

    refused = ["".join(map(any_of, each)) for each in _REFUSED if set(each) <= set(flags)]
    if {"29th", "february"} <= set(flags):
        not_leap = f"(?!{any_of('leap')})" if "leap" in flags else ""
        refused.append(f"{any_of('29th')}{any_of('february')}{not_leap}")
    return f"(?!{'|'.join(refused)})" if refused else ""


# ---- Formats of Java's DateTimeFormatter as one pattern ----
# Letters have Java's strict meaning: `MM` is two digits, `M` one or two, `MMM` an English name. The pattern checks the
# calendar, as for the formats of `strftime`: no 31 April, and a 29 February in leap years only. Some parts have no exact
# pattern, so that the rule is skipped: days of the week (the date decides them), eras, week-based years, zones, optional parts.


MAX_FRACTION = 9
_SHORT_MONTHS = "Jan|Mar|May|Jul|Aug|Oct|Dec|(?:Apr|Jun|Sep|Nov){short}|Feb{february}"
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
    "MMM": _SHORT_MONTHS,
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
_SAME_JAVA_PART = ("yu", "M", "d", "Hh", "m", "s", "S", "a", "XZ")
_RESERVED = "[]{}#"
_QUOTED = re.compile(r"'((?:[^']|'')*)'")


def compile_java_format(text: str) -> str:
    r"""The pattern of a format, in the dialect of plans; ValueError names a part that is not translated."""
    if len(text) > LONGEST_FORMAT:
        raise ValueError(f"a format has at most {LONGEST_FORMAT} characters")
    flags: list[str] = []
    parts = [number_flags(part, flags) for part in _parts(text)]
    return rf"\A(?>{''.join(parts)})\z{refusals(flags)}"


def _parts(text: str) -> Iterator[str]:
    """The pattern of each run of letters and of the text between them."""
    seen: set[str] = set()
    for piece, is_text in _pieces(text):
        if is_text:
            yield "".join(plain(ord(char)) for char in piece)
            continue
        for letter, run in groupby(piece):
            yield _java_part(letter, "".join(run), seen)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The parts of a format, each with whether it is quoted text; a doubled quote is an escaped one."""
    at = 0
    for match in _QUOTED.finditer(text):
        yield text[at : match.start()], False
        yield match[1].replace("''", "'") or "'", True
        at = match.end()
    rest = text[at:]
    if "'" in rest:
        raise ValueError("a quote of the format is not closed")
    yield rest, False


def _java_part(letter: str, run: str, seen: set[str]) -> str:
    if letter in _RESERVED:
        raise ValueError(f"the part {letter} of a format is not measured by this version")
    if not (letter.isascii() and letter.isalpha()):
        return "".join(plain(ord(char)) for char in run)
    if run not in PARTS:
        raise ValueError(f"the part {run} of a format is not measured by this version")
    part = next(part for part in _SAME_JAVA_PART if letter in part)
    if part in seen:
        raise ValueError("the format names one part of a date or time twice")
    seen.add(part)
    return f"(?:{PARTS[run]})"

"""Cron, rate and Quartz schedules, and their next times."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

CRON_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
CRON_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
CRON = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
QUARTZ = (("second", 0, 59), *CRON[:4], ("weekday", 1, 7), ("year", 1970, 2199))
"""The fields of each dialect with their smallest and largest value."""
QUARTZ_LENGTHS = (6, 7)
PART = re.compile(r"(?P<low>\*|\?|[0-9]{1,4}|[a-z]{3})(?:-(?P<high>[0-9]{1,4}|[a-z]{3}))?(?:/(?P<step>[0-9]{1,4}))?")
QUARTZ_DAY = re.compile(r"l(?:-[0-9]{1,2})?|lw|[0-9]{1,2}w|[0-9a-z]{1,3}l|[0-9a-z]{1,3}#[1-5]")


def is_cron_part(part: str, least: int, most: int, *, quartz: bool) -> bool:
    """Whether a part of a cron expression is one of its dialect, within the bounds."""
    if quartz and QUARTZ_DAY.fullmatch(part):
        return True
    match = PART.fullmatch(part)
    if match is None or (match["low"] == "?" and not quartz) or match["step"] == "0":
        return False
    numbers = [_cron_number(side) for side in (match["low"], match["high"]) if side and side not in "*?"]
    return all(least <= number <= most for number in numbers) and numbers == sorted(numbers)


def _cron_number(word: str) -> int:
    """The number of a field's value; a name of a month or a weekday by its place."""
    if word.isascii() and word.isdigit():
        return int(word)
    names = CRON_MONTHS if word in CRON_MONTHS else CRON_DAYS
    return names.index(word) + 1 if word in names else -1


# ---- Schedules ----
# Cron's five fields and Quartz are translated to this form.
#
# A rate counts from 1970-01-01: `rate(1 hour)` is due at each full hour, whenever its contract was published.


MIN_MINUTES: Final = 5
"""Minutes: the scheduler looks no more often."""
MAX_DAYS: Final = 36_500
"""Of a rate."""
UNITS: Final = {"minute": 1, "hour": 60, "day": 1_440}
"""Minutes."""
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MAX_YEARS: Final = 100
"""A day that is not among those of so many years does not come."""
LAST_YEAR: Final = 2199
MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
WEEK: Final = 7
FIELDS: Final[tuple[tuple[str, int, int, tuple[str, ...]], ...]] = (
    ("minutes", 0, 59, ()),
    ("hours", 0, 23, ()),
    ("day of month", 1, 31, ()),
    ("month", 1, 12, MONTHS),
    ("day of week", 1, 7, DAYS),
    ("year", 1970, LAST_YEAR, ()),
)

NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
"""Of cron."""
_RATE: Final = re.compile(r"rate\(([1-9][0-9]{0,6}) (minute|hour|day)(s?)\)")
_PART: Final = re.compile(
    r"(?P<low>\*|[0-9]{1,4}|[A-Z]{3})(?:-(?P<high>[0-9]{1,4}|[A-Z]{3}))?(?:/(?P<step>[0-9]{1,4}))?"
)


class ScheduleError(ValueError):
    """A text is no schedule; the message says what to write."""


class NeverDueError(ScheduleError):
    """A schedule has no time at all."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Every so many minutes."""

    minutes: int

    def next_after(self, at: datetime) -> datetime | None:
        """The first time after another one."""
        step = timedelta(minutes=self.minutes)
        return EPOCH + ((at - EPOCH) // step + 1) * step


@dataclass(frozen=True, slots=True)
class Cron:
    """At the times of a cron expression."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: frozenset[int]
    years: frozenset[int]
    is_day: Callable[[date], bool]

    def next_after(self, at: datetime) -> datetime | None:
        """The first time after another one; None if there is none within a hundred years."""
        start = at.astimezone(UTC)
        for day in self._days(start.date()):
            for hour in self.hours:
                for minute in self.minutes:
                    time = datetime(day.year, day.month, day.day, hour, minute, tzinfo=UTC)
                    if time > start:
                        return time
        return None

    def _days(self, first: date) -> Iterator[date]:
        for year in range(first.year, min(first.year + MAX_YEARS, LAST_YEAR + 1)):
            for month in range(1, 13) if year in self.years else ():
                if month in self.months and (year, month) >= (first.year, first.month):
                    days = (date(year, month, entry) for entry in range(1, calendar.monthrange(year, month)[1] + 1))
                    yield from (day for day in days if day >= first and self.is_day(day))


def schedule(text: str) -> Rate | Cron:
    """The schedule that a text writes. Raises ScheduleError."""
    rate = _RATE.fullmatch(text)
    if rate:
        count, unit, plural = rate.groups()
        if (count == "1") is bool(plural):
            raise ScheduleError(f"write `rate({count} {unit}{'' if count == '1' else 's'})`")
        minutes = int(count) * UNITS[unit]
        if minutes < MIN_MINUTES:
            raise ScheduleError(f"the shortest schedule is `rate({MIN_MINUTES} minutes)`")
        if minutes > MAX_DAYS * UNITS["day"]:
            raise ScheduleError(f"the longest schedule is `rate({MAX_DAYS} days)`")
        return Rate(minutes)
    if text.startswith("cron(") and text.endswith(")"):
        return _cron(text[5:-1].upper().split())
    raise ScheduleError("write `rate(1 hour)` or `cron(0 6 * * ? *)`, as EventBridge does")


LONGEST_LOOK_BACK = timedelta(days=5 * 366)
"""Longer than any period of five fields of cron: 29 February comes every four years, but for one in a century."""


def period_of(text: str, at: datetime) -> timedelta | None:
    """The length of the period of a schedule in which a moment lies: from its last time to the next; None if it lies in none."""
    times = schedule(text)
    low, high, end = at - LONGEST_LOOK_BACK, at, times.next_after(at)
    begin = times.next_after(low)
    if end is None or begin is None or begin > at:
        return None
    while high - low > timedelta(minutes=1):
        middle = low + (high - low) / 2
        time = times.next_after(middle)
        assert time is not None
        low, high, begin = (middle, high, time) if time <= at else (low, middle, begin)
    return end - begin


def of_cron(text: str) -> str:
    """The schedule that five fields of cron write, in UTC. Raises ScheduleError for what EventBridge cannot express."""
    words = NICKNAMES.get(text, text).upper().split()
    if len(words) != len(FIELDS) - 1:
        raise ScheduleError(f"cron has 5 fields (`0 6 * * *`), not {len(words)}")
    minute, hour, day, month, weekday = words
    if "*" not in {day, weekday}:
        raise ScheduleError("write `*` as the day of month or as the day of week: not both can be followed")
    if weekday == "*":
        return f"cron({minute} {hour} {day} {month} ? *)"
    days = sorted({number % WEEK + 1 for part in weekday.split(",") for number in _weekdays(part)})
    return f"cron({minute} {hour} ? {month} {','.join(map(str, days))} *)"


def _weekdays(part: str) -> Iterable[int]:
    """The days of the week that a part of cron's last field selects, 0 and 7 are Sunday."""
    match = _PART.fullmatch(part)
    if match is None:
        raise ScheduleError(f"{part!r} is no day of week")
    low, high = (DAYS.index(side) if side in DAYS else side for side in (match["low"], match["high"]))
    first = 0 if low == "*" else low
    last = WEEK - 1 if low == "*" or (match["step"] and high is None) else first if high is None else high
    if not (str(first).isdigit() and str(last).isdigit() and int(first) <= int(last) <= WEEK and match["step"] != "0"):
        raise ScheduleError(f"{part!r} is out of range for day of week: write 0 to 7, or `*`")
    return range(int(first), int(last) + 1, int(match["step"] or 1))


def to_cron(text: str) -> str:
    """The five fields of cron that mean the same; empty where cron has none, and for a text that is no cron expression."""
    minute, hour, day, month, weekday, year = [*text.removeprefix("cron(").removesuffix(")").split(), *[""] * 6][:6]
    written = [minute, hour, "*" if day == "?" else day, month, "*" if weekday == "?" else weekday]
    if year != "*" or re.search(r"[LW#]", day + weekday):
        return ""
    if weekday != "?":
        written[4] = ",".join(str(number - 1) for number in sorted(_numbers(4, weekday)))
    return " ".join(written)


def of_quartz(text: str) -> str:
    """The schedule that six or seven fields of Quartz write, in UTC. Raises ScheduleError."""
    words = text.upper().split()
    if len(words) not in {len(FIELDS), len(FIELDS) + 1}:
        raise ScheduleError(f"Quartz has 6 or 7 fields (`0 0 6 * * ?`), not {len(words)}")
    if words[0] != "0":
        raise ScheduleError("write 0 as the second: schedules are looked at every few minutes")
    return f"cron({' '.join(words[1:])}{' *' if len(words) == len(FIELDS) else ''})"


def _cron(words: list[str]) -> Cron:
    if len(words) != len(FIELDS):
        raise ScheduleError(f"a cron expression has 6 fields (`cron(0 6 * * ? *)`), not {len(words)}")
    day, weekday = words[2], words[4]
    if (day == "?") is (weekday == "?"):
        raise ScheduleError("write `?` as the day of month or as the day of week, and not as both")
    minutes, hours = (tuple(sorted(_numbers(at, words[at]))) for at in (0, 1))
    is_day = _of_month(day) if weekday == "?" else _of_week(weekday)
    cron = Cron(minutes, hours, frozenset(_numbers(3, words[3])), frozenset(_numbers(5, words[5])), is_day)
    if cron.next_after(datetime(2000, 1, 1, tzinfo=UTC)) is None:
        raise NeverDueError("no day has such a date")
    gaps = [later - earlier for earlier, later in zip(minutes, (*minutes[1:], minutes[0] + 60), strict=True)]
    if min(gaps) < MIN_MINUTES:
        raise ScheduleError(f"times are at least {MIN_MINUTES} minutes apart")
    return cron


def _numbers(at: int, word: str) -> set[int]:
    """The numbers that a field selects."""
    name, least, most, names = FIELDS[at]
    numbers: set[int] = set()
    for part in word.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise ScheduleError(f"{part!r} is no {name}")
        low, high, step = match["low"], match["high"], match["step"]
        first = least if low == "*" else _number(low, names)
        last = _number(high, names) if high else (most if low == "*" or step else first)
        if not least <= first <= last <= most or step == "0" or (low == "*" and high):
            raise ScheduleError(f"{part!r} is out of range for {name}: write {least} to {most}, or `*`")
        numbers |= set(range(first, last + 1, int(step or 1)))
    return numbers


def _number(word: str, names: tuple[str, ...]) -> int:
    """The number of a word; 0, which no field with names has, for one that it does not know."""
    if word.isascii() and word.isdigit():
        return int(word)
    return names.index(word) + 1 if word in names else 0 if names else -1


def _of_month(word: str) -> Callable[[date], bool]:
    if word == "L":
        return lambda day: day.day == _length(day)
    nearest = re.fullmatch(r"([0-9]{1,2})W", word)
    if nearest and 1 <= (wanted := int(nearest[1])) <= FIELDS[2][2]:
        return lambda day: day.day == _nearest_weekday(day, wanted)
    days = _numbers(2, word)
    return lambda day: day.day in days


def _of_week(word: str) -> Callable[[date], bool]:
    last = re.fullmatch(r"([1-7]|[A-Z]{3})L", word)
    if last or word == "L":
        (wanted,) = _numbers(4, last[1] if last else "7")
        return lambda day: _weekday(day) == wanted and (not last or day.day > _length(day) - WEEK)
    if numbered := re.fullmatch(r"([1-7]|[A-Z]{3})#([1-5])", word):
        (wanted,), number = _numbers(4, numbered[1]), int(numbered[2])
        return lambda day: _weekday(day) == wanted and (day.day - 1) // WEEK + 1 == number
    days = _numbers(4, word)
    return lambda day: _weekday(day) in days


def _weekday(day: date) -> int:
    """1 is Sunday."""
    return day.isoweekday() % WEEK + 1


def _length(day: date) -> int:
    return calendar.monthrange(day.year, day.month)[1]


def _nearest_weekday(day: date, wanted: int) -> int:
    """The day from Monday to Friday of the same month that is nearest to one; 0 in a month without that one."""
    length = _length(day)
    if wanted > length:
        return 0
    weekday = date(day.year, day.month, wanted).isoweekday()
    if weekday == WEEK - 1:
        return wanted - 1 if wanted > 1 else wanted + 2
    if weekday == WEEK:
        return wanted + 1 if wanted < length else wanted - 2
    return wanted

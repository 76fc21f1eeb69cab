"""Service levels: names, units, intervals (`quarterly`), durations, strictness."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated

from lakegate.base.json_codec import Bounds, Permitted, omit_default
from lakegate.contract.contract_model import Rule
from lakegate.contract.logical_types import LogicalType, number_of
from lakegate.contract.schedules import ScheduleError, of_cron, period_of, schedule

KIND = "serviceLevel"
KNOWN = {
    "availability": "av",
    "throughput": "th",
    "errorRate": "er",
    "generalAvailability": "ga",
    "endOfSupport": "es",
    "endOfLife": "el",
    "retention": "re",
    "frequency": "fy",
    "latency": "ly",
    "freshness": "fr",
    "timeToDetect": "td",
    "timeToNotify": "tn",
    "timeToRepair": "tr",
}
"""The service levels of ODCS with their abbreviations; and `freshness`, which is common."""
NAMES = {
    "upTime": "availability",
    "timeliness": "latency",
    "intervalOfChange": "frequency",
    **{short: name for name, short in KNOWN.items()},
}
"""The abbreviations of ODCS and the names of DCM, with the names of ODCS (formats of documents agree on no other)."""
LESS_IS_STRICTER = ("freshness", "latency", "frequency", "errorRate", "timeToDetect", "timeToNotify", "timeToRepair")
MORE_IS_STRICTER = ("availability", "throughput", "retention", "endOfSupport", "endOfLife")
SHARES = ("availability", "errorRate")
_SHARE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")
DAY_TEXT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*", re.DOTALL)


def as_share(value: object, unit: object) -> Decimal | None:
    """A percentage or a share as a share from 0 to 1."""
    percent = _SHARE.fullmatch(str(value))
    number = Decimal(percent[1]) if percent else number_of(value)
    if number is None:
        return None
    return number / 100 if percent or unit in {"%", "percent"} or number > 1 else number


def level_name(rule: Rule) -> str:
    """The name of a service level in ODCS, whatever the document format."""
    written = str(rule.arguments.get("property") or "")
    return NAMES.get(written, written)


# ---- Service levels of time ----


LONGEST_SCHEDULE = 512
"""Characters of a schedule that is watched."""


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """A service level of time: how long it takes at most until a delivery is accepted."""

    name: Annotated[str, Permitted(("frequency", "freshness", "latency"))]
    """`frequency` or `freshness`: after an accepted delivery; `latency`: after what is delivered was taken in."""
    seconds: Annotated[int, Bounds(1)]
    """Of a schedule, the longest time from one of its times to the next."""
    schedule: Annotated[str, Bounds(most=LONGEST_SCHEDULE)] = omit_default("")
    """The times of a frequency in cron, in UTC: each time is as long as the period in which it begins."""

    def seconds_from(self, at: datetime) -> int:
        """The seconds until the service level is missed, from a moment on.

        Of a schedule these are the seconds of the period in which the moment lies: what was accepted ten minutes after one of its
        times is followed by something ten minutes after the next one.
        """
        period = period_of(self.schedule, at) if self.schedule else None
        return self.seconds if period is None else int(period.total_seconds())


MOMENTS = (LogicalType.DATE, LogicalType.TIMESTAMP)
MINUTE, _HOUR, _DAY = 60, 3600, 86400
_UNITS = {
    1: "s sec second seconds",
    MINUTE: "m min minute minutes",
    _HOUR: "h hr hour hours",
    _DAY: "d day days",
    7 * _DAY: "w wk week weeks",
    31 * _DAY: "mo month months",
    366 * _DAY: "y yr year years",
}

SECONDS_BY_UNIT = {name: seconds for seconds, names in _UNITS.items() for name in names.split()}
"""Seconds per unit of time."""
_SIMPLE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*")
_ISO = re.compile(
    r"P(?=[0-9T])(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)W)?(?:([0-9]+)D)?"
    r"(?:T(?=[0-9])(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?"
)
_ISO_UNITS = (366 * _DAY, 31 * _DAY, 7 * _DAY, _DAY, _HOUR, MINUTE, 1)


AMBIGUOUS = "M"
"""A unit that is a minute by its small letter, and a month in ISO 8601."""


def seconds_of(unit: str) -> int | None:
    """The seconds of a unit of time, in any case; None if it is unknown or ambiguous."""
    return None if unit == AMBIGUOUS else SECONDS_BY_UNIT.get(unit.casefold())


def duration(value: object, unit: object) -> Decimal | None:
    """A duration in seconds: a number from 0 and its unit, `25h`, `30 days` or `P1Y`; None for any other value."""
    number = number_of(value)
    if number is not None:
        seconds = seconds_of(str(unit))
        return None if seconds is None or number < 0 else number * seconds
    simple, iso = _SIMPLE.fullmatch(str(value)), _ISO.fullmatch(str(value))
    seconds = seconds_of(simple[2]) if simple else None
    if simple and seconds is not None:
        return Decimal(simple[1]) * seconds
    if iso is None:
        return None
    return sum((Decimal(part or 0) * size for part, size in zip(iso.groups(), _ISO_UNITS, strict=True)), Decimal(0))


FREQUENCY = "frequency"
LEVELS_IN_TIME = (FREQUENCY, "freshness", "latency")
_PERIODS, _LAST_YEAR = 400, 2034
_INTERVALS = {"hourly": _HOUR, "daily": _DAY, "weekly": 7 * _DAY, "monthly": 31 * _DAY, "yearly": 366 * _DAY}
_SHORTEST, _LONGEST = 1, 10 * 366 * _DAY


def service_levels_of(rules: Iterable[Rule]) -> tuple[ServiceLevel, ...]:
    """The strictest service level of each name: a frequency is the time between deliveries, a freshness the age of the data,
    a latency the time from a row's moment until it is accepted.

    A frequency may be an expression of cron; any other value that is no length of time is left out: nothing can watch it.
    """
    levels: dict[str, ServiceLevel] = {}
    for rule in rules:
        name, value = level_name(rule), rule.arguments.get("value")
        if rule.kind != KIND or name not in LEVELS_IN_TIME:
            continue
        times = _times(str(value)) if name == FREQUENCY else ""
        seconds = _INTERVALS.get(str(value).casefold()) or duration(value, rule.arguments.get("unit"))
        seconds = _longest_period(times) if times else seconds
        if seconds is not None and _SHORTEST <= seconds <= _LONGEST:
            own = ServiceLevel(name, int(seconds), times)
            levels[name] = min(own, levels.get(name, own), key=lambda entry: entry.seconds)
    return tuple(levels[name] for name in sorted(levels))


def _times(value: str) -> str:
    """The schedule in five fields of cron; empty if it is none, or one that cannot be followed."""
    try:
        cron = of_cron(value.strip())
        schedule(cron)
    except ScheduleError:
        return ""
    return cron if len(cron) <= LONGEST_SCHEDULE else ""


def _longest_period(times: str) -> int:
    """The longest of some periods of a schedule, in seconds."""
    each, at, found = schedule(times), datetime(2024, 1, 1, tzinfo=UTC), 0
    for _ in range(_PERIODS):
        end = each.next_after(at)
        if end is None or end.year > _LAST_YEAR:
            break
        found, at = max(found, int((end - at).total_seconds())), end
    return found


KNOWN_TO_DCS = ("availability", "retention", "latency", "freshness", "frequency", "support", "backup")
LASTING = ("retention", "frequency", "latency", "freshness", "timeToDetect", "timeToNotify", "timeToRepair")
HUNDRED = Decimal(100)
DURATION_KEYS = ("threshold", "period", "recoveryTime", "recoveryPoint", "responseTime")
PERCENTAGE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%?\s*")

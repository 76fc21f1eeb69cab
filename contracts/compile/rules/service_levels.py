"""Service levels that can be measured on a delivery: the age of its rows, and their latency.

Ages are relative to the judging time of the request; the job never reads the clock. A month has 31 days and a year 366, so that a
service level is never stricter than the calendar.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.build import brief, check, refuse, skipped
from lakegate.contracts.judge.measured_numbers import lasting
from lakegate.contracts.model.literals import number_of
from lakegate.contracts.model.schedules import MIN_MINUTES, ScheduleError, of_cron, schedule
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.check import OF_NO_DELIVERY, Check, Interval, Tier, Unit
from lakegate.contracts.plan.metrics import Metric
from lakegate.contracts.plan.promise import Promise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lakegate.contracts.model.contract import Field, Rule

MOMENTS = (LogicalType.DATE, LogicalType.TIMESTAMP)
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_UNITS = {
    1: "s sec second seconds",
    _MINUTE: "m min minute minutes",
    _HOUR: "h hr hour hours",
    _DAY: "d day days",
    7 * _DAY: "w wk week weeks",
    31 * _DAY: "mo month months",
    366 * _DAY: "y yr year years",
}
SECONDS = {name: seconds for seconds, names in _UNITS.items() for name in names.split()}
"""Seconds per unit of time."""
_SIMPLE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*")
_ISO = re.compile(
    r"P(?=[0-9T])(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)W)?(?:([0-9]+)D)?"
    r"(?:T(?=[0-9])(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?"
)
_ISO_UNITS = (366 * _DAY, 31 * _DAY, 7 * _DAY, _DAY, _HOUR, _MINUTE, 1)


def service_level(rule: Rule, fields: tuple[Field, ...]) -> tuple[Check, ...]:
    """The check of a service level, measured if it has timestamp fields."""
    name = str(rule.arguments.get("property") or "")
    level = _LEVELS.get(name)
    if level is None:
        return (skipped(rule, (), f"{brief(name) or 'this level'} {OF_NO_DELIVERY}"),)
    fields = tuple(field for field in fields if field.type in MOMENTS)
    if not fields:
        return (skipped(rule, (), f"the level {brief(name)} names no field that holds moments"),)
    if rule.arguments.get("value") is True:
        return (skipped(rule, fields, f"the level {brief(name)} sets no limit"),)
    limit = duration(rule.arguments.get("value"), rule.arguments.get("unit"))
    if limit is None:
        return (skipped(rule, fields, f"the level {brief(name)} has no length of time that is known"),)
    return (level(rule, fields, Interval(high=limit)),)


def duration(value: object, unit: object) -> Decimal | None:
    """A duration in seconds: a number and its unit, `25h`, `30 days` or `P1Y`; None for any other value."""
    number = number_of(value)
    if number is not None:
        seconds = SECONDS.get(str(unit).casefold())
        return None if seconds is None else number * seconds
    simple, iso = _SIMPLE.fullmatch(str(value)), _ISO.fullmatch(str(value))
    if simple and simple[2].casefold() in SECONDS:
        return Decimal(simple[1]) * SECONDS[simple[2].casefold()]
    if iso is None:
        return None
    return sum((Decimal(part or 0) * size for part, size in zip(iso.groups(), _ISO_UNITS, strict=True)), Decimal(0))


def age(rule: Rule, field: Field, good: Interval) -> Check:
    """The newest row is at most `seconds` old at the judging time."""
    return _lasting(rule, (field,), Metric.YOUNGEST, good, "the youngest row {} old")


def _freshness(rule: Rule, fields: tuple[Field, ...], good: Interval) -> Check:
    return age(rule, fields[0], good)


def _latency(rule: Rule, fields: tuple[Field, ...], good: Interval) -> Check:
    """The duration from the first timestamp of a row to its second; skipped without two timestamps."""
    if len(fields) == 1:
        return skipped(rule, fields, "latency is from one moment to another, and the level names one field")
    return _lasting(rule, fields[:2], Metric.DELAY, good, "every row {} on its way")


def _retention(rule: Rule, fields: tuple[Field, ...], good: Interval) -> Check:
    return _lasting(rule, fields[:1], Metric.OLDEST, good, "the oldest row {} old")


def _lasting(rule: Rule, fields: tuple[Field, ...], metric: Metric, good: Interval, words: str) -> Check:
    other = next((field for field in fields if field.type not in MOMENTS), None)
    if other is not None:
        refuse(rule, "not-a-moment", f"{other.name} is a {other.type.value}: name a date or a timestamp")
    assert good.high is not None
    limit = f"{'less than' if good.high_open else 'at most'} {lasting(Fraction(good.high))}"
    return check(rule, fields, metric, accept=Tier(good), wanted=words.format(limit), unit=Unit.VALUE)


_LEVELS: dict[str, Callable[[Rule, tuple[Field, ...], Interval], Check]] = {
    **dict.fromkeys(("freshness", "fr"), _freshness),
    **dict.fromkeys(("latency", "ly"), _latency),
    **dict.fromkeys(("retention", "re"), _retention),
}
_PROMISES = {
    **dict.fromkeys(("frequency", "fy"), "frequency"),
    **dict.fromkeys(("freshness", "fr"), "freshness"),
    **dict.fromkeys(("latency", "ly"), "latency"),
}
_INTERVALS = {"hourly": _HOUR, "daily": _DAY, "weekly": 7 * _DAY, "monthly": 31 * _DAY, "yearly": 366 * _DAY}
_SHORTEST, _LONGEST = _MINUTE, 10 * 366 * _DAY


def promises_of(rules: Iterable[Rule]) -> tuple[Promise, ...]:
    """The shortest promise of each name: a frequency is the time from one delivery to the next, a freshness the age of the data,
    a latency the time from a row's moment until it is accepted.

    An interval that is no length of time, such as a cron expression, is no promise that can be watched.
    """
    found: dict[str, int] = {}
    for rule in rules:
        name = _PROMISES.get(str(rule.arguments.get("property"))) if rule.kind == "serviceLevel" else None
        value = rule.arguments.get("value")
        seconds = _INTERVALS.get(str(value).casefold()) or duration(value, rule.arguments.get("unit"))
        if name and seconds is not None and _SHORTEST <= seconds <= _LONGEST:
            found[name] = min(int(seconds), found.get(name, _LONGEST))
    return tuple(Promise(name, found[name]) for name in sorted(found))


def pull_schedule(rules: Iterable[Rule]) -> str:
    """The schedule of a pull that a frequency promises, as an interval or in five fields of cron.

    Empty if none does, or a shorter one than a schedule may be.
    """
    rules = tuple(rules)
    minutes = {each.name: each.seconds for each in promises_of(rules)}.get("frequency", 0) // _MINUTE
    if minutes >= MIN_MINUTES:
        return f"rate({minutes} minutes)"
    return next(filter(None, map(_times_of, rules)), "")


def _times_of(rule: Rule) -> str:
    """The schedule that a frequency names in cron; empty if it names none that can be followed."""
    value = rule.arguments.get("value")
    if rule.kind != "serviceLevel" or _PROMISES.get(str(rule.arguments.get("property"))) != "frequency":
        return ""
    try:
        found = of_cron(str(value).strip())
        schedule(found)
    except ScheduleError:
        return ""
    return found

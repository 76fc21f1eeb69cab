"""Service levels that can be measured on a delivery: the age of its rows, and their latency.

Ages are relative to the judging time of the request; the job never reads the clock. A month has 31 days and a year 366, so that a
service level is never stricter than the calendar.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from lakegate.base.text import lasting
from lakegate.contract.contract_model import Field, Rule
from lakegate.contract.service_levels import MOMENTS, duration
from lakegate.plan.check import Check, Interval, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.rules.check_builder import Checks, Fields, brief, check, refuse, skip_check


def service_level(rule: Rule, fields: Fields) -> Checks:
    """The check of a service level, measured if it has timestamp fields."""
    name = str(rule.arguments.get("property") or "")
    level = _LEVELS.get(name)
    if level is None:
        return (skip_check(rule, (), f"{brief(name) or 'this level'} cannot be measured on a delivery"),)
    fields = tuple(field for field in fields if field.type in MOMENTS)
    if not fields:
        return (skip_check(rule, (), f"the level {brief(name)} names no field that holds moments"),)
    if rule.arguments.get("value") is True:
        return (skip_check(rule, fields, f"the level {brief(name)} sets no limit"),)
    limit = duration(rule.arguments.get("value"), rule.arguments.get("unit"))
    if limit is None:
        return (skip_check(rule, fields, f"the level {brief(name)} has no length of time that is known"),)
    return (level(rule, fields, Interval(high=limit)),)


def age(rule: Rule, field: Field, good: Interval) -> Check:
    """The age of the newest row at the judging time, in seconds, is within bounds."""
    return _lasting(rule, (field,), Metric.YOUNGEST, good, "the youngest row {} old")


def _freshness(rule: Rule, fields: Fields, good: Interval) -> Check:
    return age(rule, fields[0], good)


def _latency(rule: Rule, fields: Fields, good: Interval) -> Check:
    """The duration from the first timestamp of a row to its second; of one timestamp (as in ODCS 3.1 §SLA), to its arrival.

    Rows arrive at the judging time, so that the oldest one decides.
    """
    if len(fields) == 1:
        return _lasting(rule, fields, Metric.OLDEST, good, "every row {} old when it arrives")
    return _lasting(rule, fields[:2], Metric.DELAY, good, "every row {} on its way")


def _retention(rule: Rule, fields: Fields, good: Interval) -> Check:
    return _lasting(rule, fields[:1], Metric.OLDEST, good, "the oldest row {} old")


def _lasting(rule: Rule, fields: Fields, metric: Metric, good: Interval, words: str) -> Check:
    other = next((field for field in fields if field.type not in MOMENTS), None)
    if other is not None:
        refuse(rule, "not-a-moment", f"{other.name} is a {other.type.value}: name a date or a timestamp")
    ends = ((good.low, good.low_open, "more than", "at least"), (good.high, good.high_open, "less than", "at most"))
    limits = [
        f"{beyond if is_open else to} {lasting(Fraction(end))}" for end, is_open, beyond, to in ends if end is not None
    ]
    return check(rule, fields, metric, accept=Tier(good), wanted=words.format(" and ".join(limits)), unit=Unit.VALUE)


_LEVELS: dict[str, Callable[[Rule, Fields, Interval], Check]] = {
    **dict.fromkeys(("freshness", "fr"), _freshness),
    **dict.fromkeys(("latency", "ly"), _latency),
    **dict.fromkeys(("retention", "re"), _retention),
}

"""Service levels that can be measured on a delivery: the age of its rows, and their latency.

Ages are relative to the judging time of the request; the job never reads the clock. A month has 31 days and a year 366, so that a
service level is never stricter than the calendar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contract.schedules import MIN_MINUTES, ScheduleError, of_cron, schedule
from lakegate.contract.service_levels import _MINUTE, _PROMISES, promises_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakegate.contract.contract_model import Rule


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

"""The watermark of a line with slices: no event before it is expected any more. It never moves back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from lakegate.base.timestamps import instant_of, moment
from lakegate.plan.plan import Plan
from lakegate.plan.result import Result

NONE: Final = ""
"""Of a dataset that has no watermark yet: earlier than every text of a time."""
_FIRST: Final = datetime.min.replace(tzinfo=UTC)


def watermark_after(plan: Plan, result: Result, judged_at: str) -> str:
    """The watermark of the dataset after the slices of a delivery: their latest event time minus the delay, or as before.

    Events after the judging time count as of that time: one wrong year would make every later event late, for ever.
    """
    minutes = plan.policy.watermark_minutes
    if minutes is None or not result.slices:
        return result.watermark
    latest = min(max(piece.event_times[1] for piece in result.slices), moment(instant_of(judged_at)))
    delay = timedelta(minutes=minutes)
    return max(moment(max(instant_of(latest), _FIRST + delay) - delay), result.watermark)


def watermark_fault(before: str, found: str, latest: str) -> str:
    """The fault of a block's watermark, by the one before and the latest event time of its slices; empty: none."""
    if found < before:
        return f"{found or 'none'} after {before}"
    if found > max(before, latest):
        return f"{found} is after the latest event, {latest}"
    return ""

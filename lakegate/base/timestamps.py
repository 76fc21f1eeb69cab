"""The lifecycle of a dataset line (ADR-0029): draft, active, deprecated, sunset, retired.

A line has a list of changes of its status, each with the time from which it holds; later ones are planned. The status at any time
follows from the list, for every reader at every time. What has begun is never changed, so that the status at a past time stays.
`lakegate.gate.datasets.lifecycle` has the commands.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated

from lakegate.base.errors import InputError
from lakegate.base.json_codec import Pattern
from lakegate.base.text import quote

_MOMENT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z"
Moment = Annotated[str, Pattern(_MOMENT)]
"""A time in documents: RFC 3339, UTC, six decimals."""
OptionalMoment = Annotated[str, Pattern(f"(|{_MOMENT})")]
"""A time, or nothing."""


def beginning_of(written: str, now: datetime) -> str:
    """The beginning of a day, UTC; empty for today, which means now. Raises InputError for a text that is no day."""
    try:
        day = date.fromisoformat(written)
    except ValueError:
        raise InputError(f"{quote(written)} is no day: write YYYY-MM-DD") from None
    return "" if day == now.date() else moment(datetime(day.year, day.month, day.day, tzinfo=UTC))


def moment(at: datetime) -> str:
    """A time as texts of lines have it: RFC 3339, UTC, six decimals."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def instant_of(at: str) -> datetime:
    """The time of such a text."""
    return datetime.fromisoformat(at)

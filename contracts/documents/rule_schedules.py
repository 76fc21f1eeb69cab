"""The schedule of a quality rule: cron with five fields in ODCS (`scheduler: cron`), Quartz in DCM, as one form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lakegate.contracts.model.schedules import ScheduleError, of_cron, of_quartz, schedule
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    from lakegate.contracts.documents.nodes import Place

QUARTZ: Final = "scheduleCronExpression"
"""The key of DCM."""
LONGEST: Final = 200
"""Characters of a schedule: the row of a line holds those of all its rules."""


def schedule_of(place: Place) -> str:
    """The schedule that a rule is measured by, as EventBridge writes it; empty: there is none, or none that is followed."""
    try:
        return _read(place)
    except ScheduleError:
        return ""


def problem_of(place: Place) -> str:
    """Why the schedule of a rule is not followed; empty if it is."""
    try:
        _read(place)
    except ScheduleError as wrong:
        return str(wrong)
    return ""


def _read(place: Place) -> str:
    """Raises ScheduleError."""
    if place[QUARTZ].text:
        return _checked(of_quartz(place[QUARTZ].text or ""))
    text = (place["schedule"].text or "").strip()
    if not text:
        return ""
    scheduler = place["scheduler"].text or ""
    if scheduler.casefold() != "cron":
        raise ScheduleError(f"only `scheduler: cron` is followed, not {shown(scheduler)}")
    return _checked(of_cron(text))


def _checked(text: str) -> str:
    if len(text) > LONGEST:
        raise ScheduleError(f"write at most {LONGEST} characters, not {len(text):,}")
    schedule(text)
    return text

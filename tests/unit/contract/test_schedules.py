"""Schedules of pulls: which texts are schedules, and when they are due, against an independent slow search."""

from __future__ import annotations

import calendar
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.contract.schedules import ScheduleError, period_of, schedule

NOW = datetime(2026, 2, 27, 10, 2, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("rate(5 minutes)", "2026-02-27T10:05"),
        ("rate(1 hour)", "2026-02-27T11:00"),
        ("rate(1 day)", "2026-02-28T00:00"),
        ("rate(36500 days)", "2069-12-07T00:00"),
        ("cron(0 6 * * ? *)", "2026-02-28T06:00"),
        ("cron(30 10 * * ? *)", "2026-02-27T10:30"),
        ("cron(0/15 * * * ? *)", "2026-02-27T10:15"),
        ("cron(0 6 ? * MON-FRI *)", "2026-03-02T06:00"),
        ("cron(0 6 ? * 2,4 *)", "2026-03-02T06:00"),
        ("cron(0 6 L * ? *)", "2026-02-28T06:00"),
        ("cron(0 6 ? * L *)", "2026-02-28T06:00"),
        ("cron(0 6 ? * 6L *)", "2026-03-27T06:00"),
        ("cron(0 6 ? * fri#2 *)", "2026-03-13T06:00"),
        ("cron(0 6 1W * ? *)", "2026-03-02T06:00"),
        ("cron(0 6 31W * ? *)", "2026-03-31T06:00"),
        ("cron(0 6 31W may ? *)", "2026-05-29T06:00"),
        ("cron(0 6 28W feb ? *)", "2026-02-27T06:00 -> 2027-02-26T06:00"),
        ("cron(0 6 1W aug ? *)", "2026-08-03T06:00"),
        ("cron(0 6 16W may ? *)", "2026-05-15T06:00"),
        ("cron(0 6 17W may ? *)", "2026-05-18T06:00"),
        ("cron(0 0 29 2 ? *)", "2028-02-29T00:00"),
        ("cron(0 0 1 1 ? 2030-2040/5)", "2030-01-01T00:00"),
        ("cron(0,30 22-23 1/10 * ? *)", "2026-03-01T22:00"),
    ],
)
def test_a_schedule_has_a_next_time(text: str, due: str) -> None:
    """As EventBridge's documentation describes each form."""
    assert f"{schedule(text).next_after(NOW):%Y-%m-%dT%H:%M}" == due.rpartition(" ")[2]


@pytest.mark.parametrize(
    ("text", "at", "hours"),
    [
        ("cron(0 6 * * ? *)", datetime(2026, 2, 27, 6, 10, tzinfo=UTC), 24),
        ("cron(0 6 * * ? *)", datetime(2026, 2, 27, 6, tzinfo=UTC), 24),
        ("cron(0 6 ? * 2-6 *)", datetime(2026, 2, 27, 6, 10, tzinfo=UTC), 72),  # from Friday
        ("cron(0 6 ? * 2-6 *)", datetime(2026, 2, 26, 23, tzinfo=UTC), 24),
        ("cron(0 6,18 * * ? *)", datetime(2026, 2, 26, 7, tzinfo=UTC), 12),
        ("cron(0/5 0-5 * * ? *)", datetime(2026, 2, 26, 12, tzinfo=UTC), 18 + 1 / 12),
        ("cron(0 6 29 2 ? *)", datetime(2026, 2, 26, tzinfo=UTC), 1461 * 24),
        ("rate(1 hour)", datetime(2026, 2, 26, 12, 30, tzinfo=UTC), 1),
        ("cron(0 6 * * ? 2030)", datetime(2026, 2, 26, tzinfo=UTC), None),
        ("cron(0 6 * * ? 2020)", datetime(2026, 2, 26, tzinfo=UTC), None),
    ],
)
def test_a_moment_lies_in_a_period_of_a_schedule(text: str, at: datetime, hours: float | None) -> None:
    """From the last time until the next one, if there are both."""
    assert period_of(text, at) == (None if hours is None else timedelta(hours=hours))


def test_a_schedule_may_be_over() -> None:
    """After its last year nothing is due."""
    assert schedule("cron(0 0 1 1 ? 2020)").next_after(NOW) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("hourly", "write `rate"),
        ("cron(0 6 * * ? *", "write `rate"),
        ("rate(0 minutes)", "write `rate"),
        ("rate(1 hours)", r"write `rate\(1 hour\)`"),
        ("rate(2 hour)", r"write `rate\(2 hours\)`"),
        ("rate(4 minutes)", "the shortest"),
        ("rate(36501 days)", r"the longest schedule is `rate\(36500 days\)`"),
        ("rate(9999999 days)", "the longest"),
        ("cron(0 6 * * *)", "not 5"),
        ("cron(0 6 * * * *)", "not as both"),
        ("cron(0 6 ? * ? *)", "not as both"),
        ("cron(0-4 6 * * ? *)", "5 minutes apart"),
        ("cron(0,58 6 * * ? *)", "5 minutes apart"),
        ("cron(* 6 * * ? *)", "5 minutes apart"),
        ("cron(60 6 * * ? *)", "out of range for minutes"),
        ("cron(0 24 * * ? *)", "out of range for hours"),
        ("cron(0 6 0 * ? *)", "out of range for day of month"),
        ("cron(0 6 32W * ? *)", "is no day of month"),
        ("cron(0 6 * FOO ? *)", "out of range for month"),
        ("cron(0 XYZ * * ? *)", "out of range for hours"),
        ("cron(0 6 ? * 8 *)", "out of range for day of week"),
        ("cron(0 6 ? * FOO#1 *)", "out of range for day of week"),
        ("cron(0 6 ? * FOOL *)", "out of range for day of week"),
        ("cron(0 6 ? * 1#6 *)", "is no day of week"),
        ("cron(0 6 5-2 * ? *)", "out of range"),
        ("cron(0 6 *-2 * ? *)", "out of range"),
        ("cron(0 6 */0 * ? *)", "out of range"),
        ("cron(0 6 x * ? *)", "is no day of month"),
        ("cron(0 6 30 2 ? *)", "no day has such a date"),
    ],
)
def test_another_text_is_refused(text: str, problem: str) -> None:
    """With what to write instead."""
    with pytest.raises(ScheduleError, match=problem):
        schedule(text)


def _set(values: tuple[int, ...]) -> str:
    return ",".join(map(str, values))


def _slow(minutes: tuple[int, ...], hours: tuple[int, ...], days: str, at: datetime) -> datetime:
    """Minute by minute; days by the calendar's own table of weeks."""
    found = at.replace(second=0, microsecond=0) + timedelta(minutes=1)
    while not (found.minute in minutes and found.hour in hours and _is_day(days, found)):
        found += timedelta(minutes=1)
    return found


def _is_day(days: str, at: datetime) -> bool:
    weeks = calendar.Calendar(calendar.SUNDAY).monthdayscalendar(at.year, at.month)
    kind, _, number = days.partition(" ")
    columns = [[week[column] for week in weeks if week[column]] for column in range(7)]
    match kind:
        case "month":
            return at.day == int(number)
        case "last":
            return at.day == max(map(max, weeks))
        case "week":
            return at.day in columns[int(number) - 1]
        case "nth":
            return at.day == columns[int(number[0]) - 1][int(number[1]) - 1]
        case _:
            return at.day == columns[int(number) - 1][-1]


DAYS = {"month": "{} * ?", "last": "L * ?", "week": "? * {}", "nth": "? * {0[0]}#{0[1]}", "final": "? * {}L"}


@settings(max_examples=60, deadline=None)
@given(
    st.sets(st.sampled_from(range(0, 60, 5)), min_size=1, max_size=3).map(lambda found: tuple(sorted(found))),
    st.sets(st.integers(0, 23), min_size=1, max_size=3).map(lambda found: tuple(sorted(found))),
    st.one_of(
        st.integers(1, 28).map(lambda day: f"month {day}"),
        st.just("last "),
        st.integers(1, 7).map(lambda day: f"week {day}"),
        st.tuples(st.integers(1, 7), st.integers(1, 4)).map(lambda found: f"nth {found[0]}{found[1]}"),
        st.integers(1, 7).map(lambda day: f"final {day}"),
    ),
    st.datetimes(datetime(2024, 1, 1), datetime(2032, 1, 1)),  # noqa: DTZ001 - the strategy wants no zone
)
def test_the_next_time_is_the_one_of_a_slow_search(
    minutes: tuple[int, ...], hours: tuple[int, ...], days: str, at: datetime
) -> None:
    """For any minutes, hours and kind of day."""
    kind, _, number = days.partition(" ")
    text = f"cron({_set(minutes)} {_set(hours)} {DAYS[kind].format(number)} *)"
    moment = at.replace(tzinfo=UTC)

    assert schedule(text).next_after(moment) == _slow(minutes, hours, days, moment)


@given(st.integers(5, 100_000), st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001 - likewise
def test_a_rate_has_the_same_times_for_everybody(minutes: int, at: datetime) -> None:
    """The next time is after the moment, at most one interval later, and a multiple of it."""
    moment = at.replace(tzinfo=UTC)
    found = schedule(f"rate({minutes} minutes)").next_after(moment)

    assert found is not None
    assert timedelta(0) < found - moment <= timedelta(minutes=minutes)
    assert found.timestamp() % (minutes * 60) == 0
